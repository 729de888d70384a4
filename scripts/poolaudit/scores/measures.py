"""The measures: what they look at, and their values for all lists at once.

A measure looks at a `View`: the judged lists, one judgment set, and whether the unjudged documents
are still in their places. The formulas are in `formulas`,
what the names mean in `measure_names`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from poolaudit.scores.formulas import FORMULAS, UNCUT, Depth, discounts, ratio
from poolaudit.scores.lists import JudgedLists
from poolaudit.scores.measure_names import Measure

LISTS_AT_ONCE = 1000


class Graded:
    """The judged lists with the grades of one judgment set.

    Attributes:
        lists: the judged lists.
        grades: int16[pairs], the judgment set.
        larger: the same lists with a judgment set in which all that is relevant here is relevant
            too, if there is one: the other rows need not be looked through again.
        values: float64[lists] of the measures that no policy changes.
    """

    def __init__(
        self, lists: JudgedLists, grades: np.ndarray, larger: Graded | None = None
    ) -> None:
        self.lists, self.grades, self.larger = lists, grades, larger
        self.values: dict[Measure, np.ndarray] = {}
        self._hits: dict[int, Hits] = {}
        self._above: dict[int, np.ndarray] = {}
        self._counts: dict[tuple[int, bool], np.ndarray] = {}
        self._ideals: dict[bool, np.ndarray] = {}

    def smaller(self, grades: np.ndarray) -> Graded:
        """The same lists with a judgment set that has no other relevant documents."""
        return Graded(self.lists, grades, larger=self)

    @cached_property
    def grade(self) -> np.ndarray:
        """int16[rows]."""
        return self.grades[self.lists.pair]

    def at_least(self, grade: int) -> np.ndarray:
        """bool[rows]: the rows with this grade or a higher one."""
        return (self.grades >= grade).take(self.lists.pair)

    def judged_within(self, depth: int) -> np.ndarray:
        """int64[lists]: the judged documents among the first `depth` of each list as returned."""
        counted = running(self.at_least(0) & (self.lists.rank <= depth))
        return np.diff(counted[self.lists.offsets])

    def regraded(self, grade: np.ndarray) -> Graded:
        """The same with other grades in the lists; R, N and the ideal ranking stay as they are."""
        return _Regraded(self.lists, self.grades, grade)

    @cached_property
    def judged_before(self) -> np.ndarray:
        """int[rows + 1]: the number of judged rows before each row, over all lists."""
        return running(self.at_least(0))

    @cached_property
    def pooled_before(self) -> np.ndarray:
        """int[rows + 1]: the same with the rows of grade -1: in the pool, not judged."""
        return running(self.at_least(-1))

    def hits(self, rel: int) -> Hits:
        """The rows of relevant documents: those with grade `rel` or above."""
        if rel not in self._hits:
            self._hits[rel] = self._find_hits() if rel == 1 else self._hits_from(rel)
        return self._hits[rel]

    def _find_hits(self) -> Hits:
        if self.larger is not None:
            hits = self.larger.hits(1)
            return hits.regraded(self.grades[hits.pair], 1, self.lists.n_lists)
        row = np.flatnonzero(self.grade >= 1)
        of = self.lists.list_of[row]
        return Hits(
            row=row,
            of=of,
            pair=self.lists.pair[row],
            rank=self.lists.rank[row],
            grade=self.grade[row],
            count=_count(of, self.lists.n_lists),
        )

    def _hits_from(self, rel: int) -> Hits:
        hits = self.hits(1)
        return hits.regraded(hits.grade, rel, self.lists.n_lists)

    def judged_above(self, rel: int) -> np.ndarray:
        """int64[hits]: the judged documents above each hit in its list."""
        if rel not in self._above:
            hits = self.hits(rel)
            self._above[rel] = self.lists.above(self.judged_before, hits.row, hits.of)
        return self._above[rel]

    def pooled_above(self, rel: int) -> np.ndarray:
        """int64[hits]: those and the documents in the pool that were not judged (grade -1)."""
        hits = self.hits(rel)
        return self.lists.above(self.pooled_before, hits.row, hits.of)

    @cached_property
    def fully_judged(self) -> np.ndarray:
        """int64[lists]: how many documents at the head of each list are judged without a gap."""
        rows, pair, lengths = self.lists.unbroken
        gaps = rows[self._unjudged(rows, pair)]
        starts = self.lists.offsets[:-1]
        first_gap = np.append(gaps, len(self.lists))[np.searchsorted(gaps, starts)]
        return np.minimum(first_gap - starts, lengths)

    def _unjudged(self, rows: np.ndarray, pair: np.ndarray) -> np.ndarray:
        return (self.grades < 0).take(pair)

    def relevant(self, rel: int) -> np.ndarray:
        """R, int64[queries]: judged documents with grade `rel` or above, returned or not."""
        return self._count(rel, relevant=True)

    def nonrelevant(self, rel: int) -> np.ndarray:
        """N, int64[queries]: judged documents with a grade below `rel`, returned or not."""
        return self._count(rel, relevant=False)

    @cached_property
    def _judged_grades(self) -> np.ndarray:
        return self.grades[self.lists.judged_pair]

    def _count(self, rel: int, *, relevant: bool) -> np.ndarray:
        if (rel, relevant) not in self._counts:
            grades = self._judged_grades
            among = grades >= rel if relevant else (grades >= 0) & (grades < rel)
            queries = self.lists.judged_query[among]
            counts = np.bincount(queries, minlength=len(self.lists.query_ids))
            self._counts[rel, relevant] = counts
        return self._counts[rel, relevant]

    def ideal(self, discounted: bool) -> np.ndarray:
        """float64[queries, 1 + most]: the (discounted) gain of the best ranking to each depth."""
        if discounted not in self._ideals:
            self._ideals[discounted] = self._ideal(discounted)
        return self._ideals[discounted]

    def _ideal(self, discounted: bool) -> np.ndarray:
        positive = self._judged_grades >= 1
        query, grade = self.lists.judged_query[positive], self._judged_grades[positive]
        order = np.lexsort((-grade, query))
        count = np.bincount(query, minlength=len(self.lists.query_ids))
        place = np.arange(1, len(query) + 1) - np.repeat(np.cumsum(count) - count, count)
        gain = grade[order].astype(np.float64)
        if discounted:
            gain /= discounts(len(place))[place]
        gains = np.zeros((len(count), 1 + count.max(initial=0)))
        gains[query, place] = gain
        return np.cumsum(gains, axis=1)


class _Regraded(Graded):
    """Judged lists with grades of their own."""

    def __init__(self, lists: JudgedLists, grades: np.ndarray, grade: np.ndarray) -> None:
        super().__init__(lists, grades)
        self.grade = grade

    def at_least(self, grade: int) -> np.ndarray:
        return self.grade >= grade

    def _unjudged(self, rows: np.ndarray, pair: np.ndarray) -> np.ndarray:
        return self.grade[rows] < 0


class View:
    """Where the judged documents stand under a policy.

    Attributes:
        graded: the judged lists with their grades.
        condensed: unjudged documents are deleted and the rest move up (trec_eval -J); else they
            stay, and count as nonrelevant.
        heads_only: only the documents above the first unjudged one are looked at.
        values: float64[lists] of the measures that were computed at their own cutoffs.
    """

    def __init__(
        self, graded: Graded, *, condensed: bool = False, heads_only: bool = False
    ) -> None:
        self.graded, self.condensed, self.heads_only = graded, condensed, heads_only
        self.values: dict[Measure, np.ndarray] = {}
        self._hits: dict[tuple[int, int], Hits] = {}

    @property
    def query(self) -> np.ndarray:
        """int32[lists]: the query of each list."""
        return self.graded.lists.list_query

    def hits(self, rel: int, depth: Depth = UNCUT) -> Hits:
        """The rows of relevant documents, those with grade `rel` or above, to a depth."""
        if np.ndim(depth):
            hits = self.hits(rel)
            return hits.only(hits.rank <= depth[hits.of])
        if (rel, depth) not in self._hits:
            self._hits[rel, depth] = self._find_hits(rel, depth)
        return self._hits[rel, depth]

    def _find_hits(self, rel: int, depth: int) -> Hits:
        if depth != UNCUT:
            hits = self.hits(rel)
            return hits.only(hits.rank <= depth)
        hits = self.graded.hits(rel)
        if self.heads_only:
            return hits.only(hits.rank <= self.graded.fully_judged[hits.of])
        return replace(hits, rank=self.graded.judged_above(rel) + 1) if self.condensed else hits

    @cached_property
    def heads(self) -> View:
        """The lists down to the first unjudged document."""
        return View(self.graded, heads_only=True)

    def total(self, measure: Measure, depth: Depth) -> np.ndarray:
        """[lists]: what the documents of each list add up to, the numerator of the measure."""
        return FORMULAS[measure.base].total(self, measure, depth)

    def pooled_above(self, rel: int) -> np.ndarray:
        """int64[hits]: judged documents, and those of grade -1 that are in their places."""
        above = self.graded.judged_above if self.condensed else self.graded.pooled_above
        return above(rel)

    def count(self, hits: Hits) -> np.ndarray:
        """int64[lists]: the hits of each list."""
        return np.bincount(hits.of, minlength=self.graded.lists.n_lists)

    def sum(self, hits: Hits, values: np.ndarray) -> np.ndarray:
        """float64[lists]: the sum over each list, in rank order and in double precision."""
        total = np.bincount(hits.of, values, minlength=self.graded.lists.n_lists)
        return total.astype(np.float64, copy=False)  # of no hits at all, bincount makes integers


@dataclass(frozen=True)
class Hits:
    """The rows of relevant documents, in rank order within each list.

    Attributes:
        row: int64[hits], row number in the judged lists.
        of: int64[hits], the list.
        pair: int32[hits], row number in Pairs.
        rank: int[hits], the rank in the view.
        grade: int16[hits].
        count: int64[hits], the relevant documents of the list down to this one.
    """

    row: np.ndarray
    of: np.ndarray
    pair: np.ndarray
    rank: np.ndarray
    grade: np.ndarray
    count: np.ndarray

    def only(self, chosen: np.ndarray) -> Hits:
        """The first hits of each list, by a mask."""
        at = np.flatnonzero(chosen)
        if len(at) == len(self.row):
            return self
        return Hits(*(getattr(self, field.name).take(at) for field in fields(self)))

    def regraded(self, grade: np.ndarray, rel: int, n_lists: int) -> Hits:
        """Those whose other grade is `rel` or above, counted anew."""
        hits = replace(self, grade=grade).only(grade >= rel)
        return replace(hits, count=_count(hits.of, n_lists))

    @cached_property
    def discounted(self) -> np.ndarray:
        """float64[hits]: the grade over the discount of the rank."""
        return self.grade / discounts(self.rank.max(initial=0))[self.rank]

    @cached_property
    def precision(self) -> np.ndarray:
        """float64[hits]: the precision at the hit's rank."""
        return self.count / self.rank


def _count(of: np.ndarray, n_lists: int) -> np.ndarray:
    """int64[hits]: the place of each hit among those of its list, from 1."""
    size = np.bincount(of, minlength=n_lists)
    return np.arange(1, len(of) + 1) - (np.cumsum(size) - size)[of]


def running(values: np.ndarray) -> np.ndarray:
    """[n + 1]: the sum of the values before each place, and of all; of a mask, the count."""
    kinds = {"f": np.float64, "b": np.int32}
    total = np.zeros(len(values) + 1, kinds.get(values.dtype.kind, np.int64))
    np.cumsum(values, out=total[1:], dtype=total.dtype)
    return total


def running_in_lists(values: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """float64[n]: the sum over a list down to each place, and float64[lists]: over all of it.

    Unlike differences of one running sum over all lists, these do not depend on other lists in the
    last bits.

    Args:
        values: [n], list after list.
        offsets: int64[lists + 1]: the values of list i are offsets[i] up to offsets[i + 1].
    """
    sums, totals = np.empty(len(values)), np.zeros(len(offsets) - 1)
    lengths = np.diff(offsets)
    for start in range(0, len(lengths), LISTS_AT_ONCE):
        lists = slice(start, start + LISTS_AT_ONCE)
        inside = np.arange(lengths[lists].max(initial=0)) < lengths[lists, None]
        rows = slice(offsets[start], offsets[start] + lengths[lists].sum())
        table = np.zeros(inside.shape)
        table[inside] = values[rows]
        table = np.cumsum(table, axis=1)
        sums[rows] = table[inside]
        totals[lists] = table[:, -1] if table.shape[1] else 0
    return sums, totals


def compute(view: View, measure: Measure, depth: Depth | None = None) -> np.ndarray:
    """The values of one of the project's own measures.

    Args:
        view: the judged lists under one judgment set.
        measure: a measure with `ours` true.
        depth: where to stop instead of at the measure's cutoff; one number a list restricts each
            list to a depth of its own.

    Returns:
        float64[lists].
    """
    if depth is not None:
        return _value(view, measure, depth)
    # What no policy changes is computed once for all views of a judgment set.
    values = view.values if FORMULAS[measure.base].of_ranks else view.graded.values
    if measure not in values:
        values[measure] = _value(view, measure, measure.cutoff or UNCUT)
    return values[measure]


def _value(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    over = FORMULAS[measure.base].over(view, measure, depth)
    return ratio(view.total(measure, depth), over)
