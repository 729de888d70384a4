"""Intervals of means over queries, and how often they hold."""

from __future__ import annotations

import numpy as np
import pytest

from poolaudit.scores.resampling import mean_intervals


def test_scores_that_are_all_the_same_leave_nothing_open():
    low, high = mean_intervals(np.full((2, 10), 0.3))
    np.testing.assert_allclose([low, high], 0.3)


def test_the_interval_of_two_queries_is_worked_out():
    # Resamples of {0, 1} have means 0, 1/2, 1 with chances 1/4, 1/2, 1/4.
    low, high = mean_intervals(np.array([0.0, 1.0]), level=0.4)
    assert (low, high) == (0.5, 0.5)
    low, high = mean_intervals(np.array([0.0, 1.0]), level=0.6)
    assert (low, high) == (0, 1)


def test_runs_are_resampled_on_the_same_queries():
    scores = np.random.default_rng(1).random(30)
    low, high = mean_intervals(np.stack([scores, scores + 0.1]))
    np.testing.assert_allclose([low[1] - low[0], high[1] - high[0]], 0.1)


def test_the_same_seed_gives_the_same_interval():
    scores = np.random.default_rng(1).random((3, 20))
    np.testing.assert_array_equal(mean_intervals(scores), mean_intervals(scores))
    assert (mean_intervals(scores)[0] != mean_intervals(scores, seed=1)[0]).any()


def test_queries_without_a_value_are_left_out():
    with_gaps = np.array([0.2, np.nan, 0.4, 0.4, np.nan, 0.2])
    low, high = mean_intervals(with_gaps)
    assert [low, high] == pytest.approx([0.2, 0.4])


def test_no_value_at_all_gives_no_interval():
    low, high = mean_intervals(np.array([[np.nan, np.nan], [1.0, 1.0]]))
    assert np.isnan([low[0], high[0]]).all()
    assert (low[1], high[1]) == (1, 1)


def coverage(population: np.ndarray, queries: int, campaigns: int = 1000) -> float:
    """How often the 95% interval holds the mean of the population that the queries come from."""
    scores = np.random.default_rng(7).choice(population, (campaigns, queries))
    # Each campaign is resampled by itself, so that they are independent.
    ends = [mean_intervals(sample, draws=500, seed=seed) for seed, sample in enumerate(scores)]
    return float(np.mean([low <= population.mean() <= high for low, high in ends]))


def test_it_covers_nearly_as_promised_for_scores_like_ap():
    population = np.random.default_rng(3).beta(0.8, 2.0, 100_000)  # skewed, as AP is
    assert 0.91 <= coverage(population, queries=50) <= 0.97


def test_it_covers_too_little_when_few_queries_differ():
    population = np.zeros(100_000)
    population[::10] = np.random.default_rng(3).random(10_000)  # nine in ten unchanged
    assert coverage(population, queries=50) < 0.91
