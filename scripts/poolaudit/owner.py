"""Whose a results folder is: two collections of one name would write into the same."""

from __future__ import annotations

from pathlib import Path

from poolaudit.config import COLLECTIONS, find
from poolaudit.errors import AuditError
from poolaudit.files import write_text


def refuse_other(results: Path, file: Path) -> None:
    """Refuse a collection whose results folder another collection of that name has.

    Args:
        results: `results/<name>`.
        file: the file that describes the collection.

    Raises:
        AuditError: the folder is that of another file, and this one is still there.
    """
    signature = _signature(results)
    if not signature.is_file():
        return
    other = signature.read_text(encoding="utf-8").strip()
    if other in (_name(file), "") or not find(other).exists() or find(other).samefile(file):
        return
    raise AuditError(
        f"Two collections are called {file.stem}, and would share {results}.",
        where=str(file),
        found=f"{results} was made from {other}",
        expected="a name of its own for each collection",
        todo=f"rename one of the two files; or rm -r {results}, if its results are not needed",
    )


def sign(results: Path, file: Path) -> None:
    """Note whose a results folder is, beside the logs: like them, it is not the same everywhere."""
    write_text(_signature(results), _name(file) + "\n")


def _signature(results: Path) -> Path:
    return results / "logs" / "collection.txt"


def _name(file: Path) -> str:
    """The path of a collection file; one name, whether the project or the user has the file."""
    known = COLLECTIONS / file.name
    return str(known if find(known).exists() and find(known).samefile(file) else file)
