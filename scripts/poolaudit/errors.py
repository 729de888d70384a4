"""The one exception a user is meant to read."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

CUT = 100
MOST = 20
# Between the lines of one part of an error, aligned below the first.
BELOW = "\n" + " " * 12


class AuditError(Exception):
    """Something about the user's input or settings that stops the audit.

    Args:
        what: one sentence that says what is wrong.
        where: the place: a file, `file:line`, or a file and the key in it.
        found: what stands there, shortened by the caller where it is long.
        expected: what should stand there.
        todo: what the user can do about it.

    The message puts each of them on a line of its own; parts not given are left out. Characters
    that a terminal would act on are written as escapes.
    """

    def __init__(
        self, what: str, *, where: str = "", found: str = "", expected: str = "", todo: str = ""
    ) -> None:
        self.what, self.where, self.found = what, where, found
        self.expected, self.todo = expected, todo
        parts = [("where", where), ("found", found), ("expected", expected), ("to do", todo)]
        lines = [what, *(f"  {name + ':':<10}{text}" for name, text in parts if text)]
        super().__init__(printable("\n".join(lines)))

    def __reduce__(self):
        return _rebuild, (self.what, self.where, self.found, self.expected, self.todo)


def printable(text: str) -> str:
    """Text as it may go to a terminal: all but line ends and what can be printed is escaped."""
    return "\n".join(map(_escaped, text.split("\n")))


def shorten(text: str) -> str:
    """`text` with control characters escaped, cut to what fits on a line of a terminal."""
    text = _escaped(text[: CUT + 1])
    return text if len(text) <= CUT else text[: CUT - 3] + "..."


def _escaped(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _rebuild(what: str, where: str, found: str, expected: str, todo: str) -> AuditError:
    return AuditError(what, where=where, found=found, expected=expected, todo=todo)


def joined(errors: Sequence[AuditError]) -> AuditError:
    """Several errors as one, with their messages one after the other."""
    return errors[0] if len(errors) == 1 else AuditError("\n".join(map(str, errors)))


def first_of(texts: Iterable[str], most: int = MOST, between: str = ", ") -> str:
    """The first so many of many texts, and how many more there are: "a, b and 3 more"."""
    texts = list(texts)
    more = len(texts) - most
    last = f"and {more:,} more"
    if more <= 0:
        return between.join(texts)
    if between == ", ":
        return f"{', '.join(texts[:most])} {last}"
    return between.join([*texts[:most], last])


def close(name: str, known: Iterable[str]) -> list[str]:
    """The one or two known names that are closest to `name`, whatever the case of their letters.

    A name that differs by case alone is the only one; nothing is far from everything.
    """
    folded: dict[str, str] = {}
    for one in known:
        folded.setdefault(one.casefold(), one)
    if name.casefold() in folded:
        return [folded[name.casefold()]]
    found = difflib.get_close_matches(name.casefold(), list(folded), n=2, cutoff=0.6)
    return [folded[one] for one in found]


def nearest(name: str, known: Iterable[str]) -> str:
    """Say which known names are close to `name`: "did you mean nDCG@10?", or "" if none is."""
    found = close(name, known)
    return f"did you mean {' or '.join(found)}?" if found else ""
