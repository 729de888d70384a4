"""What is wrong with the lines of one file, gathered before anything is said."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from poolaudit.errors import AuditError

SHOWN = 20
CUT = 100


def shorten(text: str) -> str:
    """`text` with control characters escaped, cut to what fits on a line of a terminal."""
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[: CUT + 1])
    return text if len(text) <= CUT else text[: CUT - 3] + "..."


class Complaints:
    """The bad lines of one file: all are counted, the first 20 are shown.

    Args:
        path: the file, as the user named it.
        holds: what it should hold, as in "run" or "judgments".
    """

    def __init__(self, path: Path, holds: str) -> None:
        self.path, self.holds = path, holds
        self.count = 0
        self._shown: list[tuple[int, str, str | None]] = []

    def add(
        self, lines: Iterable[int], reason: Callable[[int], str], text: str | None = None
    ) -> None:
        """Add one complaint for each of `lines`; `reason(i)` says what is wrong with the i-th.

        `text` is the line itself, for rows of formats that have no lines to show.
        """
        lines = [int(line) for line in lines]
        self.count += len(lines)
        for i in sorted(range(len(lines)), key=lines.__getitem__)[:SHOWN]:
            self._shown.append((lines[i], reason(i), text))
        self._shown = sorted(self._shown, key=lambda entry: entry[0])[:SHOWN]

    def raise_any(
        self,
        line_text: Callable[[list[int]], dict[int, str]],
        *,
        what: str = "",
        expected: str = "",
        todo: str = "",
    ) -> None:
        """Raise one AuditError that shows the bad lines, if there are any.

        Args:
            line_text: gives the texts of lines by number; called only when there is an error.
            what: the sentence that says what is wrong; default: how many lines can't be read.
            expected: what a line should look like.
            todo: the way out.
        """
        if not self.count:
            return
        texts = line_text([line for line, _, text in self._shown if text is None])
        found = [
            f"line {line}: {reason}" + (f": {shorten(shown)}" if shown else "")
            for line, reason, text in self._shown
            for shown in [text or texts.get(line, "")]
        ]
        if self.count > len(self._shown):
            found.append(f"and {self.count - len(self._shown):,} more")
        lines = "one line" if self.count == 1 else f"{self.count:,} lines"
        raise AuditError(
            what or f"{lines} of the {self.holds} cannot be read",
            where=f"{self.path}:{self._shown[0][0]}",
            found=("\n" + " " * 12).join(found),
            expected=expected,
            todo=todo,
        )
