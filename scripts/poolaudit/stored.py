"""The two tables in files, in batches of whole queries.

A batch is one row group of each file, so that a stage which needs no more than one query at a time
reads one batch after the other, and one that looks to a certain rank only reads no further. With
one batch, which is what all but very large collections have, nothing differs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from poolaudit.errors import AuditError
from poolaudit.files import replacing
from poolaudit.pairs import (
    NEVER,
    UNJUDGED,
    Holders,
    Pairs,
    Rankings,
    codes_of,
    join,
    join_pairs,
    near,
    near_pairs,
)
from poolaudit.reading.columns import one, to_numpy

# Arrow divides a longer row group without a word.
MOST_ROWS = 2**26


class Writer:
    """Writes both tables, batch by batch in the order of queries; equal tables give equal bytes.

    Columns of pairs: query_id, doc_id, relevance, best_rank, any_best_rank, returned_by, and for
    each kind of contributor `<kind>_holder` and `<kind>_next_best`. Columns of rankings: run,
    query_id, rank, score, pair. The files appear under their names when the block succeeds.
    """

    def __init__(
        self, pairs_path: Path | str, rankings_path: Path | str, query_ids: Sequence[str]
    ) -> None:
        self._paths = pairs_path, rankings_path
        self._queries = list(query_ids)
        self._files: list[pq.ParquetWriter] = []
        self._n_queries = self._n_pairs = 0

    def __enter__(self) -> Writer:
        self._open = ExitStack()
        self._parts = [self._open.enter_context(replacing(path)) for path in self._paths]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.__exit__(kind, error, trace)

    def add(self, pairs: Pairs, rankings: Rankings) -> None:
        """Write the tables of the next queries."""
        tables = self._of_pairs(pairs), self._of_rankings(rankings)
        if not self._files:
            self._files = [
                pq.ParquetWriter(path, table.schema, compression="zstd")
                for path, table in zip(self._parts, tables, strict=True)
            ]
            for file in self._files:
                self._open.callback(file.close)
        for file, table in zip(self._files, tables, strict=True):
            _refuse_division(table)
            file.write_table(table, row_group_size=max(1, table.num_rows))
        self._n_queries += len(pairs.query_ids)
        self._n_pairs += len(pairs)

    def _of_pairs(self, pairs: Pairs) -> pa.Table:
        columns = {
            "query_id": _dictionary(pairs.query + self._n_queries, self._queries),
            "doc_id": pairs.doc_id,
            "relevance": _nullable(pairs.relevance, UNJUDGED),
            "best_rank": _nullable(pairs.best_rank, NEVER),
            "any_best_rank": _nullable(pairs.any_best_rank, NEVER),
            "returned_by": pa.array(pairs.returned_by),
        }
        for kind, holders in pairs.holders.items():
            columns[f"{kind}_holder"] = _dictionary(holders.best, holders.names)
            columns[f"{kind}_next_best"] = _nullable(holders.next_best, NEVER)
        contributors = {kind: list(holders.names) for kind, holders in pairs.holders.items()}
        return _described(columns, queries=self._queries, contributors=contributors)

    def _of_rankings(self, rankings: Rankings) -> pa.Table:
        query = rankings.list_query + self._n_queries
        columns = {
            "run": _dictionary(rankings.list_run[rankings.list_of], rankings.runs),
            "query_id": _dictionary(query[rankings.list_of], self._queries),
            "rank": pa.array(rankings.rank),
            "score": pa.array(rankings.score),
            "pair": pa.array(rankings.pair + np.int32(self._n_pairs)),
        }
        return _described(columns, runs=list(rankings.runs), queries=self._queries)


def _refuse_division(table: pa.Table) -> None:
    if table.num_rows > MOST_ROWS:
        raise AuditError(
            "One query has more documents than a batch can hold.",
            where="the runs together",
            found=f"{table.num_rows:,} rows",
            expected=f"at most {MOST_ROWS:,}, which Parquet keeps in one row group",
            todo="cut the runs to fewer documents",
        )


def _nullable(values: np.ndarray, nothing: int) -> pa.Array:
    return pa.array(values, mask=values == nothing)


def _dictionary(codes: np.ndarray, names: Sequence[str]) -> pa.Array:
    indices = pa.array(codes.astype(np.int32), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(indices, pa.array(names, pa.string()))


def _described(columns: dict[str, pa.Array], **names: object) -> pa.Table:
    """A table that keeps the names its codes point to, also those that no row has."""
    table = pa.table(columns)
    return table.replace_schema_metadata({"names": json.dumps(names, sort_keys=True)})


def write(
    pairs: Pairs, rankings: Rankings, pairs_path: Path | str, rankings_path: Path | str
) -> None:
    """Write whole tables as one batch."""
    with Writer(pairs_path, rankings_path, pairs.query_ids) as tables:
        tables.add(pairs, rankings)


def batches(
    pairs_path: Path | str,
    rankings_path: Path | str,
    to: int | None = None,
    *,
    in_all_lists: bool = False,
) -> Iterator[tuple[Pairs, Rankings]]:
    """Read batch by batch: the tables of some queries, as if there were no others.

    Args:
        pairs_path, rankings_path: what `Writer` wrote.
        to: as in `near`; None for all that is there.
        in_all_lists: as in `near`.
    """
    with pq.ParquetFile(pairs_path) as pairs_file, pq.ParquetFile(rankings_path) as rankings_file:
        groups = pairs_file.num_row_groups, rankings_file.num_row_groups
        if groups[0] != groups[1]:
            raise AuditError(
                "The two tables do not belong together.",
                where=f"{pairs_path} and {rankings_path}",
                found=f"{groups[0]} and {groups[1]} row groups",
                expected="one of each for every batch of queries",
                todo="delete both, and run again",
            )
        first = 0
        for number in range(groups[0]):
            pairs = _pairs(pairs_file, number)
            rankings = _rankings(rankings_file, number, pairs.query_ids, first)
            first += len(pairs)
            if to is None:
                yield pairs, rankings
            else:
                yield near(pairs, rankings, to, in_all_lists=in_all_lists)


def read(
    pairs_path: Path | str,
    rankings_path: Path | str,
    to: int | None = None,
    *,
    in_all_lists: bool = False,
) -> tuple[Pairs, Rankings]:
    """Read the tables of all queries, as far down as `to` (see `near`; None: all of them)."""
    return join(list(batches(pairs_path, rankings_path, to, in_all_lists=in_all_lists)))


def read_pairs(path: Path | str, to: int | None = None) -> Pairs:
    """Read the pairs that `read` reads."""
    with pq.ParquetFile(path) as file:
        parts = [_pairs(file, number) for number in range(file.num_row_groups)]
    return join_pairs([part if to is None else near_pairs(part, to) for part in parts])


def highest_grade(path: Path | str) -> int:
    """The highest grade of any pair."""
    return pc.max(pq.read_table(path, columns=["relevance"])["relevance"]).as_py()


def _pairs(file: pq.ParquetFile, number: int) -> Pairs:
    table, names = _read(file, number)
    queries = _present(table["query_id"], names["queries"])
    return Pairs(
        query_ids=queries,
        query=codes_of(table["query_id"], queries),
        doc_id=one(table["doc_id"]),
        relevance=_filled(table["relevance"], UNJUDGED),
        best_rank=_filled(table["best_rank"], NEVER),
        any_best_rank=_filled(table["any_best_rank"], NEVER),
        returned_by=to_numpy(table["returned_by"]),
        holders={
            kind: Holders(
                names=tuple(contributors),
                best=codes_of(table[f"{kind}_holder"], contributors),
                next_best=_filled(table[f"{kind}_next_best"], NEVER),
            )
            for kind, contributors in names["contributors"].items()
        },
    )


def _rankings(
    file: pq.ParquetFile, number: int, queries: tuple[str, ...], first_pair: int
) -> Rankings:
    table, names = _read(file, number)
    rank = to_numpy(table["rank"])
    starts = np.flatnonzero(rank == 1)
    offsets = np.append(starts, len(rank)).astype(np.int64)
    heads = table.select(["query_id", "run"]).take(pa.array(starts))
    return Rankings(
        runs=tuple(names["runs"]),
        query_ids=queries,
        list_query=codes_of(heads["query_id"], queries),
        list_run=codes_of(heads["run"], names["runs"]),
        length=np.diff(offsets),
        offsets=offsets,
        rank=rank,
        score=to_numpy(table["score"]),
        pair=to_numpy(table["pair"]) - np.int32(first_pair),
    )


def _read(file: pq.ParquetFile, number: int) -> tuple[pa.Table, dict]:
    return file.read_row_group(number), json.loads(file.schema_arrow.metadata[b"names"])


def _present(query_id: pa.ChunkedArray, queries: Sequence[str]) -> tuple[str, ...]:
    """The queries that have rows, in their order: each has a judgment, so each has a pair."""
    found = set(pc.unique(query_id).to_pylist())
    return tuple(query for query in queries if query in found)


def _filled(values: pa.ChunkedArray, nothing: int) -> np.ndarray:
    return to_numpy(pc.fill_null(values, pa.scalar(nothing, values.type)))
