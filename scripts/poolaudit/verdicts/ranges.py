"""How far the difference between two runs can move when the unjudged documents are read.

A document that both runs returned gets one grade in both, so the difference moves less than the
bounds of the two runs taken apart would let it. The documents in question are the unjudged ones
among the first `depth` of any audited run, the same as for the bounds of one run.

Write c for what a document of grade 1 adds to the first run less what it adds to the second.

* P and RBP are sums of c over the relevant documents: each document is worth reading as relevant or
  not by the sign of its c.
* RR and Success look at one document a run: at most one newly relevant document makes the extreme.
* nDCG, NCG and R are such a sum over an ideal that moves with the judging. With n_t open documents
  of grade t or above and J_t judged ones, grade t adds D(J_t + n_t) to the ideal, where D is the
  ideal's own weight summed over its first ranks, and the open documents do best in the order of c.
  So both parts are sums over t, and the extreme is found by scanning (`_highest_ratio`).
* For other measures the bounds of the two runs are subtracted: an *outer* range, which holds the
  true one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from poolaudit.pairs import NEVER, Pairs, Rankings
from poolaudit.scores.measure_names import Measure, parse_measure
from poolaudit.scores.measures import UNCUT

_SUMS = ("P", "RBP")
_FIRSTS = ("RR", "Success")
_RATIOS = ("nDCG", "NCG", "R")


@dataclass(frozen=True)
class Range:
    """The lowest and highest difference between two runs over all ways of judging.

    Attributes:
        low, high: float64[queries].
        exact: some way of judging reaches each end; else the true range lies within.
    """

    low: np.ndarray
    high: np.ndarray
    exact: bool


def is_exact(measure: str | Measure) -> bool:
    """Whether `exact_ranges` knows the measure."""
    measure = parse_measure(measure) if isinstance(measure, str) else measure
    known = measure.base in _SUMS + _FIRSTS + _RATIOS
    return measure.ours and not measure.judged_only and known


def open_documents(pairs: Pairs, measure: Measure, depth: int) -> np.ndarray:
    """bool[pairs]: unjudged and among the first `depth` of any audited run.

    A measure with a cutoff looks to its own cutoff instead. Grades below zero (in the pool, not
    judged) are open too.
    """
    return (pairs.relevance < 0) & (pairs.any_best_rank <= (measure.cutoff or depth))


def looks_to(measure: str, depth: int) -> dict[str, Any]:
    """How far down the rankings verdicts look at documents that nobody judged, as `near` is told.

    Without a cutoff, a document that is open because one run has it high counts in every list that
    holds it once it is supposed to be judged.

    Args:
        measure: a name.
        depth: how deep documents are open for a measure without a cutoff.
    """
    cutoff = parse_measure(measure).cutoff
    return {"to": depth, "in_all_lists": True} if cutoff is None else {"to": cutoff}


def exact_ranges(
    pairs: Pairs,
    rankings: Rankings,
    measure: str | Measure,
    compared: Iterable[tuple[str, str]],
    *,
    depth: int = 100,
    top_grade: int | None = None,
) -> dict[tuple[str, str], Range]:
    """The range of the difference, first run minus second, query by query.

    Args:
        pairs, rankings: the two tables.
        measure: one that `is_exact`. Unjudged documents that are not open count as nonrelevant.
        compared: pairs of run names.
        depth: how deep unjudged documents are open for a measure without a cutoff.
        top_grade: the highest grade that an assessor may give; default: the highest given.

    Returns:
        A range for each pair. The mean over queries of its ends is the range of the mean
        difference, for no judgment of one query touches another.
    """
    measure = parse_measure(measure) if isinstance(measure, str) else measure
    compared = list(compared)
    is_open = open_documents(pairs, measure, depth)
    rows = np.flatnonzero(is_open | (pairs.relevance > 0))
    if top_grade is None:
        top_grade = max(1, int(pairs.relevance.max(initial=0)))
    # Where no grade reaches the measure's level, no judging can move anything.
    movable = is_open[rows] & ((measure.rel or 1) <= top_grade)
    documents = _Documents(
        query=pairs.query[rows],
        grade=np.where(is_open[rows], 0, pairs.relevance[rows]),
        is_open=movable,
        n_queries=len(pairs.query_ids),
        levels=np.arange(1, top_grade + 1) if measure.rel is None else np.array([measure.rel]),
    )
    names = sorted({name for pair in compared for name in pair})
    weight = {name: _weights(measure, _ranks(rankings, name, len(pairs))[rows]) for name in names}
    return {(a, b): _range(documents, measure, weight[a], weight[b]) for a, b in compared}


def outer_range(bounds: Mapping[str, tuple[np.ndarray, np.ndarray]], a: str, b: str) -> Range:
    """The range that the bounds of the two runs allow, as if shared documents had two grades.

    Args:
        bounds: low and high, float64[queries] each, for each run.
        a, b: the runs; the difference is a minus b.
    """
    (low_a, high_a), (low_b, high_b) = bounds[a], bounds[b]
    return Range(low_a - high_b, high_a - low_b, exact=False)


@dataclass(frozen=True)
class _Documents:
    """The open documents and the judged ones above grade 0.

    Attributes:
        query: int32[documents], ascending.
        grade: int16[documents]; 0 where open.
        is_open: bool[documents].
        n_queries: the number of queries averaged over.
        levels: the grades that count: 1 to the top grade, or the level of a binary measure alone.
    """

    query: np.ndarray
    grade: np.ndarray
    is_open: np.ndarray
    n_queries: int
    levels: np.ndarray

    @cached_property
    def gain(self) -> np.ndarray:
        """int64[documents]: how many of the levels the grade reaches."""
        return (self.grade[:, None] >= self.levels).sum(axis=1)

    def total(self, values: np.ndarray) -> np.ndarray:
        """float64[queries]: the sum over each query's documents."""
        at = np.flatnonzero(values)
        total = np.bincount(self.query[at], values[at], minlength=self.n_queries)
        return total.astype(np.float64, copy=False)

    @cached_property
    def n_open(self) -> np.ndarray:
        """int64[queries]."""
        return np.bincount(self.query[self.is_open], minlength=self.n_queries)

    @cached_property
    def judged(self) -> np.ndarray:
        """int64[queries, levels]: the judged documents that reach each level."""
        reached = [self.query[self.grade >= level] for level in self.levels]
        return np.stack([np.bincount(q, minlength=self.n_queries) for q in reached], axis=1)


def _ranks(rankings: Rankings, run: str, n_pairs: int) -> np.ndarray:
    """int32[pairs]: where the run ranks each pair, or NEVER."""
    lists = np.flatnonzero(rankings.list_run == rankings.runs.index(run))
    rank = np.full(n_pairs, NEVER, np.int32)
    for start, stop in zip(rankings.offsets[lists], rankings.offsets[lists + 1], strict=True):
        rank[rankings.pair[start:stop]] = rankings.rank[start:stop]
    return rank


def _weights(measure: Measure, rank: np.ndarray) -> np.ndarray:
    """float64[documents]: what a document of grade 1 at each rank adds to the run."""
    at = rank.astype(np.float64)
    weight = {
        "P": lambda: np.full(len(at), 1 / (measure.cutoff or 1)),
        "RBP": lambda: (1 - measure.p) * measure.p ** (at - 1),
        "RR": lambda: 1 / at,
        "nDCG": lambda: 1 / np.log2(at + 1),
    }.get(measure.base, lambda: np.ones(len(at)))()
    return np.where((rank <= (measure.cutoff or UNCUT)) & (rank != NEVER), weight, 0)


def _range(documents: _Documents, measure: Measure, a: np.ndarray, b: np.ndarray) -> Range:
    if measure.base in _RATIOS:
        low = -_highest_ratio(documents, measure, b - a)
        high = _highest_ratio(documents, measure, a - b)
    elif measure.base in _SUMS:
        c = a - b
        known = documents.total(c * documents.gain)
        low = known + documents.total(np.minimum(c, 0) * documents.is_open)
        high = known + documents.total(np.maximum(c, 0) * documents.is_open)
    else:
        low, high = -_highest_first(documents, b, a), _highest_first(documents, a, b)
    return Range(low, high, exact=True)


def _highest_first(documents: _Documents, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """float64[queries]: the highest difference of two measures of the first relevant document.

    A run scores the largest weight of its relevant documents. A second newly relevant document can
    only raise the other run, so none or one makes the highest.
    """
    relevant = documents.gain > 0
    best = []
    for weight in (a, b):
        best.append(np.zeros(documents.n_queries))
        np.maximum.at(best[-1], documents.query[relevant], weight[relevant])
    highest = best[0] - best[1]
    query = documents.query[documents.is_open]
    with_one = np.maximum(best[0][query], a[documents.is_open])
    with_one -= np.maximum(best[1][query], b[documents.is_open])
    np.maximum.at(highest, query, with_one)
    return highest


def _highest_ratio(documents: _Documents, measure: Measure, c: np.ndarray) -> np.ndarray:
    """float64[queries]: the highest difference of two measures over one ideal.

    The open documents of each query are taken in the order of c, the highest first; n_t of them
    get grade t or above. There are two cases.

    Not below zero: a grade above 0 for a document with c <= 0 would add to the ideal and not to the
    difference. Over the others Dinkelbach's method (1967) maximises difference - x ideal for
    growing x, each level t alone: a higher level has fewer judged documents, so it pays more of the
    ideal for the same n, and n_t falls with t by itself.

    Below zero: the larger the ideal the better. Documents with c >= 0 get the top grade, and the
    others the top grade down to some place or 0: what is gained by raising n_t grows with t, so no
    grade between is of use.

    So documents with c = 0, which are nearly all where two runs are compared, have no grade in the
    first case and the top grade in the second: they are counted, and only the others are sorted.
    """
    sums, n_positive, n_moving = _sums_by_place(documents, c)
    n_still = documents.n_open - n_moving
    base = documents.total(c * documents.gain)
    have = documents.judged
    most = have.max(initial=0) + documents.n_open.max(initial=0)
    ideal = np.concatenate([[0.0], np.cumsum(_ideal_weights(measure, most))])
    place = np.arange(sums.shape[1])

    def ratio(n: np.ndarray) -> np.ndarray:
        """float64[queries] for n, int64[queries, levels]."""
        above = base + np.take_along_axis(sums, n, axis=1).sum(axis=1)
        below = ideal[have + n].sum(axis=1)
        return np.divide(above, below, out=np.zeros(len(above)), where=below > 0)

    only_positive = np.where(place <= n_positive[:, None], sums, -np.inf)
    of_ideal = ideal[np.minimum(have[:, :, None] + place, most)]
    highest = np.full(documents.n_queries, -np.inf)
    while True:
        x = np.maximum(highest, 0)[:, None, None]
        found = ratio(np.argmax(only_positive[:, None, :] - x * of_ideal, axis=2))
        if not (found > highest).any():
            break
        highest = np.maximum(highest, found)

    above = base[:, None] + len(documents.levels) * sums
    with_still = have[:, :, None] + n_still[:, None, None] + place
    below = ideal[np.minimum(with_still, most)].sum(axis=1)
    found = np.divide(above, below, out=np.zeros(above.shape), where=below > 0)
    allowed = (n_positive[:, None] <= place) & (place <= n_moving[:, None])
    return np.maximum(highest, np.where(allowed, found, -np.inf).max(axis=1))


def _sums_by_place(
    documents: _Documents, c: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sums of c over the first open documents of each query with c other than 0, in falling order.

    Returns:
        float64[queries, 1 + most such], and for each query how many have c > 0, and c other than 0.
    """
    moving = np.flatnonzero(documents.is_open & (c != 0))
    query, c = documents.query[moving], c[moving]
    order = np.lexsort((-c, query))
    positive, count = (
        np.bincount(of, minlength=documents.n_queries) for of in (query[c > 0], query)
    )
    place = np.arange(len(query)) - np.repeat(np.cumsum(count) - count, count)
    by_place = np.zeros((documents.n_queries, 1 + count.max(initial=0)))
    by_place[query, place + 1] = c[order]
    return np.cumsum(by_place, axis=1), positive, count


def _ideal_weights(measure: Measure, ranks: int) -> np.ndarray:
    """float64[ranks]: the weight of each rank of the ideal ranking; R's ideal has no cutoff."""
    rank = np.arange(1, ranks + 1)
    if measure.base == "R":
        return np.ones(ranks)
    weight = 1 / np.log2(rank + 1) if measure.base == "nDCG" else np.ones(ranks)
    return np.where(rank <= (measure.cutoff or UNCUT), weight, 0)
