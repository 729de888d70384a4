"""The answer: which numbers and orders are ok, need a caveat or are unsafe, and why.

`numbers` and `orders` say what is looked at, `findings` has the thresholds. What the
verdicts rest on are the documents that the audited runs returned; they cannot see relevant ones
that no run found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from poolaudit.pairs import Pairs, Rankings
from poolaudit.scores.measure_names import parse_measure
from poolaudit.verdicts.comparisons import Chosen, Comparison, choose, compare
from poolaudit.verdicts.findings import (
    CAVEAT,
    OK,
    UNSAFE,
    Thresholds,
    counted,
    listed,
    policy_phrase,
    verdict,
)
from poolaudit.verdicts.flips import Flip, flips
from poolaudit.verdicts.numbers import Evidence, built_by_assessors, judge_numbers
from poolaudit.verdicts.orders import judge_pairs, turned_orders

VERDICTS = (OK, CAVEAT, UNSAFE)
CANNOT_SEE = (
    "These verdicts rest on what the audited runs returned. Relevant documents that none of them "
    "found were never judged, and no verdict here can see them."
)


def compare_and_decide(
    pairs: Pairs,
    rankings: Rankings,
    evidence: Evidence,
    *,
    measure: str,
    baseline: str | None = None,
    thresholds: Thresholds | None = None,
    seed: int = 2019,
) -> dict[str, Any]:
    """Compare the runs by the primary measure, draw the chances of a flip, and decide.

    Args:
        pairs, rankings: the two tables.
        evidence: what is known of the numbers.
        measure: the primary measure.
        baseline: the run that others are compared with; None: all pairs of the first ten.
        thresholds: as in `decide`.
        seed: of the randomisation test and of the draws.

    Returns:
        What `decide` returns.
    """
    pooled = evidence.pooled
    outside = set(evidence.scores.runs) - pooled if pooled else set()
    chosen = choose(evidence.scores, measure, baseline, outside=outside)
    depth = evidence.bounds_depth
    comparisons = compare(
        pairs,
        rankings,
        evidence.evaluations,
        chosen,
        measure=measure,
        policy=evidence.policy,
        depth=depth,
        bounds=evidence.bounds,
        seed=seed,
    )
    turned = flips(pairs, rankings, comparisons, depth=depth, seed=seed)
    return decide(evidence, measure, chosen, comparisons, turned, thresholds)


def decide(
    evidence: Evidence,
    measure: str,
    chosen: Chosen,
    comparisons: Sequence[Comparison] = (),
    flips: Sequence[Flip] = (),
    thresholds: Thresholds | None = None,
) -> dict[str, Any]:
    """Decide on every number and every compared pair.

    Args:
        evidence: what is known of the numbers.
        measure: the primary measure.
        chosen: what was compared, from `comparisons.choose`.
        comparisons: from `comparisons.compare`; none with one run.
        flips: from `flips.flips`, in the same order; empty where there are none.
        thresholds: what makes a note, a caveat, an unsafe number. Default: Thresholds().

    Returns:
        A dictionary for JSON: `sentence` (the answer in one), `counts` (by verdict, for each
        measure and for the pairs), `numbers` and `pairs` (see judge_numbers and judge_pairs),
        `primary`, `baseline`, `assessors`, `warnings`, `cannot_see` and `thresholds`.
    """
    thresholds = thresholds or Thresholds()
    measure = parse_measure(measure).name
    # Nobody claims the orders that are compared for want of a baseline: which they are depends on
    # the other runs of the audit, and what is said of a score must not.
    turned = turned_orders(comparisons, thresholds) if chosen.baseline else {}
    numbers = judge_numbers(evidence, thresholds, turned)
    subtasks = {c.run: c.subtask for c in evidence.contributors}
    stated = subtasks if any(subtasks.values()) else None
    pairs = judge_pairs(comparisons, flips, numbers, thresholds, stated)
    counts = {
        "numbers": {
            name: _count(n for n in numbers if n["measure"] == name)
            for name in evidence.scores.measures
        },
        "pairs": _count(pairs),
    }
    return {
        "sentence": _answer(evidence, measure, chosen, counts),
        "primary": {"measure": measure, "policy": evidence.policy},
        "baseline": chosen.baseline,
        "assessors": _assessors(evidence),
        "warnings": list(chosen.warnings),
        "cannot_see": CANNOT_SEE,
        "counts": counts,
        "numbers": numbers,
        "pairs": pairs,
        "thresholds": {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(thresholds).items()
        },
    }


def _count(found) -> dict[str, int]:
    counts = Counter(verdict(one["level"]) for one in found)
    return {name: counts[name] for name in VERDICTS}


def _answer(evidence: Evidence, measure: str, chosen: Chosen, counts: Mapping[str, Any]) -> str:
    """One sentence: how many numbers and orders of the primary measure hold."""
    how = policy_phrase(evidence.policy, parse_measure(measure).own_policy)
    of_numbers = counts["numbers"][measure]
    n = counted(sum(of_numbers.values()), "score", "scores")
    answer = f"Of {n} by {measure} ({how}) {_shares(of_numbers)}"
    if not chosen.compared:
        return f"{answer}; there is nothing to compare."
    n = counted(len(chosen.compared), "order", "orders")
    whose = f"against {chosen.baseline}" if chosen.baseline else "among the best runs"
    return f"{answer}; of {n} {whose} {_shares(counts['pairs'])}."


def _shares(counts: Mapping[str, int]) -> str:
    """3 are ok, 1 needs a caveat and none is unsafe."""
    several = {OK: "are ok", CAVEAT: "need a caveat", UNSAFE: "are unsafe"}
    one = {OK: "is ok", CAVEAT: "needs a caveat", UNSAFE: "is unsafe"}
    return listed(
        [f"{n or 'none'} {several[name] if n > 1 else one[name]}" for name, n in counts.items()]
    )


def _assessors(evidence: Evidence) -> dict[str, Any]:
    """Who made the judgments, and the runs that they built."""
    built = [
        c.run
        for c in evidence.contributors
        if built_by_assessors(c, evidence.contributors, evidence.assessors)
    ]
    return {"stated": evidence.assessors, "built": built}
