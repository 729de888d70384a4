"""Write environment.yml from requirements/run.txt, so that conda users get the same versions."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEAD = """\
# The environment for conda and mamba users: Python and pip from conda-forge, and the packages of
# requirements/run.txt at the same versions. Written by `make locks`.
name: poolaudit
channels: [conda-forge, nodefaults]
dependencies:
  - python>=3.11
  - pip
  - pip:
"""


def pins(lock: str) -> list[str]:
    """The pinned packages of a lock file, with their markers and without their hashes."""
    return re.findall(r"^([A-Za-z0-9._-]+==[^\\\n]+?) *\\?$", lock, flags=re.MULTILINE)


def environment(lock: str) -> str:
    """The text of environment.yml for a lock file."""
    return HEAD + "".join(f'      - "{pin}"\n' for pin in pins(lock))


if __name__ == "__main__":
    lock = (ROOT / "requirements" / "run.txt").read_text(encoding="utf-8")
    (ROOT / "environment.yml").write_text(environment(lock), encoding="utf-8")
