"""What a verdict is made of: findings with a level, and the thresholds that set the levels.

The levels are `ok`, `note` (worth saying, and no more), `caveat` and `unsafe`. A verdict is the
worst level found, a note counting as ok, and one sentence: what is judged, the verdict, and what
was found.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

OK, NOTE, CAVEAT, UNSAFE = LEVELS = ("ok", "note", "caveat", "unsafe")
Steps = tuple[float | None, float | None, float | None]
"""From where on a figure is worth a note, needs a caveat, is unsafe; None: never."""

_PHRASE = {
    OK: "stands as it is",
    NOTE: "stands, with a note",
    CAVEAT: "needs a caveat",
    UNSAFE: "is not safe to use",
}
_POLICY = {
    "nonrelevant": "unjudged documents count as nonrelevant",
    "condense": "unjudged documents are deleted",
    "restrict": "lists are read down to their first unjudged document",
    "restrict-common": "queries are read to the depth that all runs allow",
}


@dataclass(frozen=True)
class Thresholds:
    """From where on a figure is worth a note, needs a caveat, is unsafe.

    They are choices, argued from DL 2019 and TREC-8 in docs/methods.md (The answer), and are
    printed with the verdicts.

    Attributes:
        unjudged: share of the documents above the cutoff that are unjudged. For RR and RBP, which
            have no natural cutoff, the most that judging a run's own documents can move the score.
        removal: relative change of a run when it, or its group, had not been pooled; for a run
            outside the pool, what the pooled runs changed by on average.
        spread: of the scores under the policies that keep all queries, relative to the score.
        width: distance of the bounds over the run's own unjudged documents.
        sparse: share of queries with fewer than `fewest_relevant` relevant documents.
        unanswered: share of queries for which the run returned nothing.
        flip: chance that reading the unjudged documents turns an order around.
        fewest_relevant: fewer relevant documents make a query's scores jumpy.
        fewest_contributors: with fewer groups (or runs) in the pool, leaving one out says little.
        pooled_runs: with a smaller share of the audited runs in the pool, most of the scores depend
            on documents that others happened to find.
        significance: an order is claimed if its p after Holm's correction is below this.
    """

    unjudged: Steps = (0.01, 0.1, 0.5)
    removal: Steps = (0.05, 0.1, None)
    spread: Steps = (0.02, 0.1, None)
    width: Steps = (0.02, 0.1, None)
    sparse: Steps = (0.05, 0.25, None)
    unanswered: Steps = (0.001, 0.1, 0.5)
    flip: Steps = (None, 0.05, 0.5)
    fewest_relevant: int = 5
    fewest_contributors: int = 3
    pooled_runs: float = 0.5
    significance: float = 0.05


@dataclass(frozen=True)
class Finding:
    """One thing that bears on a verdict.

    Attributes:
        name: what it is about, such as "unjudged".
        level: one of LEVELS.
        text: a clause with its figures.
    """

    name: str
    level: str
    text: str


def level_of(figure: float, steps: Steps) -> str:
    """The level of a figure."""
    reached = [step is not None and figure >= step for step in steps]
    return LEVELS[max((i for i, yes in enumerate(reached, start=1) if yes), default=0)]


def worst(findings: Iterable[Finding]) -> str:
    """The worst level among the findings."""
    return LEVELS[max((LEVELS.index(finding.level) for finding in findings), default=0)]


def verdict(level: str) -> str:
    """ok, caveat or unsafe."""
    return OK if level == NOTE else level


def sentence(subject: str, findings: Sequence[Finding]) -> str:
    """The subject, the verdict, and the clauses of the findings, the worst first."""
    clauses = [f.text for f in sorted(findings, key=lambda f: -LEVELS.index(f.level))]
    return f"{subject} {_PHRASE[worst(findings)]}: {'; '.join(clauses)}."


def policy_phrase(policy: str, own_policy: str | None = None) -> str:
    """What is done with unjudged documents, for brackets behind a score.

    Args:
        policy: the policy that the score was computed under.
        own_policy: what the measure does whatever the policy (`Measure.own_policy`).
    """
    if own_policy is None or own_policy in _POLICY:
        return _POLICY[own_policy or policy]
    return f"a measure that {own_policy}"


def listed(names: Sequence[str]) -> str:
    """a, b and c."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def counted(number: int, one: str, several: str) -> str:
    """1 run, 2 runs."""
    return f"{number:,} {one if number == 1 else several}"
