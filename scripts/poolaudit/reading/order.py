"""The one order of a ranking: a key ascending, ties by a stated rule (docs/methods.md, The runs).

Pure functions over the columns of a run. Stages that ask what another rule would have done, such
as the one that explains judgments by other tie rules, call them on copies.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from poolaudit.reading.columns import from_numpy, one, repeats, to_numpy

TIES = ("docid_desc", "docid_asc", "file")
LONG = 50


def number_queries(query_id: pa.Array | pa.ChunkedArray) -> tuple[np.ndarray, pa.Array]:
    """Number queries in byte order of their ids.

    Returns:
        int32[rows], the number of each row's query from 0; and the ids in byte order.
    """
    heads = np.flatnonzero(~repeats(query_id))
    coded = one(query_id).take(from_numpy(heads)).dictionary_encode()
    in_order = pc.sort_indices(coded.dictionary)
    number = np.empty(len(in_order), np.int32)
    number[to_numpy(in_order)] = np.arange(len(in_order))
    of_heads = number[to_numpy(coded.indices)]
    return np.repeat(of_heads, np.diff(heads, append=len(query_id))), coded.dictionary.take(
        in_order
    )


def places(
    query: np.ndarray, key: np.ndarray, doc_id: pa.Array | pa.ChunkedArray, ties: str
) -> tuple[np.ndarray, np.ndarray]:
    """Put rows in the order of query, key ascending, and the tie rule.

    Args:
        query: int[rows], numbers of queries.
        key: number[rows], without NaN: minus the score, or the rank.
        doc_id: the documents, compared as bytes, and only where keys are equal.
        ties: "docid_desc", "docid_asc", or "file": as the rows come.

    Returns:
        int64[rows], the rows in their order; bool[rows], which of them, in this order, have the
        key of another document of their query.
    """
    order = np.argsort(query, kind="stable")
    same_query = np.diff(query[order]) == 0
    in_order = key[order]
    if (same_query & (in_order[1:] < in_order[:-1])).any():
        order = np.lexsort((key, query))
        in_order = key[order]
    same = same_query & (in_order[1:] == in_order[:-1])
    tied = np.append(False, same) | np.append(same, False)
    if ties != "file" and same.any():
        rows = order[tied]
        group = np.cumsum(~np.append(False, same))[tied]
        documents = one(doc_id.take(from_numpy(rows)))
        direction = "descending" if ties == "docid_desc" else "ascending"
        by_bytes = to_numpy(pc.array_sort_indices(documents, order=direction))
        within = np.empty(len(rows), np.int64)
        within[by_bytes] = np.arange(len(rows))
        order[tied] = rows[np.lexsort((within, group))]
    return order, tied


def ranks(query: np.ndarray) -> np.ndarray:
    """int32[rows]: the place of each row in its query, from 1, for rows already in order."""
    starts = np.flatnonzero(np.diff(query, prepend=-1))
    lengths = np.diff(starts, append=len(query))
    return (np.arange(1, len(query) + 1) - np.repeat(starts, lengths)).astype(np.int32)


def repeated(
    query: np.ndarray, doc_id: pa.Array | pa.ChunkedArray, *keys: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Find rows whose document came before in the same query.

    Args:
        query: int[rows], numbers of queries.
        doc_id: the documents.
        keys: number[rows] each: among the rows of a document, the one with the lowest first key
            is the first, then the lowest second key, and so on; at last the earlier row.

    Returns:
        int64[repeats], the rows that come again; and for each the row just before it.
    """
    if _nothing_twice(query, one(doc_id)):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    coded = one(doc_id).dictionary_encode()
    pair = query.astype(np.int64) * len(coded.dictionary) + to_numpy(coded.indices)
    in_order = np.sort(pair)
    if (in_order[1:] != in_order[:-1]).all():
        return np.empty(0, np.int64), np.empty(0, np.int64)
    order = np.lexsort((*reversed(keys), pair))
    again = np.flatnonzero(np.diff(pair[order]) == 0)
    return order[again + 1], order[again]


def _nothing_twice(query: np.ndarray, doc_id: pa.Array) -> bool:
    """Whether no document comes twice, as far as a look at one query at a time can tell.

    The documents of one query fit into the processor's cache; those of a run do not.
    """
    starts = np.flatnonzero(np.diff(query, prepend=-1))
    in_blocks = len(starts) == len(np.unique(query[starts]))
    if not in_blocks or len(query) < LONG * len(starts):
        return False
    lengths = np.diff(starts, append=len(query))
    blocks = zip(starts.tolist(), lengths.tolist(), strict=True)
    return all(len(doc_id.slice(start, n).unique()) == n for start, n in blocks)
