"""Intervals for the number of relevant documents behind a random sample.

A stratum is an array entry: `population` documents, `sampled` of them drawn at random without
replacement, `relevant` found among those. All intervals are two-sided, with half of `alpha` a side,
and are in documents. None uses a normal approximation: with rare relevance that covers the truth in
as few as 4% of the draws where it promises 95%.

Which one holds when:

* `hypergeometric`: one stratum, or several drawn at the same fraction and added up. **Not valid**
  for totals of strata with different fractions.
* `weighted`: strata drawn at different fractions (Wendell and Schmee 1996). A search finds the
  worst way to spread the relevant documents over the strata; it climbs from many starts, and up to
  `MOST_STRATA` different fractions it is quick enough to be used.
* `summed`: adds the intervals of the strata. With `sidak(alpha, strata)` it holds for any design,
  and is wide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import gcd, lcm
from typing import NamedTuple

import numpy as np

MOST_STRATA = 10
"""More different fractions than this, and `total` adds up the intervals of each."""

TRIES = 4
"""Pairs of strata that a climb tries before it counts as done, but for the last climb."""

CELLS = 512
"""Cells of the grid on which weighted counts are added up where no finer exact grid is as small."""


class Interval(NamedTuple):
    """Lowest and highest number of relevant documents, and the method that gave them."""

    low: int
    high: int
    method: str


def hypergeometric(
    population: np.ndarray, sampled: np.ndarray, relevant: np.ndarray, alpha: float = 0.05
) -> tuple[np.ndarray, np.ndarray]:
    """Exact interval for the relevant documents of a population, from a simple random sample.

    A number M is inside when finding so few (or so many) among M is not rarer than alpha / 2:
    high = max {M : P(X <= x | M) >= alpha / 2}, low = min {M : P(X >= x | M) >= alpha / 2}.

    Args:
        population, sampled, relevant: integers or arrays that broadcast.
        alpha: 1 - confidence.

    Returns:
        low, high: int64 arrays. Nothing sampled gives 0 and `population`; nothing relevant found
        gives 0 and an upper bound above 0, unless everything was sampled.
    """
    population, sampled, relevant = np.broadcast_arrays(
        *(np.asarray(a, np.int64) for a in (population, sampled, relevant))
    )
    high = _most(population, sampled, relevant, _tail(alpha))
    low = population - _most(population, sampled, sampled - relevant, _tail(alpha))
    return low, high


def _most(
    population: np.ndarray, sampled: np.ndarray, relevant: np.ndarray, tail: float
) -> np.ndarray:
    """The largest number of relevant documents with P(X <= x) > tail, by bisection."""
    from scipy.stats import hypergeom

    inside = relevant.copy()
    outside = population - sampled + relevant + 1
    while np.any(outside - inside > 1):
        middle = (inside + outside) // 2
        likely = hypergeom.cdf(relevant, population, middle, sampled) > tail
        inside = np.where(likely, middle, inside)
        outside = np.where(likely, outside, middle)
    return inside


def _tail(alpha: float) -> float:
    """Half of alpha, less what the last bits of a probability may be wrong by."""
    return alpha / 2 * (1 - 1e-9)


def sidak(alpha: float, intervals: int) -> float:
    """The alpha of each of several independent intervals that together hold at `alpha`.

    1 - (1 - alpha)^(1 / intervals) (Sidak 1967).
    """
    return 1 - (1 - alpha) ** (1 / intervals)


def summed(
    population: np.ndarray, sampled: np.ndarray, relevant: np.ndarray, alpha: float = 0.05
) -> Interval:
    """The intervals of the strata at `alpha` each, added up.

    With `sidak(alpha, strata)` for alpha the sum holds at `alpha`, whatever the fractions; with
    alpha itself it promises nothing about the total and is for comparison only.
    """
    low, high = hypergeometric(population, sampled, relevant, alpha)
    return Interval(int(low.sum()), int(high.sum()), "sum of strata")


def total(
    population: np.ndarray,
    sampled: np.ndarray,
    relevant: np.ndarray,
    fraction: np.ndarray | None = None,
    alpha: float = 0.05,
    most: int = MOST_STRATA,
) -> Interval:
    """Interval for the total of several strata, by the method that their fractions allow.

    Args:
        population, sampled, relevant: int arrays [strata].
        fraction: float [strata], the fraction at which each stratum was *meant* to be drawn:
            strata of one fraction, which differ by the rounding of whole documents only, are one
            population to the interval. None: sampled / population, exactly.
        alpha: 1 - confidence.
        most: the search of `weighted` is not tried for more fractions than this.

    Returns:
        `hypergeometric` for one fraction, `weighted` for up to `most` of them, else `summed` over
        the fractions at Sidak's level. Strata of which nothing was sampled add nothing to the
        low end and all their documents to the high end.
    """
    population, sampled, relevant = (
        np.asarray(a, np.int64) for a in (population, sampled, relevant)
    )
    seen = sampled > 0
    unseen = int(population[~seen].sum())
    if not seen.any():
        return Interval(0, unseen, "nothing sampled")
    meant = None if fraction is None else np.asarray(fraction)[seen]
    pooled = _pool(population[seen], sampled[seen], relevant[seen], meant)
    if len(pooled[0]) == 1:
        low, high = hypergeometric(*pooled, alpha)
        found = Interval(int(low[0]), int(high[0]), "hypergeometric")
    elif len(pooled[0]) <= most:
        found = weighted(*pooled, alpha)
    else:
        found = summed(*pooled, sidak(alpha, len(pooled[0])))
    return found._replace(high=found.high + unseen)


def _pool(
    population: np.ndarray, sampled: np.ndarray, relevant: np.ndarray, fraction: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Add up the strata that were drawn at one fraction."""
    if fraction is None:
        divisor = np.gcd(population, sampled)
        key = np.stack([sampled // divisor, population // divisor], axis=1)
    else:
        key = fraction[:, None]
    _, group = np.unique(key, axis=0, return_inverse=True)
    return tuple(
        np.bincount(group.ravel(), weights=a).astype(np.int64)
        for a in (population, sampled, relevant)
    )


def weighted(
    population: np.ndarray, sampled: np.ndarray, relevant: np.ndarray, alpha: float = 0.05
) -> Interval:
    """Interval for the total of strata drawn at different fractions (Wendell and Schmee 1996).

    Samples are ordered by the estimate T = sum of N_h x_h / n_h. A total G is inside when there is
    a way to spread G relevant documents over the strata under which an estimate as low (or as high)
    as the one seen is not rarer than alpha / 2. Spreads that the sample itself rules out are not
    considered.

    Args:
        population, sampled, relevant: int arrays [strata], two strata or more; sampled > 0.
        alpha: 1 - confidence.

    Notes:
        The worst spread is searched for, not derived. Missing it makes the interval too narrow, so
        the search climbs from a start for each stratum and three more, and the tests compare it
        with full enumeration. Where the estimates fall on no common grid of CELLS cells, weights
        are rounded towards the wider interval.
    """
    strata = tuple(np.asarray(a, np.int64) for a in (population, sampled, relevant))
    high = _bound(_Search(*strata, upper=False), _tail(alpha))
    low = _bound(_Search(*strata, upper=True), _tail(alpha)) if strata[2].any() else 0
    return Interval(low, high, "weighted")


def holds(
    population: np.ndarray,
    sampled: np.ndarray,
    relevant: np.ndarray,
    total: int,
    alpha: float = 0.05,
) -> bool:
    """Whether the interval of `weighted` holds a total: much quicker than to find its ends."""
    strata = tuple(np.asarray(a, np.int64) for a in (population, sampled, relevant))
    tail = _tail(alpha)
    few, many = (_Search(*strata, upper=upper) for upper in (False, True))
    if not few.least.sum() <= total <= few.most.sum():
        return False
    if _worst(few, total, tail)[0] <= tail:
        return False
    return not strata[2].any() or _worst(many, total, tail)[0] > tail


@dataclass(frozen=True)
class _Search:
    """Looks for the spread of relevant documents under which the observed estimate is likeliest.

    Args:
        population, sampled, relevant: int64[strata].
        upper: whether the tail is T >= observed (for the low end) or T <= observed.
    """

    population: np.ndarray
    sampled: np.ndarray
    relevant: np.ndarray
    upper: bool

    @cached_property
    def least(self) -> np.ndarray:
        """int64[strata]: relevant documents that each stratum must hold, as it was seen to."""
        return self.relevant

    @cached_property
    def most(self) -> np.ndarray:
        """int64[strata]: relevant documents that each stratum can hold."""
        return self.population - self.sampled + self.relevant

    @cached_property
    def _log_factorial(self) -> np.ndarray:
        return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, self.population.max() + 1)))])

    @cached_property
    def _grid(self) -> tuple[int, list[np.ndarray]]:
        """The last cell of the observed estimate's tail, and each stratum's cell per count."""
        weights = [
            Fraction(int(n), int(s)) for n, s in zip(self.population, self.sampled, strict=True)
        ]
        observed = sum(w * int(x) for w, x in zip(weights, self.relevant, strict=True))
        shared = lcm(*(w.denominator for w in weights))
        unit = Fraction(gcd(*(int(w * shared) for w in weights)), shared)
        if observed > unit * CELLS:
            unit = Fraction(observed, CELLS)
        round_to = _ceiling if self.upper else _floor
        last = round_to(observed / unit) - (1 if self.upper else 0)
        cells = []
        for weight, n in zip(weights, self.sampled, strict=True):
            reach = min(int(n), int(max(last, 0) * unit / weight))
            cells.append(np.array([round_to(weight * k / unit) for k in range(reach + 1)]))
        return last, [c[c <= last] for c in cells]

    def _pmf(self, stratum: int, held: np.ndarray) -> np.ndarray:
        """float64[held, counts]: P(X = k) if the stratum holds so many relevant documents."""
        log = self._log_factorial
        n, total = self.sampled[stratum], self.population[stratum]
        k = np.arange(len(self._grid[1][stratum]))
        held = np.asarray(held)[:, None]
        possible = (k <= held) & (n - k <= total - held)
        a, b = np.where(possible, held - k, 0), np.where(possible, total - held - n + k, 0)
        p = log[held] - log[k] - log[a] + log[total - held] - log[n - k] - log[b]
        return np.exp(np.where(possible, p - (log[total] - log[n] - log[total - n]), -np.inf))

    def _kernels(self, spread: np.ndarray) -> list[np.ndarray]:
        """float64[cells] for each stratum: the chance of each weighted count."""
        width = self._grid[0] + 1
        return [
            np.bincount(cells, self._pmf(stratum, spread[[stratum]])[0], minlength=width)
            for stratum, cells in enumerate(self._grid[1])
        ]

    def _promising(self, spread: np.ndarray) -> list[tuple[int, int]]:
        """Pairs of strata, those first where moving documents from one to the other gains most.

        The gain is guessed: what the one loses by itself and what the other gains by itself, for
        steps of 1, 2, 4, ... documents.
        """
        strata, last = len(spread), self._grid[0]
        kernels = self._kernels(spread)
        steps = 2 ** np.arange(int(self.population.max()).bit_length())
        steps = np.concatenate([-steps[::-1], [0], steps])
        change = np.full((strata, len(steps)), -np.inf)
        before, after = (_sums(k, last + 1) for k in (kernels, kernels[::-1]))
        for stratum, cells in enumerate(self._grid[1]):
            held = spread[stratum] + steps
            within = (self.least[stratum] <= held) & (held <= self.most[stratum])
            below = np.cumsum(_add(before[stratum], after[strata - 1 - stratum]))[last - cells]
            p = self._pmf(stratum, held[within]) @ below
            change[stratum, within] = (p - p[steps[within] == 0]) * (-1 if self.upper else 1)
        gain = (change[:, None, :] + change[None, :, ::-1]).max(axis=2)
        gain[np.diag_indices(strata)] = -np.inf
        best = np.argsort(-gain, axis=None, kind="stable")
        pairs = (divmod(int(i), strata) for i in best)
        return [(a, b) for a, b in pairs if (gain[a, b], -a) > (gain[b, a], -b)]

    def _along(self, spread: np.ndarray, a: int, b: int) -> tuple[float, np.ndarray]:
        """The likeliest spread that moves documents between the strata a and b only."""
        last, cells = self._grid
        left = last - cells[a][:, None] - cells[b][None, :]
        kernels = [k for i, k in enumerate(self._kernels(spread)) if i not in (a, b)]
        others = np.cumsum(_sums(kernels, last + 1)[-1])
        below = np.where(left >= 0, others[np.maximum(left, 0)], 0.0)
        both = spread[a] + spread[b]
        first = max(self.least[a], both - self.most[b])
        final = min(self.most[a], both - self.least[b])
        step = max(1, (final - first) // 32)
        held = np.append(np.arange(first, final, step), [final, spread[a]])
        while True:
            p = ((self._pmf(a, held) @ below) * self._pmf(b, both - held)).sum(axis=1)
            p = 1 - p if self.upper else p
            best = held[np.argmax(p)]
            if step == 1:
                break
            low, high = max(first, best - step), min(final, best + step)
            step = max(1, step // 8)
            held = np.append(np.arange(low, high + 1, step), best)
        found = spread.copy()
        found[a], found[b] = best, both - best
        return float(p.max()), found

    def climb(
        self, spread: np.ndarray, enough: float, tries: int | None = None
    ) -> tuple[float, np.ndarray]:
        """Move documents between two strata at a time until nothing gains, or p > enough.

        Each time the `tries` most promising pairs of strata are tried; None: all of them. A gain of
        less than one part in ten thousand is none: it moves no end of an interval.
        """
        p = 0.0
        while p <= enough:
            for a, b in self._promising(spread)[:tries]:
                gained, moved = self._along(spread, a, b)
                if gained > p * 1.0001:
                    p, spread = gained, moved
                    break
            else:
                break
        return p, spread

    def starts(self, total: int) -> Iterator[np.ndarray]:
        """Spreads of `total` relevant documents: each stratum filled first, and in proportion."""
        by_weight = np.argsort(-self.population / self.sampled, kind="stable")
        yield self._fill(total, by_weight)
        yield self._fill(total, by_weight[::-1])
        share = (total - self.least.sum()) / max(1, (self.most - self.least).sum())
        yield self._fill(total, by_weight, (share * (self.most - self.least)).astype(np.int64))
        for stratum in by_weight[1:-1]:
            yield self._fill(total, np.append(stratum, by_weight[by_weight != stratum]))

    def _fill(self, total: int, order: np.ndarray, extra: np.ndarray | int = 0) -> np.ndarray:
        spread = self.least + extra
        for stratum in order:
            spread[stratum] += min(total - spread.sum(), self.most[stratum] - spread[stratum])
        return spread

    def nearby(self, spread: np.ndarray, total: int) -> np.ndarray:
        """`spread` stretched or cut to another total."""
        room = self.most - self.least
        share = (total - self.least.sum()) / max(1, (spread - self.least).sum())
        extra = np.minimum((share * (spread - self.least)).astype(np.int64), room)
        return self._fill(total, np.argsort(self.least - spread, kind="stable"), extra)


def _sums(kernels: list[np.ndarray], cells: int) -> list[np.ndarray]:
    """The distributions of the sum of the first 0, 1, 2, ... independent counts."""
    nothing = np.zeros(cells)
    nothing[0] = 1.0
    return list(accumulate(kernels, _add, initial=nothing))


def _add(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The distribution of the sum of two independent counts, cut at the last cell."""
    return np.convolve(one, other)[: len(one)]


def _floor(value: Fraction) -> int:
    return value.numerator // value.denominator


def _ceiling(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)


def _bound(search: _Search, tail: float) -> int:
    """The total furthest from the sample under which the observed estimate is likely enough.

    The chance under the worst spread falls as the total moves away from the sample. So the end is
    bisected with one climb a step, and then confirmed from every start.
    """
    least, most = int(search.least.sum()), int(search.most.sum())
    inside, edge = (most, least) if search.upper else (least, most)
    spread = next(search.starts(inside))
    step = -1 if search.upper else 1
    outside = edge + step
    while True:
        while abs(outside - inside) > 1:
            middle = (outside + inside) // 2
            p, climbed = search.climb(search.nearby(spread, middle), tail, TRIES)
            if p > tail:
                inside, spread = middle, climbed
            else:
                outside = middle
        if inside == edge:
            return edge
        p, climbed = _worst(search, outside, tail)
        if p <= tail:
            return inside
        inside, spread, outside = outside, climbed, edge + step


def _worst(search: _Search, total: int, enough: float) -> tuple[float, np.ndarray]:
    """The likeliest spread of a total that climbs from every start reach, or one that is enough."""
    best = 0.0, None
    for start in search.starts(total):
        best = max(best, search.climb(start, enough, TRIES), key=lambda found: found[0])
        if best[0] > enough:
            return best
    return search.climb(best[1], enough)
