"""Joining runs with judgments, no more rows at a time than memory is to hold.

The runs' tables are ordered by query, so the rows of some consecutive queries are one stretch of
each file, and their join is the same as that part of the join of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from poolaudit.pairs import judged_queries, spans_of
from poolaudit.stretches import stretches


@dataclass(frozen=True)
class Batch:
    """Some consecutive queries: their judgments, and each run's rows of them.

    Attributes:
        query_ids: the queries, in byte order.
        judgments: query_id, doc_id, relevance.
        tables: for each run the columns asked for; rows of queries that nobody judged may be
            among them.
    """

    query_ids: tuple[str, ...]
    judgments: pa.Table
    tables: list[pa.Table]


class Runs:
    """The tables of runs in files, read in batches of queries.

    Attributes:
        query_ids: the judged queries, in byte order.
        answered: for each run the queries that it answered, judged or not.
    """

    def __init__(self, judgments: pa.Table, paths: Sequence[Path | str]) -> None:
        self.query_ids = tuple(judged_queries(judgments))
        self._judgments, self._paths = judgments, list(paths)
        spans, self.answered = [], []
        for path in paths:
            (column,) = pq.read_table(path, columns=["query_id"]).columns
            spans.append(spans_of(column, self.query_ids))
            self.answered.append(pc.unique(column))
        self._spans = np.array(spans).reshape(len(spans), len(self.query_ids), 2)

    def batches(self, columns: Sequence[str], most: int) -> Iterator[Batch]:
        """Read batches of as many queries as have at most `most` rows together, or of one query."""
        rows = (self._spans[:, :, 1] - self._spans[:, :, 0]).sum(axis=0)
        for start, stop in stretches(rows, most):
            query_ids = self.query_ids[start:stop]
            among = pc.is_in(self._judgments["query_id"], value_set=pa.array(query_ids))
            spans = self._spans[:, start:stop]
            yield Batch(
                query_ids=query_ids,
                judgments=self._judgments.filter(among),
                tables=[
                    _rows(path, columns, of_run)
                    for path, of_run in zip(self._paths, spans, strict=True)
                ],
            )


def _rows(path: Path | str, columns: Sequence[str], spans: np.ndarray) -> pa.Table:
    """The rows of a file from the first to the last of some stretches."""
    some = spans[spans[:, 1] > spans[:, 0]]
    start, stop = (some[:, 0].min(), some[:, 1].max()) if len(some) else (0, 0)
    with pq.ParquetFile(path) as file:
        sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
        edges = np.append(0, np.cumsum(sizes))
        groups = np.flatnonzero((edges[:-1] < stop) & (edges[1:] > start)).tolist()
        table = file.read_row_groups(groups, columns=list(columns))
    first = edges[groups[0]] if groups else 0
    return table.slice(start - first, stop - start)
