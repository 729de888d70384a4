"""Text of the user's where something could act on it: a Markdown page, a spreadsheet, a browser.

HTML is escaped by its templates, and what goes to a terminal by `errors.printable`.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence

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


def security_policy(style: str, scripts: Sequence[str]) -> str:
    """A content security policy for a page that asks for nothing: its own style and scripts, by
    their digests, and nothing else."""
    return (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src {_digest(style)}; script-src {' '.join(map(_digest, scripts))}"
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def undo(cell: str) -> str:
    """The cell before `defuse`."""
    return cell[1:] if _DEFUSED.match(cell) else cell
