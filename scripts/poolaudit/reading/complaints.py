"""What is wrong with the lines of one file, gathered before anything is said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from poolaudit.errors import BELOW, AuditError, shorten

SHOWN = 20


class Complaints:
    """The bad lines of one file: all are counted, the first 20 are shown.

    Args:
        path: the file, as the user named it.
        holds: what it should hold, as in "run" or "judgments".
    """

    def __init__(self, path: Path | str, holds: str) -> None:
        self.path, self.holds = Path(path), holds
        self.count = 0
        self._shown: list[tuple[int, str]] = []

    def add(self, lines: Sequence[int], reason: Callable[[int], str]) -> None:
        """Add a complaint about each of `lines`; `reason(i)` says what is wrong with the i-th."""
        self.count += len(lines)
        first = sorted(range(len(lines)), key=lambda i: lines[i])[:SHOWN]
        self._shown += [(int(lines[i]), reason(i)) for i in first]
        self._shown = sorted(self._shown)[:SHOWN]

    def raise_any(
        self,
        texts_of: Callable[[list[int]], dict[int, str]],
        *,
        what: str = "",
        expected: str = "",
        todo: str = "",
    ) -> None:
        """Raise one AuditError that shows the bad lines, if there are any.

        Args:
            texts_of: gives the text of lines by number; called only when there is an error.
            what: the sentence that says what is wrong; default: that lines cannot be read.
            expected: what a line should look like.
            todo: the way out.
        """
        if not self.count:
            return
        texts = texts_of([line for line, _ in self._shown])
        found = [
            f"line {line}: {reason}" + (f": {shorten(texts[line])}" if line in texts else "")
            for line, reason in self._shown
        ]
        if self.count > len(found):
            found.append(f"and {self.count - len(found):,} more")
        raise AuditError(
            what or f"lines of this {self.holds} file that cannot be read: {self.count:,}",
            where=f"{self.path}:{self._shown[0][0]}",
            found=indented(found),
            expected=expected,
            todo=todo,
        )


def indented(lines: Sequence[str]) -> str:
    """Several lines as one part of an AuditError, aligned below the first."""
    return BELOW.join(lines)
