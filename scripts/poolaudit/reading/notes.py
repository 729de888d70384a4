"""Notes on what was found while reading: a kind, one line of text, a count."""

from __future__ import annotations

from poolaudit.errors import first_of

NAMED = 5


def counted(kind: str, text: str, count: int, more: str = "") -> dict:
    """A note that counts something: "text: 1,234 (more)"."""
    text = f"{text}: {count:,}" + (f" ({more})" if more else "")
    return {"kind": kind, "text": text, "count": count}


def some(names: list[str]) -> str:
    """The first few of many names, and how many more there are."""
    return first_of(names, NAMED)
