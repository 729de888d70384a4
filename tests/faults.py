"""Faults done to an audit that is under way, and what an undisturbed one leaves."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from poolaudit.files import sha256

# These tell how long jobs took, and when they ran.
VARY = {"logs", "benchmarks"}
VICTIMS = ("snakemake", "job", "both")


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of every file below a results folder but those that hold times."""
    return {
        str(path.relative_to(folder)): sha256(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).parts[0] not in VARY
    }


def start(folder: Path, *arguments: str) -> subprocess.Popen:
    """Snakemake at work in a folder, in a process group of its own."""
    command = [sys.executable, "-m", "snakemake", "--snakefile", folder / "workflow" / "Snakefile"]
    with (folder / "said.txt").open("w") as said:
        return subprocess.Popen(
            [*map(str, command), "--cores", "2", *arguments],
            cwd=folder,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def finish(folder: Path, *arguments: str) -> tuple[int, str]:
    """The exit code of Snakemake, and what it said."""
    process = start(folder, *arguments)
    process.wait(timeout=900)
    return process.returncode, (folder / "said.txt").read_text(errors="replace")


def jobs_of(process: subprocess.Popen) -> list[int]:
    """The jobs that a Snakemake is running: the processes of its group that run a script of ours."""
    found = []
    for path in Path("/proc").iterdir():
        if not path.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            group = int((path / "stat").read_text().rpartition(")")[2].split()[2])
            of_script = ".snakemake/scripts/" in (path / "cmdline").read_text()
            if group == process.pid and of_script:
                found.append(int(path.name))
    return found


def stage_of(job: int) -> str:
    """The script that a job runs."""
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{job}/cmdline").read_text().split("\0")
        script = next(word for word in words if ".snakemake/scripts/" in word)
        return Path(script).stem.partition(".")[2]
    return "none"


def kill(process: subprocess.Popen, victim: str, chance: random.Random) -> str:
    """`kill -9` one of VICTIMS; returns the stage that was hit."""
    jobs = jobs_of(process)
    hit = chance.choice(jobs) if jobs else None
    stage = "none" if hit is None else stage_of(hit)
    targets = {
        "snakemake": [process.pid],
        "job": [] if hit is None else [hit],
        "both": [process.pid, *jobs],
    }[victim]
    for target in targets:
        with contextlib.suppress(ProcessLookupError):
            os.kill(target, signal.SIGKILL)
    return stage


def recover(folder: Path, *arguments: str) -> tuple[list[str], int, str]:
    """Do what the messages say until the audit is done, or nothing more is said to do.

    Returns:
        The commands that it took, the last exit code, and all that was said.
    """
    commands, told = [], ""
    for _ in range(4):
        code, said = finish(folder, *arguments)
        commands.append("report")
        told += said
        if code == 0:
            return commands, code, told
        if "--unlock" in said:
            code, said = finish(folder, "--unlock")
            commands.append("--unlock")
            told += said
    return commands, code, told


def disturb(folder: Path, victim: str, after: float, chance: random.Random, *arguments: str) -> str:
    """Start an audit and kill a part of it after so many seconds; returns the stage hit."""
    process = start(folder, *arguments)
    deadline = time.monotonic() + after
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    stage = kill(process, victim, chance) if process.poll() is None else "done"
    process.wait(timeout=900)
    return stage


def clear(folder: Path) -> None:
    """Take away what an audit made."""
    subprocess.run(["rm", "-rf", "results", ".snakemake"], cwd=folder, check=True)


