"""The sample of the tail where every grade is known: one draw, estimated, beside the truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from poolaudit.pairs import Pairs
from poolaudit.tail import sampling

if TYPE_CHECKING:
    import pandas as pd


def rehearse(
    pairs: Pairs,
    rows: np.ndarray,
    judged: np.ndarray,
    known: np.ndarray,
    levels: Sequence[int],
    settings: sampling.TailSettings,
) -> pd.DataFrame:
    """Draw one sample, fill it in with the known grades, and estimate from it.

    Args:
        pairs: the pairs.
        rows: the population, ascending row numbers.
        judged: int16[pairs], the judgments that the tail is missing from.
        known: int16[pairs], the grade of every pair of the population.
        levels: lowest grades that count as relevant.
        settings: how the tail is sampled.

    Returns:
        What `sampling.estimate` returns, with the truth.
    """
    frame = sampling.stratify(pairs, rows, settings.size, settings.design)
    sample, strata = sampling.draw(pairs, frame, settings.seed)
    place = pairs.rows_of(*(_column(sample[name]) for name in ("query_id", "doc_id")))
    filled = sample.assign(relevance=known[place])
    missed_from = sampling.judged_relevant(pairs, judged, levels)
    truth = frame.count(known, levels)
    return sampling.estimate(filled, strata, missed_from, alpha=settings.alpha, truth=truth)


def _column(values: pd.Series):
    import pyarrow as pa

    return pa.chunked_array([pa.array(values.tolist(), pa.string())])
