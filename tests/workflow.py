"""Start Snakemake as a user would, and read what it plans."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def snakemake(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    """Run Snakemake on the project's workflow, working in `folder`; output and errors joined."""
    command = [sys.executable, "-m", "snakemake", "--snakefile", ROOT / "workflow" / "Snakefile"]
    return subprocess.run(
        [*map(str, command), "--cores", "2", *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=900,
        check=False,
    )


def planned(folder: Path, *arguments: str, **environment: str) -> dict[str, int]:
    """How many jobs of each rule a dry run plans; nothing for nothing to do."""
    run = snakemake(folder, *arguments, "--dry-run", "--quiet", "rules", **environment)
    assert run.returncode == 0, run.stdout
    return counts(run.stdout)


def plans(folders: Iterable[Path]) -> list[dict[str, int]]:
    """The same for `snakemake report` in each of many folders that hold a copy of the project."""
    folders = list(folders)
    script = Path(__file__).with_name("dry_runs.py")
    subprocess.run(
        [sys.executable, script], input="\n".join(map(str, folders)), text=True, check=True
    )
    said = [(folder / "plan.txt").read_text(encoding="utf-8") for folder in folders]
    for text in said:
        assert "Traceback" not in text and "rror" not in text, text
    return [counts(text) for text in said]


def counts(said: str) -> dict[str, int]:
    """The number of jobs of each rule in the table that a dry run ends with."""
    table = re.search(r"^job +count\n-+ +-+\n(.*?)\n\n", said, re.DOTALL | re.MULTILINE)
    rows = [row.split() for row in table[1].splitlines()] if table else []
    found: Counter[str] = Counter()
    for rule, n in rows:
        # The rules of batches have the number of their batch behind the name.
        found[re.sub(r"_\d+$", "", rule)] += int(n)
    return {rule: n for rule, n in found.items() if rule not in {"total", "report"}}
