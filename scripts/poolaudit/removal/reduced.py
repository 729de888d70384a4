"""Scores under many reduced judgment sets at once.

Leaving a contributor out changes the judgments of some queries only, and most measures on some
lists of these only. Nothing crosses queries, so each *case*, one query as one contributor's absence
leaves it, can be scored as a query of its own. The lists that may change are copied under it, with
the judgments that remain, and many cases are scored in one pass; every other score is what it was,
so the result is exact.

A copy holds relevant documents alone. Of the others a measure asks only how many stand above a
relevant one, and how far down a list is judged without a gap. Both are known for the whole judgment
set, and what was removed is counted off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from poolaudit.pairs import UNJUDGED
from poolaudit.scores.lists import JudgedLists, join_ranges
from poolaudit.scores.measure_names import Measure
from poolaudit.scores.measures import Graded, View, compute, running
from poolaudit.scores.policies import evaluate, evaluate_views, restrict
from poolaudit.stretches import stretches

BATCH = 500_000
NOBODY = -1

# What a removed document can change in the lists that hold it, and in those that do not. Taking a
# relevant document away changes R and the ideal, and so every list of the query.
RELEVANT = "relevant documents only"
BELOW = "what stands below it in its list"
BELOW_TO_R = "what stands below it, down to R judged nonrelevant documents"
GAP = "the depth that its list is judged to"
GAP_OF_ANY = "the depth that any list of the query is judged to"
ANYTHING = "not known"

# What these measures make of a document judged nonrelevant and of one not judged is the same, as
# long as unjudged documents stay in their places and count as nonrelevant.
_OF_RELEVANT = frozenset({"nDCG", "NCG", "P", "R", "AP", "RR", "Success", "RBP"})


def reach(measure: Measure, policy: str) -> str:
    """What a removed document can change in the values of a measure under a policy."""
    if not measure.ours or measure.base == "Judged":
        return ANYTHING
    if policy == "restrict-common":
        return GAP_OF_ANY
    if policy == "restrict":
        return GAP
    if measure.base == "Bpref":
        return BELOW_TO_R
    plain = policy == "nonrelevant" and not measure.judged_only
    return RELEVANT if plain and measure.base in _OF_RELEVANT else BELOW


@dataclass(frozen=True)
class Reductions:
    """For each owner the pairs that leave the judgments when it is left out.

    Attributes:
        n_owners: the number of owners.
        pair, owner: int64[removed]; no pair has two owners.
    """

    n_owners: int
    pair: np.ndarray
    owner: np.ndarray

    def only(self, chosen: np.ndarray) -> Reductions:
        """Those that a mask over all pairs chooses."""
        kept = chosen[self.pair]
        return Reductions(self.n_owners, self.pair[kept], self.owner[kept])

    def owner_of(self, n_pairs: int) -> np.ndarray:
        """int32[pairs]: whose each pair is, or NOBODY."""
        owner = np.full(n_pairs, NOBODY, np.int32)
        owner[self.pair] = self.owner
        return owner


@dataclass(frozen=True)
class Rescored:
    """Lists scored again, each without one owner's pairs.

    Attributes:
        owner, list: int64[lists], by owner and then by list; no owner is in two batches.
        values: float64[measures, lists].
    """

    owner: np.ndarray
    list: np.ndarray
    values: np.ndarray


class Whole:
    """The judged lists and the judgment set that is to be reduced.

    Attributes:
        lists: the judged lists.
        grades: int16[pairs], the judgment set that they were made for.
        graded: both.
    """

    def __init__(self, lists: JudgedLists, grades: np.ndarray) -> None:
        self.lists, self.grades = lists, grades
        self.graded = Graded(lists, grades)
        self._views = View(self.graded, condensed=False), View(self.graded, condensed=True)

    def score(self, measures: Sequence[Measure], policy: str) -> np.ndarray:
        """float64[measures, runs, queries]: the scores under the whole judgment set."""
        return evaluate_views(*self._views, measures, policy).values

    @cached_property
    def hits(self) -> np.ndarray:
        """int64[hits]: the rows of relevant documents."""
        return self.graded.relevant_rows(1)

    @cached_property
    def hits_from(self) -> np.ndarray:
        """int64[lists + 1]: where the hits of each list begin."""
        return np.searchsorted(self.hits, self.lists.offsets)

    @cached_property
    def judged_above(self) -> np.ndarray:
        """int64[hits]: the judged documents above each hit in its list."""
        return self._above(self.graded.judged_before)

    @cached_property
    def pooled_above(self) -> np.ndarray:
        """int64[hits]: those and the documents that were pooled and not judged."""
        return self._above(self.graded.pooled_before)

    def _above(self, before: np.ndarray) -> np.ndarray:
        return self.lists.above(before, self.hits, self.lists.list_of[self.hits])

    @cached_property
    def relevant_pair(self) -> np.ndarray:
        """int64[relevant]: the judged relevant pairs, by query."""
        return self.lists.judged_pair[self.grades[self.lists.judged_pair] >= 1]

    @cached_property
    def query_of(self) -> np.ndarray:
        """int32[pairs]: the query of each judged pair."""
        query = np.full(len(self.grades), NOBODY, np.int32)
        query[self.lists.judged_pair] = self.lists.judged_query
        return query


def rescore(
    whole: Whole,
    reductions: Reductions,
    measures: Sequence[Measure],
    policy: str,
    wanted: np.ndarray | None = None,
) -> Iterator[Rescored]:
    """Score the lists that an owner's absence can change.

    Args:
        whole: the lists and the judgment set.
        reductions: what each owner takes away; all of it is in the judgment set.
        measures, policy: what is scored; all of the same `reach`.
        wanted: bool[owners, runs], the runs to score again for each owner. None: all runs.

    Yields:
        Batches; the scores of lists that are in none of them are what they were.
    """
    (kind,) = {reach(measure, policy) for measure in measures}
    if kind == ANYTHING:
        yield from _rescore_queries(whole, reductions, measures, policy)
        return
    absence = _Absence(whole, reductions, None if kind == GAP_OF_ANY else wanted)
    owner, chosen = np.nonzero(absence.affected(kind, {measure.rel for measure in measures}))
    for batch in _batches(owner, np.diff(whole.hits_from)[chosen]):
        copies = _Copies(absence, owner[batch], chosen[batch])
        yield Rescored(owner[batch], chosen[batch], copies.score(measures, policy))


def _rescore_queries(
    whole: Whole, reductions: Reductions, measures: Sequence[Measure], policy: str
) -> Iterator[Rescored]:
    """Score all lists of the queries that change, one owner at a time."""
    for owner in np.unique(reductions.owner):
        removed = reductions.pair[reductions.owner == owner]
        queries = np.unique(whole.query_of[removed])
        lists = np.flatnonzero(np.isin(whole.lists.list_query, queries))
        grades = whole.grades.copy()
        grades[removed] = UNJUDGED
        scored = evaluate(whole.lists.of_queries(queries), grades, measures, policy)
        at = np.searchsorted(queries, whole.lists.list_query[lists])
        values = scored.values[:, whole.lists.list_run[lists], at]
        yield Rescored(np.full(len(lists), owner), lists, values)


def _batches(owner: np.ndarray, size: np.ndarray) -> Iterator[slice]:
    """Ranges of whole owners that hold about BATCH hits or less."""
    starts = np.append(np.flatnonzero(np.diff(owner, prepend=NOBODY)), len(owner))
    of_owner = np.diff(np.append(0, np.cumsum(size))[starts])
    for first, last in stretches(of_owner, BATCH):
        yield slice(starts[first], starts[last])


class _Absence:
    """What the owners take away, as the lists of the wanted runs see it."""

    def __init__(self, whole: Whole, reductions: Reductions, wanted: np.ndarray | None) -> None:
        self.whole, self.removed, self.wanted = whole, reductions, wanted
        self.owner_of = reductions.owner_of(len(whole.grades))

    def affected(self, kind: str, levels: set[int | None]) -> np.ndarray:
        """bool[owners, lists]: the lists whose values the absence of an owner can change."""
        lists = self.whole.lists
        found = self._changes_query(kind, levels)[:, lists.list_query]
        if kind != RELEVANT:
            row = self.rows[self._matters(kind)]
            found[self.owner_of[lists.pair[row]], lists.list_of[row]] = True
        return found if self.wanted is None else found & self.wanted[:, lists.list_run]

    def _changes_query(self, kind: str, levels: set[int | None]) -> np.ndarray:
        """bool[owners, queries]: the values of lists may change that hold nothing removed."""
        grades, graded = self.whole.grades, self.whole.graded
        if kind == GAP_OF_ANY:
            return self.count(grades != UNJUDGED) > 0
        changes = self.count(grades >= 1) > 0
        for rel in levels if kind == BELOW_TO_R else ():
            # Bpref divides by the lesser of N and R.
            relevant, before = graded.relevant(rel), graded.nonrelevant(rel)
            after = before - self.count((grades >= 0) & (grades < rel))
            changes |= np.minimum(after, relevant) != np.minimum(before, relevant)
        return changes

    @cached_property
    def rows(self) -> np.ndarray:
        """int64[rows]: the rows of removed documents."""
        lists = self.whole.lists
        row = np.flatnonzero((self.owner_of != NOBODY)[lists.pair])
        if self.wanted is None:
            return row
        run = lists.list_run[lists.list_of[row]]
        return row[self.wanted[self.owner_of[lists.pair[row]], run]]

    @cached_property
    def rows_by_owner(self) -> tuple[np.ndarray, np.ndarray]:
        """The owners of the removed documents' rows, ascending, and the rows."""
        owner = self.owner_of[self.whole.lists.pair[self.rows]]
        order = np.argsort(owner, kind="stable")
        return owner[order], self.rows[order]

    def _matters(self, kind: str) -> np.ndarray:
        """bool[rows]: which removed documents can change the list that they are in."""
        whole, lists, row = self.whole, self.whole.lists, self.rows
        of = lists.list_of[row]
        if kind in (GAP, GAP_OF_ANY):
            return lists.rank[row] <= whole.graded.fully_judged[of]
        hits_to = np.searchsorted(whole.hits, row, side="right")
        hit_below = hits_to < whole.hits_from[of + 1]
        if kind == BELOW:
            return hit_below
        # Bpref counts nonrelevant documents up to R. When R of them stand above the first removed
        # one, as many are left above every hit below it.
        judged = lists.above(whole.graded.judged_before, row, of)
        relevant = np.searchsorted(whole.hits, row) - whole.hits_from[of]
        enough = judged - relevant >= whole.graded.relevant(1)[lists.list_query[of]]
        return hit_below & ~enough

    def count(self, chosen: np.ndarray) -> np.ndarray:
        """int64[owners, queries]: how many of the pairs that a mask chooses are removed."""
        removed, n_queries = self.removed.only(chosen), len(self.whole.lists.query_ids)
        cell = removed.owner * n_queries + self.whole.query_of[removed.pair]
        counts = np.bincount(cell, minlength=removed.n_owners * n_queries)
        return counts.reshape(removed.n_owners, n_queries)


class _Copies:
    """Copies of lists, each with the judgments that one owner's absence leaves."""

    def __init__(self, absence: _Absence, owner: np.ndarray, chosen: np.ndarray) -> None:
        self.absence, self.owner, self.chosen = absence, owner, chosen
        whole, lists = absence.whole, absence.whole.lists
        query = lists.list_query[chosen]
        new_case = (np.diff(owner, prepend=NOBODY) != 0) | (np.diff(query, prepend=NOBODY) != 0)
        case = np.cumsum(new_case) - 1
        self.case_owner, self.case_query = owner[new_case], query[new_case]

        starts, stops = whole.hits_from[chosen], whole.hits_from[chosen + 1]
        self.hit = join_ranges(starts, stops)
        self.of = np.repeat(np.arange(len(chosen)), stops - starts)
        self.row = whole.hits[self.hit]
        pair = lists.pair[self.row]
        grade = whole.grades[pair]
        grade[absence.owner_of[pair] == owner[self.of]] = UNJUDGED

        of_relevant = whole.query_of[whole.relevant_pair]
        starts = np.searchsorted(of_relevant, self.case_query, side="left")
        stops = np.searchsorted(of_relevant, self.case_query, side="right")
        judged = whole.relevant_pair[join_ranges(starts, stops)]
        judged_case = np.repeat(np.arange(len(self.case_query)), stops - starts)
        left = absence.owner_of[judged] != self.case_owner[judged_case]
        judged, judged_case = judged[left], judged_case[left]

        self.lists = JudgedLists(
            runs=lists.runs,
            query_ids=tuple(map(str, range(len(self.case_query)))),
            list_query=case,
            list_run=lists.list_run[chosen],
            length=lists.length[chosen],
            offsets=np.append(0, np.cumsum(np.diff(whole.hits_from)[chosen])),
            rank=lists.rank[self.row],
            pair=np.arange(len(pair)),
            judged_pair=len(pair) + np.arange(len(judged)),
            judged_query=judged_case,
        )
        self.grades = np.concatenate([grade, whole.grades[judged]])

    def score(self, measures: Sequence[Measure], policy: str) -> np.ndarray:
        """float64[measures, lists]."""
        graded = _ReducedGraded(self)
        plain = View(graded, condensed=False)
        condensed = View(graded, condensed=True)

        def value(measure: Measure) -> np.ndarray:
            if policy.startswith("restrict"):
                return restrict(plain, measure, common=policy == "restrict-common")[0]
            condense = policy == "condense" or measure.judged_only
            return compute(condensed if condense else plain, measure)

        return np.array([value(measure) for measure in measures])

    @cached_property
    def removed(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows of removed documents in the copied lists, and the copies that lack them."""
        lists, absence = self.absence.whole.lists, self.absence
        owner, row = absence.rows_by_owner
        mine = slice(*np.searchsorted(owner, [self.owner[0], self.owner[-1] + 1]))
        key = owner[mine] * np.int64(lists.n_lists) + lists.list_of[row[mine]]
        keys = self.owner * np.int64(lists.n_lists) + self.chosen
        copy = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
        copied = keys[copy] == key
        return row[mine][copied], copy[copied]

    def above(self, of_whole: np.ndarray, lowest: int) -> np.ndarray:
        """int64[hits]: what stands above each hit, less the removed of grade `lowest` or above."""
        whole, (row, copy) = self.absence.whole, self.removed
        counts = whole.graded.grade[row] >= lowest
        row, copy = row[counts], copy[counts]
        # Each is counted off at the next hit below it, and so at all further ones of its list.
        begins = self.lists.offsets[copy] - whole.hits_from[self.chosen[copy]]
        hit = np.searchsorted(whole.hits, row) + begins
        hit = hit[hit < self.lists.offsets[copy + 1]]
        lost = running(np.bincount(hit, minlength=len(self.hit)))
        return of_whole[self.hit] - (lost[1:] - lost[self.lists.offsets[self.of]])

    def fully_judged(self) -> np.ndarray:
        """int64[lists]: how far down each list is judged without a gap."""
        whole, (row, copy) = self.absence.whole, self.removed
        depth = whole.graded.fully_judged[self.chosen]
        np.minimum.at(depth, copy, whole.lists.rank[row] - 1)
        return depth


class _ReducedGraded(Graded):
    """The copies, with the documents that they do not hold in the counts."""

    def __init__(self, copies: _Copies) -> None:
        super().__init__(copies.lists, copies.grades)
        self.copies, self.whole = copies, copies.absence.whole

    def nonrelevant(self, rel: int) -> np.ndarray:
        case = self.copies.case_owner, self.copies.case_query
        grades = self.whole.grades
        lost = self.copies.absence.count((grades >= 0) & (grades < rel))
        return self.whole.graded.nonrelevant(rel)[case[1]] - lost[case]

    @cached_property
    def fully_judged(self) -> np.ndarray:
        return self.copies.fully_judged()

    @cached_property
    def _judged_above(self) -> np.ndarray:
        return self.copies.above(self.whole.judged_above, 0)

    @cached_property
    def _pooled_above(self) -> np.ndarray:
        return self.copies.above(self.whole.pooled_above, -1)

    def judged_above(self, rel: int) -> np.ndarray:
        return self._judged_above[self.relevant_rows(rel)]

    def pooled_above(self, rel: int) -> np.ndarray:
        return self._pooled_above[self.relevant_rows(rel)]
