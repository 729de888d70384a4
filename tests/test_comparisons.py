"""Which runs are compared, the test over queries, and the figures of a comparison."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from literal import tables
from poolaudit.errors import AuditError
from poolaudit.scores.lists import judged_lists
from poolaudit.scores.policies import Evaluation, evaluate_policies
from poolaudit.verdicts.comparisons import (
    choose,
    compare,
    holm,
    randomisation_test,
    read_evaluation,
)


def evaluation(scores: dict[str, list[float]], policy: str = "nonrelevant") -> Evaluation:
    values = np.array([list(scores.values())])
    queries = tuple(f"q{i}" for i in range(values.shape[2]))
    return Evaluation(policy, ("P@2",), tuple(scores), queries, values)


def by_enumeration(differences: np.ndarray) -> float:
    """The share of all sign changes with a sum at least as far from 0."""
    observed = abs(differences.sum())
    signs = itertools.product((-1, 1), repeat=len(differences))
    extreme = [abs((np.array(s) * differences).sum()) >= observed - 1e-9 for s in signs]
    return float(np.mean(extreme))


class TestWhatIsCompared:
    scores = evaluation({"a": [0.1, 0.1], "b": [0.5, 0.5], "c": [0.4, 0.2]})

    def test_each_run_with_the_baseline_the_best_first(self):
        chosen = choose(self.scores, "P@2", "a")
        assert chosen.compared == (("b", "a"), ("c", "a"))
        assert chosen.warnings == ()

    def test_without_a_baseline_all_pairs_of_the_first_with_a_warning(self):
        assert choose(self.scores, "P@2").compared == (("b", "c"), ("b", "a"), ("c", "a"))
        chosen = choose(self.scores, "P@2", first=2)
        assert chosen.compared == (("b", "c"),)
        (warning,) = chosen.warnings
        assert "chosen after the fact" in warning

    def test_runs_from_outside_the_pool_are_named_when_nothing_is_compared_with_them(self):
        chosen = choose(self.scores, "P@2", first=2, outside={"a", "b"})
        assert chosen.warnings[1].startswith(
            "1 run from outside the pool is not among them and compared with nothing: a. A baseline"
        )
        assert choose(self.scores, "P@2", "c", outside={"a", "b"}).warnings == ()

    def test_one_run_is_compared_with_nothing(self):
        alone = evaluation({"a": [0.1, 0.2]})
        for baseline in (None, "a"):
            chosen = choose(alone, "P@2", baseline)
            assert (chosen.compared, chosen.warnings) == ((), ())

    def test_an_unknown_baseline_is_refused_with_the_nearest_name(self):
        runs = evaluation({"bm25base_p": [0.1], "monot5": [0.3]})
        with pytest.raises(AuditError, match="did you mean bm25base_p"):
            choose(runs, "P@2", "bm25base")


class TestRandomisation:
    def test_five_queries_by_hand(self):
        """All five say the same: of 32 sign changes two are as far from 0."""
        assert randomisation_test(np.array([[0.1, 0.2, 0.3, 0.1, 0.4]])).tolist() == [2 / 32]

    def test_no_difference(self):
        assert randomisation_test(np.array([[0.0, 0.0], [0.5, -0.5]])).tolist() == [1, 1]

    def test_queries_without_a_value_do_not_count(self):
        with_gap, without = np.array([[0.2, np.nan, 0.3]]), np.array([[0.2, 0.3]])
        assert randomisation_test(with_gap) == randomisation_test(without)

    @settings(max_examples=30, deadline=None)
    @given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
    def test_equal_to_enumeration(self, steps):
        differences = np.array(steps) / 10
        (p,) = randomisation_test(differences[None, :])
        assert p == pytest.approx(by_enumeration(differences))

    def test_drawn_signs_agree_with_enumeration(self):
        differences = np.array([0.3, 0.1, -0.1, 0.2, 0.4, -0.2, 0.1, 0.3, 0.05, 0.0, -0.15, 0.25])
        exact = by_enumeration(differences)
        (drawn,) = randomisation_test(differences[None, :], draws=2000, seed=1)
        assert drawn != exact
        assert drawn == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 2000))

    def test_same_seed_same_p_and_never_zero(self):
        differences = np.random.default_rng(0).uniform(0.5, 1, (2, 40))
        first, again = (randomisation_test(differences, draws=999, seed=7) for _ in range(2))
        assert first.tolist() == again.tolist() == [0.001, 0.001]


class TestHolm:
    def test_by_hand(self):
        """.01 x 3 = .03; .04 x 1 = .04 but not below .03 x 2 = .06; all at most 1."""
        assert holm(np.array([0.04, 0.01, 0.03])).tolist() == pytest.approx([0.06, 0.03, 0.06])
        assert holm(np.array([0.9, 0.8])).tolist() == [1, 1]

    def test_one_test_needs_no_correction(self):
        assert holm(np.array([0.2])).tolist() == [0.2]


class TestFiguresOfAComparison:
    """Two queries, P@2. A and B differ by the unjudged x of q1, at rank 2 of B, and y of q2, at
    rank 1 of B. All else is judged."""

    pairs, rankings = tables(
        "q1: r=1 s=1 n=0\nq2: r=1 n=0 m=0",
        {"A": "q1: r s\nq2: r n", "B": "q1: r x\nq2: y n"},
    )
    policies = ("nonrelevant", "condense", "restrict")

    def compared(self, measure="P@2", **more):
        lists = judged_lists(self.pairs, self.rankings)
        found = evaluate_policies(lists, self.pairs.relevance, [measure], self.policies)
        chosen = choose(found[0], measure)
        options = {"measure": measure, "policy": "nonrelevant", **more}
        (comparison,) = compare(self.pairs, self.rankings, found, chosen, **options)
        return comparison

    def test_observed_difference(self):
        """A has (1 + 1/2) / 2, B has (1/2 + 0) / 2."""
        found = self.compared()
        assert (found.run, found.other) == ("A", "B")
        assert (found.observed.score, found.observed.other_score) == (0.75, 0.25)
        assert (found.observed.difference, found.observed.queries) == (0.5, 2)

    def test_p_of_two_equal_differences(self):
        """+1/2 and +1/2: two of four sign changes are as far from 0."""
        assert (self.compared().p, self.compared().p_holm) == (0.5, 0.5)

    def test_restricted_lists_are_compared_where_they_were_read_equally_deep(self):
        """B is read to rank 1 in q1 and not at all in q2, A to rank 2: nothing to compare."""
        restricted = self.compared().scores["restrict"]
        assert (restricted.queries, restricted.difference) == (0, None)

    def test_range(self):
        """x and y relevant add a half to B in each query: from 1/2 the difference can fall to 0."""
        found = self.compared()
        assert (found.low, found.high, found.exact) == (0.0, 0.5, True)

    def test_range_of_other_measures_from_the_bounds(self):
        bounds = pd.DataFrame(
            [
                ("A", "q1", "AP", 0.6, 1.0),
                ("A", "q2", "AP", 0.5, 1.0),
                ("B", "q1", "AP", 0.2, 0.8),
                ("B", "q2", "AP", 0.0, 0.5),
            ],
            columns=["run", "query_id", "measure", "low", "high"],
        )
        found = self.compared("AP", bounds=bounds)
        assert (found.low, found.high) == pytest.approx((-0.1, 0.9))
        assert not found.exact
        assert self.compared("AP").low is None

    def test_scores_of_no_policy(self):
        with pytest.raises(AuditError, match="no scores under the policy"):
            self.compared(policy="restrict-common")


def test_reading_the_scores_on_all_the_judgments():
    """Rows of other depths are left out; a missing value is no value."""
    table = pd.DataFrame(
        {
            "run": ["b", "b", "a", "a", "a"],
            "query_id": ["q2", "q1", "q1", "q2", "q1"],
            "measure": ["P@2"] * 5,
            "depth": pd.array([None, None, None, None, 5], "Int32"),
            "value": [0.5, 1.0, 0.0, np.nan, 0.9],
            "effective_depth": [1, 2, 2, 0, 2],
        }
    )
    found = read_evaluation(table, "restrict")
    assert (found.measures, found.runs, found.query_ids) == (("P@2",), ("a", "b"), ("q1", "q2"))
    np.testing.assert_array_equal(found.values, [[[0.0, np.nan], [1.0, 0.5]]])
    assert found.effective_depth.tolist() == [[[2, 0], [2, 1]]]


def test_thousands_of_queries_have_more_sign_changes_than_can_be_counted(recwarn):
    rng = np.random.default_rng(4)
    p = randomisation_test(rng.normal(0.2, 1, (1, 5_000)), draws=100)
    assert p.tolist() == [1 / 101] and not recwarn.list
