"""Exact bounds of nDCG and NCG.

A grade g is g steps of one: the gain of a list is the sum over the levels l = 1, 2, ... of the
weights at the ranks of documents with grade l or above, and the ideal gain is the sum over the
levels of D(n_l), the weights of the first n_l ranks, where n_l documents have grade l or above.
With x_l judgeable documents of the list raised to level l or above, at the highest judgeable ranks
for the maximum, the score is

    (gain now + sum of F(x_l)) / (sum of D(n_l + x_l)),   x_1 >= x_2 >= ...,

F being the sum of the weights of the first x judgeable ranks. Other documents stay nonrelevant.

The maximum of this ratio is found by raising t from the score now: the x that maximise numerator
minus t times denominator give the next t, until it stops (Dinkelbach 1967). For one t the levels
are independent but for their order, and are solved from the last level to the first.

For the minimum the ratio of a linear and a convex function of the grades is extreme at a corner:
each document at 0 or at the top. Those at the top are the lowest of the list, and all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from poolaudit.scores.formulas import discounts, ratio
from poolaudit.scores.judgeable import Judgeable
from poolaudit.scores.measure_names import Measure
from poolaudit.scores.measures import UNCUT, compute


@dataclass(frozen=True)
class _Problem:
    """The lists of one query.

    Attributes:
        gain: float64[lists], the gain now.
        reach: float64[lists, 1 + most], F.
        count: int64[lists], judgeable documents in the list.
        outside: int64[lists], and those elsewhere.
        levels: int64[top], for each level the documents judged to be at it or above.
        ideal: float64[...], D.
    """

    gain: np.ndarray
    reach: np.ndarray
    count: np.ndarray
    outside: np.ndarray
    levels: np.ndarray
    ideal: np.ndarray

    def score(self, raised: list[np.ndarray]) -> np.ndarray:
        """float64[lists]: the score when raised[l] documents of each list are at level l + 1."""
        each = np.arange(len(self.gain))
        gain = self.gain + sum(self.reach[each, x] for x in raised)
        return ratio(gain, sum(self.ideal[n + x] for n, x in zip(self.levels, raised, strict=True)))


def gain_bounds(judgeable: Judgeable, measure: Measure) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and highest nDCG or NCG of each list, with or without a cutoff.

    Returns:
        low, high: float64[lists].
    """
    now = compute(judgeable.view, measure)
    low, high = now.copy(), now.copy()
    for problem, lists in _problems(judgeable, measure):
        low[lists] = np.minimum(now[lists], _lowest(problem))
        high[lists] = _highest(problem, now[lists])
    return low, high


def _problems(judgeable: Judgeable, measure: Measure) -> Iterator[tuple[_Problem, slice]]:
    view, cutoff = judgeable.view, measure.cutoff or UNCUT
    hits = view.hits(1)
    most = int(max(hits.rank.max(initial=0), judgeable.rank.max(initial=0)))
    levels = np.array([view.graded.relevant(rel) for rel in range(1, judgeable.top + 1)])
    asked = int((levels[0][view.query] + judgeable.judged_anew).max(initial=0))
    weight = _weights(measure, max(most, asked))
    gain = view.sum(hits, np.where(hits.rank <= cutoff, hits.grade * weight[hits.rank], 0))
    ideal = np.cumsum(np.where(np.arange(asked + 1) <= cutoff, weight[: asked + 1], 0))
    for query, lists in judgeable.queries():
        reach = np.cumsum(judgeable.table(weight[judgeable.rank], lists), axis=1)
        yield (
            _Problem(
                gain=gain[lists],
                reach=reach,
                count=judgeable.count[lists],
                outside=judgeable.outside[lists],
                levels=levels[:, query],
                ideal=ideal,
            ),
            lists,
        )


def _weights(measure: Measure, depth: int) -> np.ndarray:
    """What a grade of one is worth at the ranks 0 (nothing) to `depth`."""
    weight = np.ones(depth + 1)
    if measure.base == "nDCG":
        weight[1:] = 1 / discounts(depth)[1:]
    weight[0] = 0
    return weight


def _lowest(problem: _Problem) -> np.ndarray:
    """Each number of documents at the top, in the lowest places; all others are at the top."""
    places = np.arange(problem.reach.shape[1])
    still_nonrelevant = np.maximum(problem.count[:, None] - places, 0)
    lost = np.take_along_axis(problem.reach, still_nonrelevant, axis=1)
    gain = problem.gain[:, None] + len(problem.levels) * (problem.reach[:, -1:] - lost)
    raised = problem.outside[:, None] + np.minimum(places, problem.count[:, None])
    ideal = sum(problem.ideal[n + raised] for n in problem.levels)
    return ratio(gain, ideal).min(axis=1)


def _highest(problem: _Problem, start: np.ndarray) -> np.ndarray:
    score = start
    while True:
        better = problem.score(_best_levels(problem, score))
        if not (better > score).any():
            return score
        score = np.maximum(score, better)


def _best_levels(problem: _Problem, worth: np.ndarray) -> list[np.ndarray]:
    """The numbers raised to each level that maximise gain minus `worth` times the ideal."""
    places = np.arange(problem.reach.shape[1])
    rest: np.ndarray | float = 0.0
    totals = []
    for n in problem.levels[::-1]:
        total = problem.reach - worth[:, None] * problem.ideal[n + places] + rest
        totals.append(total)
        rest = np.maximum.accumulate(total, axis=1)
    raised: list[np.ndarray] = []
    limit = np.full(len(worth), len(places))
    for total in totals[::-1]:
        limit = np.where(places <= limit[:, None], total, -np.inf).argmax(axis=1)
        raised.append(limit)
    return raised
