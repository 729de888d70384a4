"""Overlap of runs: hand-worked lists, known limits, families of a made-up campaign."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from literal import tables
from poolaudit.sharing import overlap


def rbo(one: str, other: str, p: float = 0.9, depth: int = 100) -> float:
    _, rankings = tables("q1: a=1", {"one": f"q1: {one}", "other": f"q1: {other}"})
    return overlap.rank_biased_overlap(rankings, p, depth)[0, 1]


def jaccard(one: str, other: str, depth: int = 100) -> float:
    return overlap.jaccard(*tables("q1: a=1\nq2: x=1", {"one": one, "other": other}), depth)[0, 1]


def test_rbo_of_equal_lists_is_one_and_of_disjoint_lists_zero():
    assert rbo("a b c", "a b c") == pytest.approx(1)
    assert rbo("a b c", "d e f") == 0


def test_rbo_of_two_swapped_documents_by_hand():
    # Agreement is 0 at depth 1 and 1 from depth 2 on: 1 less the weight 1 - p of the first depth.
    assert rbo("a b", "b a", p=0.9) == pytest.approx(0.9)
    assert rbo("a b", "b a", p=0.5) == pytest.approx(0.5)


def test_rbo_extrapolates_the_agreement_at_the_end():
    # Half of each depth agrees from depth 2 on, and in the extrapolation: p / 2 in all.
    assert rbo("a b", "c a", p=0.8) == pytest.approx(0.4)


def test_rbo_of_lists_of_unequal_length_by_hand():
    # s = 1, l = 2; X_1 = 1, X_2 = 1: (1-p)/p (p + p^2/2 + 1 (2-1)/(1*2) p^2) + (0/2 + 1/1) p^2 = 1:
    # nothing that the short list shows disagrees.
    assert rbo("a", "a b") == pytest.approx(1)
    # X_1 = 0, X_2 = 1: (1-p)/p p^2/2 + (1/2) p^2 = p/2.
    assert rbo("a", "b a", p=0.9) == pytest.approx(0.45)


def test_rbo_stops_at_the_depth():
    assert rbo("a b c", "a b d", depth=2) == pytest.approx(1)


def plain_rbo(one: list[str], other: list[str], p: float) -> float:
    """Equation 32 of Webber, Moffat and Zobel (2010), term by term."""
    short, long = sorted((one, other), key=len)
    s, n = len(short), len(long)

    def common(depth):
        return len(set(short[:depth]) & set(long[:depth]))

    total = sum(common(d) / d * p**d for d in range(1, n + 1))
    total += sum(common(s) * (d - s) / (s * d) * p**d for d in range(s + 1, n + 1))
    tail = ((common(n) - common(s)) / n + common(s) / s) * p**n
    return (1 - p) / p * total + tail


ranking = st.lists(st.sampled_from("abcdefghij"), unique=True, min_size=1, max_size=8)


@settings(max_examples=30, deadline=None)
@given(ranking, ranking, st.sampled_from([0.5, 0.9]))
def test_rbo_is_the_published_formula(one, other, p):
    value = rbo(" ".join(one), " ".join(other), p)
    assert value == pytest.approx(plain_rbo(one, other, p))
    assert value == pytest.approx(rbo(" ".join(other), " ".join(one), p))
    assert -1e-12 <= value <= 1 + 1e-12


def test_jaccard_by_hand():
    assert jaccard("q1: a b c", "q1: b c d") == pytest.approx(2 / 4)
    assert jaccard("q1: a b c", "q1: b c d", depth=2) == pytest.approx(1 / 3)


def test_overlap_is_averaged_over_the_queries_both_answered():
    assert jaccard("q1: a b\nq2: x", "q1: a c") == pytest.approx(1 / 3)
    assert jaccard("q1: a b\nq2: x", "q1: a c\nq2: y") == pytest.approx(1 / 6)
    assert jaccard("q1: a", "q2: x") == 0, "no query in common: nothing seen that they share"


def test_jaccard_of_groups_takes_their_runs_together():
    pairs, rankings = tables("q1: a=1", {"a1": "q1: a b", "a2": "q1: c", "b1": "q1: b c"})
    matrix = overlap.jaccard(pairs, rankings, member=np.array([0, 0, 1]))
    assert matrix.tolist() == [[1, pytest.approx(2 / 3)], [pytest.approx(2 / 3), 1]]


def test_a_run_of_no_group_is_left_out():
    pairs, rankings = tables("q1: a=1", {"a1": "q1: a b", "b1": "q1: b c", "odd": "q1: a b c"})
    matrix = overlap.jaccard(pairs, rankings, member=np.array([0, 1, -1]))
    assert matrix[0, 1] == pytest.approx(1 / 3)


def test_the_effective_number_counts_contributors_without_overlap():
    assert overlap.effective_number(np.eye(4)) == 4
    assert overlap.effective_number(np.ones((4, 4))) == 1
    two_pairs = np.kron(np.eye(2), np.ones((2, 2)))
    assert overlap.effective_number(two_pairs) == 2


def test_families_are_runs_that_are_alike():
    alike = np.array(
        [[1, 0.1, 0.8, 0.2], [0.1, 1, 0.1, 0.6], [0.8, 0.1, 1, 0.1], [0.2, 0.6, 0.1, 1]]
    )
    assert overlap.find_families(alike, 0.5).tolist() == [0, 1, 0, 1]
    assert overlap.find_families(alike, 0.7).tolist() == [0, 1, 0, 2]
    assert overlap.find_families(alike, 0.6).tolist() == [0, 1, 0, 1], "at the threshold is within"


def test_clusters_are_joined_by_the_mean_overlap():
    # After {0, 1}, run 2 overlaps .9 with one of them and .1 with the other: .5 on average.
    chain = np.array([[1, 0.95, 0.9], [0.95, 1, 0.1], [0.9, 0.1, 1]])
    assert overlap.find_families(chain, 0.5).tolist() == [0, 0, 0]
    assert overlap.find_families(chain, 0.51).tolist() == [0, 0, 1]


def test_one_run_is_one_family():
    assert overlap.find_families(np.ones((1, 1))).tolist() == [0]


def test_a_found_family_is_named_after_its_most_typical_run():
    alike = np.array([[1, 0.9, 0.5], [0.9, 1, 0.9], [0.5, 0.9, 1]])
    names = overlap.name_families(alike, np.array([0, 0, 0]), ("first", "middle", "last"))
    assert names == ["like middle"] * 3


def test_the_heat_map_keeps_families_and_likeness_together():
    alike = np.eye(4)
    for a, b, value in ((0, 3, 0.9), (0, 2, 0.2), (2, 3, 0.3)):
        alike[a, b] = alike[b, a] = value
    order = overlap.order_by_family(alike, ["late", "early", "late", "late"]).tolist()
    assert order[0] == 1
    assert abs(order.index(0) - order.index(3)) == 1
