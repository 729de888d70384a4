"""Scores, counts and bounds as the tables of the audit: one row a cell, in a documented order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from poolaudit.cells import cells
from poolaudit.scores.bounds import Bounds, residuals_of
from poolaudit.scores.lists import JudgedLists
from poolaudit.scores.policies import Evaluation, coverage
from poolaudit.scores.ties import Ties


def evaluation_table(
    lists: JudgedLists,
    grades: Mapping[int | None, np.ndarray],
    evaluations: Mapping[int | None, Evaluation],
) -> pa.Table:
    """The scores under one policy on several judgment sets.

    Args:
        lists: the judged lists.
        grades: by pool depth (None: all the judgments), the judgment sets.
        evaluations: by the same depths, the scores; all under one policy.

    Returns:
        depth, measure, run, query_id, value, residual (of RBP; null for other measures) and, under
        the restricting policies, effective_depth.
    """
    first, *_ = evaluations.values()
    axes = {
        "depth": list(evaluations),
        "measure": first.measures,
        "run": first.runs,
        "query_id": first.query_ids,
    }
    left_open = [residuals_of(lists, g, first.measures, first.policy) for g in grades.values()]
    values = {
        "value": np.stack([evaluation.values for evaluation in evaluations.values()]),
        "residual": np.stack(left_open),
    }
    if first.effective_depth is not None:
        values["effective_depth"] = np.stack([e.effective_depth for e in evaluations.values()])
    return cells(axes, values)


def coverage_table(
    lists: JudgedLists,
    grades: Mapping[int | None, np.ndarray],
    cutoffs: Sequence[int],
) -> pa.Table:
    """The judged documents above each cutoff.

    Args:
        lists: the judged lists.
        grades: by pool depth (None: all the judgments), the judgment sets.
        cutoffs: ranks.

    Returns:
        depth, cutoff, run, query_id, retrieved, judged, unjudged.
    """
    axes = {
        "depth": list(grades),
        "cutoff": list(cutoffs),
        "run": lists.runs,
        "query_id": lists.query_ids,
    }
    at_depth = zip(*(coverage(lists, judged, cutoffs) for judged in grades.values()), strict=True)
    names = ("retrieved", "judged", "unjudged")
    return cells(axes, dict(zip(names, map(np.stack, at_depth), strict=True)))


def bounds_table(found: Bounds) -> pa.Table:
    """measure, run, query_id, low, high, own_low, own_high."""
    axes = {"measure": found.measures, "run": found.runs, "query_id": found.query_ids}
    ends = ("low", "high", "own_low", "own_high")
    return cells(axes, {end: getattr(found, end) for end in ends})


def ties_tables(found: Ties) -> tuple[pa.Table, pa.Table]:
    """measure, run, query_id, low, high; and cutoff, run, queries with a tie across the cutoff."""
    axes = {"measure": found.measures, "run": found.runs, "query_id": found.query_ids}
    crossed = cells({"cutoff": found.cutoffs, "run": found.runs}, {"queries": found.crossed})
    return cells(axes, {"low": found.low, "high": found.high}), crossed
