"""How far xinfAP and infNDCG are from the AP and nDCG that they estimate.

    PYTHONPATH=scripts python benchmarks/error_of_sampled_measures.py [--draws 20]

Judgments cut to depth 10 are judged in full; of the held-back documents 5, 10 and 25% are drawn by
query. The truth is AP (level 1) and nDCG, uncut, with all of these judged. Root-mean-square errors
over runs and draws, of the means over queries and of single queries, beside those of AP and nDCG on
the cut judgments alone. The real runs are read from POOLAUDIT_DATA (default ../shared/data).
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
import pyarrow as pa
from coverage_of_intervals import DATA, SEED, read_tables, sheet

from poolaudit.pairs import UNJUDGED, Pairs, Rankings
from poolaudit.scores.lists import judged_lists
from poolaudit.scores.policies import evaluate
from poolaudit.tail import calibration, sampled_measures, sampling

RATES = (0.05, 0.1, 0.25)
MEASURES = ("AP", "nDCG")
ESTIMATES = {
    "xinfAP": (0, sampled_measures.xinfap),
    "infNDCG": (1, sampled_measures.infndcg),
    "infNDCG, weights of sample_eval": (
        1,
        lambda sample: sampled_measures.infndcg(sample, weights="retrieved"),
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=20)
    draws = parser.parse_args().draws
    rows = []
    for name, judgments, runs in (
        ("DL 2019", "irds_home/msmarco-passage/trec-dl-2019/qrels", "dl19-passage/runs.tsv"),
        ("TREC-8", "trec8/qrels.txt", "trec8/runs.tsv"),
    ):
        pairs, rankings = read_tables(DATA / judgments, sheet(DATA / runs))
        rows += [{"collection": name, **row} for row in errors(pairs, rankings, draws)]
    print(pd.DataFrame(rows).round(4).to_string(index=False))


def errors(pairs: Pairs, rankings: Rankings, draws: int) -> list[dict]:
    cut, rows = pairs.grades(10), calibration.held_back(pairs, 10)
    whole = cut.copy()
    whole[rows] = pairs.relevance[rows]
    lists = judged_lists(pairs, rankings, whole)
    truth = evaluate(lists, whole, MEASURES).values
    alone = evaluate(lists, cut, MEASURES).values
    table = [
        {"measure": name, "rate": 0.0, **error(alone[[i]], truth[i])}
        for i, name in enumerate(MEASURES)
    ]
    for rate in RATES:
        frame = sampling.stratify(pairs, rows, round(rate * len(rows)), "by-query")
        values = {name: [] for name in ESTIMATES}
        for seed in range(SEED, SEED + draws):
            sample = sampled_measures.from_frame(
                pairs, rankings, cut, frame, drawn(pairs, frame, seed)
            )
            for name, (_, measure) in ESTIMATES.items():
                values[name].append(measure(sample))
        for name, (i, _) in ESTIMATES.items():
            found = error(np.array(values[name]), truth[i])
            table.append({"measure": name, "rate": rate, **found})
    return table


def drawn(pairs: Pairs, frame: sampling.Frame, seed: int) -> np.ndarray:
    """int16[pairs]: the true grades of a sample."""
    sample, _ = sampling.draw(pairs, frame, seed)
    keys = (pa.array(sample[name], pa.string()) for name in ("query_id", "doc_id"))
    rows = pairs.rows_of(*(pa.chunked_array([key]) for key in keys))
    found = np.full(len(pairs), UNJUDGED, np.int16)
    found[rows] = pairs.relevance[rows]
    return found


def error(values: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Errors of values [draws, runs, queries]."""
    of_means = values.mean(axis=2) - truth.mean(axis=1)
    return {
        "bias_of_means": of_means.mean(),
        "rmse_of_means": np.sqrt((of_means**2).mean()),
        "rmse_of_queries": np.sqrt(((values - truth) ** 2).mean()),
    }


if __name__ == "__main__":
    main()
