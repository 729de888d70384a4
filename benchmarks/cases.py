"""What the benchmarks time: each case is one tool doing one task, in a process of its own.

    PYTHONPATH=scripts python benchmarks/cases.py TASK TOOL QRELS SHEET [RUNS]

Prints wall and processor seconds of the work as JSON, without imports and a first small turn.
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

DEPTHS = (5, 10, 20, 50, 100)
POLICIES = ("nonrelevant", "condense", "restrict")
MEASURES = ("nDCG@10", "AP", "RR", "P@10", "R@1000", "Bpref")
OF_PYTREC_EVAL = {"ndcg_cut_10", "map", "recip_rank", "P_10", "recall_1000", "bpref"}
OF_RANX = ("ndcg_burges@10", "map", "mrr", "precision@10", "recall@1000", "bpref")


@dataclass(frozen=True)
class Collection:
    """Judgments, and the rows of a run sheet with their paths."""

    qrels: Path
    rows: list[dict[str, str]]


def read_collection(qrels: str, sheet: str, most: int | None) -> Collection:
    with Path(sheet).open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))[:most]
    for row in rows:
        row["path"] = str(Path(sheet).parent / row["path"])
    return Collection(Path(qrels), rows)


def reading_with_poolaudit(collection: Collection) -> Callable:
    from poolaudit.reading.runs import read_run

    return lambda: [read_run(row["path"], precision="float32") for row in collection.rows]


def reading_with_pytrec_eval(collection: Collection) -> Callable:
    import pytrec_eval

    def work() -> None:
        for row in collection.rows:
            with gzip.open(row["path"], "rt") as file:
                pytrec_eval.parse_run(file)

    return work


def reading_with_ir_measures(collection: Collection) -> Callable:
    import ir_measures

    def work() -> None:
        for row in collection.rows:
            with gzip.open(row["path"], "rt") as file:
                list(ir_measures.read_trec_run(file))

    return work


def reading_with_ranx(collection: Collection) -> Callable:
    return lambda: [_ranx_run(row["path"]) for row in collection.rows]


def _ranx_run(path: str) -> object:
    """ranx reads no compressed TREC files."""
    from ranx import Run

    with tempfile.NamedTemporaryFile(suffix=".trec") as plain:
        plain.write(gzip.decompress(Path(path).read_bytes()))
        plain.flush()
        return Run.from_file(plain.name, kind="trec")


def reading_with_trectools(collection: Collection) -> Callable:
    from trectools import TrecRun

    return lambda: [TrecRun(row["path"]) for row in collection.rows]


def evaluation_with_poolaudit(collection: Collection) -> Callable:
    from poolaudit.scores.lists import judged_lists
    from poolaudit.scores.policies import evaluate

    tables = tables_of(collection)

    def work() -> None:
        pairs, rankings = tables()
        evaluate(judged_lists(pairs, rankings), pairs.grades(), MEASURES)

    return work


def evaluation_with_pytrec_eval(collection: Collection) -> Callable:
    import pytrec_eval

    def work() -> None:
        with collection.qrels.open() as file:
            evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(file), OF_PYTREC_EVAL)
        for row in collection.rows:
            with gzip.open(row["path"], "rt") as file:
                evaluator.evaluate(pytrec_eval.parse_run(file))

    return work


def evaluation_with_ir_measures(collection: Collection) -> Callable:
    import ir_measures

    def work() -> None:
        qrels = list(ir_measures.read_trec_qrels(str(collection.qrels)))
        measures = [ir_measures.parse_measure(name) for name in MEASURES]
        evaluator = ir_measures.evaluator(measures, qrels)
        for row in collection.rows:
            with gzip.open(row["path"], "rt") as file:
                list(evaluator.iter_calc(ir_measures.read_trec_run(file)))

    return work


def evaluation_with_ranx(collection: Collection) -> Callable:
    from ranx import Qrels, evaluate

    def work() -> None:
        qrels = Qrels.from_file(str(collection.qrels), kind="trec")
        for row in collection.rows:
            evaluate(qrels, _ranx_run(row["path"]), list(OF_RANX), make_comparable=True)

    return work


def evaluation_with_trectools(collection: Collection) -> Callable:
    from trectools import TrecEval, TrecQrel, TrecRun

    def work() -> None:
        qrels = TrecQrel(str(collection.qrels))
        for row in collection.rows:
            scores = TrecEval(TrecRun(row["path"]), qrels)
            scores.get_ndcg(depth=10)
            scores.get_map()
            scores.get_reciprocal_rank()
            scores.get_precision(depth=10)
            scores.get_recall(depth=1000)
            scores.get_bpref()

    return work


def pools_with_poolaudit(collection: Collection) -> Callable:
    tables = tables_of(collection)

    def work() -> None:
        pairs, _ = tables()
        for depth in DEPTHS:
            pairs.grades(depth)

    return work


def pools_with_trectools(collection: Collection) -> Callable:
    from trectools import TrecPoolMaker, TrecRun

    def work() -> None:
        runs = [TrecRun(row["path"]) for row in collection.rows]
        for depth in DEPTHS:
            TrecPoolMaker().make_pool(runs, strategy="topX", topX=depth)

    return work


def audit_with_poolaudit(collection: Collection) -> Callable:
    """All that plain_pytrec_eval.py computes, and the ranks of nobody."""
    from poolaudit.pairs import near
    from poolaudit.removal.leave_out import leave_out_uniques
    from poolaudit.scores.lists import judged_lists
    from poolaudit.scores.policies import evaluate_policies

    tables = tables_of(collection)

    def work() -> None:
        pairs, rankings = near(*tables(), to=0)
        lists = judged_lists(pairs, rankings)
        for depth in (*DEPTHS, None):
            evaluate_policies(lists, pairs.grades(depth), MEASURES, POLICIES)
        leave_out_uniques(
            pairs,
            rankings,
            _contributors(collection),
            MEASURES,
            depths=DEPTHS,
            kinds=("run", "group"),
            ranks=False,
        )

    return work


def audit_with_pytrec_eval(collection: Collection) -> Callable:
    import plain_pytrec_eval as plain

    def work() -> None:
        with collection.qrels.open() as file:
            qrels = plain.pytrec_eval.parse_qrel(file)
        plain.numbers(qrels, collection.rows)

    return work


def tables_of(collection: Collection) -> Callable:
    """Read all files from text, and join them."""
    from poolaudit.pairs import build
    from poolaudit.reading.qrels import read_judgments
    from poolaudit.reading.runs import read_run

    def work() -> tuple:
        with ThreadPoolExecutor() as threads:
            paths = [row["path"] for row in collection.rows]
            runs = threads.map(lambda path: read_run(path, precision="float32").table, paths)
            judgments = read_judgments(collection.qrels)
            return build(judgments, zip(_contributors(collection), runs, strict=True))

    return work


def _contributors(collection: Collection) -> list:
    from poolaudit.pairs import Contributor

    return [
        Contributor(row["run"], row["pooled"] == "yes", row["group"]) for row in collection.rows
    ]


CASES: dict[str, dict[str, Callable[[Collection], Callable]]] = {
    "reading": {
        "poolaudit": reading_with_poolaudit,
        "pytrec_eval": reading_with_pytrec_eval,
        "ir_measures": reading_with_ir_measures,
        "ranx": reading_with_ranx,
        "trectools": reading_with_trectools,
    },
    "evaluation": {
        "poolaudit": evaluation_with_poolaudit,
        "pytrec_eval": evaluation_with_pytrec_eval,
        "ir_measures": evaluation_with_ir_measures,
        "ranx": evaluation_with_ranx,
        "trectools": evaluation_with_trectools,
    },
    "pools": {"poolaudit": pools_with_poolaudit, "trectools": pools_with_trectools},
    "audit": {"poolaudit": audit_with_poolaudit, "pytrec_eval": audit_with_pytrec_eval},
}


def main(task: str, tool: str, qrels: str, sheet: str, most: str = "") -> None:
    collection = read_collection(qrels, sheet, int(most) if most else None)
    # Once for two runs, so that what is compiled or loaded at first use is not counted.
    pooled = [row for row in collection.rows if row["pooled"] == "yes"]
    CASES[task][tool](Collection(collection.qrels, [pooled[0], pooled[-1]]))()
    work = CASES[task][tool](collection)
    wall, processor = time.perf_counter(), time.process_time()
    work()
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    print(json.dumps({"wall": wall, "processor": processor}))


if __name__ == "__main__":
    main(*sys.argv[1:])
