"""Check an archive: every digest, and that its numbers come out again.

python scripts/verify.py results/demo/archive.zip

Numbers are made again by the code in the archive. Unless it is this project's, to the byte, it is
run only on request (--recompute): whoever made the archive wrote it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from poolaudit.archive import bag, changes, contents
from poolaudit.config import NAME, NAME_RULE, PROJECT
from poolaudit.errors import MOST, AuditError, first_of, printable
from poolaudit.files import read_json, sha256

CODE = f"{bag.PAYLOAD}code/"


def main() -> int:
    """Check what the command line names; 0 when all holds, 1 when not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("archive", type=Path, help="archive.zip, or the folder it was unpacked to")
    parser.add_argument(
        "--recompute",
        action=argparse.BooleanOptionalAction,
        help="make every number again with the archived code; default: where the files of the runs "
        "are inside or at hand, and the code is this project's",
    )
    parser.add_argument("--cores", default="all", help="for Snakemake (default: all)")
    options = parser.parse_args()
    try:
        archive = bag.open_bag(options.archive)
        begin(f"compares {len(archive.names):,} files with their digests")
        found = bag.faults(archive)
        if found:
            return tell(f"{options.archive}: NOT as it was made", found)
        print(f"{options.archive}: all {len(archive.names)} files are as they were made")
        begin("compares the artifacts with their provenance")
        changed = changed_since_recorded(archive)
        if changed:
            return tell(f"{options.archive}: its files are not those of its provenance", changed)
        begin("looks for the files that the audit read, and compares the code with this project's")
        missing, foreign = missing_inputs(archive), foreign_code(archive)
        if options.recompute is False or ((missing or foreign) and options.recompute is None):
            why = f": {len(missing)} files that it reads are not at hand" if missing else ""
            print(f"The numbers were not recomputed{why}.")
            if missing:
                print(*map(printable, named(missing)), sep="\n")
                print("Call it in the folder in which they lie at these paths.")
            if foreign:
                print(
                    f"Its code is not this project's ({len(foreign)} files, such as "
                    f"{printable(foreign[0])}): read it before you let --recompute run it."
                )
            return 0
        if missing:
            return tell("The numbers cannot be recomputed; missing or other bytes", missing)
        return recompute(archive, options.cores)
    except AuditError as error:
        return tell(str(error), [])


def begin(stage: str) -> None:
    """Say what is done next: with a large archive each stage takes minutes."""
    print(f"verify: {stage}", file=sys.stderr, flush=True)


def tell(what: str, found: list[str]) -> int:
    print(*map(printable, [what, *named(found)]), sep="\n", file=sys.stderr)
    return 1


def named(found: list[str]) -> list[str]:
    """The first of what was found, a line each, and how many more there are."""
    return [f"  {line}" for line in first_of(found, between="\n").splitlines()]


def read_inputs(archive: bag.Bag) -> dict[str, str]:
    """SHA-256 of each file of the user's that the audit read, by its path."""
    artifacts = provenance(archive)["artifacts"]
    read = {p: d for made in artifacts.values() for p, d in made["inputs"].items()}
    return {path: digest for path, digest in read.items() if path not in artifacts}


def provenance(archive: bag.Bag) -> dict:
    """provenance.json; refused where a name in it could not be one of an audit."""
    record = changes.archived_record(archive, "provenance.json")
    paths = {path for made in record["artifacts"].values() for path in made["inputs"]}
    unsafe = [path for path in (*record["artifacts"], *paths) if contents.is_foreign(path)]
    if not NAME.fullmatch(record["collection"]):
        unsafe.append(f"the collection {record['collection']}")
    if unsafe:
        raise AuditError(
            "The provenance of the archive names what no audit can.",
            where=f"{archive.path}, {bag.PAYLOAD}provenance.json",
            found=first_of(unsafe, between="; "),
            expected=f"paths below the working folder; as a collection {NAME_RULE}",
            todo="do not use the archive; ask for another copy",
        )
    return record


def changed_since_recorded(archive: bag.Bag) -> list[str]:
    """Artifacts in the archive with other bytes than its provenance says."""
    record = provenance(archive)
    folder = f"results/{record['collection']}/"
    digests = {
        bag.PAYLOAD + path.removeprefix(folder): made["sha256"]
        for path, made in record["artifacts"].items()
        if path.startswith(folder)
    }
    return [
        n for n, digest in digests.items() if n in archive.names and archive.digest(n) != digest
    ]


def foreign_code(archive: bag.Bag) -> list[str]:
    """Files of the archived code that would run and are not this project's, to the byte."""
    return [
        name.removeprefix(CODE)
        for name in archive.names
        if name.startswith((f"{CODE}workflow/", f"{CODE}scripts/"))
        and not _is_ours(PROJECT / name.removeprefix(CODE), archive.digest(name))
    ]


def _is_ours(path: Path, digest: str) -> bool:
    return path.is_file() and sha256(path) == digest


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
        begin("unpacks the code and the inputs")
        archive.extract(project, CODE)
        archive.extract(work, f"{bag.PAYLOAD}inputs/")
        for path in read_inputs(archive):
            if not (work / path).exists():
                (work / path).parent.mkdir(parents=True, exist_ok=True)
                (work / path).symlink_to(Path(path).resolve())
        command = [sys.executable, "-m", "snakemake", "-s", project / "workflow" / "Snakefile"]
        command += ["--workflow-profile", project / "workflow" / "profiles" / "default"]
        command += ["report", "--cores", cores, "--config", f"collection={name}"]
        environment = {key: v for key, v in os.environ.items() if key != "PYTHONPATH"}
        # No archived input is taken for a module because of its name and place.
        environment["PYTHONSAFEPATH"] = "1"
        begin(f"makes every number again in {scratch}, as long as the audit itself takes")
        done = subprocess.run(
            list(map(str, command)), cwd=work, env=environment, capture_output=True, text=True
        )
        if done.returncode:
            return tell("The archived audit does not run", done.stderr.splitlines()[-MOST:])
        begin("compares what was made again with the archive")
        made = {path: artifact["sha256"] for path, artifact in record["artifacts"].items()}
        told = ("provenance.json", "report.html", "report.md", "audit.json")
        made |= {f"results/{name}/{file}": archive.digest(bag.PAYLOAD + file) for file in told}
        other = [path for path, digest in made.items() if sha256(work / path) != digest]
        if other:
            new = read_json(work / f"results/{name}/provenance.json")
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
