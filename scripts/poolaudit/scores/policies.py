"""What to do with unjudged documents, and the scores under each way of doing it.

* `nonrelevant`: they count as nonrelevant. The default of nearly every tool.
* `condense`: they are deleted and the rest move up (Sakai 2007).
* `restrict`: a list is evaluated only down to the first of them.
* `restrict-common`: each query is evaluated to the depth that all runs allow.

A policy is fixed before the analysis, and two are never compared: the functions here that put
scores side by side refuse it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from poolaudit.errors import AuditError, nearest
from poolaudit.scores.foreign import compute_with_ir_measures
from poolaudit.scores.formulas import FORMULAS
from poolaudit.scores.lists import JudgedLists
from poolaudit.scores.measure_names import Measure, parse_measures
from poolaudit.scores.measures import UNCUT, Graded, View, compute

POLICIES = ("nonrelevant", "condense", "restrict", "restrict-common")


@dataclass(frozen=True)
class Evaluation:
    """Scores under one policy and one judgment set.

    Attributes:
        policy: one of POLICIES.
        measures, runs, query_ids: what the axes of the arrays stand for.
        values: float64[measures, runs, queries]; NaN where the policy gives no value. A query that
            the run did not answer scores 0, and so does one without a relevant document in the
            judgment set.
        effective_depth: int32[measures, runs, queries], how deep a restricted list was evaluated;
            0 where it has no value or no list. None under the policies that restrict nothing.
    """

    policy: str
    measures: tuple[str, ...]
    runs: tuple[str, ...]
    query_ids: tuple[str, ...]
    values: np.ndarray
    effective_depth: np.ndarray | None = None


def evaluate(
    lists: JudgedLists,
    grades: np.ndarray,
    measures: Iterable[str | Measure],
    policy: str = "nonrelevant",
) -> Evaluation:
    """Score every run on every query.

    Args:
        lists: the judged lists.
        grades: int16[pairs], a judgment set within the one the lists were made for.
        measures: names, or parsed measures.
        policy: one of POLICIES.

    Returns:
        The scores. Under the restricting policies Bpref, infAP and measures of judged documents
        only have no value, and a measure left to ir_measures has one where it reads no unjudged
        document.

    Raises:
        AuditError: a policy or a measure is not known.
    """
    (evaluation,) = evaluate_policies(lists, grades, measures, (policy,))
    return evaluation


def evaluate_policies(
    lists: JudgedLists,
    grades: np.ndarray,
    measures: Iterable[str | Measure],
    policies: Sequence[str] = POLICIES,
) -> list[Evaluation]:
    """Score under several policies; they share the work on the judgment set."""
    return evaluate_graded(Graded(lists, grades), measures, policies)


def evaluate_graded(
    graded: Graded, measures: Iterable[str | Measure], policies: Sequence[str] = POLICIES
) -> list[Evaluation]:
    """Score judged lists that have their grades; see `evaluate`."""
    for policy in policies:
        if policy not in POLICIES:
            raise AuditError(
                "no such policy",
                found=policy,
                expected=", ".join(POLICIES),
                todo=nearest(policy, POLICIES),
            )
    measures = parse_measures(measures)
    views = View(graded, condensed=False), View(graded, condensed=True)
    return [evaluate_views(*views, measures, policy) for policy in policies]


def same_values(measure: Measure, policies: Sequence[str]) -> list[tuple[str, ...]]:
    """The policies; those that make no difference to the measure stand together.

    Where an unjudged document stands does not matter to Bpref, so it may as well be deleted.
    """
    free = measure.ours and not FORMULAS[measure.base].of_ranks
    whole = tuple(policy for policy in policies if free and not policy.startswith("restrict"))
    return [*([whole] if whole else []), *((p,) for p in policies if p not in whole)]


def evaluate_views(
    plain: View, condensed: View, measures: Sequence[Measure], policy: str
) -> Evaluation:
    """Score under one policy; `plain` and `condensed` are two views of one judgment set."""
    lists = plain.graded.lists
    restricts = policy.startswith("restrict")
    values, depths = [], []
    for measure in measures:
        if restricts:
            value, depth = restrict(plain, measure, common=policy == "restrict-common")
            depths.append(lists.spread(depth.astype(np.int32)))
        else:
            value = _whole(condensed if policy == "condense" else plain, condensed, measure)
        nothing = restricts and _has_no_restricted_value(measure)
        values.append(lists.spread(value, missing=np.nan if nothing else 0))
    shape = (len(measures), len(lists.runs), len(lists.query_ids))
    return Evaluation(
        policy=policy,
        measures=tuple(measure.name for measure in measures),
        runs=lists.runs,
        query_ids=lists.query_ids,
        values=np.array(values).reshape(shape),
        effective_depth=np.array(depths, np.int32).reshape(shape) if restricts else None,
    )


def _whole(view: View, condensed: View, measure: Measure) -> np.ndarray:
    """float64[lists]: the values over whole lists."""
    if not measure.ours:
        return compute_with_ir_measures(view, measure)
    return compute(condensed if measure.judged_only else view, measure)


def _has_no_restricted_value(measure: Measure) -> bool:
    """Measures with a way of their own to treat unjudged documents, except the share of them."""
    return measure.own_policy is not None and measure.base != "Judged"


def restrict(view: View, measure: Measure, *, common: bool) -> tuple[np.ndarray, np.ndarray]:
    """float64[lists] and int64[lists]: the restricted values and the depths that they hold to."""
    lists = view.graded.lists
    asked = measure.cutoff or UNCUT
    depth = restricted_depth(view, asked, common=common)
    if measure.base == "Judged":
        return compute(view, measure), np.minimum(depth, lists.length)
    if _has_no_restricted_value(measure):
        return np.full(lists.n_lists, np.nan), np.zeros(lists.n_lists, np.int64)
    if measure.ours:
        value = compute(view.heads, measure, depth)
        none = depth == 0
        if measure.base in ("RR", "Success"):
            none |= (value == 0) & (depth < asked)
    else:
        value = compute_with_ir_measures(view, measure)
        none = depth < asked
    return np.where(none, np.nan, value), np.where(depth == UNCUT, lists.length, depth)


def restricted_depth(view: View, asked: int, *, common: bool) -> np.ndarray:
    """How deep a list is evaluated.

    A list that ends is not a list that meets an unjudged document.

    Args:
        view: the lists under one judgment set.
        asked: the measure's cutoff, or UNCUT.
        common: take the smallest of each query's lists.

    Returns:
        int64[lists]: `asked` where no unjudged document stands within it, else the last rank above
        the first of them.
    """
    lists, judged = view.graded.lists, view.graded.fully_judged
    depth = np.where(np.minimum(asked, lists.length) <= judged, asked, judged)
    if not common:
        return depth
    smallest = np.full(len(lists.query_ids), UNCUT)
    np.minimum.at(smallest, lists.list_query, depth)
    return smallest[lists.list_query]


def means(evaluation: Evaluation) -> np.ndarray:
    """float64[measures, runs]: the means over the queries that have a value; NaN if none has.

    Unanswered queries count as 0. Print them with `n_values`: under the restricting policies they
    are means over different queries.
    """
    known = ~np.isnan(evaluation.values)
    total = np.where(known, evaluation.values, 0).sum(axis=2)
    return np.divide(
        total, known.sum(axis=2), out=np.full(total.shape, np.nan), where=known.any(axis=2)
    )


def n_values(evaluation: Evaluation) -> np.ndarray:
    """int64[measures, runs]: the number of queries that have a value."""
    return (~np.isnan(evaluation.values)).sum(axis=2)


def coverage(
    lists: JudgedLists, grades: np.ndarray, cutoffs: Sequence[int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How many documents each run returned to each cutoff, and how many of them are judged.

    Args:
        lists: the judged lists.
        grades: int16[pairs], a judgment set; grades below zero count as unjudged.
        cutoffs: ranks.

    Returns:
        retrieved, judged, unjudged: int32[cutoffs, runs, queries]; all 0 where the run did not
        answer the query.
    """
    graded = Graded(lists, grades)
    kinds = (
        [np.minimum(cutoff, lists.length) for cutoff in cutoffs],
        [graded.judged_within(cutoff) for cutoff in cutoffs],
    )
    retrieved, judged = (np.array([lists.spread(c) for c in kind], np.int32) for kind in kinds)
    return retrieved, judged, retrieved - judged


def answered(lists: JudgedLists) -> np.ndarray:
    """bool[runs, queries]: the run returned something for the query."""
    return lists.spread(np.ones(lists.n_lists, bool))


def difference(evaluation: Evaluation, run: str, baseline: str, measure: str) -> np.ndarray:
    """The paired difference of two runs: `run` minus `baseline`, query by query.

    Returns:
        float64[queries]; NaN where either has no value, and under `restrict` where the two lists
        were evaluated to different depths: such scores are not comparable. An unanswered query
        counts as 0.
    """
    at = _place(evaluation.measures, measure, "measure")
    of = [_place(evaluation.runs, name, "run") for name in (run, baseline)]
    values = evaluation.values[at, of]
    found = values[0] - values[1]
    if evaluation.effective_depth is not None:
        depths = evaluation.effective_depth[at, of]
        found[(depths[0] != depths[1]) & (depths > 0).all(axis=0)] = np.nan
    return found


def change(before: Evaluation, after: Evaluation) -> np.ndarray:
    """What another judgment set does to the scores: `after` minus `before`.

    Returns:
        float64[measures, runs, queries]; NaN where either has no value.

    Raises:
        AuditError: the two are under different policies, or of other measures, runs or queries.
    """
    if before.policy != after.policy:
        raise AuditError(
            "scores under two policies are not comparable",
            found=f"{before.policy} and {after.policy}",
            expected="one policy, fixed before the analysis",
            todo="evaluate both judgment sets under the same policy",
        )
    for axis in ("measures", "runs", "query_ids"):
        if getattr(before, axis) != getattr(after, axis):
            raise AuditError(f"scores of different {axis} cannot be compared")
    return after.values - before.values


def _place(names: tuple[str, ...], name: str, what: str) -> int:
    if name not in names:
        raise AuditError(
            f"no such {what} in these scores",
            found=name,
            expected=", ".join(names),
            todo=nearest(name, names),
        )
    return names.index(name)
