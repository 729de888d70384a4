"""What removal costs, beside a full evaluation and beside pytrec_eval.

    PYTHONPATH=scripts python benchmarks/bench_removal.py            generated runs
    PYTHONPATH=scripts python benchmarks/bench_removal.py --trec8    TREC-8, from POOLAUDIT_DATA

Both sides of each ratio are timed in the same process, one after the other, in CPU seconds.
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import time
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from poolaudit import stored
from poolaudit.pairs import UNJUDGED, Contributor, Pairs, Rankings, build
from poolaudit.reading.qrels import read_judgments
from poolaudit.reading.runs import read_run
from poolaudit.removal.leave_out import leave_out_uniques, uniques
from poolaudit.scores.lists import judged_lists
from poolaudit.scores.policies import evaluate

MEASURES = ("nDCG@10", "AP", "RR", "P@10", "R@1000", "Bpref")
PEER = ("ndcg_cut_10", "map", "recip_rank", "P_10", "recall_1000", "bpref")
DEPTHS = (5, 10, 20, 50, 100)


def generate(n_runs: int, n_queries: int, length: int, seed: int = 1) -> tuple:
    """Runs of groups of ten: a document's worth, seen through noise of the group and of the run."""
    rng = np.random.default_rng(seed)
    n_docs, n_groups = 6 * length, n_runs // 10
    contributors = [
        Contributor(f"run{i:03}", True, f"group{i % n_groups:02}") for i in range(n_runs)
    ]
    tables: list[list] = [[] for _ in contributors]
    judged = []
    for query in range(n_queries):
        worth = rng.normal(size=n_docs)
        of_group = rng.normal(size=(n_groups, n_docs))
        pool = np.zeros(n_docs, bool)
        for i, rows in enumerate(tables):
            score = worth + of_group[i % n_groups] + 0.7 * rng.normal(size=n_docs)
            top = np.argpartition(-score, length)[:length]
            top = top[np.argsort(-score[top])]
            pool[top[: max(DEPTHS)]] = True
            rows.append((query, top, score[top]))
        usefulness = worth + rng.normal(size=n_docs)
        relevant = usefulness > np.sort(usefulness)[-100]
        docs = np.flatnonzero(pool)
        judged.append((query, docs, relevant[docs].astype(np.int16)))
    rank = np.arange(1, length + 1, dtype=np.int32)
    runs = [
        (contributor, _table(rows, rank=[rank] * n_queries))
        for contributor, rows in zip(contributors, tables, strict=True)
    ]
    return *build(_table(judged, "relevance"), runs), contributors


def generate_apart(*size: int) -> tuple[Pairs, Rankings, list[Contributor]]:
    """Generate in a process of its own, so that its memory is not counted here."""
    with TemporaryDirectory() as folder:
        paths = Path(folder) / "pairs.parquet", Path(folder) / "rankings.parquet"
        process = get_context("spawn").Process(target=_generate_into, args=(size, paths))
        process.start()
        process.join()
        pairs, rankings = stored.read(*paths)
    names = pairs.holders["run"].names
    return pairs, rankings, [Contributor(name, True) for name in names]


def _generate_into(size: tuple[int, ...], paths: tuple[Path, Path]) -> None:
    pairs, rankings, _ = generate(*size)
    stored.write(pairs, rankings, *paths)


def _table(rows: list, value: str = "score", **more: list) -> pa.Table:
    query = np.concatenate([np.full(len(docs), query) for query, docs, _ in rows])
    doc = np.concatenate([docs for _, docs, _ in rows])
    columns = {
        "query_id": pa.array(query).cast(pa.string()),
        "doc_id": pa.array(doc).cast(pa.string()),
        value: np.concatenate([values for *_, values in rows]),
    }
    columns |= {name: np.concatenate(parts) for name, parts in more.items()}
    return pa.table(columns)


def timed(work: Callable, repeats: int = 1) -> float:
    """CPU seconds of the fastest of some repeats: other programs on the machine count less."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def against_full_evaluations(pairs: Pairs, rankings: Rankings, contributors: list) -> None:
    """Leaving every run out at one depth, in units of one evaluation of all runs."""
    for depth in (10, 100):
        grades = pairs.grades(depth)

        def full(grades: np.ndarray = grades) -> None:
            evaluate(judged_lists(pairs, rankings, grades), grades, MEASURES)

        def remove(ranks: bool, depth: int = depth) -> None:
            leave_out_uniques(
                pairs, rankings, contributors, MEASURES, depths=[depth], kinds=["run"], ranks=ranks
            )

        once = timed(full, 5)
        own = timed(partial(remove, ranks=False), 3)
        ranked = timed(partial(remove, ranks=True))
        print(
            f"depth {depth}: one evaluation of all runs {once:.2f} s; each run without its own"
            f" documents {own:.2f} s = {own / once:.1f} evaluations;"
            f" with the ranks of all runs {ranked:.2f} s = {ranked / once:.1f}"
        )
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB")


def against_pytrec_eval(data: Path, n_sampled: int) -> None:
    """All runs and groups of TREC-8 at five depths, ranks of all runs, six measures.

    pytrec_eval scores every run under each reduced judgment set, written out as the dictionary that
    it reads. A few of these sets are timed and stand for all of them; making the dictionaries of
    the runs is not timed.
    """
    import pytrec_eval

    pairs, rankings, contributors = load_trec8(data)
    kinds = ["run", "group"]

    def remove() -> None:
        leave_out_uniques(
            pairs, rankings, contributors, MEASURES, depths=DEPTHS, kinds=kinds, ranks=True
        )

    ours = timed(remove)
    runs = run_dictionaries(pairs, rankings)
    sets = [
        (depth, kind, owner)
        for depth in DEPTHS
        for kind in kinds
        for owner in range(len(pairs.holders[kind].names))
    ]
    sampled = np.random.default_rng(1).choice(len(sets), n_sampled, replace=False)

    def score() -> None:
        for at in sampled:
            depth, kind, owner = sets[at]
            evaluator = pytrec_eval.RelevanceEvaluator(
                reduced_qrels(pairs, kind, owner, depth), set(PEER)
            )
            for run in runs.values():
                evaluator.evaluate(run)

    peer = timed(score) * len(sets) / n_sampled
    print(
        f"{len(sets)} reduced judgment sets, {len(runs)} runs, {len(MEASURES)} measures: "
        f"{ours:.1f} s; pytrec_eval {peer:.0f} s (from {n_sampled} of the sets): "
        f"{peer / ours:.0f} times as long"
    )


def load_trec8(data: Path) -> tuple[Pairs, Rankings, list[Contributor]]:
    folder = data / "trec8"
    with (folder / "runs.tsv").open(encoding="utf-8") as sheet:
        rows = list(csv.DictReader(sheet, delimiter="\t"))
    contributors = [
        Contributor(row["run"], row["pooled"] == "yes", row["group"], None, row["type"])
        for row in rows
    ]
    runs = [
        (contributor, read_run(folder / row["path"], precision="float32").table)
        for contributor, row in zip(contributors, rows, strict=True)
    ]
    judgments = read_judgments(folder / "qrels.txt")
    return *build(judgments, runs), contributors


def run_dictionaries(pairs: Pairs, rankings: Rankings) -> dict[str, dict[str, dict[str, float]]]:
    """Every run as pytrec_eval reads it, with scores that fall with the rank."""
    docs = pairs.doc_id.to_pylist()
    runs: dict[str, dict] = {run: {} for run in rankings.runs}
    for i in range(len(rankings.list_run)):
        rows = slice(rankings.offsets[i], rankings.offsets[i + 1])
        names = [docs[pair] for pair in rankings.pair[rows]]
        scores = map(float, range(len(names), 0, -1))
        query = rankings.query_ids[rankings.list_query[i]]
        runs[rankings.runs[rankings.list_run[i]]][query] = dict(zip(names, scores, strict=True))
    return runs


def reduced_qrels(pairs: Pairs, kind: str, owner: int, depth: int) -> dict[str, dict[str, int]]:
    """The judgments of a depth-`depth` campaign without what only one contributor brought."""
    removed = uniques(pairs, kind, depth)
    grades = pairs.grades(depth).copy()
    grades[removed.pair[removed.owner == owner]] = UNJUDGED
    kept = np.flatnonzero(grades != UNJUDGED)
    qrels: dict[str, dict[str, int]] = {query: {} for query in pairs.query_ids}
    for query, doc, grade in zip(
        pairs.query[kept], pairs.doc_id.take(kept).to_pylist(), grades[kept].tolist(), strict=True
    ):
        qrels[pairs.query_ids[query]][doc] = grade
    return qrels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trec8", action="store_true", help="TREC-8 beside pytrec_eval")
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--length", type=int, default=1000)
    parser.add_argument("--sampled", type=int, default=6, help="judgment sets pytrec_eval scores")
    chosen = parser.parse_args()
    if chosen.trec8:
        default = Path(__file__).resolve().parents[2] / "shared" / "data"
        against_pytrec_eval(Path(os.environ.get("POOLAUDIT_DATA", default)), chosen.sampled)
    else:
        against_full_evaluations(*generate_apart(chosen.runs, chosen.queries, chosen.length))


if __name__ == "__main__":
    main()
