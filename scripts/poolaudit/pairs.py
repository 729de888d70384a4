"""The data model: two tables in one order, from which every number comes.

`pairs` has one row for each (query, document) that any run returned or any assessor judged, in
the order of query id and document id (both in byte order). `rankings` has one row for each
returned document, in the order of query, run and rank, and points into `pairs` by row number.
With them a pool is `best_rank <= depth`, a judgment set is a vector of grades over the pairs, and
scoring a run is gathering grades along its rankings: nothing is sorted and no string is compared
again.

In memory both are plain arrays with integer codes. Two values stand for what has no value:
`UNJUDGED` in a vector of grades, `NEVER` in a vector of ranks; both are null in the files
(`stored`). Nothing crosses queries until means are taken, so the tables of some queries are tables
of the same kind, and can be joined.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from poolaudit.errors import AuditError
from poolaudit.reading.columns import from_numpy, one, repeats, to_numpy

UNJUDGED = np.iinfo(np.int16).min
NEVER = np.iinfo(np.int32).max
NOBODY = np.iinfo(np.int64).max
KINDS = ("run", "group", "family", "type")


@dataclass(frozen=True)
class Contributor:
    """One audited run as the data model sees it.

    Attributes:
        run: its name.
        pooled: whether its top documents were put into the judgment pool.
        group, family, type: who made it, what kind of system, manual or automatic; None if unknown.
        subtask: whether it reranked a given list ("rerank") or searched all ("fullrank"), say.
    """

    run: str
    pooled: bool
    group: str | None = None
    family: str | None = None
    type: str | None = None
    subtask: str | None = None


@dataclass(frozen=True)
class Holders:
    """For one kind of contributor: who brought each pair into the pool first, and who came next.

    Attributes:
        names: the contributors of this kind with at least one pooled run, in byte order.
        best: int32[pairs], the contributor that holds the pair's best rank in the pool, as an index
            into `names`; -1 where no pool run returned the pair. On equal ranks the run that comes
            first by name; no such pair is unique to anyone.
        next_best: int32[pairs], the best rank of any other contributor of this kind, or NEVER.
    """

    names: tuple[str, ...]
    best: np.ndarray
    next_best: np.ndarray


@dataclass(frozen=True)
class Pairs:
    """Every (query, document) pair that was returned or judged.

    Attributes:
        query_ids: the queries that are averaged over, in byte order; all have judgments.
        query: int32[pairs], index into `query_ids`.
        doc_id: Arrow string array [pairs].
        relevance: int16[pairs], the grade; UNJUDGED where no assessor saw the pair. Below zero: the
            document was in the pool but was not judged (docs/reading.md, Judgments).
        best_rank: int32[pairs], best rank over the pooled runs, or NEVER.
        any_best_rank: int32[pairs], best rank over all audited runs, or NEVER.
        returned_by: int32[pairs], number of audited runs that returned it.
        holders: for each kind of contributor known, who holds the best rank.
    """

    query_ids: tuple[str, ...]
    query: np.ndarray
    doc_id: pa.Array
    relevance: np.ndarray
    best_rank: np.ndarray
    any_best_rank: np.ndarray
    returned_by: np.ndarray
    holders: Mapping[str, Holders]

    def __len__(self) -> int:
        return len(self.query)

    def only(self, rows: np.ndarray) -> Pairs:
        """These pairs alone (ascending row numbers); the queries stay as they are."""
        return replace(
            self,
            query=self.query[rows],
            doc_id=self.doc_id.take(from_numpy(rows)),
            relevance=self.relevance[rows],
            best_rank=self.best_rank[rows],
            any_best_rank=self.any_best_rank[rows],
            returned_by=self.returned_by[rows],
            holders={
                kind: replace(holders, best=holders.best[rows], next_best=holders.next_best[rows])
                for kind, holders in self.holders.items()
            },
        )

    def in_pool(self, depth: int) -> np.ndarray:
        """bool[pairs]: in the union of the first `depth` documents of the pooled runs."""
        return self.best_rank <= depth

    def grades(self, depth: int | None = None) -> np.ndarray:
        """int16[pairs]: the judgment set of a campaign with pool depth `depth`; None: all of it."""
        if depth is None:
            return self.relevance
        return np.where(self.in_pool(depth), self.relevance, np.int16(UNJUDGED))

    def rows_of(self, query_id: pa.ChunkedArray, doc_id: pa.ChunkedArray) -> np.ndarray:
        """int64[n]: the row of each of n given pairs (two columns of strings); -1 where none is."""
        query = codes_of(query_id, self.query_ids)
        doc, doc_ids = _encode(pa.chunked_array([self.doc_id, *doc_id.chunks]))
        # The rows are in the order of query and document id, and so are these keys.
        keys = self.query.astype(np.int64) * len(doc_ids) + doc[: len(self)]
        wanted = query.astype(np.int64) * len(doc_ids) + doc[len(self) :]
        row = np.minimum(np.searchsorted(keys, wanted), len(self) - 1)
        return np.where(keys[row] == wanted, row, -1)

    def grades_of(self, judgments: pa.Table, default: int = UNJUDGED) -> np.ndarray:
        """int16[pairs]: the grades of other judgments; `default` where they have none.

        Judged pairs that are not among these pairs are left out.
        """
        grades = np.full(len(self), default, np.int16)
        row = self.rows_of(judgments["query_id"], judgments["doc_id"])
        grades[row[row >= 0]] = judgments["relevance"].to_numpy()[row >= 0]
        return grades

    def unique_to(self, kind: str, contributor: str, depth: int) -> np.ndarray:
        """bool[pairs]: in the depth-`depth` pool, and there only because of this contributor."""
        holders = self.holders[kind]
        mine = holders.best == holders.names.index(contributor)
        return mine & self.in_pool(depth) & (holders.next_best > depth)


@dataclass(frozen=True)
class Rankings:
    """Every returned document, in the order of query, run and rank.

    A *list* is what one run returned for one query. Its rows are contiguous and their ranks are
    1, 2, ... to its length, unless the tables were cut (`near`); a query that a run did not answer
    has no list.

    Attributes:
        runs: the audited runs, in byte order.
        query_ids: as in Pairs.
        list_query, list_run: int32[lists], indices into `query_ids` and `runs`.
        length: int64[lists], the number of documents that the run returned.
        offsets: int64[lists + 1]: the rows of list i are offsets[i] up to offsets[i + 1].
        rank: int32[rows], from 1.
        score: float64[rows], as the run gave it, after the rounding that the settings ask for.
        pair: int32[rows], row number in Pairs.
    """

    runs: tuple[str, ...]
    query_ids: tuple[str, ...]
    list_query: np.ndarray
    list_run: np.ndarray
    length: np.ndarray
    offsets: np.ndarray
    rank: np.ndarray
    score: np.ndarray
    pair: np.ndarray

    def __len__(self) -> int:
        return len(self.pair)

    @cached_property
    def list_of(self) -> np.ndarray:
        """int32[rows]: the list that each row belongs to."""
        return np.repeat(np.arange(len(self.list_run), dtype=np.int32), np.diff(self.offsets))


def near_pairs(pairs: Pairs, to: int) -> Pairs:
    """The pairs of `near`: those that somebody judged, or some run returned down to rank `to`."""
    return pairs.only(np.flatnonzero(_is_near(pairs, to)))


def _is_near(pairs: Pairs, to: int) -> np.ndarray:
    return (pairs.relevance != UNJUDGED) | (pairs.any_best_rank <= to)


def near(
    pairs: Pairs, rankings: Rankings, to: int, *, in_all_lists: bool = False
) -> tuple[Pairs, Rankings]:
    """Cut the tables to what counts for a stage that looks no further than rank `to`.

    What is left out are documents that nobody judged below that rank in a list, and pairs that all
    runs returned below it. They weigh nothing in any score on the judgments that there are;
    `length` still counts them. Where documents are supposed to be judged, as in bounds, a document
    that is open because one run has it above the rank counts in other lists below it too: for a
    measure with a cutoff `to` must be that cutoff, and one without needs it in all lists.

    Args:
        pairs, rankings: the two tables.
        to: a rank; 0 leaves the judged documents alone.
        in_all_lists: what some run returned down to that rank stays in the other lists too, where
            it stands below it.
    """
    judged, kept = pairs.relevance != UNJUDGED, _is_near(pairs, to)
    near_lists = kept[rankings.pair] if in_all_lists else judged[rankings.pair]
    rows = np.flatnonzero(near_lists | (rankings.rank <= to))
    number = np.cumsum(kept, dtype=np.int32) - np.int32(1)
    return pairs.only(np.flatnonzero(kept)), replace(
        rankings,
        offsets=np.searchsorted(rows, rankings.offsets),
        rank=rankings.rank[rows],
        score=rankings.score[rows],
        pair=number[rankings.pair[rows]],
    )


def join(parts: Sequence[tuple[Pairs, Rankings]]) -> tuple[Pairs, Rankings]:
    """Put the tables of batches of queries, in the order of their queries, into one."""
    pairs, rankings = zip(*parts, strict=True)
    return join_pairs(pairs), _join_rankings(rankings, list(map(len, pairs)))


def join_pairs(parts: Sequence[Pairs]) -> Pairs:
    """Put the pairs of batches of queries, in the order of their queries, into one table."""
    if len(parts) == 1:
        return parts[0]
    queries = np.cumsum([0, *(len(part.query_ids) for part in parts)])

    def whole(tables: Sequence[Pairs | Holders], column: str) -> np.ndarray:
        return np.concatenate([getattr(table, column) for table in tables])

    return Pairs(
        query_ids=tuple(query for part in parts for query in part.query_ids),
        query=_shifted([part.query for part in parts], queries),
        doc_id=pa.concat_arrays([part.doc_id for part in parts]),
        relevance=whole(parts, "relevance"),
        best_rank=whole(parts, "best_rank"),
        any_best_rank=whole(parts, "any_best_rank"),
        returned_by=whole(parts, "returned_by"),
        holders={
            kind: Holders(of_kind[0].names, whole(of_kind, "best"), whole(of_kind, "next_best"))
            for kind in parts[0].holders
            for of_kind in [[part.holders[kind] for part in parts]]
        },
    )


def _join_rankings(parts: Sequence[Rankings], n_pairs: Sequence[int]) -> Rankings:
    if len(parts) == 1:
        return parts[0]
    queries = np.cumsum([0, *(len(part.query_ids) for part in parts)])
    rows = np.cumsum([0, *map(len, parts)])
    starts = [part.offsets[:-1] for part in parts]
    return Rankings(
        runs=parts[0].runs,
        query_ids=tuple(query for part in parts for query in part.query_ids),
        list_query=_shifted([part.list_query for part in parts], queries),
        list_run=np.concatenate([part.list_run for part in parts]),
        length=np.concatenate([part.length for part in parts]),
        offsets=np.append(_shifted(starts, rows), rows[-1]),
        rank=np.concatenate([part.rank for part in parts]),
        score=np.concatenate([part.score for part in parts]),
        pair=_shifted([part.pair for part in parts], np.cumsum([0, *n_pairs])),
    )


def _shifted(parts: Sequence[np.ndarray], by: np.ndarray) -> np.ndarray:
    """The parts one after the other, the numbers of each raised by what stands before it."""
    return np.concatenate(
        [part + part.dtype.type(start) for part, start in zip(parts, by, strict=False)]
    )


def build(
    judgments: pa.Table, runs: Iterable[tuple[Contributor, pa.Table]]
) -> tuple[Pairs, Rankings]:
    """Join the ordered runs with the judgments.

    Args:
        judgments: query_id, doc_id, relevance; one row a pair. Queries of which no document was
            judged (all grades below 0) are left out.
        runs: each run with its table query_id, doc_id, rank, score, ordered by query and rank.
            Queries without judgments are left out here.

    Returns:
        The two tables.

    Raises:
        AuditError: no document of any query was judged.
    """
    runs = sorted(runs, key=lambda entry: entry[0].run)
    contributors = [contributor for contributor, _ in runs]
    query_ids = judged_queries(judgments)
    judgments = _by_query(judgments, query_ids)
    tables = [judgments, *(table for _, table in runs)]
    spans = np.stack([spans_of(table["query_id"], query_ids) for table in tables])
    lengths = spans[1:, :, 1] - spans[1:, :, 0]
    docs, codes = _number_documents(tables, spans)

    first = np.cumsum([0, *map(len, docs)])
    n_judged = spans[0, :, 1] - spans[0, :, 0]
    in_query = range(len(query_ids))
    at_judgment = np.concatenate([codes[q][: n_judged[q]] + first[q] for q in in_query])
    returned = np.concatenate([codes[q][n_judged[q] :] + first[q] for q in in_query])
    relevance = np.full(first[-1], UNJUDGED, np.int16)
    relevance[at_judgment] = to_numpy(judgments["relevance"])

    list_query, list_run = np.nonzero(lengths.T)
    offsets = np.cumsum([0, *lengths[list_run, list_query]])
    rank, score = (
        _gather([to_numpy(table[name]) for table in tables[1:]], spans[1:], kind)
        for name, kind in (("rank", np.int32), ("score", np.float64))
    )
    run = np.repeat(list_run.astype(np.int32), np.diff(offsets))
    pooled = np.array([contributor.pooled for contributor in contributors], bool)[run]
    in_pool = returned[pooled], rank[pooled], run[pooled]
    pairs = Pairs(
        query_ids=tuple(query_ids),
        query=np.repeat(np.arange(len(query_ids), dtype=np.int32), np.diff(first)),
        doc_id=pa.concat_arrays(docs),
        relevance=relevance,
        best_rank=_lowest(*in_pool[:2], len(relevance)),
        any_best_rank=_lowest(returned, rank, len(relevance)),
        returned_by=np.bincount(returned, minlength=len(relevance)).astype(np.int32),
        holders=_find_holders(contributors, *in_pool, len(relevance)),
    )
    rankings = Rankings(
        runs=tuple(contributor.run for contributor in contributors),
        query_ids=pairs.query_ids,
        list_query=list_query.astype(np.int32),
        list_run=list_run.astype(np.int32),
        length=np.diff(offsets),
        offsets=offsets,
        rank=rank,
        score=score,
        pair=returned.astype(np.int32),
    )
    return pairs, rankings


def judged_queries(judgments: pa.Table) -> list[str]:
    """The queries of which some document was judged, in byte order.

    Raises:
        AuditError: there is none.
    """
    seen = judgments.filter(pc.greater_equal(judgments["relevance"], 0))
    query_ids = pc.unique(seen["query_id"]).sort().to_pylist()
    if not query_ids:
        raise AuditError(
            "No document was judged.",
            where="the judgments",
            found=f"{judgments.num_rows} rows, all with a grade below 0",
            expected="grades from 0 on: below 0 stands for pooled and not judged",
            todo="name the right judgments",
        )
    return query_ids


def _by_query(judgments: pa.Table, query_ids: Sequence[str]) -> pa.Table:
    """The judgments of these queries, in their order."""
    codes = codes_of(judgments["query_id"], query_ids)
    order = np.argsort(codes, kind="stable")
    return judgments.take(from_numpy(order[codes[order] >= 0]))


def spans_of(query_id: pa.ChunkedArray, query_ids: Sequence[str]) -> np.ndarray:
    """int64[queries, 2]: from and up to which row a column ordered by query has each of them."""
    heads = np.flatnonzero(~repeats(query_id.cast(pa.string())))
    codes = codes_of(query_id.take(from_numpy(heads)), query_ids)
    spans = np.zeros((len(query_ids), 2), np.int64)
    stops = np.append(heads, len(query_id))[1:]
    spans[codes[codes >= 0]] = np.stack([heads, stops], axis=1)[codes >= 0]
    return spans


def _number_documents(
    tables: Sequence[pa.Table], spans: np.ndarray
) -> tuple[list[pa.Array], list[np.ndarray]]:
    """For each query its documents in byte order, and which of them each row names.

    Query by query, because the hash table of one query fits into the processor's cache, and that
    of all of them does not; and so that several processors share the work.
    """
    columns = [one(table["doc_id"].cast(pa.string())) for table in tables]

    def number(query: int) -> tuple[pa.Array, np.ndarray]:
        parts = [
            column.slice(start, stop - start)
            for column, (start, stop) in zip(columns, spans[:, query].tolist(), strict=True)
        ]
        encoded = pa.concat_arrays(parts).dictionary_encode()
        order = pc.array_sort_indices(encoded.dictionary)
        position = np.empty(len(order), np.int64)
        position[to_numpy(order)] = np.arange(len(order))
        return encoded.dictionary.take(order), position[to_numpy(encoded.indices)]

    with ThreadPoolExecutor(pa.cpu_count()) as threads:
        docs, codes = zip(*threads.map(number, range(spans.shape[1])), strict=True)
    return list(docs), list(codes)


def _gather(columns: Sequence[np.ndarray], spans: np.ndarray, dtype: type) -> np.ndarray:
    """The rows of all runs in the order of query and run."""
    parts = [
        column[start:stop]
        for of_query in spans.transpose(1, 0, 2).tolist()
        for column, (start, stop) in zip(columns, of_query, strict=True)
    ]
    return np.concatenate([np.empty(0, dtype), *parts])


def codes_of(values: pa.ChunkedArray, names: Sequence[str]) -> np.ndarray:
    """int32[rows]: the position of each value in `names`; -1 where it is null."""
    if pa.types.is_dictionary(values.type):
        # Only the distinct strings are looked up; the rows follow by their codes.
        encoded = values.combine_chunks()
        codes = codes_of(encoded.dictionary, names)
        return np.where(encoded.is_null(), -1, codes[pc.fill_null(encoded.indices, 0)])
    found = pc.index_in(values.cast(pa.string()), value_set=pa.array(names, pa.string()))
    return pc.fill_null(found, -1).to_numpy(zero_copy_only=False)


def _encode(values: pa.ChunkedArray) -> tuple[np.ndarray, pa.Array]:
    """Codes in byte order of the distinct strings, and these strings."""
    encoded = values.cast(pa.string()).combine_chunks().dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    return position[encoded.indices.to_numpy()], encoded.dictionary.take(pa.array(order))


def _lowest(at: np.ndarray, values: np.ndarray, n: int) -> np.ndarray:
    """int32[n]: the lowest of the values at each place; NEVER where there is none."""
    lowest = np.full(n, NEVER, np.int32)
    np.minimum.at(lowest, at, values)
    return lowest


def _find_holders(
    contributors: Sequence[Contributor],
    pair: np.ndarray,
    rank: np.ndarray,
    run: np.ndarray,
    n_pairs: int,
) -> dict[str, Holders]:
    """Best holder and next best rank of each pair, for each kind that the pooled runs name.

    Args:
        contributors: the runs in byte order of their names.
        pair, rank, run: the rows that the pooled runs returned.
        n_pairs: the number of pairs.
    """
    found = {}
    for kind in KINDS:
        names = [getattr(c, kind) if c.pooled else None for c in contributors]
        known = tuple(sorted({name for name in names if name is not None}))
        if not known:
            continue
        code = np.array([-1 if name is None else known.index(name) for name in names], np.int32)
        by = code[run]
        rows = slice(None) if (by >= 0).all() else by >= 0
        at, ranked, by = pair[rows], rank[rows], by[rows]
        # The lowest of these keys is the best rank, and on equal ranks the first run.
        best = np.full(n_pairs, NOBODY)
        np.minimum.at(best, at, ranked.astype(np.int64) * len(code) + run[rows])
        holder = np.where(best == NOBODY, np.int32(-1), code[best % len(code)])
        others = by != holder[at]
        next_best = _lowest(at[others], ranked[others], n_pairs)
        found[kind] = Holders(known, holder, next_best)
    return found
