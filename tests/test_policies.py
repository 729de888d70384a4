"""What each policy does with unjudged documents."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from literal import grades, tables
from poolaudit.errors import AuditError
from poolaudit.pairs import UNJUDGED
from poolaudit.scores.lists import judged_lists
from poolaudit.scores.measure_names import parse_measures
from poolaudit.scores.measures import Graded
from poolaudit.scores.policies import (
    POLICIES,
    Evaluation,
    answered,
    change,
    coverage,
    difference,
    evaluate,
    evaluate_graded,
    evaluate_policies,
    means,
    n_values,
    same_values,
)
from real import dl19_passage

NOTHING = math.nan


def both(qrels: str, ranking: str, measures: list[str], policy: str) -> tuple[list, list]:
    """The values and effective depths of one list."""
    pairs, rankings = tables(f"q: {qrels}", {"A": f"q: {ranking}"})
    evaluation = evaluate(judged_lists(pairs, rankings), pairs.grades(), measures, policy)
    depth = evaluation.effective_depth
    return evaluation.values[:, 0, 0].tolist(), [] if depth is None else depth[:, 0, 0].tolist()


def test_condensing_deletes_unjudged_documents():
    # x and y are not judged: the list becomes b a.
    assert both("a=1 b=0", "x b y a", ["RR", "AP", "P@2"], "condense")[0] == [1 / 2, 1 / 2, 1 / 2]
    assert both("a=1 b=0", "x b y a", ["RR", "AP", "P@2"], "nonrelevant")[0] == [1 / 4, 1 / 4, 0]


RESTRICTED = "a=1 b=0 c=2 d=1 e=1"  # lists below meet x after three judged documents


@pytest.mark.parametrize(
    ("measure", "value"),
    [
        ("P@10", 2 / 3),  # P@3
        ("nDCG@10", (1 + 2 / 2) / (2 + 1 / math.log2(3) + 1 / 2)),  # cutoff and ideal at 3
        ("nDCG", (1 + 2 / 2) / (2 + 1 / math.log2(3) + 1 / 2)),
        ("NCG@10", (1 + 2) / (2 + 1 + 1)),
        ("AP", (1 + 2 / 3) / 3),  # min(R, m) = min(4, 3)
        ("AP(rel=2)", (1 / 3) / 1),
        ("R@10", 2 / 3),
        ("RR", 1),
        ("RBP(p=0.5,rel=1)", 0.5 * (1 + 0.25)),
        ("Success@10", 1),
        ("Bpref", NOTHING),
        ("infAP", NOTHING),
        ("AP(judged_only=True)", NOTHING),
        ("ERR@10", NOTHING),
    ],
)
def test_restricting_stops_above_the_first_unjudged_document(measure, value):
    values, depths = both(RESTRICTED, "a b c x d", [measure], "restrict")
    assert values == pytest.approx([value], nan_ok=True)
    assert depths == ([0] if measure in ("Bpref", "infAP", "AP(judged_only=True)") else [3])


@pytest.mark.parametrize(
    "measure", ["P@10", "nDCG@10", "nDCG", "AP", "RR", "RR@10", "RBP(rel=1)", "NCG@9", "Success@9"]
)
def test_a_list_that_ends_is_not_a_list_that_meets_an_unjudged_document(measure):
    plain = both(RESTRICTED, "b a c", [measure], "nonrelevant")[0]
    assert both(RESTRICTED, "b a c", [measure], "restrict")[0] == plain


def test_the_depth_of_a_list_that_ends_is_the_cutoff_or_its_length():
    assert both(RESTRICTED, "b a c", ["P@10", "AP"], "restrict")[1] == [10, 3]


def test_unjudged_documents_below_the_cutoff_restrict_nothing():
    assert both(RESTRICTED, "b a c x", ["P@3"], "restrict") == ([2 / 3], [3])


def test_rr_has_no_value_when_the_first_relevant_document_is_below_the_restriction():
    assert both("a=1 b=0", "b x a", ["RR", "Success@3"], "restrict")[0] == pytest.approx(
        [NOTHING, NOTHING], nan_ok=True
    )


def test_rr_is_0_when_all_that_was_returned_is_judged_and_none_of_it_is_relevant():
    assert both("a=1 b=0 c=0", "b c", ["RR", "RR@10"], "restrict")[0] == [0, 0]


def test_an_unjudged_document_at_the_top_leaves_no_value():
    values, depths = both("a=1", "x a", ["P@5", "AP", "RBP(rel=1)"], "restrict")
    assert values == pytest.approx([NOTHING] * 3, nan_ok=True)
    assert depths == [0, 0, 0]


PAIRS, RANKINGS = tables(
    "q1: a=1 b=0 c=1\nq2: d=1 e=0\nq3: f=0",
    {"A": "q1: a b x\nq2: d e", "B": "q1: b y a\nq2: e d z\nq3: f"},
)
LISTS = judged_lists(PAIRS, RANKINGS)


def test_restrict_common_takes_the_smallest_depth_of_each_query():
    evaluation = evaluate(LISTS, PAIRS.grades(), ["P@3", "AP"], "restrict-common")
    assert evaluation.effective_depth.tolist() == [
        [[1, 2, 0], [1, 2, 3]],  # q1: B meets y at 2. q2: B meets z at 3. q3: A has no list.
        [[1, 2, 0], [1, 2, 1]],
    ]
    assert evaluation.values[0].tolist() == [[1, 1 / 2, 0], [0, 1 / 2, 0]]


def test_a_list_that_ends_does_not_limit_the_others():
    pairs, rankings = tables("q: a=1 b=1 c=1", {"A": "q: a", "B": "q: a b c"})
    evaluation = evaluate(
        judged_lists(pairs, rankings), pairs.grades(), ["P@3", "AP"], "restrict-common"
    )
    assert evaluation.values[:, :, 0].tolist() == [[1 / 3, 1], [1 / 3, 1]]


@pytest.mark.parametrize("policy", POLICIES)
def test_an_unanswered_query_scores_0_under_every_policy(policy):
    evaluation = evaluate(LISTS, PAIRS.grades(), ["P@3", "AP", "RR", "nDCG@3"], policy)
    assert evaluation.values[:, 0, 2].tolist() == [0] * 4


@pytest.mark.parametrize("policy", ["restrict", "restrict-common"])
def test_a_measure_with_a_policy_of_its_own_has_no_restricted_value_for_any_query(policy):
    evaluation = evaluate(LISTS, PAIRS.grades(), ["Bpref", "infAP"], policy)
    assert np.isnan(evaluation.values).all()


@pytest.mark.parametrize("policy", POLICIES)
def test_a_run_that_answered_nothing_scores_0(policy):
    pairs, rankings = tables("q: a=1", {"A": "p: a"})
    lists = judged_lists(pairs, rankings)
    measures = ["nDCG@3", "NCG@3", "AP", "RR", "RBP(rel=1)", "Judged@3", "Rprec"]
    assert not evaluate(lists, pairs.grades(), measures, policy).values.any()


def test_an_unanswered_query_is_not_fully_judged():
    retrieved, judged, unjudged = coverage(LISTS, PAIRS.grades(), [2, 10])
    assert answered(LISTS).tolist() == [[True, True, False], [True, True, True]]
    assert retrieved[:, 0].tolist() == [[2, 2, 0], [3, 2, 0]]
    assert judged[:, 1].tolist() == [[1, 2, 1], [2, 2, 1]]
    assert unjudged[:, 1].tolist() == [[1, 0, 0], [1, 1, 0]]


def test_a_grade_below_zero_is_not_coverage():
    pairs, rankings = tables("q: a=1 b=-1", {"A": "q: a b"})
    _, judged, unjudged = coverage(judged_lists(pairs, rankings), pairs.grades(), [2])
    assert (judged.item(), unjudged.item()) == (1, 1)


def test_the_queries_averaged_over_are_those_of_the_full_judgments():
    reduced = grades(PAIRS, "q1: a=1 b=0")  # nothing left of q2 and q3
    evaluation = evaluate(LISTS, reduced, ["AP"])
    assert evaluation.values[0].tolist() == [[1, 0, 0], [1 / 3, 0, 0]]
    assert means(evaluation)[0].tolist() == pytest.approx([1 / 3, 1 / 9])


def test_means_are_over_the_queries_that_have_a_value():
    evaluation = evaluate(LISTS, PAIRS.grades(), ["RR", "Bpref"], "restrict")
    assert n_values(evaluation).tolist() == [[3, 2], [0, 0]]
    assert means(evaluation).tolist()[0] == [(1 + 1 + 0) / 3, (1 / 2 + 0) / 2]
    assert np.isnan(means(evaluation)[1]).all()


def test_several_policies_at_once_give_what_each_gives_alone():
    measures = ["nDCG@3", "AP", "Bpref", "infAP", "Judged@2", "Rprec"]
    together = evaluate_policies(LISTS, PAIRS.grades(), measures)
    for policy, evaluation in zip(POLICIES, together, strict=True):
        alone = evaluate(LISTS, PAIRS.grades(), measures, policy)
        np.testing.assert_array_equal(evaluation.values, alone.values)


def test_measures_with_a_policy_of_their_own_do_not_follow_the_policy():
    measures = ["Bpref", "Judged@3", "nDCG(judged_only=True)@3"]
    plain, condensed = evaluate_policies(
        LISTS, PAIRS.grades(), measures, ("nonrelevant", "condense")
    )
    np.testing.assert_array_equal(plain.values, condensed.values)


def test_policies_that_make_no_difference_to_a_measure_stand_together():
    bpref, ap = parse_measures(["Bpref", "AP"])
    assert same_values(bpref, POLICIES[:3]) == [("nonrelevant", "condense"), ("restrict",)]
    assert same_values(ap, POLICIES[:2]) == [("nonrelevant",), ("condense",)]


EVERY_MEASURE = ["nDCG@3", "NCG@2", "AP", "AP(rel=2)", "RR", "P@2", "R@2", "Success@1", "Bpref"]
EVERY_MEASURE += ["infAP", "Judged@2", "RBP(rel=1)"]
graded = st.dictionaries(st.sampled_from("abcdef"), st.integers(-1, 2)).map(lambda d: d | {"g": 0})


@settings(max_examples=60, deadline=None)
@given(qrels=graded, order=st.permutations("abcdefgh"), kept=st.sets(st.sampled_from("abcdefg")))
def test_a_judgment_set_within_another_scores_as_it_does_by_itself(qrels, order, kept):
    def text(judged):
        return "q: " + " ".join(f"{doc}={grade}" for doc, grade in judged.items())

    pairs, rankings = tables(text(qrels), {"A": "q: " + " ".join(order)})
    lists, smaller = judged_lists(pairs, rankings), pairs.grades().copy()
    of_doc = np.array([doc in kept for doc in pairs.doc_id.to_pylist()])
    smaller[~of_doc] = UNJUDGED
    within = Graded(lists, pairs.grades()).smaller(smaller)
    found, expected = (
        evaluate_graded(within, EVERY_MEASURE),
        evaluate_policies(lists, smaller, EVERY_MEASURE),
    )
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.values, other.values)


def test_unknown_policies_are_refused_with_the_nearest_known():
    with pytest.raises(AuditError, match="did you mean condense"):
        evaluate(LISTS, PAIRS.grades(), ["AP"], "condensed")


# Comparing


def test_the_paired_difference_of_two_runs():
    evaluation = evaluate(LISTS, PAIRS.grades(), ["P@1", "RR"])
    assert difference(evaluation, "A", "B", "RR").tolist() == [1 - 1 / 3, 1 - 1 / 2, 0]


def test_lists_restricted_to_different_depths_are_not_compared():
    restricted = evaluate(LISTS, PAIRS.grades(), ["P@3"], "restrict")
    common = evaluate(LISTS, PAIRS.grades(), ["P@3"], "restrict-common")
    # q1: depths 2 and 1; q2: 3 and 2; on q3 A has no list and scores 0.
    assert np.isnan(difference(restricted, "A", "B", "P@3")[:2]).all()
    assert difference(common, "A", "B", "P@3")[:2].tolist() == [1, 0]


def test_an_unanswered_query_counts_in_a_restricted_difference():
    restricted = evaluate(LISTS, PAIRS.grades(), ["P@3"], "restrict")
    assert difference(restricted, "B", "A", "P@3")[2] == 0


def test_a_change_is_taken_under_one_policy():
    after = evaluate(LISTS, grades(PAIRS, "q1: a=1"), ["AP"])
    found = change(evaluate(LISTS, PAIRS.grades(), ["AP"]), after)
    assert found[0, 0].tolist() == [1 - 1 / 2, 0 - 1, 0]


def test_scores_under_two_policies_cannot_be_put_side_by_side():
    plain, condensed = evaluate_policies(LISTS, PAIRS.grades(), ["AP"], ("nonrelevant", "condense"))
    with pytest.raises(AuditError, match="nonrelevant and condense"):
        change(plain, condensed)


@pytest.mark.parametrize("axis", ["measures", "runs", "query_ids"])
def test_scores_of_different_things_cannot_be_put_side_by_side(axis):
    axes = {"measures": ("AP",), "runs": ("A",), "query_ids": ("q",)}
    one = Evaluation("nonrelevant", **axes, values=np.zeros((1, 1, 1)))
    other = Evaluation("nonrelevant", **{**axes, axis: ("x",)}, values=np.zeros((1, 1, 1)))
    with pytest.raises(AuditError, match=axis):
        change(one, other)


def test_unknown_names_in_a_comparison_are_refused():
    evaluation = evaluate(LISTS, PAIRS.grades(), ["AP"])
    with pytest.raises(AuditError, match="no such run"):
        difference(evaluation, "A", "C", "AP")
    with pytest.raises(AuditError, match="no such measure"):
        difference(evaluation, "A", "B", "RR")


# On real runs


@pytest.mark.real
def test_restrict_common_on_dl19(real_data):
    collection = dl19_passage(real_data)
    lists = judged_lists(collection.pairs, collection.rankings)
    evaluation = evaluate(lists, collection.pairs.grades(), ["nDCG@10"], "restrict-common")
    depth = evaluation.effective_depth[0].max(axis=0)
    assert depth.mean() == pytest.approx(5.3, abs=0.05)
    assert (depth == 0).sum() == 5
