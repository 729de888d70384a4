"""Text of the user's where something could act on it: a Markdown page, a spreadsheet.

HTML is escaped by its templates, and what goes to a terminal by `errors.printable`.
"""

from __future__ import annotations

import re

_FORMULA = re.compile(r"'*[=+\-@]")
_DEFUSED = re.compile(r"'+[=+\-@]")


def markdown_text(text: object) -> str:
    """Text that cannot end a cell of a table, start a tag or be taken for markup."""
    text = " ".join(str(text).split())
    for mark in "\\`*_[]<>|#":
        text = text.replace(mark, "\\" + mark)
    return text


def defuse(cell: str) -> str:
    """A cell that no spreadsheet runs: an apostrophe before a leading =, +, - or @.

    Tabs and line ends become blanks. `undo` takes the apostrophe away again.
    """
    cell = " ".join(cell.split())
    return f"'{cell}" if _FORMULA.match(cell) else cell


def undo(cell: str) -> str:
    """The cell before `defuse`."""
    return cell[1:] if _DEFUSED.match(cell) else cell
