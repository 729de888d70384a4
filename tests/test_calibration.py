"""Calibration: coverage where the truth is known, and what runs lose when judgments are cut."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from literal import tables
from poolaudit.tail import calibration, intervals, sampling


def frame(population, size, fraction=None):
    """A frame of strata that only have sizes."""
    held = np.array(population)
    common = size / held.sum()
    strata = pd.DataFrame(
        {
            "stratum": [f"s{i}" for i in range(len(held))],
            "query_id": None,
            "population": held,
            "fraction": common if fraction is None else fraction,
        }
    )
    rows = np.arange(held.sum())
    return sampling.Frame(rows, np.repeat(np.arange(len(held)), held), strata, size)


class TestHeldBack:
    def test_judged_below_the_cut_and_returned_by_a_pooled_run(self):
        pairs, _ = tables(
            "q1: a=1 b=0 c=2 d=1 e=1 f=-1",
            {"A": "q1: a b c f", "B": "q1: b g", "New": "q1: d"},
            unpooled=["New"],
        )
        # a, b: in the pool; d: only a new run has it; e: no run has it; f, g: no grade.
        rows = calibration.held_back(pairs, 1)
        assert [pairs.doc_id[int(row)].as_py() for row in rows] == ["c"]


class TestCalibrate:
    def test_agrees_with_samples_of_documents_that_are_really_drawn(self):
        rng = np.random.default_rng(4)
        whole = frame([60, 90, 150], 30)
        relevant = rng.random(300) < np.repeat([0.3, 0.1, 0.02], [60, 90, 150])
        truth = np.bincount(whole.stratum[relevant], minlength=3)
        table = calibration.calibrate(whole, truth[None], [1], draws=2000).iloc[0]

        estimates, inside = [], []
        for seed in range(400):
            draws = np.random.default_rng(seed)
            sampled = sampling.allocate(whole, draws)[0]
            found = np.array(
                [
                    draws.permutation(relevant[whole.stratum == s])[:n].sum()
                    for s, n in enumerate(sampled)
                ]
            )
            estimates.append((np.array([60, 90, 150]) * found / sampled).sum())
            low, high = intervals.hypergeometric(300, 30, found.sum())
            inside.append(low <= truth.sum() <= high)
        error = np.hypot(table["bias_error"], np.std(estimates) / np.sqrt(400))
        assert abs(table["mean_estimate"] - np.mean(estimates)) < 4 * error
        assert abs(table["coverage"] - np.mean(inside)) < 0.03

    def test_estimates_are_unbiased_and_intervals_hold(self):
        truth = np.array([[18, 9, 3], [2, 0, 0]])
        table = calibration.calibrate(frame([60, 90, 150], 30), truth, [1, 2], draws=2000)
        assert table["relevant"].tolist() == [30, 2]
        assert (table["bias"].abs() < 4 * table["bias_error"]).all()
        assert (table["coverage"] >= 0.95 - 2 * table["coverage_error"]).all()
        assert (table["coverage"] + table["too_low"] + table["too_high"] == 1).all()
        assert (table["mean_width"] < table["mean_width_of_sums"]).all()

    def test_unequal_fractions_hold_too(self):
        # Two queries too small for one draw at the common fraction.
        whole = frame([100, 5, 5], 12, fraction=[0.1, 0.2, 0.2])
        table = calibration.calibrate(whole, np.array([[20, 5, 0]]), [1], draws=300).iloc[0]
        assert table["method"] == "weighted"
        assert table["coverage"] >= 0.95 - 2 * table["coverage_error"]
        assert abs(table["bias"]) < 4 * table["bias_error"]

    def test_a_tail_without_relevant_documents(self):
        table = calibration.calibrate(frame([60, 90], 30), np.array([[0, 0]]), [1], draws=50).iloc[
            0
        ]
        assert (table["mean_estimate"], table["coverage"]) == (0, 1)

    def test_the_same_seed_gives_the_same_table(self):
        arguments = frame([60, 90], 30), np.array([[9, 3]]), [1]
        one, two, other = (
            calibration.calibrate(*arguments, draws=50, seed=seed) for seed in (3, 3, 4)
        )
        assert one.equals(two)
        assert not one.equals(other)


class TestLosses:
    @pytest.fixture
    def lost(self):
        pairs, rankings = tables(
            "q1: a=1 b=1 c=1 d=1 x=0", {"A": "q1: a x b c", "B": "q1: b d", "C": "q1: x"}
        )
        table = calibration.losses(pairs, rankings, 1, ["P@2", "AP", "R@1000"])
        return table.set_index(["measure", "run"])

    def test_documents_that_the_cut_took_from_each_run(self, lost):
        # The depth-1 pool is a, b and x: c and d are lost.
        assert lost.loc["AP", "relevant"].tolist() == [3, 2, 0]
        assert lost.loc["AP", "kept"].tolist() == [2, 1, 0]
        assert lost.loc[("AP", "A"), "share_lost"] == pytest.approx(1 / 3)
        assert np.isnan(lost.loc[("AP", "C"), "share_lost"])

    def test_what_the_measures_lost_is_another_thing(self, lost):
        # A: recall is 3 of 4 in full and 2 of 2 in the cut: it rises by a third as a third is lost.
        recall = lost.loc[("R@1000", "A")]
        assert (recall["score"], recall["score_cut"]) == (0.75, 1)
        assert recall["score_lost"] == pytest.approx(-1 / 3)
        # B: P@2 is 1 in full and one half in the cut, for it lost d.
        assert lost.loc[("P@2", "B"), "score_lost"] == pytest.approx(0.5)
        # A: AP is (1 + 2/3 + 3/4) / 4 in full, (1 + 2/3) / 2 in the cut.
        assert lost.loc[("AP", "A"), "score"] == pytest.approx((1 + 2 / 3 + 3 / 4) / 4)
        assert lost.loc[("AP", "A"), "score_cut"] == pytest.approx((1 + 2 / 3) / 2)

    def test_proportion_is_counted_over_runs(self, lost):
        table = calibration.proportional(lost.reset_index()).set_index("measure")
        assert table["runs"].tolist() == [2, 2, 2]  # C has nothing to lose
        assert table.loc["R@1000", "rose"] == 1
        assert table.loc["P@2", "within_a_tenth"] == 1
        assert table["correlation"].isna().all()  # two runs are too few


@pytest.mark.real
class TestReal:
    def test_dl19_beyond_depth_10(self, real_data):
        from real import dl19_passage

        pairs = dl19_passage(real_data).pairs
        rows = calibration.held_back(pairs, 10)
        whole = sampling.stratify(pairs, rows, 200)
        truth = whole.count(pairs.relevance, [1, 2])
        assert len(rows) == 4962
        assert truth.sum(axis=1).tolist() == [2423, 1472]
        table = calibration.calibrate(whole, truth, [1, 2])
        assert (table["coverage"] >= 0.95 - 2 * table["coverage_error"]).all()
        assert (table["bias"].abs() < 4 * table["bias_error"]).all()
        assert (table["mean_width"] * 2 < table["mean_width_of_sums"]).all()

    def test_trec8_scores_rise_as_documents_are_lost(self, real_data):
        # All 129 runs: AP rises for 127, by a median ratio of 1.22, as the median run keeps 48%.
        from real import trec8

        collection = trec8(real_data)
        table = calibration.losses(collection.pairs, collection.rankings, 10, ["AP"])
        assert (table["score_lost"] < 0).mean() > 0.9
        assert (table["kept"] / table["relevant"]).median() < 0.6
