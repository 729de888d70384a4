"""Load the real collections for the tests marked `real`; nothing of them is copied here."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa

from poolaudit.pairs import UNJUDGED, Contributor, Pairs, Rankings, build
from poolaudit.reading.runs import read_run

# Reading all of TREC-8 takes a while: every eighth run by default, all of them when this is set.
ALL_RUNS = os.environ.get("POOLAUDIT_ALL_RUNS")


@dataclass(frozen=True)
class Collection:
    """The two tables of a real collection."""

    pairs: Pairs
    rankings: Rankings

    def qrels(self, grades: np.ndarray) -> dict[str, dict[str, int]]:
        """A judgment set as pytrec_eval takes it."""
        docs = self.pairs.doc_id.to_pylist()
        qrels: dict[str, dict[str, int]] = {query: {} for query in self.pairs.query_ids}
        for pair in np.flatnonzero(grades != UNJUDGED):
            query = self.pairs.query_ids[self.pairs.query[pair]]
            qrels[query][docs[pair]] = int(grades[pair])
        return qrels

    def run(self, index: int) -> dict[str, dict[str, float]]:
        """A run as pytrec_eval takes it, with the scores that its file gives."""
        lists, run = self.rankings, {}
        for i in np.flatnonzero(lists.list_run == index):
            rows = slice(lists.offsets[i], lists.offsets[i + 1])
            docs = self.pairs.doc_id.take(pa.array(lists.pair[rows])).to_pylist()
            query = lists.query_ids[lists.list_query[i]]
            run[query] = dict(zip(docs, lists.score[rows].tolist(), strict=True))
        return run


@cache
def dl19_passage(data: Path) -> Collection:
    """TREC DL 2019 passages: the 37 submitted runs and the ten later ones."""
    judgments = data / "irds_home/msmarco-passage/trec-dl-2019/qrels"
    return _load(judgments, [data / "dl19-passage/runs.tsv", data / "dl19-passage/new-runs.tsv"])


def trec8(data: Path) -> Collection:
    """TREC-8 ad hoc: every eighth run, or all 129."""
    return _load(data / "trec8/qrels.txt", [data / "trec8/runs.tsv"], step=1 if ALL_RUNS else 8)


def read_qrels(path: Path) -> pa.Table:
    """TREC judgments as a table."""
    fields = [line.split() for line in path.read_text().splitlines()]
    return pa.table(
        {
            "query_id": [field[0] for field in fields],
            "doc_id": [field[2] for field in fields],
            "relevance": pa.array([int(field[3]) for field in fields], pa.int16()),
        }
    )


def _load(judgments: Path, sheets: list[Path], step: int = 1) -> Collection:
    runs = []
    for sheet in sheets:
        with sheet.open() as lines:
            rows = list(csv.DictReader(lines, delimiter="\t"))
        for row in rows[::step]:
            table = read_run(sheet.parent / row["path"], precision="float32").table
            contributor = Contributor(row["run"], row["pooled"] == "yes", row["group"])
            runs.append((contributor, table))
    return Collection(*build(read_qrels(judgments), runs))
