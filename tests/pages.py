"""Read the pages under docs/ as data: sections, tables, and the examples that tests run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from workflow import ROOT, snakemake

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
    escaped = re.escape(path).replace("<path>", ".+")
    return re.compile(re.sub(r"<\w+>", "[^/]+", escaped))


def follow(
    page: str, folder: Path, *, dry_run: bool = False, instead_of_report: str = "report"
) -> None:
    """Do what a page says, in order: write its files, run its commands and its Python examples.

    A fenced example is a file where the line before it ends in a name and a colon; what a Python
    example prints is compared with the `text` after it. Snakemake runs the project's workflow.

    Args:
        page: its name under docs/.
        folder: where to work.
        dry_run: of Snakemake; Python examples are then run on what is there.
        instead_of_report: the target to make where the page makes the report.
    """
    printed = None
    for name, language, body in _examples(page):
        if name:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(body, encoding="utf-8")
        elif language == "sh":
            for line in body.splitlines():
                _run(line.replace(" report", f" {instead_of_report}").split(), folder, dry_run)
        elif language == "python":
            printed = _python(body, folder)
        elif language == "text" and printed is not None:
            assert body == printed
            printed = None


def files(page: str) -> dict[str, str]:
    """The files that a page tells its reader to write."""
    return {name: body for name, _, body in _examples(page) if name}


def fences(page: str, language: str) -> list[str]:
    """The fenced examples in a language."""
    return [body for _, marked, body in _examples(page) if marked == language]


def _examples(page: str) -> list[tuple[str, str, str]]:
    """The fenced examples of a page: name of the file, language, text."""
    text = (DOCS / page).read_text(encoding="utf-8")
    fence = r"(?:`([^`\n]+)`:\n\n)?^```(\w*)\n(.*?)^```$"
    return re.findall(fence, text, re.DOTALL | re.MULTILINE)


def _run(words: list[str], folder: Path, dry_run: bool) -> None:
    if words[0] == "snakemake":
        at = words.index("--cores")
        wanted = words[1:at] + words[at + 2 :]
        run = snakemake(folder, *wanted, *(["--dry-run"] if dry_run else []))
        assert run.returncode == 0, run.stdout
    else:
        subprocess.run(words, cwd=folder, check=True)


def _python(code: str, folder: Path) -> str:
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def links(page: Path) -> list[str]:
    """The files that a page links to."""
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    return [target for target in targets if "://" not in target]
