"""What jobs wrote into their logs: how one begins, how it ends, and which never came to an end."""

from __future__ import annotations

from pathlib import Path

BEGINS, ENDS = "begins", "ends"
LESS_MEMORY = (
    "lower batches.rows in the collection's settings, or run fewer jobs at once with --cores 1; "
    "then the same command goes on from here"
)
# The words that `scripts/job.py` writes between the time and the message of each line.
_FAILED = (" ERROR ", " CRITICAL ")


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
