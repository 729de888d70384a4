"""Rank correlation on orders small enough to count pairs in."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poolaudit.scores.rank_correlation import competition_ranks, kendall_tau, tau_ap

REFERENCE = np.array([4.0, 3.0, 2.0, 1.0])


def test_equal_orders_agree_fully_and_opposite_orders_not_at_all():
    assert kendall_tau(REFERENCE, REFERENCE * 10) == tau_ap(REFERENCE, REFERENCE * 10) == 1
    assert kendall_tau(REFERENCE, -REFERENCE) == tau_ap(REFERENCE, -REFERENCE) == -1


def test_a_swap_at_the_top_costs_tau_ap_more_than_one_at_the_bottom():
    top, bottom = np.array([3.0, 4.0, 2.0, 1.0]), np.array([4.0, 3.0, 1.0, 2.0])
    # One of six pairs is discordant either way.
    assert kendall_tau(REFERENCE, top) == kendall_tau(REFERENCE, bottom) == pytest.approx(4 / 6)
    # C(i) / (i - 1) at ranks 2 to 4: 0, 1, 1 at the top and 1, 1, 2/3 at the bottom.
    assert tau_ap(REFERENCE, top) == pytest.approx(2 / 3 * (0 + 1 + 1) - 1)
    assert tau_ap(REFERENCE, bottom) == pytest.approx(2 / 3 * (1 + 1 + 2 / 3) - 1)


def test_runs_tied_in_both_orders_do_not_spoil_full_agreement():
    tied = np.array([4.0, 3.0, 3.0, 1.0])
    assert kendall_tau(tied, tied) == pytest.approx(1) and tau_ap(tied, tied) == 1


def test_a_pair_tied_in_the_reference_counts_one_half():
    # Ranks 2 and 3 of the other order: C = 1 of 1; then 1 and a half of 2.
    tied = np.array([3.0, 2.0, 2.0])
    assert tau_ap(tied, np.array([3.0, 2.0, 1.0])) == pytest.approx((1 + 1.5 / 2) - 1)


def test_differences_that_only_rounding_makes_are_ties():
    nearly = np.array([0.5, 0.3, 0.3 + 1e-15])
    assert competition_ranks(nearly).tolist() == [1, 2, 2]
    assert tau_ap(np.array([0.5, 0.3, 0.3]), nearly) == 1


def test_runs_without_a_score_have_no_rank_and_are_not_compared():
    scores = np.array([0.5, np.nan, 0.7, 0.2])
    ranks = competition_ranks(scores)
    assert ranks[[0, 2, 3]].tolist() == [2, 1, 3] and np.isnan(ranks[1])
    assert kendall_tau(scores, np.array([5.0, 9.0, 7.0, 2.0])) == pytest.approx(1)


def test_no_order_no_correlation():
    assert np.isnan(tau_ap(np.ones(3), np.ones(3)))
    assert np.isnan(kendall_tau(np.ones(1), np.ones(1)))


@settings(max_examples=30)
@given(st.permutations(range(6)), st.permutations(range(6)))
def test_tau_ap_is_its_definition_where_nothing_is_tied(reference, other):
    above = sorted(range(6), key=lambda run: -other[run])
    total = sum(
        sum(reference[better] > reference[above[i]] for better in above[:i]) / i
        for i in range(1, 6)
    )
    expected = 2 / 5 * total - 1
    assert tau_ap(np.array(reference, float), np.array(other, float)) == pytest.approx(expected)
