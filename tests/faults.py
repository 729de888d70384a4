"""Kill an audit at a random moment, in the ways in which audits die, and go on as a user would."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from poolaudit.files import sha256

# Logs and benchmarks hold times; everything else has the same bytes whenever it is made.
TIMED = {"logs", "benchmarks"}
KINDS = ("snakemake", "job", "both")
LOCKED = "It can be removed with the --unlock argument."


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of every artifact below a results folder, by its name there."""
    paths = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    return {str(p): sha256(folder / p) for p in paths if p.parts[0] not in TIMED}


def start(folder: Path, *targets: str) -> subprocess.Popen:
    """Start Snakemake on the project in `folder`, as the leader of a group of processes."""
    command = [sys.executable, "-m", "snakemake", "--cores", "2", *targets]
    with (folder / "said.txt").open("w") as said:
        return subprocess.Popen(
            command, cwd=folder, stdout=said, stderr=subprocess.STDOUT, start_new_session=True
        )


def jobs(group: int) -> dict[int, str]:
    """The jobs of a group of processes: the id of each Python process, and its script's name."""
    found = {}
    for place in Path("/proc").iterdir():
        if not place.name.isdecimal():
            continue
        # A process may end while it is looked at.
        with contextlib.suppress(OSError):
            words = (place / "cmdline").read_bytes().decode(errors="replace").split("\0")
            script = re.search(
                r"/\.snakemake/scripts/\w+?\.(\w+)\.py$", words[1] if words[1:] else ""
            )
            if script and os.getpgid(int(place.name)) == group:
                found[int(place.name)] = script[1]
    return found


@dataclass(frozen=True)
class Kill:
    """What was killed.

    Attributes:
        kind: snakemake, job or both.
        after: seconds after the start.
        stage: the scripts that ran, or "between jobs".
    """

    kind: str
    after: float
    stage: str


def kill(process: subprocess.Popen, kind: str, after: float, choice: random.Random) -> Kill | None:
    """Wait, then send SIGKILL to Snakemake, to one of its jobs, or to all of them.

    Returns:
        What was killed, or None if Snakemake ended before. A killed job's Snakemake is waited for.
    """
    begin = time.monotonic()
    running: dict[int, str] = {}
    while process.poll() is None:
        running = jobs(process.pid)
        if time.monotonic() >= begin + after and (running or kind != "job"):
            break
        time.sleep(0.05)
    else:
        return None
    stage = ", ".join(sorted(running.values())) or "between jobs"
    if kind == "both":
        os.killpg(process.pid, signal.SIGKILL)
    elif kind == "snakemake":
        process.kill()
    else:
        chosen = choice.choice(sorted(running))
        stage = running[chosen]
        with contextlib.suppress(ProcessLookupError):
            os.kill(chosen, signal.SIGKILL)
    process.wait(timeout=300)
    return Kill(kind, round(time.monotonic() - begin, 2), stage)


def unlock(folder: Path) -> None:
    """Type what Snakemake says when a killed one left its lock."""
    process = start(folder, "--unlock")
    assert process.wait(timeout=300) == 0, (folder / "said.txt").read_text()
