"""Start Snakemake as a user would, and read what it plans."""

from __future__ import annotations

import os
import re
import subprocess
import sys
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
    table = re.search(r"^job +count\n-+ +-+\n(.*?)\n\n", run.stdout, re.DOTALL | re.MULTILINE)
    rows = table[1].splitlines() if table else []
    counts = dict(row.split() for row in rows)
    return {rule: int(n) for rule, n in counts.items() if rule not in {"total", "report"}}
