"""From signs of shared bias to one plain sentence.

No test can prove that a pool lacks nothing: what no contributor looked for left no trace. A *sign*
is a figure that is large where contributors are known to have missed relevant documents together.
Each has a threshold from which shared bias is possible, and some have one from which it is likely.
The thresholds are settings, shown with the verdict, and no law.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

UNLIKELY, POSSIBLE, LIKELY, CANNOT_BE_TOLD = "unlikely", "possible", "likely", "cannot be told"
_ORDER = (UNLIKELY, POSSIBLE, LIKELY)


@dataclass(frozen=True)
class Thresholds:
    """From where on a figure makes shared bias possible, and likely.

    Attributes:
        expected_loss: of the score, for systems of a family that is not in the pool: the mean over
            families of what the runs of each lose when it is left out.
        largest_loss: of the score, for the runs of any one run or group when it is left out. Likely
            from a fifth on: what sab05ror1 lost in 2005 was 23%.
        unjudged: share of the first documents of a run outside the pool.
        relevant_share: of the judged pairs; 17% and more where pools are known to have been too
            shallow. An alarm, and never a proof.
        bottom_share: the relevant share of what only the deeper half of the pool brought in.
        title_words: how much less titlestat a run has than the pooled runs have on the same
            queries, when its documents are unjudged or its own.
        order: 1 - Kendall's tau of the order without one family, where random thinning to the same
            size disturbs it less. Orders above tau = 0.9 are commonly called equivalent.
        contributors: the fewest effective contributors from which removal can say anything.
    """

    expected_loss: tuple[float, float | None] = (0.02, 0.15)
    largest_loss: tuple[float, float | None] = (0.1, 0.2)
    unjudged: tuple[float, float | None] = (0.1, 0.3)
    relevant_share: tuple[float, float | None] = (0.15, None)
    bottom_share: tuple[float, float | None] = (0.1, None)
    title_words: tuple[float, float | None] = (0.1, None)
    order: tuple[float, float | None] = (0.1, None)
    contributors: float = 2.0


@dataclass(frozen=True)
class Sign:
    """One figure that was looked at.

    Attributes:
        name: as in Thresholds.
        figure: its value.
        possible, likely: from where on it makes shared bias so; None: never.
        text: what was seen, as a clause.
    """

    name: str
    figure: float
    possible: float
    likely: float | None
    text: str

    @property
    def level(self) -> str:
        """What this sign alone says of shared bias."""
        if self.likely is not None and self.figure >= self.likely:
            return LIKELY
        return POSSIBLE if self.figure >= self.possible else UNLIKELY

    @classmethod
    def of(cls, thresholds: Thresholds, name: str, figure: float, text: str) -> Sign:
        """A sign with the thresholds of its name."""
        return cls(name, float(figure), *getattr(thresholds, name), text)


def decide(signs: Sequence[Sign], blind: str = "", complete: str = "") -> dict[str, Any]:
    """The verdict.

    Args:
        signs: what was looked at.
        blind: why the contributors cannot tell about each other, as a clause; empty if they can.
        complete: why nothing can be missing, as a clause; empty if something can.

    Returns:
        verdict: `unlikely`, `possible`, `likely` or `cannot be told`; sentence: the one to print;
        reasons: a clause for each sign at the verdict's level or above the first level, the
        strongest first; signs: all of them with their figures, thresholds and levels.

    Nothing missing decides alone. Likely signs decide next, since they come from runs that looked
    elsewhere. Without them, a pool that cannot be asked gives no verdict. Else the strongest sign
    decides.
    """
    found = sorted((s for s in signs if s.level != UNLIKELY), key=lambda s: -_ORDER.index(s.level))
    level = found[0].level if found else UNLIKELY
    if complete:
        verdict, reasons = UNLIKELY, [complete]
        sentence = f"Shared bias is unlikely: {complete}."
    elif blind and level != LIKELY:
        verdict, reasons = CANNOT_BE_TOLD, [blind, *(sign.text for sign in found)]
        sentence = f"Shared bias cannot be told from these data: {blind}."
    elif found:
        verdict, reasons = level, [sign.text for sign in found]
        reasons += [blind] if blind else []
        sentence = f"Shared bias is {level}: {reasons[0]}{_more(len(reasons) - 1)}."
    else:
        verdict, reasons = UNLIKELY, [sign.text for sign in signs]
        sentence = (
            f"Shared bias is unlikely: none of the {len(signs)} signs looked for is there "
            f"({reasons[0]}); what no contributor looked for would show in none of them."
        )
    return {
        "verdict": verdict,
        "sentence": sentence,
        "reasons": reasons,
        "signs": [{**asdict(sign), "level": sign.level} for sign in signs],
    }


def _more(number: int) -> str:
    return f" (and {number} more sign{'s' if number > 1 else ''})" if number else ""
