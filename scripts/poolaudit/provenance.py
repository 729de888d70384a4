"""Where a number comes from: digests of code, inputs and artifacts."""

from __future__ import annotations

import ast
import hashlib
import subprocess
import sys
from collections.abc import Collection, Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from poolaudit.errors import BELOW, AuditError, first_of
from poolaudit.files import command, digest, read_json, sha256

LIBRARY = Path(__file__).resolve().parent
# Where the distribution has another name than the module, or another one does the counting.
_DISTRIBUTIONS = {
    "ir_measures": ("ir-measures", "pytrec-eval-terrier"),
    "vl_convert": ("vl-convert-python",),
    "yaml": ("PyYAML",),
}


@cache
def code_of(script: Path) -> dict[str, Any]:
    """The code that a script runs: what must be equal for its outputs to be trusted unread.

    Args:
        script: a Python file; the library modules that it imports, directly or through others, are
            found by reading the import statements, also those inside functions.

    Returns:
        `digest`: SHA-256 over the names and bytes of these files and the versions of `packages`;
        `files`: their names and SHA-256; `packages`: the version of each installed package that
        any of them imports.
    """
    files, packages, waiting = {}, {}, [script]
    while waiting:
        path = waiting.pop()
        root = LIBRARY.parent if path.is_relative_to(LIBRARY) else script.parent
        name = path.relative_to(root).as_posix()
        if name in files:
            continue
        files[name], beside, installed = read_code(path, script.parent)
        packages |= installed
        waiting += beside
    files, packages = dict(sorted(files.items())), dict(sorted(packages.items()))
    both = hashlib.sha256(repr((files, packages)).encode()).hexdigest()
    return {"digest": both, "files": files, "packages": packages}


@cache
def read_code(path: Path, scripts: Path) -> tuple[str, list[Path], dict[str, str]]:
    """A file: its digest, the files of the project and the versions of packages it imports."""
    files, packages = [], {}
    for module in _imports(path):
        top = module.partition(".")[0]
        if top == LIBRARY.name:
            files += _files_of(module, LIBRARY.parent)
        elif (scripts / f"{top}.py").is_file():
            files.append(scripts / f"{top}.py")
        elif top not in sys.stdlib_module_names:
            packages |= _package_version(top)
    return sha256(path), files, packages


def _files_of(module: str, root: Path) -> list[Path]:
    """The files that the import of a dotted name runs: each package on the way, and the module."""
    parts, found = module.split("."), []
    for n in range(1, len(parts) + 1):
        stem = root.joinpath(*parts[:n])
        found += [
            path for path in (stem / "__init__.py", stem.with_suffix(".py")) if path.is_file()
        ]
    return found


def _imports(path: Path) -> tuple[str, ...]:
    """Dotted names that a file imports; for `from a import b` both `a` and `a.b`."""
    names, waiting = [], [ast.parse(path.read_bytes())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        # Only statements can hold an import, and expressions are most of a file.
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, block, [])
            waiting += inner if isinstance(inner, list) else []
    return tuple(names)


@cache
def _package_version(module: str) -> dict[str, str]:
    """Versions of the distribution that a top-level module is from, and of those behind it."""
    names = _DISTRIBUTIONS.get(module, (module.replace("_", "-"),))
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def read_digests(inputs: Iterable[str]) -> dict[str, str]:
    """SHA-256 of each input of a job, by its path.

    The traces that lie beside the inputs, in `results/<name>/trace`, say what other jobs wrote.

    Raises:
        AuditError: an input is gone, or is no longer what the job that made it wrote.
    """
    digests, gone = {}, []
    for path in inputs:
        try:
            digests[path] = sha256(path)
        except FileNotFoundError:
            gone.append(path)
    if gone:
        raise AuditError(
            f"Files vanished after the run had been planned: {len(gone)}.",
            where=first_of(gone),
            found="no such file",
            expected="the files that were there when Snakemake started",
            todo="put back what is yours, and run again; the workflow makes its own anew",
        )
    written = recorded({Path(*Path(path).parts[:2]) for path in digests})
    _refuse([path for path in digests if written.get(path, digests[path]) != digests[path]])
    return digests


def refuse_changed_files(read: dict[str, str], planned: Collection[str]) -> None:
    """Refuse files of the user's that are no longer those that the run was planned with.

    Args:
        read: SHA-256 of each of the files now, by its path.
        planned: the SHA-256 that they had when Snakemake made its plan.

    Raises:
        AuditError: a file changed since.
    """
    changed = [path for path in read if read[path] not in planned]
    if changed:
        raise AuditError(
            f"Files changed while the audit was at work: {len(changed)}.",
            where=first_of(changed),
            found="other bytes than when the run was planned",
            expected="files that nobody writes while they are read",
            todo="wait until they are written, and run again",
        )


def recorded(folders: Iterable[Path]) -> dict[str, str]:
    """SHA-256 of each artifact as its job wrote it, from the traces in `trace/` of each folder.

    A trace that is damaged stands for itself, with a digest that no file has.
    """
    written: dict[str, str] = {}
    for folder in folders:
        for path in sorted((folder / "trace").rglob("*.json")):
            record = _read_trace(path)
            written |= record["outputs"] if record else {str(path): ""}
    return written


def _read_trace(path: Path) -> dict[str, Any] | None:
    """A trace, which vouches for itself; None if it is damaged."""
    try:
        record = read_json(path)
        stated = record.pop("sha256")
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return record if stated == digest(record) else None


def refuse_changed(folders: Iterable[Path]) -> None:
    """Refuse results that are no longer what the jobs wrote; what is missing is made anew.

    Raises:
        AuditError: an artifact or a trace has other bytes; all of them are named.
    """
    written = recorded(folders)
    _refuse([path for path in written if Path(path).exists() and content(path) != written[path]])


def content(path: Path | str) -> str:
    """SHA-256 of a file, or of the names and bytes of all files in a folder."""
    path = Path(path)
    if not path.is_dir():
        return sha256(path)
    # By this file Snakemake knows the time of a folder.
    inside = (p for p in path.rglob("*") if p.is_file() and p.name != ".snakemake_timestamp")
    return digest({p.relative_to(path).as_posix(): sha256(p) for p in inside})


def remove_leftovers(folder: Path, made: Collection[str]) -> list[str]:
    """Take away what was made by settings of before, so that nobody takes it for results of now.

    Args:
        folder: the results folder of a collection.
        made: every file that the settings of now ask for, or may ask for.

    Returns:
        The artifacts that were taken away. Only those go that the records of the folder name and
        whose bytes are those of the record; so do files that killed jobs left half written.
    """
    written = recorded([folder])
    if (folder / "provenance.json").is_file():
        artifacts = read_json(folder / "provenance.json")["artifacts"]
        written = {name: made["sha256"] for name, made in artifacts.items()} | written
    traces = {path.as_posix(): sha256(path) for path in (folder / "trace").rglob("*.json")}
    left = [
        path
        for path, known in sorted((written | traces).items())
        if path not in made
        and Path(path).is_relative_to(folder)
        and Path(path).is_file()
        and sha256(path) == known
    ]
    for path in [*left, *folder.rglob(".*.part")]:
        Path(path).unlink()
    return left


def trace(
    rule: str,
    inputs: dict[str, str],
    outputs: Iterable[str],
    params: dict[str, Any],
    made_from: dict[str, str] | None = None,
) -> dict[str, Any]:
    """The record a job leaves of itself: which bytes it read, which it wrote, by which settings.

    Args:
        rule: its rule.
        inputs: what `read_digests` said before it began.
        outputs: the files that it wrote.
        params: its settings.
        made_from: of a job that does the same with each file of a batch, the one input behind each
            output.
    """
    record = {
        "rule": rule,
        "params": params,
        "inputs": inputs,
        "made_from": made_from or {},
        "outputs": {path: content(path) for path in outputs},
    }
    return record | {"sha256": digest(record)}


def collect(traces: Iterable[Path]) -> dict[str, Any]:
    """Join the traces of all jobs: for each artifact its digest, rule, inputs, and settings.

    Raises:
        AuditError: an artifact is no longer what the job that made it wrote.
    """
    artifacts, changed = {}, []
    for path in sorted(traces):
        record = _read_trace(path)
        if record is None:
            changed.append(str(path))
            continue
        for name, written in record["outputs"].items():
            if sha256(name) != written:
                changed.append(name)
            source = record["made_from"].get(name)
            inputs = record["inputs"]
            artifacts[name] = {
                "sha256": written,
                "rule": record["rule"],
                "inputs": {source: inputs[source]} if source else inputs,
                "params": record["params"],
            }
    _refuse(changed)
    return artifacts


def repository(root: Path) -> dict[str, Any]:
    """The state of the git repository whose top folder is `root`.

    Returns:
        `commit`, its `date` (ISO 8601) and whether the tree is `clean`; all None without one.
    """

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(root), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        if Path(git("rev-parse", "--show-toplevel")).resolve() == root.resolve():
            commit, date = git("log", "-1", "--format=%H %cs").split()
            return {"commit": commit, "date": date, "clean": not git("status", "--porcelain")}
    except (OSError, subprocess.CalledProcessError):
        pass
    return {"commit": None, "date": None, "clean": None}


def _refuse(changed: list[str]) -> None:
    if changed:
        raise AuditError(
            f"Artifacts were changed after they had been made: {len(changed)}.",
            where=first_of(changed),
            found="other bytes than their job wrote",
            expected="artifacts that only the workflow writes",
            todo=f"{command('rm -r', changed)}{BELOW}and run again; the workflow makes them anew",
        )
