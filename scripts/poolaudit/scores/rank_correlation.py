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
    return correlations(reference, other)[0]


def tau_ap(reference: np.ndarray, other: np.ndarray) -> float:
    """The AP correlation of an order with a reference order, in which the top weighs more.

    tau_AP = 2 / (n - 1) sum over the ranks i = 2..n of C(i) / (i - 1), less 1. C(i) counts the runs
    above rank i in `other` that are above it in `reference` too (Yilmaz, Aslam, Robertson 2008).
    It is not symmetric.

    Ties: a run is compared with the runs that are strictly above it in `other`, so runs tied there
    are not compared with each other and those tied at the top have no rank i (as in tau_AP,b of
    Urbano and Marrero 2017, in this one direction); a pair tied in `reference` counts one half.
    NaN when all runs are tied in either order.
    """
    return correlations(reference, other)[1]


def correlations(reference: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """`kendall_tau` and `tau_ap`, which count the same pairs."""
    known = np.isfinite(reference) & np.isfinite(other)
    reference = np.round(reference[known], DECIMALS)
    other = np.round(other[known], DECIMALS)
    better = reference[None, :] > reference[:, None]
    above = other[None, :] > other[:, None]
    n_above = np.count_nonzero(above, axis=1)
    agreement = np.count_nonzero(above & better, axis=1) - np.count_nonzero(
        above & better.T, axis=1
    )
    not_tied = np.sqrt(float(np.count_nonzero(better)) * float(n_above.sum()))
    below_top = n_above > 0
    nothing = float("nan")
    return (
        float(agreement.sum() / not_tied) if not_tied else nothing,
        float(np.mean(agreement[below_top] / n_above[below_top])) if not_tied else nothing,
    )
