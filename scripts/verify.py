"""Check an archive: every digest, and that its numbers come out again.

python scripts/verify.py results/demo/archive.zip
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from poolaudit.archive import bag
from poolaudit.errors import AuditError
from poolaudit.files import sha256

SEEN = 20


def main() -> int:
    """Check what the command line names; 0 when all holds, 1 when not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("archive", type=Path, help="archive.zip, or the folder it was unpacked to")
    parser.add_argument(
        "--recompute",
        action=argparse.BooleanOptionalAction,
        help="make every number again; default: where the files of the runs are inside or at hand",
    )
    parser.add_argument("--cores", default="all", help="for Snakemake (default: all)")
    options = parser.parse_args()
    try:
        archive = bag.open_bag(options.archive)
        found = bag.faults(archive)
        if found:
            return tell(f"{options.archive}: NOT as it was made", found)
        print(f"{options.archive}: all {len(archive.names)} files are as they were made")
        missing = missing_inputs(archive)
        if options.recompute is False or (missing and options.recompute is None):
            why = f": {len(missing)} files that it reads are not at hand" if missing else ""
            print(f"The numbers were not recomputed{why}.")
            return 0
        if missing:
            return tell("The numbers cannot be recomputed; missing or other bytes", missing)
        return recompute(archive, options.cores)
    except AuditError as error:
        return tell(str(error), [])


def tell(what: str, found: list[str]) -> int:
    print(what, *(f"  {fault}" for fault in found[:SEEN]), sep="\n", file=sys.stderr)
    if len(found) > SEEN:
        print(f"  and {len(found) - SEEN} more", file=sys.stderr)
    return 1


def read_inputs(archive: bag.Bag) -> dict[str, str]:
    """SHA-256 of each file of the user's that the audit read, by its path."""
    artifacts = provenance(archive)["artifacts"]
    read = {p: d for made in artifacts.values() for p, d in made["inputs"].items()}
    return {path: digest for path, digest in read.items() if path not in artifacts}


def provenance(archive: bag.Bag) -> dict:
    return json.loads(archive.read(f"{bag.PAYLOAD}provenance.json"))


def missing_inputs(archive: bag.Bag) -> list[str]:
    """What would have to be read and is neither in the archive nor in the working folder."""
    return [
        path
        for path, digest in read_inputs(archive).items()
        if f"{bag.PAYLOAD}inputs/{path}" not in archive.names
        and not (Path(path).is_file() and sha256(path) == digest)
    ]


def recompute(archive: bag.Bag, cores: str) -> int:
    """Make everything again from the archived code and inputs, and compare every artifact."""
    record = provenance(archive)
    name = record["collection"]
    with tempfile.TemporaryDirectory() as scratch:
        project, work = Path(scratch, "project"), Path(scratch, "work")
        archive.extract(project, f"{bag.PAYLOAD}code/")
        archive.extract(work, f"{bag.PAYLOAD}inputs/")
        for path in read_inputs(archive):
            if not (work / path).exists():
                (work / path).parent.mkdir(parents=True, exist_ok=True)
                (work / path).symlink_to(Path(path).resolve())
        command = [sys.executable, "-m", "snakemake", "-s", project / "workflow" / "Snakefile"]
        command += ["report", "--cores", cores, "--config", f"collection={name}"]
        environment = {key: v for key, v in os.environ.items() if key != "PYTHONPATH"}
        done = subprocess.run(
            list(map(str, command)), cwd=work, env=environment, capture_output=True, text=True
        )
        if done.returncode:
            return tell("The archived audit does not run", done.stderr.splitlines()[-SEEN:])
        made = {path: artifact["sha256"] for path, artifact in record["artifacts"].items()}
        told = ("provenance.json", "report.html", "report.md", "audit.json")
        made |= {f"results/{name}/{file}": archive.digest(bag.PAYLOAD + file) for file in told}
        other = [path for path, digest in made.items() if sha256(work / path) != digest]
        if other:
            new = json.loads((work / f"results/{name}/provenance.json").read_text("utf-8"))
            return tell("Recomputed with other bytes", other + other_packages(record, new))
    print(f"All {len(made)} artifacts come out again, to the byte.")
    return 0


def other_packages(old: dict, new: dict) -> list[str]:
    """Packages with other versions here, which may be why."""
    here, there = (
        {p: v for code in record["code"].values() for p, v in code["packages"].items()}
        for record in (new, old)
    )
    return [f"{p}: {v} then, {here.get(p)} here" for p, v in there.items() if here.get(p) != v]


if __name__ == "__main__":
    sys.exit(main())
