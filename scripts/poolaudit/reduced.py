"""Scores under many reduced judgment sets at once.

Leaving a contributor out changes the judgments of some queries only, and many measures on some
lists of these only. Nothing crosses queries, so each *case*, one query as one contributor's absence
leaves it, can be scored as a query of its own: the lists that may change are copied under it with
the judgments that remain, and many cases are scored in one pass. Every other score is what it was,
so the result is exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from poolaudit.lists import JudgedLists, _join
from poolaudit.measures import Measure
from poolaudit.pairs import UNJUDGED
from poolaudit.policies import evaluate

BATCH = 4_000_000


@dataclass(frozen=True)
class Reductions:
    """For each owner the pairs that leave the judgments when it is left out.

    Attributes:
        pair, owner: int64[removed], in the order of owner and pair; no pair has two owners.
    """

    pair: np.ndarray
    owner: np.ndarray

    def only(self, chosen: np.ndarray) -> Reductions:
        """Those that a mask over all pairs chooses."""
        kept = chosen[self.pair]
        return Reductions(self.pair[kept], self.owner[kept])


@dataclass(frozen=True)
class Rescored:
    """What the absence of one owner makes of the scores.

    Attributes:
        owner: the owner left out.
        queries: int64[changed], the queries that lose judgments.
        values: float64[measures, runs, changed], all scores on them.
    """

    owner: int
    queries: np.ndarray
    values: np.ndarray


class Whole:
    """The judged lists with the judgment set that is to be reduced.

    Attributes:
        lists: the judged lists.
        grades: int16[pairs]: the judgment set that the lists were made for.
    """

    def __init__(self, lists: JudgedLists, grades: np.ndarray) -> None:
        self.lists, self.grades = lists, grades

    @cached_property
    def judged_grades(self) -> np.ndarray:
        """int16[judged]."""
        return self.grades[self.lists.judged_pair]

    @cached_property
    def place(self) -> np.ndarray:
        """int64[rows]: where the pair of each row stands among the judged pairs."""
        return np.searchsorted(self.lists.judged_pair, self.lists.pair)

    @cached_property
    def judged_from(self) -> np.ndarray:
        """int64[queries + 1]: where the judged pairs of each query begin."""
        return np.searchsorted(self.lists.judged_query, np.arange(len(self.lists.query_ids) + 1))

    @cached_property
    def lists_from(self) -> np.ndarray:
        """int64[queries + 1]: where the lists of each query begin."""
        return np.searchsorted(self.lists.list_query, np.arange(len(self.lists.query_ids) + 1))


@dataclass(frozen=True)
class _Cases:
    """The queries that owners change, and the lists to be scored again in each.

    Attributes:
        owner, query: int64[cases], in this order.
        place: int64[removed], the removed pairs' places among the judged pairs.
        case: int64[removed], ascending.
        list, list_case: int64[copies], ascending by case and list.
    """

    owner: np.ndarray
    query: np.ndarray
    place: np.ndarray
    case: np.ndarray
    list: np.ndarray
    list_case: np.ndarray


def rescore(
    whole: Whole,
    reductions: Reductions,
    values: np.ndarray,
    measures: Sequence[Measure],
    policy: str,
    wanted: np.ndarray | None = None,
) -> Iterator[Rescored]:
    """Score under the judgments without each owner's pairs.

    Args:
        whole: the lists and the judgment set.
        reductions: what each owner takes away.
        values: float64[measures, runs, queries], the scores under the whole judgment set.
        measures, policy: what `values` holds.
        wanted: bool[owners, runs], the runs whose scores are asked for; those of others may be left
            as they were. None: all runs.

    Yields:
        One Rescored for each owner that takes something away, by number.
    """
    cases = _find_cases(whole, reductions, measures, policy, wanted)
    for first, last in _batches(whole, cases):
        yield from _rescore_batch(whole, cases, first, last, values, measures, policy)


def _find_cases(
    whole: Whole,
    reductions: Reductions,
    measures: Sequence[Measure],
    policy: str,
    wanted: np.ndarray | None,
) -> _Cases:
    lists, n_queries = whole.lists, len(whole.lists.query_ids)
    place = np.searchsorted(lists.judged_pair, reductions.pair)
    keys, case = np.unique(
        reductions.owner * np.int64(n_queries) + lists.judged_query[place], return_inverse=True
    )
    owner, query = np.divmod(keys, n_queries)

    case_of_place = np.full(len(lists.judged_pair), -1, np.int64)
    case_of_place[place] = case
    case_of_row = case_of_place[whole.place]
    touched = np.flatnonzero(case_of_row >= 0)
    copies = [case_of_row[touched] * lists.n_lists + lists.list_of[touched]]
    everywhere = np.flatnonzero(_reach_all_lists(whole, place, case, query, measures, policy))
    starts, stops = whole.lists_from[query[everywhere]], whole.lists_from[query[everywhere] + 1]
    copies.append(np.repeat(everywhere, stops - starts) * lists.n_lists + _join(starts, stops))
    list_case, copied = np.divmod(np.unique(np.concatenate(copies)), lists.n_lists)
    if wanted is not None and policy != "restrict-common":
        kept = wanted[owner[list_case], lists.list_run[copied]]
        list_case, copied = list_case[kept], copied[kept]
    return _Cases(owner, query, place, case, copied, list_case)


def _reach_all_lists(
    whole: Whole,
    place: np.ndarray,
    case: np.ndarray,
    query: np.ndarray,
    measures: Sequence[Measure],
    policy: str,
) -> np.ndarray:
    """bool[cases]: lists that hold none of the removed pairs may change too.

    They do when R or the ideal ranking changes; when judged nonrelevant documents become fewer than
    relevant ones, which Bpref divides by the lesser of; when the depth is common to all lists; and
    nothing is known of measures that are not the project's own.
    """
    if policy == "restrict-common" or not all(measure.ours for measure in measures):
        return np.ones(len(query), bool)
    n_queries, grades = len(whole.lists.query_ids), whole.judged_grades
    judged_query = whole.lists.judged_query
    relevant = np.bincount(judged_query[grades >= 1], minlength=n_queries)
    nonrelevant = np.bincount(judged_query[grades == 0], minlength=n_queries)
    removed = grades[place]
    loses_relevant = np.bincount(case[removed >= 1], minlength=len(query)) > 0
    fewer = nonrelevant[query] - np.bincount(case[removed == 0], minlength=len(query))
    return loses_relevant | (fewer < relevant[query])


def _batches(whole: Whole, cases: _Cases) -> Iterator[tuple[int, int]]:
    """Ranges of cases, whole owners each, that hold about BATCH rows and judged pairs or less."""
    rows = np.diff(whole.lists.offsets)[cases.list]
    size = np.bincount(cases.list_case, rows, minlength=len(cases.owner))
    size += np.diff(whole.judged_from)[cases.query]
    starts = np.append(np.flatnonzero(np.diff(cases.owner, prepend=-1)), len(cases.owner))
    total = np.append(0, np.cumsum(size))[starts]
    first = 0
    while first < len(starts) - 1:
        last = int(np.searchsorted(total, total[first] + BATCH, side="right")) - 1
        last = max(first + 1, last)
        yield int(starts[first]), int(starts[last])
        first = last


def _rescore_batch(
    whole: Whole,
    cases: _Cases,
    first: int,
    last: int,
    values: np.ndarray,
    measures: Sequence[Measure],
    policy: str,
) -> Iterator[Rescored]:
    lists, query = whole.lists, cases.query[first:last]
    copied = slice(*np.searchsorted(cases.list_case, [first, last]))
    removed = slice(*np.searchsorted(cases.case, [first, last]))
    chosen, list_case = cases.list[copied], cases.list_case[copied] - first

    # The judged pairs of each case, one case after the other, are the pairs of the new lists.
    judged = _join(whole.judged_from[query], whole.judged_from[query + 1])
    n_judged = np.diff(whole.judged_from)[query]
    begins = np.cumsum(n_judged) - n_judged
    shift = begins - whole.judged_from[query]
    grades = whole.judged_grades[judged]
    grades[cases.place[removed] + shift[cases.case[removed] - first]] = UNJUDGED

    rows = _join(lists.offsets[chosen], lists.offsets[chosen + 1])
    n_rows = np.diff(lists.offsets)[chosen]
    copies = JudgedLists(
        runs=lists.runs,
        query_ids=tuple(map(str, range(first, last))),
        list_query=list_case.astype(np.int32),
        list_run=lists.list_run[chosen],
        length=lists.length[chosen],
        offsets=np.append(0, np.cumsum(n_rows)),
        rank=lists.rank[rows],
        pair=whole.place[rows] + np.repeat(shift[list_case], n_rows),
        judged_pair=np.arange(len(judged)),
        judged_query=np.repeat(np.arange(last - first), n_judged),
    )
    scored = copies.spread(np.ones(len(chosen), bool))
    rescored = evaluate(copies, grades, measures, policy).values
    rescored = np.where(scored, rescored, values[:, :, query])
    owners, starts = np.unique(cases.owner[first:last], return_index=True)
    for owner, start, stop in zip(owners, starts, [*starts[1:], last - first], strict=True):
        yield Rescored(int(owner), query[start:stop], rescored[:, :, start:stop])
