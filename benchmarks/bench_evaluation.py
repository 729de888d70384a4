"""What the scores of TREC-8 cost, beside pytrec_eval and, where it is installed, trec_eval.

    PYTHONPATH=scripts python benchmarks/bench_evaluation.py [--runs N]

Six measures under three policies, on the judgments at depths 5, 10, 20, 50, 100 and in full, for
every run and query. pytrec_eval has no counterpart to the `restrict` policy, so it computes two
thirds of these numbers: its evaluate calls alone are counted, without the time to make its
dictionaries and evaluators. Both sides of each ratio are timed in one process, one after the other,
in seconds of the processor, of all threads together.
The real runs are read from POOLAUDIT_DATA (default ../shared/data).
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytrec_eval

from poolaudit import stored
from poolaudit.pairs import UNJUDGED, Contributor, Pairs, Rankings, build
from poolaudit.reading.qrels import read_judgments
from poolaudit.reading.runs import read_run
from poolaudit.scores.bounds import bounds
from poolaudit.scores.lists import judged_lists
from poolaudit.scores.policies import evaluate_policies

MEASURES = {
    "nDCG@10": "ndcg_cut_10",
    "AP": "map",
    "RR": "recip_rank",
    "P@10": "P_10",
    "R@1000": "recall_1000",
    "Bpref": "bpref",
}
POLICIES = ("nonrelevant", "condense", "restrict")
DEPTHS = (5, 10, 20, 50, 100, None)
STEPS = ("reading judgments and runs", "building the two tables")
TREC8 = Path(os.environ.get("POOLAUDIT_DATA", "../shared/data")) / "trec8"

seconds: dict[str, float] = {}


@contextmanager
def timed(name: str) -> Iterator[None]:
    start = time.process_time()
    yield
    seconds[name] = seconds.get(name, 0) + time.process_time() - start


def sheet(most: int | None) -> list[dict[str, str]]:
    with (TREC8 / "runs.tsv").open() as lines:
        return list(csv.DictReader(lines, delimiter="\t"))[:most]


def from_text(rows: list[dict[str, str]]) -> tuple[Pairs, Rankings]:
    with timed(f"poolaudit: {STEPS[0]}"):
        judgments = read_judgments(TREC8 / "qrels.txt")
        tables = [read_run(TREC8 / row["path"], precision="float32").table for row in rows]
    contributors = [
        Contributor(row["run"], row["pooled"] == "yes", row["group"], type=row["type"])
        for row in rows
    ]
    with timed(f"poolaudit: {STEPS[1]}"):
        return build(judgments, zip(contributors, tables, strict=True))


def all_scores(pairs: Pairs, rankings: Rankings) -> dict:
    lists = judged_lists(pairs, rankings)
    return {
        depth: evaluate_policies(lists, pairs.grades(depth), MEASURES, POLICIES) for depth in DEPTHS
    }


def qrels_at(pairs: Pairs, depth: int | None) -> dict[str, dict[str, int]]:
    docs = pairs.doc_id.to_pylist()
    qrels: dict[str, dict[str, int]] = {query: {} for query in pairs.query_ids}
    grades = pairs.grades(depth)
    for pair in np.flatnonzero(grades != UNJUDGED).tolist():
        qrels[pairs.query_ids[pairs.query[pair]]][docs[pair]] = int(grades[pair])
    return qrels


def peer(rows: list[dict[str, str]], pairs: Pairs, scores: dict) -> None:
    """Parse and evaluate every run with pytrec_eval, and compare each value."""
    names = list(MEASURES.values())
    evaluators = {
        (depth, policy): pytrec_eval.RelevanceEvaluator(
            qrels_at(pairs, depth), set(names), judged_docs_only_flag=policy == "condense"
        )
        for depth in DEPTHS
        for policy in POLICIES[:2]
    }
    order = {row["run"]: index for index, row in enumerate(sorted(rows, key=lambda r: r["run"]))}
    different = compared = 0
    for row in rows:
        with timed("pytrec_eval: parsing runs"), gzip.open(TREC8 / row["path"], "rt") as lines:
            run = pytrec_eval.parse_run(lines)
        for (depth, policy), evaluator in evaluators.items():
            with timed("pytrec_eval: evaluate calls"):
                found = evaluator.evaluate(run)
            ours = scores[depth][POLICIES.index(policy)].values[:, order[row["run"]]]
            theirs = np.array(
                [[found.get(query, {}).get(name, 0) for query in pairs.query_ids] for name in names]
            )
            different += (ours != theirs).sum()
            compared += theirs.size
    print(f"values compared with pytrec_eval: {compared}, different: {different}")


def program(rows: list[dict[str, str]], pairs: Pairs) -> None:
    """trec_eval itself, once a run, depth and policy."""
    command = shutil.which("trec_eval")
    if not command:
        print("trec_eval is not installed: its ratio is left out")
        return
    wanted = [f"-m{name.replace('_cut_', '_cut.')}" for name in MEASURES.values()]
    with tempfile.TemporaryDirectory() as folder:
        for depth in DEPTHS:
            qrels = Path(folder) / f"{depth}.qrels"
            qrels.write_text(
                "".join(
                    f"{query} 0 {doc} {grade}\n"
                    for query, docs in qrels_at(pairs, depth).items()
                    for doc, grade in docs.items()
                )
            )
        for row in rows:
            run = Path(folder) / "run"
            run.write_bytes(gzip.decompress((TREC8 / row["path"]).read_bytes()))
            for depth in DEPTHS:
                for flag in ([], ["-J"]):
                    arguments = [command, "-q", *flag, *wanted, f"{folder}/{depth}.qrels", str(run)]
                    with timed("trec_eval: the program"):
                        subprocess.run(arguments, check=True, capture_output=True)


def peak_memory(pairs: Pairs, rankings: Rankings) -> float:
    """Gigabytes of a process that reads the two tables and computes all the numbers."""
    with tempfile.TemporaryDirectory() as folder:
        files = [f"{folder}/pairs.parquet", f"{folder}/rankings.parquet"]
        stored.write(pairs, rankings, *files)
        child = os.fork()
        if not child:
            os.execlp("python", "python", __file__, "--tables", *files)
        *_, usage = os.wait4(child, 0)
    return usage.ru_maxrss / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, help="only the first N runs")
    parser.add_argument("--tables", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.tables:
        all_scores(*stored.read(*arguments.tables))
        return
    rows = sheet(arguments.runs)
    pairs, rankings = from_text(rows)
    with timed("poolaudit: all scores"):
        scores = all_scores(pairs, rankings)
    with timed("poolaudit: bounds of six measures"):
        bounds(pairs, rankings, MEASURES)
    peer(rows, pairs, scores)
    program(rows, pairs)
    for name, spent in seconds.items():
        print(f"{spent:8.2f} s  {name}")
    ours, theirs = seconds["poolaudit: all scores"], seconds["pytrec_eval: evaluate calls"]
    text = ours + sum(seconds[f"poolaudit: {step}"] for step in STEPS)
    print(f"{theirs / ours:8.1f} x  less time from the tables in memory than evaluate calls")
    theirs += seconds["pytrec_eval: parsing runs"]
    print(f"{theirs / text:8.1f} x  less time from text than pytrec_eval")
    if "trec_eval: the program" in seconds:
        print(f"{seconds['trec_eval: the program'] / text:8.1f} x  less time than trec_eval")
    print(f"{peak_memory(pairs, rankings):8.2f} GB peak of a process that computes all the scores")
    print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:8.2f} GB peak of this one")


if __name__ == "__main__":
    main()
