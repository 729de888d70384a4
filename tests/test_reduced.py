"""Many reduced judgment sets at once: only what may change is scored again, and exactly so."""

import numpy as np
import pytest

from literal import tables
from poolaudit.pairs import UNJUDGED
from poolaudit.removal import reduced
from poolaudit.removal.reduced import Absence, Reductions, Whole, reach, rescore
from poolaudit.scores.lists import judged_lists
from poolaudit.scores.measure_names import parse_measures
from poolaudit.scores.policies import POLICIES, evaluate

# Owner 0 takes a of q1 away, owner 1 the nonrelevant n and m of q2, owner 2 nothing.
QRELS = "q1: a=1 b=1 c=0 n=0\nq2: a=2 n=0 b=1 m=0"
RUNS = {
    "one": "q1: a b x\nq2: n a b",
    "two": "q1: c b\nq2: a b x",
    "six": "q1: x b a\nq2: x a m b",
}
REMOVED = [("q1", "a", 0), ("q2", "n", 1), ("q2", "m", 1)]


@pytest.fixture(scope="module")
def whole():
    pairs, rankings = tables(QRELS, RUNS)
    queries = [pairs.query_ids[query] for query in pairs.query]
    names = list(zip(queries, pairs.doc_id.to_pylist(), strict=True))
    pair = np.array([names.index((query, doc)) for query, doc, _ in REMOVED])
    reductions = Reductions(3, pair, np.array([owner for *_, owner in REMOVED]))
    return Whole(judged_lists(pairs, rankings), pairs.relevance), reductions


def scored_again(whole, name, policy="nonrelevant", wanted=None) -> set[tuple[int, str, str]]:
    base, reductions = whole
    lists, found = base.lists, set()
    absence = Absence(base, reductions, wanted)
    for batch in rescore(absence, parse_measures([name]), policy):
        for owner, i in zip(batch.owner.tolist(), batch.list.tolist(), strict=True):
            found.add((owner, lists.query_ids[lists.list_query[i]], lists.runs[lists.list_run[i]]))
    return found


EVERYONE_IN_Q1 = {(0, "q1", "one"), (0, "q1", "two"), (0, "q1", "six")}


def test_a_removed_relevant_document_reaches_every_list_of_its_query(whole):
    assert scored_again(whole, "AP") == EVERYONE_IN_Q1


def test_removed_nonrelevant_documents_reach_the_lists_with_a_relevant_one_below(whole):
    # q2: `one` has n above a and b, `six` has m above b, `two` returned neither.
    assert scored_again(whole, "infAP") - EVERYONE_IN_Q1 == {(1, "q2", "one"), (1, "q2", "six")}


def test_bpref_of_a_list_does_not_change_below_r_nonrelevant_documents():
    # R = 1, and x stands above m and above the relevant a: n counts up to 1 with and without m.
    pairs, rankings = tables("q1: a=1 x=0 m=0 y=0", {"one": "q1: x m a", "two": "q1: m a"})
    base = Whole(judged_lists(pairs, rankings), pairs.relevance)
    m = pairs.doc_id.to_pylist().index("m")
    removed = Reductions(1, np.array([m]), np.array([0]))
    (batch,) = rescore(Absence(base, removed), parse_measures(["Bpref"]), "nonrelevant")
    assert base.lists.list_run[batch.list].tolist() == [1]
    assert batch.values.tolist() == [[1.0]]  # with m above it, it was 0


def test_restriction_is_reached_by_what_was_judged_without_a_gap(whole):
    # q2: n is the first of `one`; in `six` the unjudged x stands above m, and R does not change.
    reached = scored_again(whole, "P@3", "restrict") - EVERYONE_IN_Q1
    assert reached == {(1, "q2", "one")}


def test_only_the_wanted_runs_are_scored_again(whole):
    wanted = np.zeros((3, 3), bool)
    wanted[0, whole[0].lists.runs.index("two")] = True
    assert scored_again(whole, "AP", wanted=wanted) == {(0, "q1", "two")}


@pytest.mark.parametrize(
    ("name", "policy", "expected"),
    [
        ("nDCG@10", "nonrelevant", reduced.RELEVANT),
        ("nDCG@10", "condense", reduced.BELOW),
        ("P(judged_only=True)@5", "nonrelevant", reduced.BELOW),
        ("Bpref", "condense", reduced.BELOW_TO_R),
        ("AP", "restrict", reduced.GAP),
        ("AP", "restrict-common", reduced.GAP_OF_ANY),
        ("Judged@10", "nonrelevant", reduced.ANYTHING),
        ("ERR@10", "nonrelevant", reduced.ANYTHING),
    ],
)
def test_what_a_removed_document_can_change(name, policy, expected):
    assert reach(*parse_measures([name]), policy) == expected


@pytest.mark.parametrize(
    "name",
    ["nDCG@2", "AP", "RR", "P@3", "R@2", "RBP(rel=1)", "Bpref(rel=2)", "infAP", "Judged@2", "SetF"],
)
@pytest.mark.parametrize("batch", [1, 10**6])
def test_the_scores_are_those_of_the_reduced_judgments(whole, name, batch, monkeypatch):
    monkeypatch.setattr(reduced, "BATCH", batch)
    base, reductions = whole
    measures = parse_measures([name])
    for owner in range(3):
        grades = base.grades.copy()
        grades[reductions.pair[reductions.owner == owner]] = UNJUDGED
        for policy in POLICIES:
            after = base.score(measures, policy)
            for scored in rescore(Absence(base, reductions), measures, policy):
                mine = scored.owner == owner
                lists = scored.list[mine]
                run, query = base.lists.list_run[lists], base.lists.list_query[lists]
                after[:, run, query] = scored.values[:, mine]
            expected = evaluate(base.lists, grades, measures, policy).values
            np.testing.assert_allclose(after, expected, rtol=0, atol=1e-15)


def test_an_owner_that_takes_nothing_is_in_no_batch(whole):
    assert {owner for owner, _, _ in scored_again(whole, "Bpref")} <= {0, 1}
