"""The chance that an order turns around, against every way of judging."""

from __future__ import annotations

import itertools
from math import lgamma

import numpy as np
import pytest

from literal import tables
from poolaudit.scores.lists import judged_lists
from poolaudit.scores.policies import difference, evaluate, evaluate_policies
from poolaudit.verdicts.comparisons import choose, compare
from poolaudit.verdicts.flips import flips, stratify


def compared(pairs, rankings, measure, depth=100):
    found = evaluate_policies(judged_lists(pairs, rankings), pairs.relevance, [measure])
    chosen = choose(found[0], measure)
    options = {"measure": measure, "policy": "nonrelevant", "depth": depth}
    return compare(pairs, rankings, found, chosen, **options)


def by_enumeration(pairs, rankings, comparison, *, depth=100, fewest=30):
    """The chance of a flip and the expected difference, summed over every way of judging.

    The chance of a judging is, for each stratum, that of a Dirichlet-multinomial sequence: the
    product of (a_g)_n_g over (A)_n, rising factorials.
    """
    strata = stratify(pairs, comparison.measure, depth=depth, fewest=fewest)
    prior = strata.judged + 0.5
    grades = pairs.relevance.copy()
    grades[strata.rows] = 0
    lists = judged_lists(pairs, rankings, grades)
    flip = expected = total = 0.0
    for judging in itertools.product(range(prior.shape[1]), repeat=len(strata.rows)):
        counts = np.zeros(prior.shape, int)
        np.add.at(counts, (strata.stratum, np.array(judging, int)), 1)
        log = sum(lgamma(a + n) - lgamma(a) for a, n in zip(prior.flat, counts.flat, strict=True))
        sums = zip(prior.sum(axis=1), counts.sum(axis=1), strict=True)
        log -= sum(lgamma(a + n) - lgamma(a) for a, n in sums)
        grades[strata.rows] = judging
        found = evaluate(lists, grades, [comparison.measure])
        new = difference(found, comparison.run, comparison.other, comparison.measure).mean()
        total += np.exp(log)
        expected += np.exp(log) * new
        flip += np.exp(log) * (new * comparison.observed.difference < -1e-12)
    assert total == pytest.approx(1)
    return flip, expected


TWO_QUERIES = tables(
    "q1: r=2 s=1 n=0 m=0\nq2: r=1 n=0 m=0",
    {"A": "q1: r s n\nq2: r x n", "B": "q1: y r u\nq2: z n v", "C": "q1: n y\nq2: m"},
)


class TestStrata:
    """Down to rank 3, q1 has y and u open, q2 has x, z and v. Judged and returned are r, s and n of
    q1 and r, n and m of q2; m of q1 was returned by none, and is in no stratum."""

    def test_one_stratum_where_little_is_judged(self):
        strata = stratify(TWO_QUERIES[0], "nDCG@3")
        assert strata.judged.tolist() == [[3, 2, 1]]
        assert strata.stratum.tolist() == [0] * 5

    def test_documents_of_one_run_apart_from_those_of_more(self):
        """y, r and n of q1 and n of q2 were returned by two runs, all others by one."""
        strata = stratify(TWO_QUERIES[0], "nDCG@3", fewest=2)
        assert strata.judged.tolist() == [[1, 2, 0], [2, 0, 1]]
        docs = TWO_QUERIES[0].doc_id.take(strata.rows).to_pylist()
        of_doc = dict(zip(docs, strata.stratum.tolist(), strict=True))
        assert of_doc == {"y": 1, "u": 0, "x": 0, "z": 0, "v": 0}

    def test_only_documents_above_the_cutoff(self):
        """At rank 1: y and z of B are open; r of q1, r of q2, n of q1 and m of q2 are judged."""
        strata = stratify(TWO_QUERIES[0], "P@1")
        assert len(strata.rows) == 2
        assert strata.judged.tolist() == [[2, 1, 1]]


class TestChance:
    @pytest.mark.parametrize("measure", ["P@2", "nDCG@3", "RR", "AP", "RBP(p=0.5,rel=1)", "Bpref"])
    @pytest.mark.parametrize("fewest", [2, 30])
    def test_equal_to_enumeration(self, measure, fewest):
        """Within four standard errors of 4,000 draws."""
        pairs, rankings = TWO_QUERIES
        found = compared(pairs, rankings, measure, depth=2)
        drawn = flips(pairs, rankings, found, depth=2, draws=4000, fewest=fewest)
        for comparison, flip in zip(found, drawn, strict=True):
            chance, expected = by_enumeration(pairs, rankings, comparison, depth=2, fewest=fewest)
            error = np.sqrt(chance * (1 - chance) / 4000)
            assert flip.chance == pytest.approx(chance, abs=4 * error + 1e-9)
            assert flip.mean == pytest.approx(expected, abs=4 * 0.5 / np.sqrt(4000))

    def test_by_hand(self):
        """P@1: A has 1, B is unjudged at rank 1. One relevant and no other document is judged, so
        x is relevant with (1 + 1/2) / (1 + 1): a tie then, and A stays ahead else."""
        pairs, rankings = tables("q: r=1", {"A": "q: r", "B": "q: x"})
        (flip,) = flips(pairs, rankings, compared(pairs, rankings, "P@1"))
        assert flip.chance == 0
        assert flip.mean == pytest.approx(0.25, abs=0.04)
        assert (flip.low, flip.high) == (0, 1)

    def test_no_rate_is_zero_because_none_was_seen(self):
        """Nothing relevant was judged but r, which nobody returned; x and y may be all the same."""
        pairs, rankings = tables(
            "q: r=1 s=1 n=0 m=0 o=0", {"A": "q: s n m", "B": "q: n x y", "C": "q: o n"}
        )
        first = next(c for c in compared(pairs, rankings, "P@3") if {c.run, c.other} == {"A", "B"})
        (flip,) = flips(pairs, rankings, [first])
        assert 0 < flip.chance < 0.5

    def test_no_order_no_flip(self):
        pairs, rankings = tables("q: r=1 n=0", {"A": "q: n x", "B": "q: n r"})
        (tied,) = compared(pairs, rankings, "P@1")
        (flip,) = flips(pairs, rankings, [tied])
        assert flip.chance is None

    def test_nothing_unjudged_nothing_moves(self):
        pairs, rankings = tables("q: r=1 n=0", {"A": "q: r n", "B": "q: n r"})
        found = compared(pairs, rankings, "nDCG@2")
        (flip,) = flips(pairs, rankings, found)
        assert flip.chance == 0
        assert flip.low == flip.high == pytest.approx(found[0].observed.difference)

    def test_same_seed_same_draws(self):
        pairs, rankings = TWO_QUERIES
        found = compared(pairs, rankings, "nDCG@3")
        assert flips(pairs, rankings, found, draws=50) == flips(pairs, rankings, found, draws=50)
        assert flips(pairs, rankings, found, draws=50) != flips(
            pairs, rankings, found, draws=50, seed=1
        )

    def test_no_comparison_no_draw(self):
        assert flips(*TWO_QUERIES, []) == ()
