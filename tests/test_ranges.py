"""The range of a difference: by hand, and against every way of judging."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from literal import tables
from poolaudit.scores.lists import judged_lists
from poolaudit.scores.measure_names import parse_measure
from poolaudit.scores.policies import difference, evaluate
from poolaudit.verdicts.ranges import exact_ranges, is_exact, open_documents, outer_range

EXACT = [
    "P@3",
    "P(rel=2)@2",
    "RBP(p=0.5,rel=1)",
    "RBP(rel=2)@3",
    "RR",
    "RR(rel=2)@2",
    "Success@2",
    "nDCG@3",
    "nDCG@1",
    "nDCG",
    "NCG@2",
    "R@3",
    "R(rel=2)@2",
]


def every_difference(pairs, rankings, measure, a, b, *, depth, top_grade):
    """float64[judgings, queries]: the difference under every way of judging the open documents."""
    is_open = np.flatnonzero(open_documents(pairs, parse_measure(measure), depth))
    grades = pairs.relevance.copy()
    grades[is_open] = 0
    lists = judged_lists(pairs, rankings, grades)
    found = []
    for judging in itertools.product(range(top_grade + 1), repeat=len(is_open)):
        grades[is_open] = judging
        found.append(difference(evaluate(lists, grades, [measure]), a, b, measure))
    return np.array(found)


def test_a_document_that_both_returned_moves_neither_ahead():
    """The unjudged x is at rank 1 of both: it moves both by a half, the difference by nothing."""
    pairs, rankings = tables("q: r=1 n=0", {"A": "q: x r", "B": "q: x n"})
    (found,) = exact_ranges(pairs, rankings, "P@2", [("A", "B")]).values()
    assert (found.low.tolist(), found.high.tolist()) == ([0.5], [0.5])
    bounds = {"A": (np.array([0.5]), np.array([1.0])), "B": (np.array([0.0]), np.array([0.5]))}
    outer = outer_range(bounds, "A", "B")
    assert (outer.low.tolist(), outer.high.tolist()) == ([0.0], [1.0])
    assert (found.exact, outer.exact) == (True, False)


def test_a_document_of_one_run_moves_the_difference_by_its_weight():
    """y is unjudged at rank 2 of B only: P@2 of B is 0 or 1/2, RBP(p=0.5) 0 or 1/4."""
    pairs, rankings = tables("q: r=1 n=0", {"A": "q: r n", "B": "q: n y"})
    (precision,) = exact_ranges(pairs, rankings, "P@2", [("A", "B")]).values()
    assert (precision.low.tolist(), precision.high.tolist()) == ([0.0], [0.5])
    (rbp,) = exact_ranges(pairs, rankings, "RBP(p=0.5,rel=1)", [("A", "B")]).values()
    assert (rbp.low.tolist(), rbp.high.tolist()) == ([0.25], [0.5])


def test_reciprocal_rank_takes_one_newly_relevant_document():
    """A finds r at rank 3, B at rank 1. x at rank 1 of A makes both 1; y at rank 2 makes A 1/2."""
    pairs, rankings = tables("q: r=1", {"A": "q: x y r", "B": "q: r x"})
    (found,) = exact_ranges(pairs, rankings, "RR", [("A", "B")]).values()
    assert found.low.tolist() == pytest.approx([1 / 3 - 1])
    assert found.high.tolist() == [0.0]


def test_a_document_of_neither_run_moves_the_ideal_only():
    """z is in C's first two alone. A has the one relevant document at rank 1, B has nothing:
    nDCG@2 differs by 1, or by 1 / (1 + 1 / log2(3)) when z is relevant too."""
    pairs, rankings = tables("q: r=1 m=0 n=0", {"A": "q: r n", "B": "q: n m", "C": "q: z r"})
    (found,) = exact_ranges(pairs, rankings, "nDCG@2", [("A", "B")]).values()
    assert found.high.tolist() == pytest.approx([1.0])
    assert found.low.tolist() == pytest.approx([1 / (1 + 1 / np.log2(3))])


def test_runs_that_are_behind_whatever_happens():
    """Where the difference stays below zero its high end has the largest ideal: z relevant."""
    pairs, rankings = tables("q: r=1 m=0 n=0", {"A": "q: r n", "B": "q: n m", "C": "q: z r"})
    (found,) = exact_ranges(pairs, rankings, "nDCG@2", [("B", "A")]).values()
    assert found.low.tolist() == pytest.approx([-1.0])
    assert found.high.tolist() == pytest.approx([-1 / (1 + 1 / np.log2(3))])


def test_nothing_unjudged_leaves_a_point():
    pairs, rankings = tables("q: r=2 s=1 n=0", {"A": "q: r n s", "B": "q: s r n"})
    for measure in EXACT:
        (found,) = exact_ranges(pairs, rankings, measure, [("A", "B")]).values()
        lists = judged_lists(pairs, rankings)
        observed = difference(evaluate(lists, pairs.relevance, [measure]), "A", "B", measure)
        np.testing.assert_allclose(found.low, observed, atol=1e-15)
        np.testing.assert_allclose(found.high, observed, atol=1e-15)


def test_a_grade_below_zero_is_open():
    pairs, rankings = tables("q: r=1 x=-1", {"A": "q: x", "B": "q: r"})
    (found,) = exact_ranges(pairs, rankings, "P@1", [("A", "B")]).values()
    assert (found.low.tolist(), found.high.tolist()) == ([-1.0], [0.0])


def test_a_level_that_no_grade_reaches():
    """Grades go up to 1, so x can never be relevant at level 2."""
    pairs, rankings = tables("q: r=1", {"A": "q: x", "B": "q: r"})
    for measure in ("P(rel=2)@1", "RR(rel=2)", "R(rel=2)@1"):
        (found,) = exact_ranges(pairs, rankings, measure, [("A", "B")]).values()
        assert (found.low.tolist(), found.high.tolist()) == ([0.0], [0.0])


def test_which_measures_are_exact():
    assert all(is_exact(measure) for measure in EXACT)
    assert not any(is_exact(m) for m in ["AP(rel=2)", "Bpref", "infAP", "P(judged_only=True)@5"])


@st.composite
def collections(draw):
    """A query of seven documents, up to five of them open, and three runs; A and B are compared."""
    docs = "abcdefg"
    grades = draw(st.lists(st.integers(0, 2), min_size=2, max_size=7))
    judged = draw(st.permutations(docs))[: len(grades)]
    qrels = "q: " + " ".join(f"{d}={g}" for d, g in zip(judged, grades, strict=True))
    runs = {}
    for name in "ABC":
        ranked = draw(st.permutations(docs))[: draw(st.integers(0, 6))]
        runs[name] = "q: " + " ".join(ranked) if ranked else ""
    return tables(qrels, runs)


@settings(max_examples=60, deadline=None)
@given(collections(), st.sampled_from(EXACT), st.integers(1, 6))
def test_equal_to_the_extremes_of_every_judging(collection, measure, depth):
    pairs, rankings = collection
    every = every_difference(pairs, rankings, measure, "A", "B", depth=depth, top_grade=2)
    (found,) = exact_ranges(
        pairs, rankings, measure, [("A", "B")], depth=depth, top_grade=2
    ).values()
    np.testing.assert_allclose(found.low, every.min(axis=0), atol=1e-12)
    np.testing.assert_allclose(found.high, every.max(axis=0), atol=1e-12)
