"""Generated runs and judgments, of any number of runs and queries, written as a collection.

    PYTHONPATH=scripts python benchmarks/generated.py FOLDER --runs 500 --queries 50

Runs come in groups of ten. Each document has a worth, which a run sees through noise of its group
and of its own. The pool of all runs is judged, to depth 100 unless said. The same size gives the
same files.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv


def generate(
    folder: Path,
    n_runs: int,
    n_queries: int,
    length: int = 1000,
    judged_to: int = 100,
    seed: int = 1,
) -> None:
    """Write runs/*.gz, qrels.txt and runs.tsv into the folder."""
    rng = np.random.default_rng(seed)
    n_docs, n_groups = 6 * length, max(2, n_runs // 10)
    doc = np.empty((n_runs, n_queries, length), np.int32)
    score = np.empty((n_runs, n_queries, length), np.float32)
    judged = []
    for query in range(n_queries):
        worth = rng.standard_normal(n_docs, np.float32)
        of_group = rng.standard_normal((n_groups, n_docs), np.float32)
        pool = np.zeros(n_docs, bool)
        for run in range(n_runs):
            seen = worth + of_group[run % n_groups] + rng.standard_normal(n_docs, np.float32)
            top = np.argpartition(-seen, length)[:length]
            top = top[np.argsort(-seen[top])]
            doc[run, query], score[run, query] = top, seen[top]
            pool[top[:judged_to]] = True
        useful = worth + rng.standard_normal(n_docs, np.float32)
        docs = np.flatnonzero(pool)
        judged.append((query, docs, useful[docs] > np.sort(useful)[-100]))
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    _write_runs(folder / "runs", doc, score)
    _write_judgments(folder / "qrels.txt", judged)
    rows = [f"run{i:03}\truns/run{i:03}.gz\tgroup{i % n_groups:02}\tyes\n" for i in range(n_runs)]
    (folder / "runs.tsv").write_text("run\tpath\tgroup\tpooled\n" + "".join(rows))


def _write_runs(folder: Path, doc: np.ndarray, score: np.ndarray) -> None:
    _, n_queries, length = doc.shape
    query = np.repeat(np.arange(1, 1 + n_queries), length)
    rank = np.tile(np.arange(1, 1 + length), n_queries)
    for i in range(len(doc)):
        columns = [query, np.full(len(query), 0), doc[i].ravel(), rank, score[i].ravel()]
        table = pa.table([pa.array(c) for c in columns], names=["q", "zero", "d", "rank", "score"])
        # Ids as long as those of MS MARCO.
        table = table.set_column(2, "d", _ids(table["d"], table["q"]))
        _write(
            folder / f"run{i:03}.gz",
            table.append_column("tag", pa.array([f"run{i:03}"] * len(query))),
        )


def _ids(doc: pa.ChunkedArray, query: pa.ChunkedArray) -> pa.Array:
    return pa.array(1_000_000 + 7919 * (query.to_numpy() % 997) + doc.to_numpy())


def _write_judgments(path: Path, judged: list) -> None:
    query = pa.array(np.concatenate([np.full(len(docs), 1 + q) for q, docs, _ in judged]))
    doc = pa.array(np.concatenate([docs for _, docs, _ in judged]).astype(np.int32))
    grade = pa.array(np.concatenate([grades for *_, grades in judged]).astype(np.int8))
    doc = _ids(pa.chunked_array([doc]), pa.chunked_array([query]))
    zero = pa.array(np.zeros(len(query), np.int8))
    _write(path, pa.table([query, zero, doc, grade], names=["q", "zero", "d", "grade"]))


def _write(path: Path, table: pa.Table) -> None:
    options = csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    compression = "gzip" if path.suffix == ".gz" else None
    with pa.output_stream(path, compression=compression) as file:
        csv.write_csv(table, file, options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--length", type=int, default=1000)
    parser.add_argument("--judged-to", type=int, default=100)
    chosen = parser.parse_args()
    generate(chosen.folder, chosen.runs, chosen.queries, chosen.length, chosen.judged_to)


if __name__ == "__main__":
    main()
