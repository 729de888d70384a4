"""A copy of the project with a collection so small that its audit takes little time."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from workflow import ROOT

QUERIES = ["q1", "q2", "q3"]
COLLECTION = """\
title: Small runs
judgments:
  file: key.qrels
  topics: topics.tsv
  documents: documents.tsv
  truth: truth.qrels
  routes: routes.tsv
  sparse_labels: sparse.qrels
runs: runs.tsv
measures: [nDCG@10, AP]
policies: [nonrelevant, condense]
pool: {depth: 3, depths: [2, 3]}
tail: {beyond: 2, depth: 6, size: 10, draws: 2}
"""


def lists(run: int) -> str:
    """A run: eight of twelve documents a query, the first of them given by the run's number."""
    return "".join(
        f"{query} Q0 d{(run + 5 * place) % 12:02} {place + 1} {9 - place} tag\n"
        for query in QUERIES
        for place in range(8)
    )


def grades(depth: int) -> str:
    """Judgments of the documents that the first 30 runs put above a depth."""
    found = {(run + 5 * place) % 12 for run in range(0, 30, 4) for place in range(depth)}
    return "".join(f"{q} 0 d{doc:02} {doc % 3 % 2}\n" for q in QUERIES for doc in sorted(found))


def sheet(runs: Iterable[str]) -> str:
    """A run sheet: five groups of two families; the last ten runs were not pooled."""
    rows = [
        f"{run}\truns/{run}\tg{int(run[3:]) % 5}\tf{int(run[3:]) % 5 // 3}\t"
        f"{'yes' if int(run[3:]) < 30 else 'no'}\n"
        for run in runs
    ]
    return "run\tpath\tgroup\tfamily\tpooled\n" + "".join(rows)


def project(folder: Path, runs: Sequence[str]) -> Path:
    """The project with a collection of small runs, in a folder of its own."""
    for name in ("workflow", "scripts", "config"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("environment.yml", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    (folder / "config" / "config.yaml").write_text("collection: small.yaml\n")
    (folder / "small.yaml").write_text(COLLECTION)
    (folder / "runs.tsv").write_text(sheet(runs))
    (folder / "runs").mkdir()
    for run in runs:
        (folder / "runs" / run).write_text(lists(int(run[3:])))
    (folder / "key.qrels").write_text(grades(3))
    (folder / "truth.qrels").write_text(grades(8))
    (folder / "sparse.qrels").write_text("q1 0 d00 1\nq2 0 d04 1\nq3 0 d05 1\n")
    (folder / "topics.tsv").write_text("".join(f"{query}\tsome words\n" for query in QUERIES))
    texts = "".join(f"d{doc:02}\tsome words of text {doc}\n" for doc in range(12))
    (folder / "documents.tsv").write_text("doc_id\ttext\n" + texts)
    (folder / "routes.tsv").write_text("query_id\tdoc_id\troute\nq1\td00\tsearch\n")
    return folder
