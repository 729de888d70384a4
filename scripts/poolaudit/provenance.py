"""Where a number comes from: digests of code, inputs and artifacts."""

from __future__ import annotations

import ast
import hashlib
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from poolaudit.errors import AuditError
from poolaudit.files import read_json, sha256

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
        digest, beside, installed = read_code(path, script.parent)
        files[name] = digest
        packages |= installed
        waiting += beside
    files, packages = dict(sorted(files.items())), dict(sorted(packages.items()))
    digest = hashlib.sha256(repr((files, packages)).encode()).hexdigest()
    return {"digest": digest, "files": files, "packages": packages}


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
        AuditError: an input is no longer what the job that made it wrote.
    """
    digests = {path: sha256(path) for path in inputs}
    folders = {Path(*Path(path).parts[:2]) / "trace" for path in digests}
    written: dict[str, str] = {}
    for folder in folders:
        for path in folder.rglob("*.json"):
            written |= read_json(path)["outputs"]
    _refuse([path for path in digests if written.get(path, digests[path]) != digests[path]])
    return digests


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
    return {
        "rule": rule,
        "params": params,
        "inputs": inputs,
        "made_from": made_from or {},
        "outputs": {path: sha256(path) for path in outputs},
    }


def collect(traces: Iterable[Path]) -> dict[str, Any]:
    """Join the traces of all jobs: for each artifact its digest, rule, inputs, and settings.

    Raises:
        AuditError: an artifact is no longer what the job that made it wrote.
    """
    artifacts, changed = {}, []
    for path in sorted(traces):
        record = read_json(path)
        for name, digest in record["outputs"].items():
            if sha256(name) != digest:
                changed.append(name)
            source = record["made_from"].get(name)
            inputs = record["inputs"]
            artifacts[name] = {
                "sha256": digest,
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
            where=", ".join(changed[:20]),
            found="other bytes than their job wrote",
            expected="artifacts that only the workflow writes",
            todo="delete them and run again; the workflow makes them anew",
        )
