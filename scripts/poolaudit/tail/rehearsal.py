"""The sample of the tail where every grade is known: one draw, estimated, beside the truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from poolaudit.pairs import Pairs, Rankings
from poolaudit.tail import sampling
from poolaudit.tail.by_run import by_run, grades_in

if TYPE_CHECKING:
    import pandas as pd


def rehearse(
    pairs: Pairs,
    rankings: Rankings,
    rows: np.ndarray,
    judged: np.ndarray,
    known: np.ndarray,
    levels: Sequence[int],
    settings: sampling.TailSettings,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Draw one sample, fill it in with the known grades, and estimate from it.

    Args:
        pairs, rankings: the two tables.
        rows: the population, ascending row numbers.
        judged: int16[pairs], the judgments that the tail is missing from.
        known: int16[pairs], the grade of every pair of the population.
        levels: lowest grades that count as relevant.
        settings: how the tail is sampled.

    Returns:
        What `sampling.estimate` and `by_run.by_run` return, with the truth.
    """
    frame = sampling.stratify(pairs, rows, settings.documents, settings.design)
    sample, strata = sampling.draw(pairs, frame, settings.seed)
    place = pairs.rows_of(*(_column(sample[name]) for name in ("query_id", "doc_id")))
    filled = sample.assign(relevance=known[place])
    missed_from = sampling.judged_relevant(pairs, judged, levels)
    truth = frame.count(known, levels)
    estimate = sampling.estimate(filled, strata, missed_from, alpha=settings.alpha, truth=truth)
    found = grades_in(pairs, filled)
    return estimate, by_run(pairs, rankings, judged, frame, found, levels, known)


def _column(values: pd.Series):
    import pyarrow as pa

    return pa.chunked_array([pa.array(values.tolist(), pa.string())])
