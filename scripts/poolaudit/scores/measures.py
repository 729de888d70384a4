"""The measures: what they look at, and their values for all lists at once.

A measure looks at a `View`: the judged lists, one judgment set, and whether the unjudged documents
are still in their places. The formulas are in `formulas`,
what the names mean in `measure_names`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from poolaudit.scores import formulas
from poolaudit.scores.formulas import Depth, discounts
from poolaudit.scores.lists import JudgedLists
from poolaudit.scores.measure_names import Measure

UNCUT = np.iinfo(np.int64).max
LISTS_AT_ONCE = 1000


class Graded:
    """The judged lists with the grades of one judgment set.

    Attributes:
        lists: the judged lists.
        grades: int16[pairs], the judgment set.
    """

    def __init__(self, lists: JudgedLists, grades: np.ndarray) -> None:
        self.lists = lists
        self.grades = grades
        self._rows: dict[int, np.ndarray] = {}
        self._hits: dict[int, Hits] = {}
        self._above: dict[int, np.ndarray] = {}
        self._counts: dict[tuple[int, bool], np.ndarray] = {}
        self._ideals: dict[bool, np.ndarray] = {}

    @cached_property
    def grade(self) -> np.ndarray:
        """int16[rows]."""
        return self.grades[self.lists.pair]

    def judged_within(self, depth: int) -> np.ndarray:
        """int64[lists]: the judged documents among the first `depth` of each list as returned."""
        counted = running((self.grade >= 0) & (self.lists.rank <= depth))
        return np.diff(counted[self.lists.offsets])

    def regraded(self, grade: np.ndarray) -> Graded:
        """The same with other grades in the lists; R, N and the ideal ranking stay as they are."""
        other = Graded(self.lists, self.grades)
        other.grade = grade
        return other

    @cached_property
    def judged_before(self) -> np.ndarray:
        """int64[rows + 1]: the number of judged rows before each row, over all lists."""
        return running(self.grade >= 0)

    @cached_property
    def pooled_before(self) -> np.ndarray:
        """int64[rows + 1]: the same with the rows of grade -1: in the pool, not judged."""
        return running(self.grade >= -1)

    def relevant_rows(self, rel: int) -> np.ndarray:
        """int64: the rows with grade `rel` or above."""
        if rel not in self._rows:
            if rel == 1:
                self._rows[rel] = np.flatnonzero(self.grade >= 1)
            else:
                rows = self.relevant_rows(1)
                self._rows[rel] = rows[self.grade[rows] >= rel]
        return self._rows[rel]

    def hits(self, rel: int) -> Hits:
        """The rows of relevant documents: those with grade `rel` or above."""
        if rel not in self._hits:
            row = self.relevant_rows(rel)
            of = self.lists.list_of[row]
            count = np.bincount(of, minlength=self.lists.n_lists)
            first = np.cumsum(count) - count
            self._hits[rel] = Hits(
                row=row,
                of=of,
                rank=self.lists.rank[row],
                grade=self.grade[row],
                count=np.arange(1, len(row) + 1) - first[of],
            )
        return self._hits[rel]

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
        rows, lengths = self.lists.unbroken
        gaps = rows[self.grade[rows] < 0]
        starts = self.lists.offsets[:-1]
        first_gap = np.append(gaps, len(self.lists))[np.searchsorted(gaps, starts)]
        return np.minimum(first_gap - starts, lengths)

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


class View:
    """Where the judged documents stand under a policy.

    Attributes:
        graded: the judged lists with their grades.
        condensed: unjudged documents are deleted and the rest move up (trec_eval -J); else they
            stay, and count as nonrelevant.
        values: float64[lists] of the measures that were computed at their own cutoffs.
    """

    def __init__(self, graded: Graded, *, condensed: bool) -> None:
        self.graded = graded
        self.condensed = condensed
        self.values: dict[Measure, np.ndarray] = {}
        self._hits: dict[int, Hits] = {}

    @property
    def query(self) -> np.ndarray:
        """int32[lists]: the query of each list."""
        return self.graded.lists.list_query

    def hits(self, rel: int) -> Hits:
        """The rows of relevant documents: those with grade `rel` or above."""
        if not self.condensed:
            return self.graded.hits(rel)
        if rel not in self._hits:
            rank = self.graded.judged_above(rel) + 1
            self._hits[rel] = replace(self.graded.hits(rel), rank=rank)
        return self._hits[rel]

    def pooled_above(self, rel: int) -> np.ndarray:
        """int64[hits]: judged documents, and those of grade -1 that are in their places."""
        above = self.graded.judged_above if self.condensed else self.graded.pooled_above
        return above(rel)

    def sum(self, hits: Hits, values: np.ndarray) -> np.ndarray:
        """float64[lists]: the sum over each list, in rank order and in double precision."""
        return np.bincount(hits.of, values, minlength=self.graded.lists.n_lists)


@dataclass(frozen=True)
class Hits:
    """The rows of relevant documents, in rank order within each list.

    Attributes:
        row: int64[hits], row number in the judged lists.
        of: int64[hits], the list.
        rank: int64[hits], the rank in the view.
        grade: int16[hits].
        count: int64[hits], the relevant documents of the list down to this one.
    """

    row: np.ndarray
    of: np.ndarray
    rank: np.ndarray
    grade: np.ndarray
    count: np.ndarray

    @cached_property
    def discounted(self) -> np.ndarray:
        """float64[hits]: the grade over the discount of the rank."""
        return self.grade / discounts(self.rank.max(initial=0))[self.rank]

    @cached_property
    def precision(self) -> np.ndarray:
        """float64[hits]: the precision at the hit's rank."""
        return self.count / self.rank


def running(values: np.ndarray) -> np.ndarray:
    """[n + 1]: the sum of the values before each place, and of all; of a mask, the count."""
    total = np.zeros(len(values) + 1, np.float64 if values.dtype.kind == "f" else np.int64)
    np.cumsum(values, out=total[1:])
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


_FUNCTIONS: dict[str, Callable[[View, Measure, Depth], np.ndarray]] = {
    "nDCG": formulas.ndcg,
    "NCG": formulas.ncg,
    "P": formulas.precision,
    "R": formulas.recall,
    "AP": formulas.average_precision,
    "RR": formulas.reciprocal_rank,
    "Success": formulas.success,
    "RBP": formulas.rank_biased_precision,
    "Bpref": formulas.bpref,
    "infAP": formulas.inferred_average_precision,
    "Judged": formulas.judged_share,
}


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
        return _FUNCTIONS[measure.base](view, measure, depth)
    if measure not in view.values:
        value = _FUNCTIONS[measure.base](view, measure, measure.cutoff or UNCUT)
        view.values[measure] = value
    return view.values[measure]
