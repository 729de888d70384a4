"""Which runs are compared, and what is known about the difference between two of them.

Every comparison is made under one measure and one policy, fixed before the analysis. Beside the
observed difference stand the chance of one as large if the two runs were interchangeable, what the
other policies would say, and how far the unjudged documents could move it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from poolaudit.errors import AuditError, nearest
from poolaudit.pairs import Pairs, Rankings
from poolaudit.scores.measure_names import parse_measure
from poolaudit.scores.policies import Evaluation, difference, means
from poolaudit.verdicts.findings import counted, listed
from poolaudit.verdicts.ranges import Range, exact_ranges, is_exact, outer_range

if TYPE_CHECKING:
    import pandas as pd

DRAWS = 20_000
_AT_A_TIME = 1_000


@dataclass(frozen=True)
class Chosen:
    """The pairs of runs to compare.

    Attributes:
        compared: (run, other); a difference is the run's score minus the other's.
        baseline: the run that the others are compared with, or None.
        warnings: what a reader must know about the choice.
    """

    compared: tuple[tuple[str, str], ...]
    baseline: str | None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scores:
    """Two runs under one policy, over the queries where they can be compared.

    Attributes:
        score, other_score: means over these queries; None if there are none.
        difference: score - other_score; None if there are none.
        queries: how many there are.
    """

    score: float | None
    other_score: float | None
    difference: float | None
    queries: int


@dataclass(frozen=True)
class Comparison:
    """What is known about the difference between two runs.

    Attributes:
        run, other: the runs; differences are run - other.
        measure, policy: what they are compared by.
        scores: under each policy; the one compared by is among them.
        p: two-sided p of the paired randomisation test.
        p_holm: the same after Holm's correction for all the pairs compared.
        low, high: the range of the mean difference over all ways of judging the unjudged documents
            among the first `open_to` of every audited run; None where no bound of the measure is
            known.
        exact: both ends are reached by some way of judging; else the range is an outer one.
    """

    run: str
    other: str
    measure: str
    policy: str
    scores: Mapping[str, Scores]
    p: float
    p_holm: float
    low: float | None
    high: float | None
    exact: bool
    open_to: int

    @property
    def observed(self) -> Scores:
        """The scores under the policy that the runs are compared by."""
        return self.scores[self.policy]


def read_evaluation(table: pd.DataFrame, policy: str) -> Evaluation:
    """The scores on all the judgments from a table of one policy.

    Args:
        table: columns run, query_id, measure, depth, value and, under the restricting policies,
            effective_depth. Only the rows whose depth is null are read.
        policy: the policy of the table.
    """
    import pandas as pd

    table = table[table["depth"].isna()]
    found = {
        name: pd.factorize(table[name], sort=name != "measure")
        for name in ("measure", "run", "query_id")
    }
    at = tuple(codes for codes, _ in found.values())
    axes = {name: tuple(labels.astype(str)) for name, (_, labels) in found.items()}
    shape = tuple(len(labels) for labels in axes.values())
    values, depths = np.full(shape, np.nan), None
    values[at] = table["value"]
    if "effective_depth" in table:
        depths = np.zeros(shape, np.int32)
        depths[at] = table["effective_depth"]
    return Evaluation(policy, *axes.values(), values, depths)


def choose(
    evaluation: Evaluation,
    measure: str,
    baseline: str | None = None,
    *,
    first: int = 10,
    outside: Collection[str] = (),
) -> Chosen:
    """Choose the pairs to compare.

    Args:
        evaluation: scores under the primary policy.
        measure: the primary measure.
        baseline: each other run is compared with it, in falling order of their scores. Default: all
            pairs of the `first` runs by the measure, the better one before the other.
        first: how many.
        outside: runs that were not pooled, where others were: whoever adds a run to a collection
            that exists is told when nothing is compared with it.

    Raises:
        AuditError: the baseline is not among the runs.
    """
    if baseline is not None and baseline not in evaluation.runs:
        raise AuditError(
            "The baseline is not among the audited runs.",
            where="key baseline of the collection's file",
            found=baseline,
            expected="the name of a run of the sheet",
            todo=nearest(baseline, evaluation.runs) or "name another run, or leave the key out",
        )
    mean = means(evaluation)[evaluation.measures.index(parse_measure(measure).name)]
    order = np.argsort(-mean, kind="stable")
    ranked = [evaluation.runs[i] for i in order if not np.isnan(mean[i])]
    if baseline is not None:
        return Chosen(tuple((run, baseline) for run in ranked if run != baseline), baseline)
    top = ranked[:first]
    compared = tuple((run, other) for i, run in enumerate(top) for other in top[i + 1 :])
    if not compared:
        return Chosen((), None)
    warnings = [
        f"No baseline was named, so all pairs of the first {len(top)} runs by {measure} are "
        "compared. They were chosen after the fact, by the same scores that are compared: "
        "differences from chosen runs look larger and surer than they would on new queries."
    ]
    missed = [run for run in ranked if run in outside and run not in top]
    if missed:
        runs = counted(len(missed), "run", "runs")
        warnings.append(
            f"{runs} from outside the pool {'is' if len(missed) == 1 else 'are'} not among them "
            f"and compared with nothing: {listed(missed)}. A baseline in the settings (key "
            "baseline) compares each run with it."
        )
    return Chosen(compared, None, tuple(warnings))


def randomisation_test(
    differences: np.ndarray, *, draws: int = DRAWS, seed: int = 2019
) -> np.ndarray:
    """Paired randomisation test over queries, two-sided (Fisher 1935; Smucker, Allan and
    Carterette 2007).

    If two runs were interchangeable, each query's difference could as well have the other sign. p
    is the share of the sign changes that give a mean at least as far from 0 as the one observed.

    Args:
        differences: float64[pairs, queries]; NaN where the two cannot be compared.
        draws: sign changes to draw. Where there are no more of them than that, all are used and p
            is exact; else the observed one is counted among the drawn ones, so p > 0.
        seed: of the draws.

    Returns:
        float64[pairs]. It is 1 where no query differs. It takes the queries for a sample of those
        that could have been asked, and the judgments as they are.
    """
    differences = np.nan_to_num(differences)
    slack = 1e-12 * np.abs(differences).sum(axis=1)
    least = np.abs(differences.sum(axis=1)) - slack
    few = np.count_nonzero(differences, axis=1) <= np.log2(draws)
    extreme = np.zeros(len(differences), np.int64)
    rng = np.random.default_rng(seed)
    for start in range(0, draws if not few.all() else 0, _AT_A_TIME):
        shape = (min(_AT_A_TIME, draws - start), differences.shape[1])
        signs = rng.integers(0, 2, shape, np.int8) * 2.0 - 1
        extreme += (np.abs(signs @ differences.T) >= least).sum(axis=0)
    p = (1 + extreme) / (1 + draws)
    for i in np.flatnonzero(few):
        sums = np.zeros(1)
        for value in differences[i][differences[i] != 0]:
            sums = np.concatenate([sums + value, sums - value])
        p[i] = (np.abs(sums) >= least[i]).mean()
    return p


def holm(p: np.ndarray) -> np.ndarray:
    """Holm's correction (1979): p values that hold for all of several tests at once.

    The smallest is multiplied by the number of tests, the next by one less, and so on; none
    becomes smaller than the one before it, or larger than 1.
    """
    order = np.argsort(p, kind="stable")
    factor = len(p) - np.arange(len(p))
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(np.maximum.accumulate(p[order] * factor), 1)
    return corrected


def compare(
    pairs: Pairs,
    rankings: Rankings,
    evaluations: Sequence[Evaluation],
    chosen: Chosen,
    *,
    measure: str,
    policy: str,
    depth: int = 100,
    bounds: pd.DataFrame | None = None,
    draws: int = DRAWS,
    seed: int = 2019,
) -> tuple[Comparison, ...]:
    """Compare the chosen pairs by one measure and one policy.

    Args:
        pairs, rankings: the two tables.
        evaluations: the scores on all the judgments, one for each policy.
        chosen: what to compare.
        measure, policy: what to compare by.
        depth: how deep unjudged documents are open for a measure without a cutoff.
        bounds: run, query_id, measure, low, high; for the measures whose range is not exact.
        draws, seed: of the randomisation test.

    Returns:
        A comparison for each pair, in the order chosen.
    """
    measure = parse_measure(measure).name
    by_policy = {evaluation.policy: evaluation for evaluation in evaluations}
    if policy not in by_policy:
        raise AuditError(
            "There are no scores under the policy to compare by.",
            found=policy,
            expected=", ".join(by_policy),
        )
    if not chosen.compared:
        return ()
    observed = [difference(by_policy[policy], a, b, measure) for a, b in chosen.compared]
    p = randomisation_test(np.array(observed), draws=draws, seed=seed)
    ranges = _ranges(pairs, rankings, measure, chosen, depth, bounds)
    return tuple(
        Comparison(
            run=a,
            other=b,
            measure=measure,
            policy=policy,
            scores={name: _scores(found, a, b, measure) for name, found in by_policy.items()},
            p=float(p[i]),
            p_holm=float(p_holm),
            low=float(ranges[a, b].low.mean()) if ranges else None,
            high=float(ranges[a, b].high.mean()) if ranges else None,
            exact=is_exact(measure),
            open_to=parse_measure(measure).cutoff or depth,
        )
        for i, ((a, b), p_holm) in enumerate(zip(chosen.compared, holm(p), strict=True))
    )


def _scores(evaluation: Evaluation, run: str, other: str, measure: str) -> Scores:
    found = difference(evaluation, run, other, measure)
    known = ~np.isnan(found)
    if not known.any():
        return Scores(None, None, None, 0)
    values = evaluation.values[evaluation.measures.index(measure)]
    score, other_score = (
        float(values[evaluation.runs.index(name), known].mean()) for name in (run, other)
    )
    return Scores(score, other_score, float(found[known].mean()), int(known.sum()))


def _ranges(
    pairs: Pairs,
    rankings: Rankings,
    measure: str,
    chosen: Chosen,
    depth: int,
    bounds: pd.DataFrame | None,
) -> dict[tuple[str, str], Range]:
    """The range of each pair; none where the measure has no bounds."""
    if is_exact(measure):
        return exact_ranges(pairs, rankings, measure, chosen.compared, depth=depth)
    if bounds is None:
        return {}
    rows = bounds[(bounds["measure"] == measure) & bounds["low"].notna()]
    if rows.empty:
        return {}
    ends = {
        str(run): (of_run["low"].to_numpy(), of_run["high"].to_numpy())
        for run, of_run in rows.sort_values("query_id").groupby("run", observed=True)
    }
    return {(a, b): outer_range(ends, a, b) for a, b in chosen.compared}
