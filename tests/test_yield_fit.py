"""The forecast of what deeper pools find: recovers its own curve, and fails where it should."""

import numpy as np
import pytest

from poolaudit.pools.yield_fit import YieldFit, expect_yield, fit_yield


def test_fit_recovers_a_curve_that_follows_the_law():
    depths = np.arange(1, 41)
    fit = fit_yield(200.0 * depths**-0.5 - 1.0)
    assert fit.scale == pytest.approx(200.0) and fit.exponent == pytest.approx(-0.5)


def test_expected_sums_the_curve_over_the_depths_asked_for():
    # 100 / p - 1 at depths 4 and 5: 24 and 19.
    assert YieldFit(100.0, -1.0).expected(4, 5) == pytest.approx(24 + 19)


def test_forecasts_below_zero_are_zero():
    # 100 / p - 1 is 0 at depth 100 and negative below.
    assert YieldFit(100.0, -1.0).expected(100, 1000) == 0.0


def test_held_out_test_passes_on_the_law():
    found = np.round(400.0 * np.arange(1, 21) ** -0.6 - 1.0).astype(int)
    held_out = expect_yield(found)["held_out"]
    assert (held_out["fitted_to"], held_out["tested_to"]) == (10, 20)
    assert held_out["observed"] == found[10:].sum()
    assert held_out["held"] and abs(held_out["error"]) < 0.02


def test_held_out_test_fails_where_the_second_half_dries_up():
    found = [100, 70, 60, 50, 45, 1, 0, 1, 0, 0]
    held_out = expect_yield(found)["held_out"]
    assert held_out["observed"] == 2 and not held_out["held"] and held_out["error"] > 10


def test_no_error_ratio_where_nothing_was_observed():
    held_out = expect_yield([50, 20, 10, 0, 0, 0])["held_out"]
    assert held_out["error"] is None and not held_out["held"]


def test_too_few_depths_give_no_forecast():
    assert expect_yield([9, 4, 3, 2, 1]) is None
