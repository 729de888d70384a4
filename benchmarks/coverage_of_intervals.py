"""How often the interval for the total of the tail holds the truth, in cases with a known truth.

    PYTHONPATH=scripts python benchmarks/coverage_of_intervals.py [--draws 1000] [--cases ...]

Cases: the demo (its unjudged documents), DL 2019 beyond depth 10 at levels 1 and 2, TREC-8 beyond
depth 10, one relevant document in 2,000, and none. Each is drawn at equal fractions (the strata of
the workflow, in proportion) and at unequal ones (four strata of unlike size, the same number of
documents from each). Beside the coverage at nominal 95%: the bias of the estimate, the mean width
of the interval and of the sum of the strata's own 95% intervals, and the coverage of the normal
approximation.

Ends of the intervals at unequal fractions take seconds each; their width is the mean over the first
WIDTHS draws. The real runs are read from POOLAUDIT_DATA (default ../shared/data).
"""

from __future__ import annotations

import argparse
import csv
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from poolaudit.campaign import corpus, simulation
from poolaudit.pairs import Contributor, Pairs, Rankings, build
from poolaudit.reading.qrels import read_judgments
from poolaudit.reading.runs import read_run
from poolaudit.tail import calibration, intervals, sampling

DATA = Path(os.environ.get("POOLAUDIT_DATA", "../shared/data"))
SIZE = 200
SEED = 2019
WIDTHS = 50
BANDS = (0.1, 0.3, 0.6)
STRATA = len(BANDS) + 1


@dataclass(frozen=True)
class Case:
    """A population with its strata and the relevant documents of each, for one level."""

    name: str
    equal: sampling.Frame
    relevant: np.ndarray
    unequal_held: np.ndarray
    unequal_relevant: np.ndarray


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--cases", nargs="*", choices=CASES, default=list(CASES))
    chosen = parser.parse_args()
    rows = []
    for name in chosen.cases:
        for case in CASES[name]():
            rows += [equal(case, chosen.draws), unequal(case, chosen.draws)]
            print(pd.DataFrame(rows[-2:]).round(3).to_string(index=False), flush=True)
    print("\n" + pd.DataFrame(rows).round(3).to_string(index=False))


def equal(case: Case, draws: int) -> dict:
    """The workflow's design: all strata at one fraction."""
    table = calibration.calibrate(
        case.equal, case.relevant[None], [1], draws=draws, seed=SEED
    ).iloc[0]
    rng = np.random.default_rng(SEED)
    held = case.equal.strata["population"].to_numpy()
    sampled = sampling.allocate(case.equal, rng, draws)
    found = rng.hypergeometric(case.relevant, held - case.relevant, sampled)
    return report(case.name, "equal", table, normal(held, sampled, found, table["relevant"]))


def unequal(case: Case, draws: int) -> dict:
    """The same number of documents from each of a few strata of unlike size."""
    rng = np.random.default_rng(SEED)
    held, relevant = case.unequal_held, case.unequal_relevant
    size = np.minimum(SIZE // STRATA, held)
    found = rng.hypergeometric(relevant, held - relevant, size, (draws, len(held)))
    truth = int(relevant.sum())
    samples, place = np.unique(found, axis=0, return_inverse=True)
    inside = [intervals.holds(held, size, sample, truth) for sample in samples]
    ends = np.array([intervals.weighted(held, size, sample)[:2] for sample in found[:WIDTHS]])
    sampled = np.broadcast_to(size, found.shape)
    # The ends that were not worked out stand for "holds" and "does not hold".
    low, high = np.zeros(draws, np.int64), np.where(np.array(inside)[place.ravel()], truth, -1)
    table = calibration.compare(held, sampled, found, truth, low, high, 0.05)
    table["mean_width"] = (ends[:, 1] - ends[:, 0]).mean()
    return report(case.name, "unequal", table, normal(held, sampled, found, truth))


def normal(held: np.ndarray, sampled: np.ndarray, found: np.ndarray, truth: int) -> float:
    """The coverage of estimate +- 1.96 standard errors."""
    share = found / sampled
    variance = held**2 * (1 - sampled / held) * share * (1 - share) / np.maximum(1, sampled - 1)
    off = np.abs((held * share).sum(axis=1) - truth)
    return float((off <= 1.96 * np.sqrt(variance.sum(axis=1))).mean())


def report(name: str, fractions: str, table, normal_coverage: float) -> dict:
    return {
        "case": name,
        "fractions": fractions,
        "relevant": table["relevant"],
        "bias": table["bias"],
        "bias_error": table["bias_error"],
        "coverage": table["coverage"],
        "coverage_error": table["coverage_error"],
        "width": table["mean_width"],
        "width_of_sums": table["mean_width_of_sums"],
        "normal_coverage": normal_coverage,
    }


def of_tail(
    name: str, pairs: Pairs, rows: np.ndarray, grades: np.ndarray, levels
) -> Iterator[Case]:
    """The cases of one population, at each level."""
    frame = sampling.stratify(pairs, rows, SIZE)
    best_rank = pairs.any_best_rank[rows]
    band = np.searchsorted(np.quantile(best_rank, BANDS), best_rank)
    for level in levels:
        good = grades[rows] >= level
        yield Case(
            f"{name}, level {level}",
            frame,
            frame.count(grades, [level])[0],
            np.bincount(band, minlength=STRATA),
            np.bincount(band[good], minlength=STRATA),
        )


def demo() -> Iterator[Case]:
    content = yaml.safe_load(Path("config/campaign.yaml").read_text())
    simulated = simulation.simulate(corpus.settings_from(content, "config/campaign.yaml"))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        simulation.write(simulated, root)
        runs = [
            (Contributor(run.name, "demo" in run.pools, run.group, run.family), root / run.path)
            for run in simulation.RUNS
        ]
        pairs, _ = read_tables(root / "judgments-demo.qrels", runs)
        truth = pairs.grades_of(read_judgments(root / "truth.qrels"), default=0)
    yield from of_tail(
        "demo", pairs, sampling.population(pairs, pairs.relevance, 100), truth, [1, 2]
    )


def dl19() -> Iterator[Case]:
    pairs, _ = read_tables(
        DATA / "irds_home/msmarco-passage/trec-dl-2019/qrels", sheet(DATA / "dl19-passage/runs.tsv")
    )
    rows = calibration.held_back(pairs, 10)
    yield from of_tail("DL 2019", pairs, rows, pairs.relevance, [1, 2])


def trec8() -> Iterator[Case]:
    runs = [entry for entry in sheet(DATA / "trec8/runs.tsv") if entry[0].pooled]
    pairs, _ = read_tables(DATA / "trec8/qrels.txt", runs)
    rows = calibration.held_back(pairs, 10)
    yield from of_tail("TREC-8", pairs, rows, pairs.relevance, [1])


def sparse(relevant: int) -> Iterator[Case]:
    """2,000 documents, of which one or none is relevant, in the stratum that is drawn thinnest."""
    equal_held, unequal_held = np.full(20, 100), np.array([100, 300, 600, 1000])
    strata = pd.DataFrame({"population": equal_held, "fraction": SIZE / 2000})
    frame = sampling.Frame(np.arange(2000), np.repeat(np.arange(20), 100), strata, SIZE)
    where = [np.array([0] * (len(held) - 1) + [relevant]) for held in (equal_held, unequal_held)]
    yield Case(f"{relevant} in 2,000", frame, where[0], unequal_held, where[1])


def sheet(path: Path) -> list[tuple[Contributor, Path]]:
    with path.open() as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    return [
        (Contributor(row["run"], row["pooled"] == "yes", row["group"]), path.parent / row["path"])
        for row in rows
    ]


def read_tables(judgments: Path, runs: list[tuple[Contributor, Path]]) -> tuple[Pairs, Rankings]:
    tables = ((who, read_run(path, precision="float32").table) for who, path in runs)
    return build(read_judgments(judgments), tables)


CASES: dict[str, Callable[[], Iterator[Case]]] = {
    "demo": demo,
    "dl19": dl19,
    "trec8": trec8,
    "sparse": lambda: sparse(1),
    "empty": lambda: sparse(0),
}

if __name__ == "__main__":
    main()
