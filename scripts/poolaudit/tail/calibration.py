"""The sample and its interval, tested where the truth is known.

Judgments cut to a shallower pool leave a tail of which every grade is known. Samples of it are
drawn and estimated many times, and compared with the truth. The documents beyond the cut were
judged because they looked relevant, so this tests the interval; the completeness that it shows is
not that of the real tail. Where every grade is known, as in a simulated campaign, the real tail can
be tested the same way.

Samples are drawn as counts: the relevant documents among n drawn at random from a stratum are
hypergeometric, which is what a draw of the documents themselves would give.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from poolaudit.pairs import NEVER, Pairs, Rankings
from poolaudit.scores.lists import judged_lists
from poolaudit.scores.measure_names import Measure, parse_measures
from poolaudit.scores.policies import evaluate, means
from poolaudit.tail import intervals, sampling
from poolaudit.tail.sampling import Frame

if TYPE_CHECKING:
    import pandas as pd


MOST_STRATA = 4
"""A thousand intervals are worked out: more fractions than this, and those of each are added up."""


def held_back(pairs: Pairs, depth: int) -> np.ndarray:
    """int64: the judged pairs that a pooled run returned below the depth-`depth` pool."""
    below = (pairs.best_rank > depth) & (pairs.best_rank != NEVER)
    return np.flatnonzero(below & (pairs.relevance >= 0))


def calibrate(
    frame: Frame,
    relevant: np.ndarray,
    levels: Sequence[int],
    *,
    draws: int = 1000,
    seed: int = 2019,
    alpha: float = 0.05,
) -> pd.DataFrame:
    """Draw, estimate and compare with the truth, many times.

    Args:
        frame: the population and its strata.
        relevant: int64[levels, strata], the truth (`Frame.count`).
        levels: the grades that count as relevant, for the table.
        draws: how many samples.
        seed: of the samples.
        alpha: 1 - confidence.

    Returns:
        A row for each level: level, population, size, relevant (the truth), draws, mean_estimate,
        bias (mean estimate - truth), bias_error (its Monte Carlo standard error), mean_width,
        coverage (share of intervals that hold the truth), coverage_error, too_low and too_high
        (shares of intervals that end below and begin above it), mean_width_of_sums (of the
        intervals of the strata at `alpha` each, added up), method.
    """
    import pandas as pd

    rng = np.random.default_rng(seed)
    held = frame.strata["population"].to_numpy()
    fraction = frame.strata["fraction"].to_numpy()
    rows = []
    for level, truth in zip(levels, relevant, strict=True):
        sampled = sampling.allocate(frame, rng, draws)
        found = rng.hypergeometric(truth, held - truth, sampled)
        low, high, method = _intervals(held, sampled, found, fraction, alpha)
        row = {"level": level, "population": len(frame), "size": frame.size}
        row |= compare(held, sampled, found, int(truth.sum()), low, high, alpha)
        rows.append(row | {"method": method})
    return pd.DataFrame(rows)


def compare(
    held: np.ndarray,
    sampled: np.ndarray,
    found: np.ndarray,
    truth: int,
    low: np.ndarray,
    high: np.ndarray,
    alpha: float,
) -> dict[str, float]:
    """Estimates and intervals of many draws, against the truth.

    Args:
        held: int64[strata].
        sampled, found: int64[draws, strata].
        truth: relevant documents in all strata.
        low, high: int64[draws].
        alpha: of the intervals of the strata that are added up for comparison.

    Returns:
        The columns of `calibrate` from `relevant` to `mean_width_of_sums`.
    """
    draws = len(sampled)
    estimates = (held * found / sampled).sum(axis=1)
    inside = (low <= truth) & (truth <= high)
    coverage = inside.mean()
    stratum_low, stratum_high = _each_once(held, sampled, found, alpha)
    return {
        "relevant": truth,
        "draws": draws,
        "mean_estimate": estimates.mean(),
        "bias": estimates.mean() - truth,
        "bias_error": estimates.std(ddof=1) / np.sqrt(draws),
        "mean_width": (high - low).mean(),
        "coverage": coverage,
        "coverage_error": np.sqrt(coverage * (1 - coverage) / draws),
        "too_low": (high < truth).mean(),
        "too_high": (low > truth).mean(),
        "mean_width_of_sums": (stratum_high - stratum_low).sum(axis=1).mean(),
    }


def _intervals(
    held: np.ndarray, sampled: np.ndarray, found: np.ndarray, fraction: np.ndarray, alpha: float
) -> tuple[np.ndarray, np.ndarray, str]:
    """int64[draws]: low and high of every draw; equal samples are worked out once."""
    if (fraction == fraction[:1]).all():
        total, place = np.unique(found.sum(axis=1), return_inverse=True)
        low, high = intervals.hypergeometric(held.sum(), sampled[0].sum(), total, alpha)
        return low[place], high[place], "hypergeometric"
    _, group = np.unique(fraction, return_inverse=True)
    pooled = np.eye(group.max() + 1, dtype=np.int64)[group]
    counts = np.concatenate([sampled @ pooled, found @ pooled], axis=1)
    samples, place = np.unique(counts, axis=0, return_inverse=True)
    some = [
        intervals.total(held @ pooled, *np.split(row, 2), alpha=alpha, most=MOST_STRATA)
        for row in samples
    ]
    low, high = (np.array([getattr(i, end) for i in some]) for end in ("low", "high"))
    return low[place.ravel()], high[place.ravel()], some[0].method


def _each_once(
    held: np.ndarray, sampled: np.ndarray, found: np.ndarray, alpha: float
) -> tuple[np.ndarray, np.ndarray]:
    """int64[draws, strata]: the interval of every stratum in every draw."""
    stratum = np.broadcast_to(np.arange(len(held)), sampled.shape)
    cases = np.stack([stratum.ravel(), sampled.ravel(), found.ravel()], axis=1)
    cases, place = np.unique(cases, axis=0, return_inverse=True)
    low, high = intervals.hypergeometric(held[cases[:, 0]], cases[:, 1], cases[:, 2], alpha)
    place = place.reshape(sampled.shape)
    return low[place], high[place]


def losses(
    pairs: Pairs,
    rankings: Rankings,
    depth: int,
    measures: Iterable[str | Measure],
    level: int = 1,
) -> pd.DataFrame:
    """What each run loses when the judgments are cut to a pool, in documents and in scores.

    It is widely believed that a measure of recall falls in proportion to the relevant documents
    that the judgments lack. R and the ideal ranking are taken from the same cut judgments, though,
    so a score can rise.

    Args:
        pairs, rankings: the two tables.
        depth: of the pool that the judgments are cut to.
        measures: names, or parsed measures; unjudged documents count as nonrelevant.
        level: the lowest relevant grade, for the documents.

    Returns:
        A row for each run and measure: run, measure, relevant (returned by the run, of all
        judgments), kept (those in the pool), share_lost (1 - kept / relevant; null if it returned
        none), score, score_cut, score_lost (1 - score_cut / score; null if the score is 0;
        negative where the score rises).
    """
    import pandas as pd

    names = [measure.name for measure in parse_measures(measures)]
    cut = pairs.grades(depth)
    lists = judged_lists(pairs, rankings)
    scores = [means(evaluate(lists, grades, names)) for grades in (pairs.relevance, cut)]
    of_run = lists.list_run[lists.list_of]
    counts = [
        np.bincount(of_run[grades[lists.pair] >= level], minlength=len(lists.runs))
        for grades in (pairs.relevance, cut)
    ]
    runs, repeats = len(lists.runs), len(names)
    return pd.DataFrame(
        {
            "run": np.tile(np.array(lists.runs, object), repeats),
            "measure": np.repeat(np.array(names, object), runs),
            "relevant": np.tile(counts[0], repeats),
            "kept": np.tile(counts[1], repeats),
            "share_lost": np.tile(_lost(*counts), repeats),
            "score": scores[0].ravel(),
            "score_cut": scores[1].ravel(),
            "score_lost": _lost(*scores).ravel(),
        }
    )


def _lost(whole: np.ndarray, cut: np.ndarray) -> np.ndarray:
    """1 - cut / whole; NaN where whole is 0."""
    kept = np.divide(cut, whole, out=np.full(whole.shape, np.nan), where=whole != 0)
    return 1 - kept


def proportional(losses: pd.DataFrame) -> pd.DataFrame:
    """Whether the scores of each measure fell in proportion to the documents lost.

    Returns:
        A row for each measure of `losses`: measure, runs, median_share_lost, median_score_lost,
        rose (runs whose score rose), within_a_tenth (runs whose score_lost is within 0.1 of their
        share_lost), correlation (Pearson's, between the two over runs; null for fewer than three
        runs or where one does not vary).
    """
    import pandas as pd

    rows = []
    for measure, table in losses.dropna().groupby("measure", sort=False):
        share, score = table["share_lost"].to_numpy(), table["score_lost"].to_numpy()
        varies = len(table) > 2 and np.ptp(share) > 0 and np.ptp(score) > 0
        rows.append(
            {
                "measure": measure,
                "runs": len(table),
                "median_share_lost": np.median(share),
                "median_score_lost": np.median(score),
                "rose": int((score < 0).sum()),
                "within_a_tenth": int((np.abs(score - share) <= 0.1).sum()),
                "correlation": np.corrcoef(share, score)[0, 1] if varies else np.nan,
            }
        )
    return pd.DataFrame(rows)
