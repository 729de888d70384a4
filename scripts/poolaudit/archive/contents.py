"""Contents: which files make up the archive of an audit, and under which names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from poolaudit.errors import AuditError, first_of
from poolaudit.files import sha256

# The project's files that an audit can be run again with.
# The rule that simulates the campaign is made from the demo's sheet, whatever is audited.
_PROJECT = (
    *("workflow/**/*", "scripts/**/*.py", "requirements/*", "config/*"),
    "config/runs/demo.tsv",
    *("pyproject.toml", "environment.yml", "LICENSE"),
)
# From these tables the runs could be put together again.
_RUNS = ("runs/*.parquet", "rankings.parquet", "pairs.parquet")


def project_files(root: Path) -> list[str]:
    """Names of the project's files that belong to the archive, sorted; no collection is one."""
    found = {path for pattern in _PROJECT for path in root.glob(pattern) if path.is_file()}
    names = sorted(path.relative_to(root).as_posix() for path in found)
    return [name for name in names if "__pycache__" not in name]


def kept_results(names: Iterable[str], inputs: str) -> list[str]:
    """Which artifacts the archive keeps, sorted.

    Args:
        names: names below `results/<collection>`.
        inputs: "files" to keep all; "digests" to leave out each run as it was read and the tables
            that it could be put together from, because runs may not be passed on.
    """
    left_out = _RUNS if inputs == "digests" else ()
    return sorted(n for n in names if not any(PurePosixPath(n).match(p) for p in left_out))


def is_foreign(path: str) -> bool:
    """Whether a path means something on this machine only: absolute, or out of the folder."""
    return PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts


def below(path: str) -> str:
    """The name of a user's file in the archive: its path, or its last part for a foreign one."""
    return PurePosixPath(path).name if is_foreign(path) else PurePosixPath(path).as_posix()


def audit_files(place: str | None) -> list[Path]:
    """What holds the record of an audit: its archive, or two files of its folder.

    Args:
        place: the path of an archive.zip, of the folder that it was unpacked to, or of a results
            folder; None where nobody named one.

    Raises:
        AuditError: no place is named, or no audit is there.
    """
    expected = "an archive or a results folder of an audit"
    if place is None:
        raise AuditError(
            "There is no other audit to compare with.",
            where="--config against",
            found="no such setting",
            expected=expected,
            todo="name it: --config against=old/archive.zip",
        )
    path = Path(place)
    folder = path / "data" if (path / "data").is_dir() else path
    files = [folder / "audit.json", folder / "provenance.json"] if path.is_dir() else [path]
    missing = [str(file) for file in files if not file.is_file()]
    if missing:
        raise AuditError(
            "The other audit is missing.",
            where="--config against",
            found=f"no file {' and no file '.join(missing)}",
            expected=expected,
            todo="correct the path",
        )
    return files


def refuse_foreign_paths(paths: Mapping[str, str]) -> None:
    """Refuse files that an archive could only name by where they lie on this machine.

    Args:
        paths: the path of each file by what names it, such as "runs_root".

    Raises:
        AuditError: paths that are absolute or lead out of the working folder.
    """
    foreign = [f"{key}: {path}" for key, path in paths.items() if is_foreign(path)]
    if foreign:
        raise AuditError(
            f"{len(foreign)} paths lead out of the folder that the audit was made in.",
            where="the collection file and its run sheet",
            found=first_of(foreign, between="; "),
            expected="paths below the working folder, which mean the same wherever it lies",
            todo="copy these files into the working folder or make a link there, and name that",
        )


def refuse_changed(digests: Mapping[Path, str]) -> None:
    """Refuse to pack files that are no longer what the crate says.

    Raises:
        AuditError: files that are missing or have another SHA-256; they are named.
    """
    changed = [
        str(path)
        for path, digest in digests.items()
        if not path.is_file() or sha256(path) != digest
    ]
    if changed:
        raise AuditError(
            f"{len(changed)} files were changed after the crate had been written.",
            where=first_of(changed),
            expected="the files that ro-crate-metadata.json describes",
            todo="delete them and run again; the workflow makes them anew",
        )
