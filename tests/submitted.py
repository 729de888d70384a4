"""Load all runs of the real collections with what their sheets say, once for all tests."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pyarrow as pa

from poolaudit.pairs import Contributor, Pairs, Rankings, build
from poolaudit.reading.qrels import read_judgments
from poolaudit.reading.runs import read_run


@dataclass(frozen=True)
class Submitted:
    """Judgments, and every run with its table and who made it.

    Attributes:
        judgments: query_id, doc_id, relevance.
        contributors: in the order of the sheets.
        runs: the table of each run.
    """

    judgments: pa.Table
    contributors: tuple[Contributor, ...]
    runs: dict[str, pa.Table]

    @cached_property
    def tables(self) -> tuple[Pairs, Rankings]:
        return build(self.judgments, [(c, self.runs[c.run]) for c in self.contributors])


@cache
def trec8(data: Path) -> Submitted:
    """TREC-8 ad hoc, all 129 runs."""
    return _load(data / "trec8/qrels.txt", data / "trec8/runs.tsv")


@cache
def dl19(data: Path) -> Submitted:
    """TREC DL 2019 passages, the 37 submitted runs and the ten later ones."""
    folder = data / "dl19-passage"
    judgments = data / "irds_home/msmarco-passage/trec-dl-2019/qrels"
    return _load(judgments, folder / "runs.tsv", folder / "new-runs.tsv")


def _load(judgments: Path, *sheets: Path) -> Submitted:
    contributors, runs = [], {}
    for sheet in sheets:
        with sheet.open(encoding="utf-8") as lines:
            for row in csv.DictReader(lines, delimiter="\t"):
                pooled = row["pooled"] == "yes"
                made_by = Contributor(row["run"], pooled, row["group"], None, row.get("type"))
                contributors.append(made_by)
                runs[row["run"]] = read_run(sheet.parent / row["path"], precision="float32").table
    return Submitted(read_judgments(judgments), tuple(contributors), runs)
