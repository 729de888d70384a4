"""Dry runs of Snakemake in many folders: it is loaded once, then forked for each folder.

Standard input lists the folders, one a line; what Snakemake says goes to `plan.txt` in each. A
folder `packages` in a folder comes first on its path.
"""

import os
import sys
from pathlib import Path

import pandas  # noqa: F401 (every plan needs it, and it is what takes long to load)
import snakemake.cli


def plan(folder: Path) -> None:
    """Say in plan.txt what `snakemake report` would do in a folder that holds the project."""
    os.chdir(folder)
    output = os.open("plan.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.path.insert(0, str(folder / "packages"))
    snakemake.cli.main(["report", "--cores", "1", "--dry-run", "--quiet", "rules"])


if __name__ == "__main__":
    running = 0
    for line in sys.stdin.read().splitlines():
        if running == 2:
            os.wait()
            running -= 1
        if os.fork() == 0:
            try:
                plan(Path(line))
            finally:
                os._exit(0)
        running += 1
    for _ in range(running):
        os.wait()
