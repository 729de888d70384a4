"""What to read first: by hand, and against every way of judging."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from literal import tables
from poolaudit.errors import AuditError
from poolaudit.reading.documents import DocumentFile
from poolaudit.scores.lists import judged_lists
from poolaudit.scores.policies import evaluate, means
from poolaudit.verdicts.reading_order import can_be_asked, read_first


def difference(pairs, rankings, measure, leader, other, grades):
    lists = judged_lists(pairs, rankings, np.maximum(grades, 0).astype(np.int16))
    score = means(evaluate(lists, grades, [measure]))[0]
    return score[rankings.runs.index(leader)] - score[rankings.runs.index(other)]


def can_turn(pairs, rankings, measure, leader, other, unread, top):
    """Whether some judging of the unread documents takes the lead away."""
    for given in itertools.product(range(top + 1), repeat=len(unread)):
        grades = pairs.relevance.copy()
        grades[unread] = given
        if difference(pairs, rankings, measure, leader, other, grades) <= 1e-12:
            return True
    return False


@pytest.fixture
def close():
    """Two queries; A leads by P@4 with 3/4 and 1/4 against 1/4 and 1/4. Unjudged: w, x, y, z, v."""
    return tables(
        "q1: a=1 b=1 c=1 n=0\nq2: d=1 n=0",
        {"A": "q1: a b c w\nq2: d v n", "B": "q1: x a y z\nq2: d n"},
    )


class TestPrecision:
    @pytest.fixture
    def order(self, close):
        return read_first(*close, "P@4", [("B", "A")])

    def test_the_better_run_leads(self, order):
        lead = order.leads.iloc[0]
        assert (lead["leader"], lead["other"]) == ("A", "B")
        assert lead["difference"] == (3 / 4 - 1 / 4) / 2
        # B can gain x, y and z; A can gain w and v.
        assert lead["low"] == pytest.approx((2 - 3) / 8)
        assert lead["high"] == pytest.approx((2 + 2) / 8)
        assert not lead["settled"]

    def test_documents_that_could_take_the_lead_away(self, order):
        # Each of x, y, z is worth one of the two documents that A is ahead.
        assert order.documents["doc_id"].tolist() == ["x", "y", "z"]
        assert order.documents["takes"].tolist() == pytest.approx([0.5] * 3)
        assert order.documents["leads"].tolist() == [1, 1, 1]
        assert order.documents["turns"].tolist() == [0, 0, 0]
        assert set(order.documents["route"]) == {"targeted"}

    def test_where_the_two_runs_have_them(self, order):
        listed = order.by_lead
        assert listed["place"].tolist() == [1, 2, 3]
        assert listed["doc_id"].tolist() == ["x", "y", "z"]
        assert listed["other_rank"].tolist() == [1, 3, 4]
        assert listed["leader_rank"].isna().all()

    def test_the_smallest_set_that_settles(self, order):
        # Two left unread make a tie; with one left unread A stays ahead.
        assert order.settling == 2
        lead = order.leads.iloc[0]
        assert (lead["documents"], lead["settling"], lead["smallest"]) == (3, 2, True)
        assert order.documents["settles"].tolist() == [True, True, False]
        assert order.by_lead["settles"].tolist() == [True, True, False]

    def test_a_list_may_be_cut_short_and_counts_stay(self, close):
        order = read_first(*close, "P@4", [("B", "A")], most=1)
        assert order.documents["doc_id"].tolist() == order.by_lead["doc_id"].tolist() == ["x"]
        assert order.settling == order.leads["settling"].item() == 2
        assert order.leads["documents"].item() == 3

    def test_as_a_judging_sheet(self, order, tmp_path):
        (tmp_path / "documents.tsv").write_text("n\tElms.\ny\tOaks grow.\n")
        documents = DocumentFile(tmp_path / "documents.tsv")
        sheet = order.sheet({"q1": "tall trees"}, documents)
        assert sheet.columns.tolist() == [
            "query_id", "query", "doc_id", "text", "route", "relevance",
        ]  # fmt: skip
        assert sheet.iloc[1].tolist()[:-1] == ["q1", "tall trees", "y", "Oaks grow.", "targeted"]
        assert sheet["relevance"].isna().all()
        assert "text" not in order.sheet({})


def test_documents_that_both_runs_have_at_one_rank_are_not_worth_reading():
    pairs, rankings = tables("q1: a=1", {"A": "q1: u a x", "B": "q1: u y b"})
    order = read_first(pairs, rankings, "P@3", [("A", "B")])
    assert order.documents["doc_id"].tolist() == ["b", "y"]


def test_a_lead_that_nothing_can_turn_needs_no_reading():
    pairs, rankings = tables("q1: a=1 b=1 c=1 n=0", {"A": "q1: a b c", "B": "q1: n x"})
    order = read_first(pairs, rankings, "P@3", [("A", "B")])
    assert order.leads["settled"].tolist() == [True]
    assert (order.settling, len(order.documents)) == (0, 0)


@pytest.mark.parametrize(
    "measure", ["P@3", "RBP(p=0.8,rel=1)", "RR", "nDCG@3", "NCG@3", "R@3", "AP", "nDCG"]
)
def test_no_judging_of_the_others_turns_a_settled_lead(measure):
    pairs, rankings = tables(
        "q1: a=2 b=0 c=1\nq2: d=1 e=0",
        {"A": "q1: a b u c\nq2: d x", "B": "q1: v c a w\nq2: e x d y"},
    )
    order = read_first(pairs, rankings, measure, [("A", "B")])
    lead = order.leads.iloc[0]
    docs = pairs.doc_id.to_pylist()
    open_rows = [row for row in range(len(pairs)) if pairs.relevance[row] < 0]
    read = set(order.documents.loc[order.documents["settles"], "doc_id"])
    unread = [row for row in open_rows if docs[row] not in read]
    assert not can_turn(pairs, rankings, measure, lead["leader"], lead["other"], unread, top=2)
    if not lead["settled"]:
        assert order.settling > 0
    if lead["smallest"] and not lead["settled"]:
        for fewer in itertools.combinations(open_rows, order.settling - 1):
            rest = [row for row in open_rows if row not in fewer]
            assert can_turn(pairs, rankings, measure, lead["leader"], lead["other"], rest, top=2)


def test_shares_are_what_judging_one_document_does(close):
    pairs, rankings = close
    order = read_first(pairs, rankings, "nDCG@4", [("A", "B")])
    lead = order.leads.iloc[0]
    docs = pairs.doc_id.to_pylist()
    for document in order.documents.itertuples():
        grades = pairs.relevance.copy()
        row = next(
            i
            for i, doc in enumerate(docs)
            if doc == document.doc_id and pairs.query_ids[pairs.query[i]] == document.query_id
        )
        grades[row] = 1
        after = difference(pairs, rankings, "nDCG@4", lead["leader"], lead["other"], grades)
        moved = 1 - after / lead["difference"]
        assert max(document.takes, -document.gives, key=abs) == pytest.approx(moved)


THREE = {"A": "q1: a b x", "B": "q1: a y z", "C": "q1: n m b"}


class TestSeveralLeads:
    def test_one_list_settles_them_all(self):
        pairs, rankings = tables("q1: a=1 b=1 n=0 m=0", THREE)
        order = read_first(pairs, rankings, "P@3", [("A", "B"), ("A", "C")])
        # A has 2 of 3, B and C 1 of 3. C has nothing left to gain; B could gain y and z, and one
        # of them makes a tie.
        assert order.leads["settled"].tolist() == [False, True]
        assert order.leads["settling"].tolist() == [2, 0]
        assert order.documents["doc_id"].tolist() == ["y", "z"]
        assert order.documents["turns"].tolist() == [1, 1]
        assert order.settling == 2
        assert order.record()["leads"][1] == {
            "leader": "A",
            "other": "C",
            "difference": pytest.approx(1 / 3),
            "low": pytest.approx(1 / 3),
            "high": pytest.approx(2 / 3),
            "settled": True,
            "documents": 0,
            "settling": 0,
            "smallest": True,
        }

    def test_a_document_that_threatens_more_leads_comes_first(self):
        # A leads B and C by 1 of 4. x would bring up both to a tie, y and z one of them each.
        pairs, rankings = tables(
            "q1: a=1 b=1 n=0", {"A": "q1: a b n", "B": "q1: a n y x", "C": "q1: a n z x"}
        )
        order = read_first(pairs, rankings, "P@4", [("A", "B"), ("A", "C")])
        assert order.documents["doc_id"].tolist() == ["x", "y", "z"]
        assert order.documents["leads"].tolist() == order.documents["turns"].tolist() == [2, 1, 1]


def test_runs_with_the_same_score_have_no_order_to_settle():
    pairs, rankings = tables("q1: a=1", {"A": "q1: a x", "B": "q1: a y", "C": "q1: z"})
    order = read_first(pairs, rankings, "P@2", [("A", "B"), ("A", "C")])
    assert order.leads[["leader", "other"]].values.tolist() == [["A", "C"]]


@pytest.mark.parametrize("compared", [[], [("A", "B")]])
def test_nothing_to_settle(compared):
    pairs, rankings = tables("q1: a=1", {"A": "q1: a x", "B": "q1: a y"})
    order = read_first(pairs, rankings, "P@2", compared)
    assert order.record() == {"leads": [], "settling": 0}
    assert len(order.documents) == len(order.by_lead) == len(order.sheet({})) == 0


@pytest.mark.parametrize("measure", ["Bpref", "infAP", "Rprec"])
def test_measures_without_a_bound_are_refused(measure):
    pairs, rankings = tables("q1: a=1 n=0", {"A": "q1: a x", "B": "q1: n y"})
    assert not can_be_asked(measure)
    with pytest.raises(AuditError, match="no reading order"):
        read_first(pairs, rankings, measure, [("A", "B")])
