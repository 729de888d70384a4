"""What the order of tied documents decides, by hand and against every order."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from literal import tables
from poolaudit.errors import AuditError
from poolaudit.scores.lists import judged_lists
from poolaudit.scores.policies import evaluate
from poolaudit.scores.ties import tie_sensitivity

MEASURES = ["nDCG@3", "nDCG", "NCG@2", "AP", "AP(rel=2)", "RR", "P@2", "R@3", "RBP(rel=1)", "Bpref"]


def ends(measure: str, qrels: str, ranking: str, policy: str = "nonrelevant") -> tuple:
    pairs, rankings = tables(f"q: {qrels}", {"A": f"q: {ranking}"})
    found = tie_sensitivity(pairs, rankings, [measure], policy=policy)
    return found.low.item(), found.high.item()


def test_tied_documents_take_the_best_and_the_worst_places_of_their_group():
    # a and b~, x~ are tied at ranks 1 to 3.
    assert ends("RR", "a=0 b=1", "a b~ x~ c") == (1 / 3, 1)
    assert ends("P@1", "a=0 b=1", "a b~ x~ c") == (0, 1)


def test_documents_that_are_not_tied_stay():
    assert ends("RR", "a=0 b=1", "a b x") == (1 / 2, 1 / 2)


def test_equal_scores_in_two_lists_are_no_tie():
    pairs, rankings = tables("q: a=1\np: b=1", {"A": "p: x b\nq: y a", "B": "q: a"})
    found = tie_sensitivity(pairs, rankings, ["RR"])
    np.testing.assert_array_equal(found.low, found.high)


def test_unjudged_documents_are_deleted_before_ties_matter_under_condense():
    assert ends("RR", "b=1", "a b~ x~ c", "condense") == (1, 1)
    assert ends("RR", "b=1", "a b~ x~ c", "nonrelevant") == (1 / 3, 1)


def test_judged_documents_come_last_in_the_worst_case_of_coverage():
    assert ends("Judged@1", "b=0", "a b~") == (0, 1)


def test_queries_with_a_tie_across_a_cutoff_are_counted():
    pairs, rankings = tables(
        "q1: a=1\nq2: b=1\nq3: c=1",
        {"A": "q1: a b~ c\nq2: a b~ c~\nq3: a b c~", "B": "q1: a b"},
    )
    found = tie_sensitivity(pairs, rankings, ["P@1", "P@2", "AP", "nDCG@2"])
    assert found.cutoffs == (1, 2)
    assert found.crossed.tolist() == [[2, 0], [2, 0]]


@pytest.mark.parametrize("measure", ["infAP", "Rprec"])
def test_measures_whose_extremes_are_not_known_have_none(measure):
    assert all(math.isnan(end) for end in ends(measure, "a=1", "a b~"))


def test_restricting_policies_are_refused():
    with pytest.raises(AuditError, match="restrict"):
        ends("P@1", "a=1", "a b~", "restrict")


@pytest.mark.parametrize("policy", ["nonrelevant", "condense"])
@settings(max_examples=20, deadline=None)
@given(
    qrels=st.dictionaries(st.sampled_from("abcdef"), st.integers(-1, 3), min_size=2).filter(
        lambda drawn: max(drawn.values()) >= 0
    ),
    tied=st.lists(st.booleans(), min_size=5, max_size=5),
)
def test_the_ends_are_those_over_all_orders(policy, qrels, tied):
    docs = "abcdxy"
    words = "q: " + " ".join(f"{doc}={grade}" for doc, grade in qrels.items())
    marks = ["", *("~" if is_tied else "" for is_tied in tied)]
    ranking = "q: " + " ".join(doc + mark for doc, mark in zip(docs, marks, strict=True))
    pairs, rankings = tables(words, {"A": ranking})
    groups: list[list[str]] = []
    for doc, mark in zip(docs, marks, strict=True):
        groups = [*groups[:-1], [*groups[-1], doc]] if mark else [*groups, [doc]]
    scores = []
    for orders in itertools.product(*(itertools.permutations(group) for group in groups)):
        other_pairs, other = tables(words, {"A": "q: " + " ".join(itertools.chain(*orders))})
        lists = judged_lists(other_pairs, other)
        scores.append(evaluate(lists, other_pairs.grades(), MEASURES, policy).values[:, 0, 0])
    found = tie_sensitivity(pairs, rankings, MEASURES, policy=policy)
    np.testing.assert_allclose(found.low[:, 0, 0], np.min(scores, axis=0), atol=1e-12)
    np.testing.assert_allclose(found.high[:, 0, 0], np.max(scores, axis=0), atol=1e-12)


def test_scores_that_are_no_number_are_tied_at_the_end_of_the_list():
    pairs, rankings = tables("q: a=0 b=1", {"A": "q: x a b"})
    lowest = replace(rankings, score=np.array([1.0, -np.inf, -np.inf]))
    found = tie_sensitivity(pairs, lowest, ["P@2"])
    assert (found.low.item(), found.high.item()) == (0, 1 / 2)


def test_a_list_in_the_order_of_its_rank_column_has_no_ties():
    pairs, rankings = tables("q: a=0 b=1", {"A": "q: a b~"})
    found = tie_sensitivity(pairs, rankings, ["P@1"], by_score=False)
    assert found.low.item() == found.high.item() == found.crossed.item() == 0
