"""May this number be used? The verdict for each run and measure.

Each function below looks at one thing and returns a finding, or None where there is nothing to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from poolaudit.pairs import Contributor
from poolaudit.scores.measure_names import Measure, parse_measure
from poolaudit.scores.policies import Evaluation, means, n_values
from poolaudit.verdicts.findings import (
    CAVEAT,
    NOTE,
    OK,
    UNSAFE,
    Finding,
    Thresholds,
    counted,
    level_of,
    listed,
    policy_phrase,
    sentence,
    verdict,
    worst,
)

if TYPE_CHECKING:
    import pandas as pd

_OWN_WEIGHTS = ("RR", "RBP")


@dataclass(frozen=True)
class Evidence:
    """What the verdicts are made from; tables as the workflow's artifacts have them.

    Attributes:
        evaluations: the scores on all the judgments, one for each policy.
        policy: the one that scores are reported under.
        coverage: run, query_id, cutoff, depth, retrieved, unjudged; rows of null depth are read.
        bounds: run, query_id, measure, low, high, own_low, own_high.
        removal: kind, left_out, run, measure, policy, depth, relative_change, unique_relevant; rows
            of null depth are read. None where nothing can be left out.
        relevant: query_id, level, judged_relevant.
        contributors: the audited runs.
        pool_depth: the nominal depth of the pool; None where unknown.
        bounds_depth: how far down unjudged documents count for measures without a cutoff.
        assessors: who made the judgments.
    """

    evaluations: Sequence[Evaluation]
    policy: str
    coverage: pd.DataFrame
    bounds: pd.DataFrame
    removal: pd.DataFrame | None
    relevant: pd.DataFrame
    contributors: Sequence[Contributor]
    pool_depth: int | None
    bounds_depth: int = 100
    assessors: str = "not stated"

    @cached_property
    def scores(self) -> Evaluation:
        """The scores that are reported."""
        return next(e for e in self.evaluations if e.policy == self.policy)

    @cached_property
    def pooled(self) -> frozenset[str]:
        """The runs whose documents were pooled."""
        return frozenset(c.run for c in self.contributors if c.pooled)

    @cached_property
    def by_policy(self) -> list[tuple[str, np.ndarray, np.ndarray]]:
        """policy, means and numbers of queries with a value, [measures, runs] each."""
        return [(e.policy, means(e), n_values(e)) for e in self.evaluations]

    @cached_property
    def counts(self) -> dict[tuple[str, int], dict[str, int]]:
        """For each run and cutoff: retrieved and unjudged documents, and queries not answered."""
        table = self.coverage[self.coverage["depth"].isna()]
        table = table.assign(unanswered=table["retrieved"] == 0)
        columns = ["retrieved", "unjudged", "unanswered"]
        sums = table.groupby(["run", "cutoff"], observed=True)[columns].sum()
        return {
            (str(run), int(cutoff)): {name: int(row[name]) for name in columns}
            for (run, cutoff), row in sums.iterrows()
        }

    @cached_property
    def ends(self) -> dict[tuple[str, str], dict[str, float]]:
        """For each run and measure that has bounds: their means over queries."""
        names = ["low", "high", "own_low", "own_high"]
        mean = self.bounds.groupby(["run", "measure"], observed=True)[names].mean().dropna()
        return {
            (str(run), str(measure)): {name: float(row[name]) for name in names}
            for (run, measure), row in mean.iterrows()
        }

    @cached_property
    def losses(self) -> dict[tuple[str, str], list[dict[str, Any]]]:
        """For each run and measure: what leaving out the run, and its group, changes."""
        if self.removal is None:
            return {}
        table = self.removal
        table = table[
            table["depth"].isna()
            & (table["policy"] == self.policy)
            & table["kind"].isin(["run", "group"])
            & table["relative_change"].notna()
        ]
        found: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for row in table.itertuples():
            found.setdefault((str(row.run), str(row.measure)), []).append(
                {
                    "kind": str(row.kind),
                    "left_out": str(row.left_out),
                    "relative_change": float(row.relative_change),
                    "unique_relevant": int(row.unique_relevant),
                }
            )
        return found

    @cached_property
    def losses_of_pooled(self) -> dict[str, dict[str, Any]]:
        """For each measure, what the pooled runs changed by when left out; by group where known."""
        found = {}
        for name in self.scores.measures:
            losses = [loss for run in self.pooled for loss in self.losses.get((run, name), ())]
            if not losses:
                continue
            kind = "group" if any(loss["kind"] == "group" for loss in losses) else "run"
            changes = sorted(abs(x["relative_change"]) for x in losses if x["kind"] == kind)
            found[name] = {"kind": kind, "mean": float(np.mean(changes)), "largest": changes[-1]}
        return found

    @cached_property
    def relevant_by_level(self) -> dict[int, np.ndarray]:
        """For each level, the judged relevant documents of each query."""
        grouped = self.relevant.groupby("level")["judged_relevant"]
        return {int(level): counts.to_numpy() for level, counts in grouped}

    @cached_property
    def cutoffs(self) -> list[int]:
        """The cutoffs in the coverage table."""
        return sorted({cutoff for _, cutoff in self.counts})

    def cutoff(self, measure: Measure) -> int:
        """The cutoff in the coverage table that the measure looks down to."""
        wanted = measure.cutoff or self.bounds_depth
        return min(self.cutoffs, key=lambda cutoff: abs(cutoff - wanted))


@dataclass(frozen=True)
class _Number:
    """One number, with everything that is known about it."""

    evidence: Evidence
    thresholds: Thresholds
    contributor: Contributor
    measure: Measure

    @property
    def run(self) -> str:
        return self.contributor.run

    @cached_property
    def place(self) -> tuple[int, int]:
        scores = self.evidence.scores
        return scores.measures.index(self.measure.name), scores.runs.index(self.run)

    @cached_property
    def n_queries(self) -> int:
        return len(self.evidence.scores.query_ids)

    @cached_property
    def values(self) -> dict[str, dict[str, Any]]:
        """For each policy the mean and the number of queries that have a value."""
        return {
            policy: {
                "mean": float(mean[self.place]) if count[self.place] else None,
                "queries": int(count[self.place]),
            }
            for policy, mean, count in self.evidence.by_policy
        }

    @property
    def value(self) -> float | None:
        return self.values[self.evidence.policy]["mean"]

    @cached_property
    def cutoff(self) -> int:
        return self.evidence.cutoff(self.measure)

    @cached_property
    def counts(self) -> dict[str, int]:
        return self.evidence.counts[self.run, self.cutoff]

    @cached_property
    def share(self) -> float:
        """The unjudged share of what the run returned down to the cutoff; 0 of nothing."""
        return self.counts["unjudged"] / max(1, self.counts["retrieved"])

    @cached_property
    def ends(self) -> dict[str, float] | None:
        return self.evidence.ends.get((self.run, self.measure.name))

    @property
    def width(self) -> float | None:
        return None if self.ends is None else self.ends["own_high"] - self.ends["own_low"]

    @property
    def weighs_ranks(self) -> bool:
        """The bounds say more than the share: the measure hardly looks at the lower ranks."""
        return self.measure.base in _OWN_WEIGHTS and not self.measure.cutoff and bool(self.ends)

    @property
    def exposure(self) -> float:
        """What is held against the thresholds of the unjudged share."""
        return self.width if self.weighs_ranks else self.share

    @cached_property
    def loss(self) -> dict[str, Any] | None:
        """The larger of its own changes when it, or its group, is left out."""
        own = self.evidence.losses.get((self.run, self.measure.name), [])
        return max(own, key=lambda loss: abs(loss["relative_change"]), default=None)

    @property
    def losses_of_pooled(self) -> dict[str, Any] | None:
        return self.evidence.losses_of_pooled.get(self.measure.name)

    @cached_property
    def sparse(self) -> int:
        """Queries with few relevant documents at the level of the measure."""
        counts = self.evidence.relevant_by_level[self.measure.rel or 1]
        return int((counts < self.thresholds.fewest_relevant).sum())

    @cached_property
    def whole(self) -> dict[str, float]:
        """The means under the policies that read whole lists."""
        means = {p: v["mean"] for p, v in self.values.items() if not p.startswith("restrict")}
        return means if self.evidence.policy in means else {}

    @property
    def spread(self) -> float | None:
        """How far these policies lie apart, relative to the score."""
        if len(self.whole) < 2 or not self.value:
            return None
        return (max(self.whole.values()) - min(self.whole.values())) / self.value


def judge_numbers(
    evidence: Evidence,
    thresholds: Thresholds,
    turned: Mapping[tuple[str, str], Sequence[Finding]],
) -> list[dict[str, Any]]:
    """A verdict for each run and measure.

    Args:
        evidence: what is known.
        thresholds: what makes a note, a caveat, an unsafe number.
        turned: for a run and measure, findings on claimed orders that its unjudged documents are
            proven to be able to turn around (`orders.turned_orders`).

    Returns:
        For each: run, measure, policy, verdict, level, reason (a sentence for a paper), findings,
        and the figures behind them.
    """
    contributors = {c.run: c for c in evidence.contributors}
    found = []
    for name in evidence.scores.measures:
        measure = parse_measure(name)
        for run in evidence.scores.runs:
            number = _Number(evidence, thresholds, contributors[run], measure)
            findings = [*_look(number)]
            if number.share > 0:
                findings += turned.get((run, name), ())
            level = worst(findings)
            found.append(
                {
                    "run": run,
                    "measure": name,
                    "policy": evidence.policy,
                    "value": number.value,
                    "verdict": verdict(level),
                    "level": level,
                    "reason": sentence(_subject(number), findings),
                    "findings": [vars(finding) for finding in findings],
                    "figures": _figures(number),
                }
            )
    return found


def _look(number: _Number) -> Iterator[Finding]:
    looks = (
        _unjudged,
        _value,
        _answers,
        _depth,
        _pool,
        _removal,
        _contributors,
        _spread,
        _width,
        _sparse,
        _assessors,
    )
    return (finding for look in looks if (finding := look(number)) is not None)


def _subject(number: _Number) -> str:
    name, policy = number.measure.name, number.evidence.policy
    how = policy_phrase(policy, number.measure.own_policy)
    if number.value is None:
        return f"{name} of {number.run} has no value ({how}) and"
    return f"{name} of {number.run}, {number.value:.4f} ({how}),"


def _unjudged(number: _Number) -> Finding:
    level = level_of(number.exposure, number.thresholds.unjudged)
    if not number.counts["retrieved"]:
        return Finding("unjudged", UNSAFE, "it returned nothing")
    where = f"its first {number.cutoff} documents"
    if not number.counts["unjudged"]:
        text = f"none of {where} is unjudged"
    elif number.weighs_ranks:
        low, high = number.ends["own_low"], number.ends["own_high"]
        text = f"it lies between {low:.4f} and {high:.4f} however its unjudged documents are judged"
    else:
        text = f"{number.share:.1%} of {where} are unjudged"
    return Finding("unjudged", level, text)


def _value(number: _Number) -> Finding | None:
    known = number.values[number.evidence.policy]["queries"]
    if known == number.n_queries:
        return None
    if not known:
        return Finding("value", UNSAFE, "the policy gives it no value for any query")
    text = (
        f"it is a mean over the {known} of {number.n_queries} queries that have a value, and not "
        "comparable with means over others"
    )
    return Finding("value", CAVEAT, text)


def _answers(number: _Number) -> Finding | None:
    unanswered = number.counts["unanswered"]
    if not unanswered:
        return None
    level = level_of(unanswered / number.n_queries, number.thresholds.unanswered)
    text = f"it did not answer {unanswered} of {number.n_queries} queries, which count as 0"
    return Finding("unanswered", level, text)


def _depth(number: _Number) -> Finding | None:
    """A cutoff deeper than the pool measures the pool, if anything there is unjudged."""
    depth = number.evidence.pool_depth
    if depth is None or number.cutoff <= depth or number.weighs_ranks:
        return None
    level = NOTE if level_of(number.share, number.thresholds.unjudged) == OK else CAVEAT
    text = (
        f"it looks down to rank {number.cutoff}, deeper than the pool (depth {depth}), and so "
        "measures the pool as well as the run"
    )
    return Finding("depth", level, text)


def _pool(number: _Number) -> Finding | None:
    if number.contributor.pooled:
        return None
    if not number.evidence.pooled:
        return Finding("pool", NOTE, "no audited run is known to have contributed to the pool")
    return Finding("pool", NOTE, "it did not contribute to the pool")


def _removal(number: _Number) -> Finding | None:
    """Its own loss; a run outside the pool has none, so what the pooled runs lost instead."""
    loss, others, steps = number.loss, number.losses_of_pooled, number.thresholds.removal
    if number.contributor.pooled and loss is not None:
        change = loss["relative_change"]
        level = level_of(abs(change), steps)
        whose = "it" if loss["kind"] == "run" else f"its group, {loss['left_out']},"
        text = (
            f"it would be {abs(change):.1%} {'lower' if change > 0 else 'higher'} without the "
            f"documents that only {whose} put into the pool, "
            f"{loss['unique_relevant']} of them relevant"
        )
        return None if level == OK else Finding("removal", level, text)
    if not number.contributor.pooled and others is not None:
        text = (
            f"pooled runs changed by {others['mean']:.1%} on average and {others['largest']:.1%} "
            f"at most when their {others['kind']} was left out of the pool"
        )
        return Finding("removal", level_of(others["mean"], steps), text)
    return None


def _contributors(number: _Number) -> Finding | None:
    pooled = [c for c in number.evidence.contributors if c.pooled]
    if not pooled:
        return None
    groups = {c.group for c in pooled}
    kind = "run" if None in groups else "group"
    n = len(pooled) if kind == "run" else len(groups)
    if n < number.thresholds.fewest_contributors:
        text = f"only {counted(n, kind, kind + 's')} contributed to the pool"
        return Finding("contributors", CAVEAT, text)
    audited = len(number.evidence.contributors)
    if len(pooled) / audited < number.thresholds.pooled_runs:
        text = f"only {len(pooled)} of the {audited} audited runs contributed to the pool"
        return Finding("contributors", NOTE, text)
    return None


def _spread(number: _Number) -> Finding | None:
    if number.spread is None:
        return None
    level = level_of(number.spread, number.thresholds.spread)
    others = {p: mean for p, mean in number.whole.items() if p != number.evidence.policy}
    text = "it is " + listed([f"{mean:.4f} under {policy}" for policy, mean in others.items()])
    return None if level == OK else Finding("spread", level, text)


def _width(number: _Number) -> Finding | None:
    if not number.width or number.weighs_ranks:
        return None
    level = level_of(number.width, number.thresholds.width)
    ends, depth = number.ends, number.measure.cutoff or number.evidence.bounds_depth
    text = (
        f"it lies between {ends['own_low']:.4f} and {ends['own_high']:.4f} if its own unjudged "
        f"documents are judged, and between {ends['low']:.4f} and {ends['high']:.4f} if all that "
        f"the audited runs have in their first {depth} are"
    )
    return None if level == OK else Finding("bounds", level, text)


def _sparse(number: _Number) -> Finding | None:
    level = level_of(number.sparse / number.n_queries, number.thresholds.sparse)
    text = (
        f"{number.sparse} of {number.n_queries} queries have fewer than "
        f"{number.thresholds.fewest_relevant} relevant documents"
    )
    return None if level == OK else Finding("sparse", level, text)


def _assessors(number: _Number) -> Finding | None:
    evidence = number.evidence
    if not built_by_assessors(number.contributor, evidence.contributors, evidence.assessors):
        return None
    text = f"the judgments were made by those who built it (assessors: {evidence.assessors})"
    return Finding("assessors", CAVEAT, text)


def built_by_assessors(
    contributor: Contributor, contributors: Sequence[Contributor], assessors: str
) -> bool:
    """Whether those who made the judgments built the run, as far as the setting says.

    They did when the setting is the name of the run or its group, or speaks of builders ("the
    builders of bm25base") and names the run or its group, or none of the audited ones.
    """
    if assessors.casefold() in [name.casefold() for name in _names(contributor)]:
        return True
    if not re.search("builders?|built", assessors.casefold()):
        return False
    named = [c for c in contributors if any(_is_word(name, assessors) for name in _names(c))]
    return contributor in named or not named


def _names(contributor: Contributor) -> list[str]:
    return [name for name in (contributor.run, contributor.group) if name]


def _is_word(name: str, text: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None


def _figures(number: _Number) -> dict[str, Any]:
    return {
        "policies": number.values,
        "spread": number.spread,
        "queries": number.n_queries,
        "cutoff": number.cutoff,
        **number.counts,
        "unjudged_share": number.share if number.counts["retrieved"] else None,
        "bounds": number.ends,
        "pooled": number.contributor.pooled,
        "pool_depth": number.evidence.pool_depth,
        "removal": number.loss,
        "removal_of_pooled_runs": number.losses_of_pooled,
        "sparse_queries": number.sparse,
    }
