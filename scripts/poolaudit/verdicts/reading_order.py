"""What to read first: the unjudged documents that could turn an order of runs around.

The documents are those whose judging can move the difference between two runs (`ranges`), the
*lead* of the better one. For each it is asked how much of the lead it could take away if it alone
were judged, with the grade that does most. First come those that could take most. For several leads
at once these shares are added up, each to at most the whole lead: a lead of next to nothing, which
any document turns, is one lead among the others.

A *settling set* is such that, once its documents are read and found to be nonrelevant, as they are
taken to be now, no judging of the others can turn the order around. That rests on the range of the
difference and holds in the worst case. That no smaller set does is shown for P and RBP, where what
documents do adds up; for other measures it is the smallest found.

Documents picked this way are *targeted*: they say nothing of those that were not picked, and never
enter an estimate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from poolaudit.errors import AuditError
from poolaudit.pairs import NEVER, Pairs, Rankings
from poolaudit.scores.bounds import bounds, has_rule
from poolaudit.scores.lists import judged_lists
from poolaudit.scores.measure_names import Measure, parse_measure
from poolaudit.scores.measures import Graded
from poolaudit.scores.policies import evaluate, evaluate_graded, means
from poolaudit.verdicts.flips import of_runs
from poolaudit.verdicts.ranges import exact_ranges, is_exact, open_documents, outer_range

if TYPE_CHECKING:
    import pandas as pd

    from poolaudit.reading.documents import Documents

SAME = 1e-12
"""Scores that differ by no more are equal but for the last bits."""

ADDITIVE = ("P", "RBP")
"""Measures for which the settling set of one lead is shown to be the smallest."""

BY_LEAD = {
    "leader": str,
    "other": str,
    "place": "int64",
    "query_id": str,
    "doc_id": str,
    "leader_rank": "Int32",
    "other_rank": "Int32",
    "takes": "float64",
    "gives": "float64",
    "settles": bool,
}
"""The columns of `ReadingOrder.by_lead`."""


@dataclass(frozen=True)
class ReadingOrder:
    """What to read first, to settle the order of runs.

    Attributes:
        documents: a row for each unjudged document that could move a lead which is not settled,
            most useful first: query_id, doc_id, leads (how many of them it could move), turns (how
            many it could take away whole by itself), takes (the largest share of a lead that it
            could take away), gives (the largest share that it could add), settles (it is in the
            settling set of all leads together), route ("targeted").
        leads: a row for each pair of runs: leader, other, difference, low, high (its range before
            anything is read), settled (the range is on one side of 0 already), documents (how many
            could take some of the lead), settling (how many the pair's settling set has), smallest
            (no smaller set settles it).
        by_lead: the same documents for each lead by itself: leader, other, place (from 1),
            query_id, doc_id, leader_rank, other_rank (null where that run did not return it, or
            not down to the measure's cutoff), takes, gives, settles.
        settling: how many documents the settling set of all leads together has.
    """

    documents: pd.DataFrame
    leads: pd.DataFrame
    by_lead: pd.DataFrame
    settling: int

    def record(self) -> dict[str, Any]:
        """The leads, and the settling set of all together, for JSON."""
        return {"leads": self.leads.to_dict("records"), "settling": self.settling}

    def sheet(self, queries: Mapping[str, str], documents: Documents | None = None) -> pd.DataFrame:
        """The documents as a judging sheet: query_id, query, doc_id, text (only if any is at hand),
        route, relevance (null: not judged yet), most useful first.

        Args:
            queries: the text of each query by its id.
            documents: where their text is at hand.
        """
        import pandas as pd

        table = self.documents[["query_id", "doc_id", "route"]]
        table.insert(1, "query", [queries.get(query) or "" for query in table["query_id"]])
        if documents:
            texts = documents.texts(pa.array(table["doc_id"], pa.string()))
            table.insert(3, "text", [texts.get(doc, "") for doc in table["doc_id"]])
        return table.assign(relevance=pd.array([None] * len(table), "Int16"))


def can_be_asked(measure: str | Measure) -> bool:
    """Whether a reading order can be made for the measure: it has bounds, and unjudged documents
    count as nonrelevant in it."""
    measure = parse_measure(measure) if isinstance(measure, str) else measure
    return measure.own_policy is None and has_rule(measure)


def read_first(
    pairs: Pairs,
    rankings: Rankings,
    measure: str | Measure,
    compared: Sequence[tuple[str, str]],
    *,
    depth: int = 100,
    most: int | None = None,
) -> ReadingOrder:
    """Order the unjudged documents by what reading them does for the order of runs.

    Args:
        pairs, rankings: the two tables.
        measure: one that `can_be_asked`.
        compared: pairs of run names, or none; either may be the better one. Runs with the same
            score have no order to settle: such pairs are left out.
        depth: how deep documents are looked for, for a measure without a cutoff.
        most: how many documents each list names; None: all. What is counted, is counted of all.

    Raises:
        AuditError: the measure has no bounds or its own way with unjudged documents (Bpref).
    """
    measure = parse_measure(measure) if isinstance(measure, str) else measure
    if compared and not can_be_asked(measure):
        raise AuditError(
            "no reading order can be made for this measure",
            found=measure.name,
            expected="a measure with bounds in which unjudged documents count as nonrelevant",
            todo="take nDCG@k, P@k, R@k, RR, RBP, NCG@k, AP or nDCG",
        )
    question = _ask(pairs, rankings, measure, compared, depth)
    rows = np.flatnonzero(open_documents(pairs, measure, depth))
    takes, gives = question.shares(rows)
    low, high = question.ranges(rows[:0])
    settled = low > SAME
    takes, gives = (np.where(settled, 0, shares) for shares in (takes, gives))
    by_lead = [
        question.alone(k).list_documents(rows, takes[:, k], gives[:, k], most)
        for k in range(len(question.leads))
    ]
    order = np.lexsort(
        (
            rows,
            -gives.max(axis=1, initial=0),
            -takes.max(axis=1, initial=0),
            -np.minimum(takes, 1).sum(axis=1),
        )
    )
    settling = question.settling(rows[order])
    shown = order[: max(int((takes > SAME).any(axis=1).sum()), settling)][:most]
    return ReadingOrder(
        documents=question.name_documents(rows[shown]).assign(
            leads=(takes[shown] > SAME).sum(axis=1),
            turns=(takes[shown] > 1 - SAME).sum(axis=1),
            takes=takes[shown].max(axis=1, initial=0),
            gives=gives[shown].max(axis=1, initial=0),
            settles=np.arange(len(shown)) < settling,
            route="targeted",
        ),
        leads=question.name_leads().assign(
            low=low,
            high=high,
            settled=settled,
            documents=(takes > SAME).sum(axis=0),
            settling=[size for _, size in by_lead],
            smallest=settled | (measure.base in ADDITIVE),
        ),
        by_lead=_joined([table for table, _ in by_lead]),
        settling=settling,
    )


def _joined(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    import pandas as pd

    nothing = pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in BY_LEAD.items()})
    return pd.concat(tables or [nothing], ignore_index=True)


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
    leads = [tuple(sorted(pair, key=lambda run: -score[run])) for pair in compared]
    leads = [(leader, other) for leader, other in leads if score[leader] - score[other] > SAME]
    difference = np.array([score[leader] - score[other] for leader, other in leads])
    return _Question(pairs, rankings, measure, depth, tuple(leads), difference)


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

    def alone(self, lead: int) -> _Question:
        """The question of one lead."""
        runs = sorted(self.leads[lead])
        return replace(
            self,
            rankings=of_runs(self.rankings, runs, self.measure.cutoff),
            leads=self.leads[lead : lead + 1],
            difference=self.difference[lead : lead + 1],
        )

    def list_documents(
        self, rows: np.ndarray, takes: np.ndarray, gives: np.ndarray, most: int | None
    ) -> tuple[pd.DataFrame, int]:
        """The list of the one lead that is asked about, and the size of its settling set.

        Args:
            rows: the open documents.
            takes, gives: float64[documents], the shares of the lead; all 0 where it is settled.
            most: how many documents the list names.
        """
        order = np.lexsort((rows, -gives, -takes))
        settling = self.settling(rows[order])
        shown = order[: max(int((takes > SAME).sum()), settling)][:most]
        (leader, other), named = self.leads[0], self.name_documents(rows[shown])
        table = named.assign(
            leader=leader,
            other=other,
            place=np.arange(1, len(shown) + 1),
            leader_rank=self.ranks(leader, rows[shown]),
            other_rank=self.ranks(other, rows[shown]),
            takes=takes[shown],
            gives=gives[shown],
            settles=np.arange(len(shown)) < settling,
        )
        return table[list(BY_LEAD)], settling

    def ranges(self, read: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """low, high, float64[leads]: the mean difference over all ways of judging what is left,
        when the documents `read` are nonrelevant."""
        grades = self.pairs.relevance.copy()
        grades[read] = 0
        pairs, leads = replace(self.pairs, relevance=grades), self.leads
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
        all_relevant = grades.copy()
        all_relevant[rows] = top
        most = Graded(lists, all_relevant)
        query = self.pairs.query[rows]
        place = np.arange(len(rows)) - np.searchsorted(query, query)
        now = self._differences(most, grades)
        takes = np.zeros((len(rows), len(self.leads)))
        gives = takes.copy()
        whole = self.difference * len(self.pairs.query_ids)
        # Queries do not touch each other, so one document of each is tried at a time.
        for number in range(place.max(initial=-1) + 1):
            tried = np.flatnonzero(place == number)
            for level in levels:
                grades[rows[tried]] = level
                moved = (self._differences(most, grades) - now)[:, query[tried]].T / whole
                takes[tried] = np.maximum(takes[tried], -moved)
                gives[tried] = np.maximum(gives[tried], moved)
            grades[rows[tried]] = 0
        return takes, gives

    def _differences(self, most: Graded, grades: np.ndarray) -> np.ndarray:
        """float64[leads, queries], for grades that find no more relevant than `most` does."""
        (scored,) = evaluate_graded(most.smaller(grades), [self.measure], ("nonrelevant",))
        values = scored.values[0]
        at = {run: i for i, run in enumerate(self.rankings.runs)}
        ends = np.array([[at[run] for run in lead] for lead in self.leads], int).reshape(-1, 2)
        return values[ends[:, 0]] - values[ends[:, 1]]

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

    def ranks(self, run: str, rows: np.ndarray) -> pd.Series:
        """The rank that a run gives the documents, null where it did not return them."""
        import pandas as pd

        rank = np.full(len(self.pairs), NEVER, np.int32)
        mine = self.rankings.list_run[self.rankings.list_of] == self.rankings.runs.index(run)
        rank[self.rankings.pair[mine]] = self.rankings.rank[mine]
        return pd.Series(rank[rows], dtype="Int32").where(rank[rows] != NEVER)

    def name_documents(self, rows: np.ndarray) -> pd.DataFrame:
        """query_id, doc_id."""
        import pandas as pd

        query_id = np.array(self.pairs.query_ids, object)[self.pairs.query[rows]]
        return pd.DataFrame({"query_id": query_id, "doc_id": self.pairs.doc_id.take(rows)})

    def name_leads(self) -> pd.DataFrame:
        """leader, other, difference."""
        import pandas as pd

        table = pd.DataFrame(list(self.leads), columns=["leader", "other"], dtype=str)
        return table.assign(difference=self.difference)
