"""Does this run beat that one? The verdict for each compared pair."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from poolaudit.scores.measure_names import parse_measure
from poolaudit.verdicts.comparisons import Comparison
from poolaudit.verdicts.findings import (
    CAVEAT,
    NOTE,
    OK,
    UNSAFE,
    Finding,
    Thresholds,
    level_of,
    listed,
    policy_phrase,
    sentence,
    verdict,
    worst,
)
from poolaudit.verdicts.flips import Flip

_ROUNDING = 1e-12


@dataclass(frozen=True)
class _Pair:
    comparison: Comparison
    flip: Flip | None
    thresholds: Thresholds
    compared: int

    @property
    def claimed(self) -> bool:
        """The difference is one that a paper would claim."""
        return self.comparison.p_holm < self.thresholds.significance

    @property
    def difference(self) -> float:
        difference = self.comparison.observed.difference or 0.0
        return difference if abs(difference) > _ROUNDING else 0.0

    @property
    def can_turn(self) -> bool | None:
        """Whether the range reaches to the other side of 0, or a tie to either; None: no range."""
        low, high = self.comparison.low, self.comparison.high
        if low is None or high is None:
            return None
        below, above = low < -_ROUNDING, high > _ROUNDING
        return (below if self.difference > 0 else above) or (not self.difference and below)

    @property
    def proven(self) -> bool:
        """A bound proves that some judging turns a claimed order around."""
        return self.claimed and self.comparison.exact and self.can_turn is True


def turned_orders(
    comparisons: Sequence[Comparison], thresholds: Thresholds
) -> dict[tuple[str, str], list[Finding]]:
    """For each run and measure, the claimed orders that a bound proves can turn around."""
    found: dict[tuple[str, str], list[Finding]] = {}
    for c in comparisons:
        if _Pair(c, None, thresholds, len(comparisons)).proven:
            for run, against in ((c.run, c.other), (c.other, c.run)):
                text = (
                    f"its claimed order with {against} (difference "
                    f"{abs(c.observed.difference):.4f}) turns around under some way of judging"
                )
                found.setdefault((run, c.measure), []).append(Finding("flip", UNSAFE, text))
    return found


def judge_pairs(
    comparisons: Sequence[Comparison],
    flips: Sequence[Flip],
    numbers: Sequence[Mapping[str, Any]],
    thresholds: Thresholds,
    subtasks: Mapping[str, str | None] | None = None,
) -> list[dict[str, Any]]:
    """A verdict for each compared pair.

    Args:
        comparisons: from `comparisons.compare`.
        flips: from `flips.flips`, in the same order; empty where there are none.
        numbers: from `numbers.judge_numbers`.
        thresholds: what makes a caveat, an unsafe order.
        subtasks: what each run did, where any run says so.

    Returns:
        For each: run, other, subtasks (see `subtask_label`; None where none is known), measure,
        policy, verdict, level, reason (a sentence for a paper), claimed, findings, and the figures
        behind them.
    """
    by_name = {(number["run"], number["measure"]): number for number in numbers}
    found = []
    for i, comparison in enumerate(comparisons):
        pair = _Pair(comparison, flips[i] if flips else None, thresholds, len(comparisons))
        both = [by_name[run, comparison.measure] for run in (comparison.run, comparison.other)]
        findings = [*_look(pair, both)]
        level = worst(findings)
        found.append(
            {
                "run": comparison.run,
                "other": comparison.other,
                "subtasks": subtask_label(subtasks, comparison.run, comparison.other)
                if subtasks
                else None,
                "measure": comparison.measure,
                "policy": comparison.policy,
                "difference": comparison.observed.difference,
                "verdict": verdict(level),
                "level": level,
                "reason": sentence(_subject(pair), findings),
                "claimed": pair.claimed,
                "findings": [vars(finding) for finding in findings],
                "figures": _figures(pair),
            }
        )
    return found


def subtask_label(subtasks: Mapping[str, str | None], run: str, other: str) -> str:
    """Whether two runs did the same task, for print beside their comparison.

    Args:
        subtasks: the run sheet's `subtask` of each run, such as "rerank" or "fullrank".
        run, other: the two runs.

    Returns:
        "within rerank", "across fullrank and rerank", or "subtask not stated". Runs that reranked
        one given list share its documents, and cannot find what it lacks: a difference across the
        two is one of tasks too.
    """
    tasks = [subtasks.get(name) for name in (run, other)]
    if None in tasks:
        return "subtask not stated"
    if tasks[0] == tasks[1]:
        return f"within {tasks[0]}"
    return "across " + " and ".join(sorted(tasks))


def _subject(pair: _Pair) -> str:
    c, scores = pair.comparison, pair.comparison.observed
    how = policy_phrase(c.policy, parse_measure(c.measure).own_policy)
    if scores.difference is None:
        return f"The comparison of {c.run} and {c.other} by {c.measure} ({how})"
    if not pair.difference:
        return f"The tie of {c.run} and {c.other} by {c.measure}, at {scores.score:.4f} ({how}),"
    ahead, behind, a, b = c.run, c.other, scores.score, scores.other_score
    if pair.difference < 0:
        ahead, behind, a, b = behind, ahead, b, a
    tests = f", {_p(c.p_holm)} corrected for {pair.compared} comparisons"
    return (
        f"The order of {ahead} above {behind} by {c.measure}, {a:.4f} to {b:.4f} ({how}; "
        f"{_p(c.p)}{tests if pair.compared > 1 else ''}),"
    )


def _p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _look(pair: _Pair, both: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    if pair.comparison.observed.difference is None:
        yield Finding("queries", UNSAFE, "there is no query on which both have a comparable value")
        return
    yield _range(pair, both)
    if pair.flip is not None and pair.flip.chance is not None and pair.can_turn:
        yield _chance(pair, pair.flip)
    if not pair.claimed:
        yield Finding("significance", CAVEAT, "these queries do not tell the two apart")
    if pair.can_turn is not False:
        yield from _policies(pair)
    for number in both:
        if number["level"] == UNSAFE and pair.can_turn is not False and not pair.proven:
            yield Finding("number", CAVEAT, f"the score of {number['run']} is not safe by itself")
        for finding in number["findings"]:
            if finding["name"] == "assessors":
                text = f"the judgments were made by those who built {number['run']}"
                yield Finding("assessors", CAVEAT, text)


def _range(pair: _Pair, both: Sequence[Mapping[str, Any]]) -> Finding:
    c = pair.comparison
    if pair.can_turn is None:
        shares = [number["figures"]["unjudged_share"] or 0 for number in both]
        known = level_of(max(shares), pair.thresholds.unjudged) == OK
        text = "how far the unjudged documents can move the difference is not known"
        return Finding("range", OK if not max(shares) else NOTE if known else CAVEAT, text)
    if c.high - c.low < _ROUNDING:
        return Finding("range", OK, "no unjudged document can move the difference")
    low, high = f"{c.low:+.4f}", f"{c.high:+.4f}"
    between = f"{c.run} - {c.other} lies between {low} and {high}"
    if not pair.can_turn:
        text = f"{between} however the first {c.open_to} documents of the audited runs are judged"
        return Finding("range", OK, text)
    chance = pair.flip.chance if pair.flip is not None else None
    unlikely = chance is not None and level_of(chance, pair.thresholds.flip) == OK
    if c.exact:
        what = "turn it around" if pair.difference else "put one above the other"
        text = (
            f"{between} over all ways of judging the first {c.open_to} documents of the audited "
            f"runs, so some of them {what}"
        )
        return Finding("range", UNSAFE if pair.claimed and not unlikely else CAVEAT, text)
    text = f"the bounds leave open that it turns around ({between}, an outer range)"
    return Finding("range", NOTE if unlikely else CAVEAT, text)


def _chance(pair: _Pair, flip: Flip) -> Finding:
    turned = round(flip.chance * flip.draws)
    text = (
        f"giving the unjudged documents grades as often as judged ones like them have turns it "
        f"around in {turned:,} of {flip.draws:,} draws, for these queries"
    )
    return Finding("flip", level_of(flip.chance, pair.thresholds.flip), text)


def _policies(pair: _Pair) -> Iterator[Finding]:
    other_way = [
        f"{scores.difference:+.4f} under {policy}"
        for policy, scores in pair.comparison.scores.items()
        if scores.queries == pair.comparison.observed.queries
        and scores.difference * pair.difference < 0
    ]
    if other_way:
        yield Finding("policies", CAVEAT, f"the difference is {listed(other_way)}")


def _figures(pair: _Pair) -> dict[str, Any]:
    c = pair.comparison
    return {
        "p": c.p,
        "p_holm": c.p_holm,
        "policies": {policy: asdict(scores) for policy, scores in c.scores.items()},
        "low": c.low,
        "high": c.high,
        "open_to": c.open_to,
        "exact": c.exact,
        "can_turn": pair.can_turn if pair.difference else None,
        "flip": asdict(pair.flip) if pair.flip is not None else None,
    }
