"""What to read first: the unjudged documents that could turn an order of runs around.

The documents are those whose judging can move the difference between two runs (`ranges`). For each
it is asked how much the difference moves if it alone is judged, with the grade that does most. The
first ones on the list could take most of the lead away.

A *settling set* is such that, once its documents are read and found to be nonrelevant, as they are
taken to be now, no judging of the others can turn the order around. That rests on the range of the
difference and holds in the worst case. That no smaller set does is shown for P and RBP, where what
documents do adds up; for other measures it is the smallest found.

Documents picked this way are *targeted*: they say nothing of those that were not picked, and never
enter an estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from poolaudit.errors import AuditError
from poolaudit.pairs import NEVER, Pairs, Rankings
from poolaudit.scores.bounds import bounds
from poolaudit.scores.lists import JudgedLists, judged_lists
from poolaudit.scores.measure_names import Measure, parse_measure
from poolaudit.scores.policies import evaluate, means
from poolaudit.verdicts.flips import of_runs
from poolaudit.verdicts.ranges import exact_ranges, is_exact, open_documents, outer_range

if TYPE_CHECKING:
    import pandas as pd

SAME = 1e-12
"""Scores that differ by no more are equal but for the last bits."""

ADDITIVE = ("P", "RBP")
"""Measures for which the settling set is shown to be the smallest."""


@dataclass(frozen=True)
class ReadingOrder:
    """What to read first, to settle the order of runs.

    Attributes:
        documents: a row for each unjudged document that could move a lead which is not settled,
            most useful first: query_id, doc_id, `rank_<run>` for each run (null where it did not
            return it), takes (the largest share of a lead that it could take away by itself),
            gives (the largest share that it could add), settles (it is in the settling set), route
            ("targeted").
        leads: a row for each pair of runs: leader, other, difference, low, high (its range before
            anything is read), settled (the range is on one side of 0 already).
        settling: how many documents the settling set has.
        smallest: whether no smaller set settles.
    """

    documents: pd.DataFrame
    leads: pd.DataFrame
    settling: int
    smallest: bool


def top_pairs(
    pairs: Pairs, rankings: Rankings, measure: str | Measure, runs: int = 2
) -> list[tuple[str, str]]:
    """The first run of the table, by its mean score, with each of the next; ties by name."""
    lists = judged_lists(pairs, rankings)
    score = means(evaluate(lists, pairs.relevance, [measure]))[0]
    names = [rankings.runs[run] for run in np.argsort(-score, kind="stable")[:runs]]
    return [(names[0], other) for other in names[1:]]


def read_first(
    pairs: Pairs,
    rankings: Rankings,
    measure: str | Measure,
    compared: Sequence[tuple[str, str]],
    *,
    depth: int = 100,
) -> ReadingOrder:
    """Order the unjudged documents by what reading them does for the order of runs.

    Args:
        pairs, rankings: the two tables.
        measure: one with bounds, in which unjudged documents count as nonrelevant.
        compared: pairs of run names; either may be the better one. Several pairs (`top_pairs`) give
            one list that settles them all.
        depth: how deep documents are looked for, for a measure without a cutoff.

    Raises:
        AuditError: the measure has no bounds or its own way with unjudged documents (Bpref), or the
            runs of a pair have the same score.
    """
    measure = parse_measure(measure) if isinstance(measure, str) else measure
    question = _ask(pairs, rankings, measure, compared, depth)
    rows = np.flatnonzero(open_documents(pairs, measure, depth))
    low, high = question.ranges(rows[:0])
    settled = low > SAME
    takes, gives = (
        np.where(settled, 0, shares).max(axis=1, initial=0) for shares in question.shares(rows)
    )
    order = np.lexsort((rows, -gives, -takes))
    settling = question.settling(rows[order])
    shown = order[: max(int((takes > SAME).sum()), settling)]
    documents = question.describe(rows[shown]).assign(
        takes=takes[shown],
        gives=gives[shown],
        settles=np.arange(len(shown)) < settling,
        route="targeted",
    )
    leads = question.leads_table().assign(low=low, high=high, settled=settled)
    smallest = len(compared) == 1 and measure.base in ADDITIVE
    return ReadingOrder(documents, leads, settling, smallest)


def _ask(
    pairs: Pairs,
    rankings: Rankings,
    measure: Measure,
    compared: Sequence[tuple[str, str]],
    depth: int,
) -> _Question:
    """Turn each pair so that the better run comes first."""
    runs = sorted({run for pair in compared for run in pair})
    rankings = of_runs(rankings, runs, measure.cutoff)
    lists = judged_lists(pairs, rankings)
    score = dict(zip(runs, means(evaluate(lists, pairs.relevance, [measure]))[0], strict=True))
    leads = tuple(sorted(pair, key=lambda run: -score[run]) for pair in compared)
    difference = np.array([score[leader] - score[other] for leader, other in leads])
    if (difference <= SAME).any():
        leader, other = leads[int(np.argmin(difference))]
        raise AuditError(
            "runs with the same score have no order to settle",
            found=f"{leader} and {other}, {measure.name} {score[leader]:.4f}",
            todo="compare runs that differ",
        )
    if measure.own_policy or np.isnan(_bounded(pairs, rankings, measure, depth)).any():
        raise AuditError(
            "no reading order can be made for this measure",
            found=measure.name,
            expected="a measure with bounds in which unjudged documents count as nonrelevant",
            todo="take nDCG@k, P@k, R@k, RR, RBP, NCG@k, AP or nDCG",
        )
    return _Question(pairs, rankings, measure, depth, leads, difference)


def _bounded(pairs: Pairs, rankings: Rankings, measure: Measure, depth: int) -> np.ndarray:
    return bounds(pairs, rankings, [measure], depth=depth).low


@dataclass(frozen=True)
class _Question:
    """Can the order of these runs turn around?

    Attributes:
        pairs, rankings: the two tables; the rankings of the runs in question only.
        measure, depth: as in `read_first`.
        leads: the better and the other run of each pair.
        difference: float64[leads], the better run's mean score less the other's.
    """

    pairs: Pairs
    rankings: Rankings
    measure: Measure
    depth: int
    leads: tuple[tuple[str, str], ...]
    difference: np.ndarray

    def ranges(self, read: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """low, high, float64[leads]: the mean difference over all ways of judging what is left,
        when the documents `read` are nonrelevant."""
        grades = self.pairs.relevance.copy()
        grades[read] = 0
        pairs, leads = replace(self.pairs, relevance=grades), [tuple(pair) for pair in self.leads]
        if is_exact(self.measure):
            found = exact_ranges(pairs, self.rankings, self.measure, leads, depth=self.depth)
        else:
            ends = bounds(pairs, self.rankings, [self.measure], depth=self.depth)
            of_run = dict(zip(ends.runs, zip(ends.low[0], ends.high[0], strict=True), strict=True))
            found = {(a, b): outer_range(of_run, a, b) for a, b in leads}
        low, high = (
            [getattr(found[pair], end).mean() for pair in leads] for end in ("low", "high")
        )
        return np.array(low), np.array(high)

    def shares(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """takes, gives, float64[documents, leads]: the largest share of each lead that judging one
        document alone can take away or add."""
        top = max(1, int(self.pairs.relevance.max(initial=0)))
        levels = range(1, top + 1) if self.measure.rel is None else [self.measure.rel]
        grades = self.pairs.relevance.copy()
        grades[rows] = 0
        lists = judged_lists(self.pairs, self.rankings, grades)
        query = self.pairs.query[rows]
        place = np.arange(len(rows)) - np.searchsorted(query, query)
        now = self._differences(lists, grades)
        takes = np.zeros((len(rows), len(self.leads)))
        gives = takes.copy()
        whole = self.difference * len(self.pairs.query_ids)
        # Queries do not touch each other, so one document of each is tried at a time.
        for number in range(place.max(initial=-1) + 1):
            tried = np.flatnonzero(place == number)
            for level in levels:
                grades[rows[tried]] = level
                moved = (self._differences(lists, grades) - now)[:, query[tried]].T / whole
                takes[tried] = np.maximum(takes[tried], -moved)
                gives[tried] = np.maximum(gives[tried], moved)
            grades[rows[tried]] = 0
        return takes, gives

    def _differences(self, lists: JudgedLists, grades: np.ndarray) -> np.ndarray:
        """float64[leads, queries]."""
        values = evaluate(lists, grades, [self.measure]).values[0]
        at = {run: i for i, run in enumerate(self.rankings.runs)}
        return np.array([values[at[leader]] - values[at[other]] for leader, other in self.leads])

    def settling(self, rows: np.ndarray) -> int:
        """How many of the documents, from the first on, have to be read to settle all leads."""
        # Reading more documents only narrows the ranges.
        unsettled, settled = -1, len(rows)
        while settled - unsettled > 1:
            middle = (settled + unsettled) // 2
            if (self.ranges(rows[:middle])[0] > SAME).all():
                settled = middle
            else:
                unsettled = middle
        return settled

    def describe(self, rows: np.ndarray) -> pd.DataFrame:
        """query_id, doc_id and the rank that each run gives the documents."""
        import pandas as pd

        columns = {
            "query_id": [self.pairs.query_ids[code] for code in self.pairs.query[rows]],
            "doc_id": self.pairs.doc_id.take(rows).to_pylist(),
        }
        of_run = self.rankings.list_run[self.rankings.list_of]
        for number, run in enumerate(self.rankings.runs):
            rank = np.full(len(self.pairs), NEVER, np.int32)
            rank[self.rankings.pair[of_run == number]] = self.rankings.rank[of_run == number]
            columns[f"rank_{run}"] = pd.Series(rank[rows], dtype="Int32").where(rank[rows] != NEVER)
        return pd.DataFrame(columns)

    def leads_table(self) -> pd.DataFrame:
        """leader, other, difference."""
        import pandas as pd

        leaders, others = zip(*self.leads, strict=True)
        return pd.DataFrame({"leader": leaders, "other": others, "difference": self.difference})
