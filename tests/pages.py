"""Read the pages under docs/ as data: sections, tables, and the examples that tests run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from workflow import ROOT

DOCS = ROOT / "docs"


def sections(page: str, level: int = 3) -> dict[str, str]:
    """The text under each heading of a level, down to the next heading of any level."""
    text = (DOCS / page).read_text(encoding="utf-8")
    parts = re.split(r"^(#+) (.*)$", text, flags=re.MULTILINE)
    return {
        title: body
        for marks, title, body in zip(parts[1::3], parts[2::3], parts[3::3], strict=True)
        if len(marks) == level
    }


def table(text: str, first: str) -> list[list[str]]:
    """The rows of the first table whose first column has this title; none without such a table."""
    rows, inside = [], False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and inside:
            rows.append(cells)
        elif line.startswith("|") and cells[0] == first:
            inside = True
        elif inside:
            break
    return rows[1:]  # without the rule under the titles


def named(text: str) -> list[str]:
    """What stands between backticks."""
    return re.findall(r"`([^`]+)`", text)


def pattern(path: str) -> re.Pattern:
    """What matches the paths that a name such as `runs/<run>.json` stands for."""
    return re.compile(re.sub(r"<\w+>", "[^/]+", re.escape(path).replace(r"\<", "<")))


def fences(page: str, language: str) -> list[str]:
    """The fenced examples of a page in a language, in order."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.findall(rf"^( *)```{language}\n(.*?)^\1```$", text, re.DOTALL | re.MULTILINE)
    return [re.sub(f"^{indent}", "", body, flags=re.MULTILINE) for indent, body in found]


def commands(page: str) -> list[list[str]]:
    """The lines of a page's sh examples, as words; comments at the end of a line are left out."""
    lines = "".join(fences(page, "sh")).splitlines()
    words = [line.partition(" #")[0].split() for line in lines]
    return [each for each in words if each]


def files(page: str) -> dict[str, str]:
    """The examples that stand for a file: those after a line that ends in its name and a colon."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.findall(r"`([^`\n]+)`:\n\n```\w*\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return dict(found)


def python(code: str, folder: Path) -> str:
    """What a Python example prints when it runs in a folder."""
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return run.stdout
