"""Scores under many reduced judgment sets at once.

Leaving a contributor out changes the judgments of some queries only, and most measures on some
lists of these only. Nothing crosses queries, so each *case*, one query as one contributor's absence
leaves it, can be scored as a query of its own. The lists that may change are copied under it, with
the judgments that remain, and many cases are scored in one pass; every other score is what it was,
so the result is exact.

A copy holds relevant documents alone. Of the others a measure asks only how many stand above a
relevant one, and how far down a list is judged without a gap. Both are known for the whole judgment
set, and what was removed is counted off. A list that holds nothing removed is copied empty: what
its documents add up to is known too, and only R or the ideal ranking of its query has changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from poolaudit.pairs import UNJUDGED
from poolaudit.scores.lists import JudgedLists, join_ranges
from poolaudit.scores.measure_names import Measure
from poolaudit.scores.measures import UNCUT, Depth, Graded, View, compute, running
from poolaudit.scores.policies import evaluate, evaluate_views, restrict, restricted_depth
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
        self.views = View(self.graded), View(self.graded, condensed=True)
        self._totals: dict[tuple[Measure, bool, bool], np.ndarray] = {}

    def score(self, measures: Sequence[Measure], policy: str) -> np.ndarray:
        """float64[measures, runs, queries]: the scores under the whole judgment set."""
        return evaluate_views(*self.views, measures, policy).values

    def total(self, view: View, measure: Measure) -> np.ndarray:
        """[lists]: what the documents of each list add up to, to where the view ends."""
        key = measure, view.condensed, view.heads_only
        if key not in self._totals:
            depth = measure.cutoff or UNCUT
            if view.heads_only:
                depth = restricted_depth(view, depth, common=False)
            self._totals[key] = view.total(measure, depth)
        return self._totals[key]

    @cached_property
    def hits(self) -> np.ndarray:
        """int64[hits]: the rows of relevant documents."""
        return self.graded.hits(1).row

    @cached_property
    def hits_before(self) -> np.ndarray:
        """int64[rows + 1]: the number of hits before each row, over all lists."""
        return running(self.graded.grade >= 1)

    @cached_property
    def hits_from(self) -> np.ndarray:
        """int64[lists + 1]: where the hits of each list begin."""
        return self.hits_before[self.lists.offsets]

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
    def relevant_from(self) -> np.ndarray:
        """int64[queries + 1]: where the relevant pairs of each query begin."""
        queries = np.arange(len(self.lists.query_ids) + 1)
        return np.searchsorted(self.query_of[self.relevant_pair], queries)

    @cached_property
    def query_of(self) -> np.ndarray:
        """int32[pairs]: the query of each judged pair."""
        query = np.full(len(self.grades), NOBODY, np.int32)
        query[self.lists.judged_pair] = self.lists.judged_query
        return query


def rescore(absence: Absence, measures: Sequence[Measure], policy: str) -> Iterator[Rescored]:
    """Score the lists that an owner's absence can change.

    Args:
        absence: what each owner takes away; all of it is in the whole judgment set.
        measures, policy: what is scored; all of the same `reach`.

    Yields:
        Batches; the scores of lists that are in none of them are what they were.
    """
    (kind,) = {reach(measure, policy) for measure in measures}
    if kind == ANYTHING:
        yield from _rescore_queries(absence.whole, absence.removed, measures, policy)
        return
    if kind == GAP_OF_ANY:
        absence = absence.of_everyone()
    affected = absence.affected(kind, {measure.rel for measure in measures})
    hits = np.diff(absence.whole.hits_from)[affected.list]
    for batch in _batches(affected.owner, 1 + np.where(affected.copied, hits, 0)):
        copies = _Copies(absence, affected, batch)
        yield Rescored(copies.owner, copies.chosen, copies.score(measures, policy))


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


@dataclass(frozen=True)
class _Affected:
    """The lists that change, by owner and then by list.

    Attributes:
        owner, list: int64[affected].
        copied: bool[affected], what the documents of the list add up to may change too.
        place: int32[owners, lists], which of the affected lists each is; -1 for none.
    """

    owner: np.ndarray
    list: np.ndarray
    copied: np.ndarray
    place: np.ndarray


class Absence:
    """What the owners take away, as the lists see it.

    Attributes:
        whole: the lists and the judgment set.
        removed: what each owner takes away.
        wanted: bool[owners, runs], the runs to score again for each owner. None: all runs.
        owner_of: int32[pairs], whose each removed pair is, or NOBODY.
    """

    def __init__(self, whole: Whole, removed: Reductions, wanted: np.ndarray | None = None) -> None:
        self.whole, self.removed, self.wanted = whole, removed, wanted
        self.owner_of = removed.owner_of(len(whole.grades))

    def of_everyone(self) -> Absence:
        """The same, with all runs scored again."""
        return self if self.wanted is None else Absence(self.whole, self.removed)

    def affected(self, kind: str, levels: set[int | None]) -> _Affected:
        """The lists whose values the absence of an owner can change."""
        lists = self.whole.lists
        row = self.rows[self._matters(kind)]
        holds = np.zeros((self.removed.n_owners, lists.n_lists), bool)
        holds[self.owner_of[lists.pair[row]], lists.list_of[row]] = True
        found = self._changes_query(kind, levels)[:, lists.list_query] | holds
        if self.wanted is not None:
            found &= self.wanted[:, lists.list_run]
        owner, chosen = np.nonzero(found)
        place = np.full(found.shape, NOBODY, np.int32)
        place[owner, chosen] = np.arange(len(owner))
        # Where R bounds the preferences, and other lists the depth, no total stays as it was.
        all_copied = kind in (BELOW_TO_R, GAP_OF_ANY)
        copied = np.ones(len(owner), bool) if all_copied else holds[owner, chosen]
        return _Affected(owner, chosen, copied, place)

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
        """bool[rows]: which removed documents can change what their list adds up to."""
        whole, lists, row = self.whole, self.whole.lists, self.rows
        if kind == RELEVANT:
            return whole.graded.grade[row] >= 1
        of = lists.list_of[row]
        if kind in (GAP, GAP_OF_ANY):
            return lists.rank[row] <= whole.graded.fully_judged[of]
        if kind == BELOW:
            return whole.hits_before[row] < whole.hits_from[of + 1]
        # Bpref counts nonrelevant documents up to R. When R of them stand above the first removed
        # one, as many are left above every hit below it.
        hit_below = whole.hits_before[row + 1] < whole.hits_from[of + 1]
        judged = lists.above(whole.graded.judged_before, row, of)
        relevant = whole.hits_before[row] - whole.hits_from[of]
        enough = judged - relevant >= whole.graded.relevant(1)[lists.list_query[of]]
        return hit_below & ~enough

    def count(self, chosen: np.ndarray) -> np.ndarray:
        """int64[owners, queries]: how many of the pairs that a mask chooses are removed."""
        removed, n_queries = self.removed.only(chosen), len(self.whole.lists.query_ids)
        cell = removed.owner * n_queries + self.whole.query_of[removed.pair]
        counts = np.bincount(cell, minlength=removed.n_owners * n_queries)
        return counts.reshape(removed.n_owners, n_queries)


class _Copies:
    """Copies of lists, each with the judgments that one owner's absence leaves.

    Attributes:
        absence: who takes what away.
        owner, chosen: int64[copies], the owner and the list.
        copied: bool[copies]; the others are without rows.
        case_owner, case_query: int64[cases], the queries as an owner's absence leaves them.
        hit: int64[rows], which of the whole's hits each row is.
        of: int64[rows], the copy that it is in.
        lists, grades: the copies, and the grades of their pairs.
    """

    def __init__(self, absence: Absence, affected: _Affected, batch: slice) -> None:
        self.absence, self._affected, self._first = absence, affected, batch.start
        self.owner, self.chosen = affected.owner[batch], affected.list[batch]
        self.copied = affected.copied[batch]
        whole, lists = absence.whole, absence.whole.lists
        query = lists.list_query[self.chosen]
        new_case = np.diff(self.owner, prepend=NOBODY) != 0
        new_case |= np.diff(query, prepend=NOBODY) != 0
        self.case_owner, self.case_query = self.owner[new_case], query[new_case]

        starts = whole.hits_from[self.chosen]
        size = np.where(self.copied, whole.hits_from[self.chosen + 1] - starts, 0)
        self.hit = join_ranges(starts, starts + size)
        self.of = np.repeat(np.arange(len(size)), size)
        row = whole.hits[self.hit]
        pair = lists.pair[row]
        grade = whole.grades[pair]
        grade[absence.owner_of[pair] == self.owner[self.of]] = UNJUDGED

        starts, stops = (whole.relevant_from[self.case_query + end] for end in (0, 1))
        judged = whole.relevant_pair[join_ranges(starts, stops)]
        judged_case = np.repeat(np.arange(len(self.case_query)), stops - starts)
        left = absence.owner_of[judged] != self.case_owner[judged_case]
        judged, judged_case = judged[left], judged_case[left]

        self.lists = JudgedLists(
            runs=lists.runs,
            query_ids=tuple(map(str, range(len(self.case_query)))),
            list_query=np.cumsum(new_case) - 1,
            list_run=lists.list_run[self.chosen],
            length=lists.length[self.chosen],
            offsets=np.append(0, np.cumsum(size)),
            rank=lists.rank[row],
            pair=np.arange(len(pair)),
            judged_pair=len(pair) + np.arange(len(judged)),
            judged_query=judged_case,
        )
        self.grades = np.concatenate([grade, whole.grades[judged]])

    def score(self, measures: Sequence[Measure], policy: str) -> np.ndarray:
        """float64[measures, lists]."""
        graded = _ReducedGraded(self)
        plain, condensed = (_CopiedView(self, graded, view) for view in self.absence.whole.views)

        def value(measure: Measure) -> np.ndarray:
            if policy.startswith("restrict"):
                return restrict(plain, measure, common=policy == "restrict-common")[0]
            condense = policy == "condense" or measure.judged_only
            return compute(condensed if condense else plain, measure)

        return np.array([value(measure) for measure in measures])

    @cached_property
    def removed(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows of removed documents in the copied lists, and the copies that lack them."""
        owner, row = self.absence.rows_by_owner
        mine = slice(*np.searchsorted(owner, [self.owner[0], self.owner[-1] + 1]))
        owner, row = owner[mine], row[mine]
        copy = self._affected.place[owner, self.absence.whole.lists.list_of[row]]
        held = np.flatnonzero(copy != NOBODY)
        row, copy = row[held], copy[held] - self._first
        held = np.flatnonzero(self.copied[copy])
        return row[held], copy[held]

    def above(self, of_whole: np.ndarray, lowest: int) -> np.ndarray:
        """int64[hits]: what stands above each hit, less the removed of grade `lowest` or above."""
        whole, (row, copy) = self.absence.whole, self.removed
        counts = whole.graded.grade[row] >= lowest
        row, copy = row[counts], copy[counts]
        # Each is counted off at the next hit below it, and so at all further ones of its list.
        begins = self.lists.offsets[copy] - whole.hits_from[self.chosen[copy]]
        hit = whole.hits_before[row] + begins
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
        return self._judged_above[self.hits(rel).row]

    def pooled_above(self, rel: int) -> np.ndarray:
        return self._pooled_above[self.hits(rel).row]


class _CopiedView(View):
    """A view of the copies. What an empty one adds up to is what it does in the whole."""

    def __init__(self, copies: _Copies, graded: Graded, of_whole: View) -> None:
        super().__init__(graded, condensed=of_whole.condensed, heads_only=of_whole.heads_only)
        self.copies, self.of_whole = copies, of_whole

    @cached_property
    def heads(self) -> View:
        return _CopiedView(self.copies, self.graded, self.of_whole.heads)

    def total(self, measure: Measure, depth: Depth) -> np.ndarray:
        total = super().total(measure, depth)
        empty = np.flatnonzero(~self.copies.copied)
        if len(empty):
            of_whole = self.copies.absence.whole.total(self.of_whole, measure)
            total[empty] = of_whole[self.copies.chosen[empty]]
        return total
