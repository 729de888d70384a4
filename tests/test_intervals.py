"""Intervals: known answers, full enumeration, coverage."""

from __future__ import annotations

import itertools
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poolaudit.tail import intervals

ALPHA = 0.05
NOT_RARER = 1 - 1e-9  # As likely as alpha / 2, but for the last bits, is inside.


def chance(count, total, held, drawn):
    """P(X = count), from binomial coefficients."""
    return comb(held, count) * comb(total - held, drawn - count) / comb(total, drawn)


def by_definition(total, drawn, found, alpha):
    """Every number of relevant documents that the sample does not make too unlikely."""

    def likely(held, counts):
        return sum(chance(k, total, held, drawn) for k in counts) > NOT_RARER * alpha / 2

    inside = [
        held
        for held in range(found, total - drawn + found + 1)
        if likely(held, range(found + 1)) and likely(held, range(found, drawn + 1))
    ]
    return min(inside), max(inside)


def enumerate_spreads(population, sampled, relevant, alpha):
    """The interval of Wendell and Schmee from every spread and every sample, by brute force."""
    weight = [total / drawn for total, drawn in zip(population, sampled, strict=True)]
    seen = sum(w * x for w, x in zip(weight, relevant, strict=True))
    samples = list(itertools.product(*(range(drawn + 1) for drawn in sampled)))
    values = [sum(w * x for w, x in zip(weight, s, strict=True)) for s in samples]
    few = [value <= seen + 1e-9 for value in values]
    many = [value >= seen - 1e-9 for value in values]
    worst = {}
    possible = zip(population, sampled, relevant, strict=True)
    for spread in itertools.product(*(range(x, total - n + x + 1) for total, n, x in possible)):
        p = np.array(
            [
                np.prod([chance(*c) for c in zip(s, population, spread, sampled, strict=True)])
                for s in samples
            ]
        )
        low, high = worst.get(sum(spread), (0, 0))
        worst[sum(spread)] = max(low, p[many].sum()), max(high, p[few].sum())
    return (
        min(total for total, (low, _) in worst.items() if low > NOT_RARER * alpha / 2),
        max(total for total, (_, high) in worst.items() if high > NOT_RARER * alpha / 2),
    )


class TestHypergeometric:
    @pytest.mark.parametrize("found", range(6))
    def test_holds_what_its_definition_says(self, found):
        low, high = intervals.hypergeometric(20, 5, found, ALPHA)
        assert (low, high) == by_definition(20, 5, found, ALPHA)

    def test_none_relevant_is_no_proof_of_none(self):
        low, high = intervals.hypergeometric(1000, 50, 0)
        assert low == 0
        # The largest M with P(X = 0) = C(1000 - M, 50) / C(1000, 50) above 2.5%.
        assert comb(1000 - int(high), 50) / comb(1000, 50) > 0.025
        assert comb(999 - int(high), 50) / comb(1000, 50) <= 0.025

    def test_everything_sampled_leaves_nothing_open(self):
        assert intervals.hypergeometric(7, 7, 3) == (3, 3)

    def test_nothing_sampled_leaves_everything_open(self):
        assert intervals.hypergeometric(7, 0, 0) == (0, 7)

    def test_takes_arrays(self):
        low, high = intervals.hypergeometric(20, 5, np.arange(6))
        expected = [by_definition(20, 5, found, ALPHA) for found in range(6)]
        assert list(zip(low, high, strict=True)) == expected

    @given(st.integers(2, 60), st.data())
    @settings(max_examples=20, deadline=None)
    def test_covers_the_truth_as_often_as_promised(self, total, data):
        drawn = data.draw(st.integers(1, total))
        held = data.draw(st.integers(0, total))
        found = np.arange(max(0, drawn - total + held), min(held, drawn) + 1)
        low, high = intervals.hypergeometric(total, drawn, found, 0.1)
        p = np.array([chance(int(k), total, held, drawn) for k in found])
        assert p[(low <= held) & (held <= high)].sum() >= 0.9 - 1e-12


class TestWeighted:
    def test_upper_bound_of_the_example_of_wendell_and_schmee(self):
        # Samples of 75, 50 and 25 from 500, 300 and 200 with 2, 1 and 0 found: their program gives
        # 50 as the upper 97.5% bound.
        assert intervals.weighted([500, 300, 200], [75, 50, 25], [2, 1, 0]).high == 50

    @pytest.mark.parametrize(
        ("population", "sampled", "relevant"),
        [
            ([9, 7], [3, 5], [1, 1]),
            ([12, 5], [2, 4], [0, 3]),
            ([12, 5], [2, 4], [2, 0]),
            ([14, 9], [6, 2], [0, 0]),
            ([14, 9], [6, 2], [6, 2]),
            ([6, 5, 8], [3, 1, 2], [1, 0, 1]),
            ([8, 4, 5], [2, 3, 1], [0, 1, 1]),
        ],
    )
    def test_equals_enumeration_of_all_spreads(self, population, sampled, relevant):
        low, high, _ = intervals.weighted(population, sampled, relevant)
        assert (low, high) == enumerate_spreads(population, sampled, relevant, ALPHA)

    @given(st.data())
    @settings(max_examples=10, deadline=None)
    def test_equals_enumeration_of_random_cases(self, data):
        population = data.draw(st.lists(st.integers(2, 7), min_size=2, max_size=3))
        sampled = [data.draw(st.integers(1, min(total, 3))) for total in population]
        relevant = [data.draw(st.integers(0, drawn)) for drawn in sampled]
        low, high, _ = intervals.weighted(population, sampled, relevant, 0.2)
        assert (low, high) == enumerate_spreads(population, sampled, relevant, 0.2)

    def test_holds_what_lies_between_its_ends(self):
        sample = [9, 7], [3, 5], [1, 1]
        low, high, _ = intervals.weighted(*sample)
        held = [total for total in range(17) if intervals.holds(*sample, total)]
        assert held == list(range(low, high + 1))
        assert intervals.holds([9, 7], [3, 5], [0, 0], 0)

    def test_rounding_to_the_grid_only_widens(self, monkeypatch):
        population, sampled, relevant = [997, 401, 83], [31, 29, 17], [3, 4, 2]
        fine = intervals.weighted(population, sampled, relevant)
        monkeypatch.setattr(intervals, "CELLS", 40)
        coarse = intervals.weighted(population, sampled, relevant)
        assert coarse.low <= fine.low <= fine.high <= coarse.high
        assert coarse != fine


class TestTotal:
    def test_strata_of_one_fraction_are_one_population(self):
        found = intervals.total([40, 60], [4, 6], [1, 0])
        assert found == (*map(int, intervals.hypergeometric(100, 10, 1)), "hypergeometric")

    def test_rounding_to_whole_documents_is_no_other_fraction(self):
        found = intervals.total([44, 56], [5, 5], [1, 0], fraction=np.array([0.1, 0.1]))
        assert found.method == "hypergeometric"
        assert intervals.total([44, 56], [5, 5], [1, 0]).method == "weighted"

    def test_documents_of_an_unsampled_stratum_may_all_be_relevant(self):
        whole, part = (
            intervals.total([40, 60, 9][:n], [4, 6, 0][:n], [1, 0, 0][:n]) for n in (3, 2)
        )
        assert whole == (part.low, part.high + 9, part.method)

    def test_nothing_sampled_at_all(self):
        assert intervals.total([4, 5], [0, 0], [0, 0]) == (0, 9, "nothing sampled")

    def test_many_fractions_are_added_up_at_sidaks_level(self):
        population = np.arange(30, 30 + intervals.MOST_STRATA + 1)
        sampled, relevant = np.full_like(population, 7), np.zeros_like(population)
        found = intervals.total(population, sampled, relevant)
        alpha = 1 - 0.95 ** (1 / len(population))
        low, high = intervals.hypergeometric(population, sampled, relevant, alpha)
        assert found == (low.sum(), high.sum(), "sum of strata")

    def test_only_the_weighted_interval_holds_for_unlike_fractions(self):
        # 100 of 200 and 100 of 2,000 drawn; all 400 relevant documents are in the large stratum.
        # Taken for a sample of 200 from 2,200, it shows half of what an even sample would.
        found = range(8, 36)
        p = np.array([chance(k, 2000, 400, 100) for k in found])
        pooled = [intervals.hypergeometric(2200, 200, k)[1] >= 400 for k in found]
        proper = [intervals.total([200, 2000], [100, 100], [0, k]).high >= 400 for k in found]
        assert p[pooled].sum() < 0.2
        assert p[proper].sum() >= 0.95
