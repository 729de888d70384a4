"""How far two orders of the same runs agree.

Scores within 1e-12 of each other are ties: means over the same values, added up in another order,
differ by less. Runs without a score in either order (NaN) are left out.
"""

from __future__ import annotations

import numpy as np

DECIMALS = 12


def competition_ranks(scores: np.ndarray) -> np.ndarray:
    """float64[runs]: one more than the number of runs that score higher; NaN where no score."""
    rounded = np.round(scores, DECIMALS)
    known = np.isfinite(rounded)
    ascending = np.sort(rounded[known])
    higher = len(ascending) - np.searchsorted(ascending, rounded, side="right")
    return np.where(known, higher + 1.0, np.nan)


def kendall_tau(reference: np.ndarray, other: np.ndarray) -> float:
    """Kendall's tau-b: (concordant - discordant pairs) / sqrt of the pairs not tied in each order.

    Ties: a pair tied in one order is neither concordant nor discordant, and is not counted among
    the pairs of that order. NaN when either order is a single tie (Kendall 1945).
    """
    reference, other = _both_known(reference, other)
    first, second = _signs(reference), _signs(other)
    not_tied = np.sqrt(float((first != 0).sum()) * float((second != 0).sum()))
    return float((first * second).sum() / not_tied) if not_tied else float("nan")


def tau_ap(reference: np.ndarray, other: np.ndarray) -> float:
    """The AP correlation of an order with a reference order, in which the top weighs more.

    tau_AP = 2 / (n - 1) sum over the ranks i = 2..n of C(i) / (i - 1), less 1. C(i) counts the runs
    above rank i in `other` that are above it in `reference` too (Yilmaz, Aslam, Robertson 2008).
    It is not symmetric.

    Ties: a run is compared with the runs that are strictly above it in `other`, so runs tied there
    are not compared with each other and those tied at the top have no rank i (as in tau_AP,b of
    Urbano and Marrero 2017, in this one direction); a pair tied in `reference` counts one half.
    NaN when all runs are tied in `other`.
    """
    reference, other = _both_known(reference, other)
    above = _signs(other) > 0
    agreement = np.where(above, _signs(reference), 0).sum(axis=1)
    n_above = above.sum(axis=1)
    below_top = n_above > 0
    if not below_top.any():
        return float("nan")
    return float(np.mean(agreement[below_top] / n_above[below_top]))


def _both_known(reference: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    known = np.isfinite(reference) & np.isfinite(other)
    return np.round(reference[known], DECIMALS), np.round(other[known], DECIMALS)


def _signs(scores: np.ndarray) -> np.ndarray:
    """[runs, runs]: 1 where the second run scores higher than the first, -1 where lower, else 0."""
    return np.sign(scores[None, :] - scores[:, None])
