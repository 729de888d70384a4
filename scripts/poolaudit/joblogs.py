"""What jobs wrote into their logs: how one begins and ends, what failed, and what was killed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

BEGINS, ENDS = "begins", "ends"
LESS_MEMORY = (
    "lower batches.rows in the collection's settings, or run fewer jobs at once with --cores 1; "
    "then the same command goes on from here"
)
# The words that `scripts/job.py` writes between the time and the message of each line.
_FAILED = (" ERROR ", " CRITICAL ")
_LINE = re.compile(r"[0-9-]{10} [0-9:]{8},[0-9]{3} ([A-Z]+) ")
# A message is told in so many lines; its log has the others.
_LINES = 12


def written(folder: Path | str) -> dict[Path, int]:
    """When each log below a folder was last written, to tell later what is new."""
    return {path: path.stat().st_mtime_ns for path in Path(folder).rglob("*.log")}


def failures(folder: Path | str, before: Mapping[Path, int]) -> list[tuple[str, str]]:
    """Why jobs failed: the errors in the logs below a folder, each once, in the order of the logs.

    Args:
        folder: the folder of logs.
        before: what `written` said when this call began; what was not written since is left out.

    Returns:
        For each error the logs that hold it, separated by commas, and its message, cut where it is
        long.
    """
    logs: dict[str, list[str]] = {}
    for path, time in sorted(written(folder).items()):
        if time != before.get(path):
            for message in _errors(path.read_text(encoding="utf-8", errors="replace")):
                logs.setdefault(message, []).append(path.as_posix())
    return [(", ".join(dict.fromkeys(paths)), message) for message, paths in logs.items()]


def _errors(text: str) -> list[str]:
    """The messages of the errors in a log, of one or several lines."""
    messages: list[list[str]] = []
    is_error = False
    for line in text.splitlines():
        if head := _LINE.match(line):
            is_error = f" {head[1]} " in _FAILED
            if is_error:
                messages.append([line[head.end() :]])
        elif is_error:
            messages[-1].append(line)
    return ["\n".join(_cut(lines)) for lines in messages]


def _cut(lines: list[str]) -> list[str]:
    """The first lines of a message; of a fault of the program its last line, which says what."""
    if any(line.startswith("Traceback ") for line in lines):
        return [lines[0], lines[-1]]
    more = len(lines) - _LINES
    return [*lines[:_LINES], f"  and {more} more lines"] if more > 0 else lines


def killed(folder: Path | str) -> list[str]:
    """The jobs that neither ended nor said why, by the names of their logs below a folder.

    Such a job was ended from outside: by a signal, or by a system that ran out of memory, which
    leaves a job no time for a word. A log is written anew when its job begins, so what is named
    here was not run again since.
    """
    folder = Path(folder)
    return sorted(
        path.relative_to(folder).with_suffix("").as_posix()
        for path in folder.rglob("*.log")
        if _is_open(path.read_text(encoding="utf-8", errors="replace"))
    )


def _is_open(text: str) -> bool:
    lines = text.splitlines()
    begun = any(line.endswith(f" {BEGINS}") for line in lines[:1])
    failed = any(mark in line for mark in _FAILED for line in lines)
    return begun and not failed and not lines[-1].endswith(f" {ENDS}")
