"""What the next depths of a pool should find, and whether that forecast can be believed.

Zobel (1998) found that the number of relevant documents that are new at pool depth p, summed over
queries, falls about as n(p) = C p^s - 1. The line log(n + 1) = log C + s log p is fitted by least
squares; forecasts below zero are zero. Whether the curve fits at hand is tested on depths that the
fit has not seen: the promise fails where contributors change their nature with rank, and on TREC-8
a fit to the first 50 depths expects a quarter more than the next 50 bring.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

FEWEST_DEPTHS = 6
TOLERANCE = 0.1


@dataclass(frozen=True)
class YieldFit:
    """The curve n(p) = scale * p ** exponent - 1 (Zobel 1998)."""

    scale: float
    exponent: float

    def expected(self, first: int, last: int) -> float:
        """New relevant documents expected at the depths `first` to `last`, both included."""
        depths = np.arange(first, last + 1, dtype=float)
        return float(np.maximum(0.0, self.scale * depths**self.exponent - 1.0).sum())


def fit_yield(new_relevant: Sequence[int]) -> YieldFit:
    """Fit the curve to the numbers of new relevant documents at depths 1, 2, ...; at least two."""
    found = np.asarray(new_relevant, dtype=float)
    depths = np.arange(1, len(found) + 1)
    exponent, logarithm = np.polyfit(np.log(depths), np.log(found + 1.0), 1)
    return YieldFit(float(np.exp(logarithm)), float(exponent))


def expect_yield(new_relevant: Sequence[int]) -> dict[str, Any] | None:
    """Forecast the yield of doubling the pool's depth, with the held-out test of the forecast.

    Args:
        new_relevant: new relevant documents at depths 1 to d.

    Returns:
        None for fewer than six depths, half of which could not test a curve of two parameters.
        Else a dictionary: depth d; scale and exponent of the fit to all depths; expected: new
        relevant documents of the depths d + 1 to 2d; held_out: the fit to the first half of the
        depths against the second half: fitted_to, tested_to, predicted, observed, error (predicted
        over observed, less one; None when nothing was observed), tolerance, held.
    """
    depth = len(new_relevant)
    if depth < FEWEST_DEPTHS:
        return None
    half = depth // 2
    predicted = fit_yield(new_relevant[:half]).expected(half + 1, depth)
    observed = int(np.sum(new_relevant[half:]))
    fit = fit_yield(new_relevant)
    return {
        "depth": depth,
        "scale": fit.scale,
        "exponent": fit.exponent,
        "expected": fit.expected(depth + 1, 2 * depth),
        "held_out": {
            "fitted_to": half,
            "tested_to": depth,
            "predicted": predicted,
            "observed": observed,
            "error": predicted / observed - 1.0 if observed else None,
            "tolerance": TOLERANCE,
            "held": bool(abs(predicted - observed) <= TOLERANCE * observed),
        },
    }
