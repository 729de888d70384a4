"""Files: digests, and writing so that a final name never holds half a file."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shlex
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poolaudit.errors import MOST, AuditError, first_of

if TYPE_CHECKING:
    import pyarrow as pa

_FULL = {errno.ENOSPC: "no space left", errno.EDQUOT: "your quota is used up"}


def sha256(path: Path | str) -> str:
    """SHA-256 of a file's bytes, as 64 hex digits.

    Raises:
        AuditError: the file is there and cannot be read.
        FileNotFoundError: it is not there.
    """
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise AuditError(
            "A file cannot be read.",
            where=str(path),
            found=error.strerror or str(error),
            expected="a file that you may read",
            todo="change its permissions, or name another file",
        ) from error


def refuse_future(paths: Iterable[Path | str]) -> None:
    """Refuse files that are dated later than now: Snakemake takes what is made of them for old.

    Raises:
        AuditError: all such files, with the command that helps.
    """
    late = [str(path) for path in paths if _is_late(Path(path))]
    if late:
        raise AuditError(
            f"Files are dated in the future: {len(late)}.",
            where=first_of(late),
            found="a time later than this computer's clock",
            expected="files that are older than what is made of them",
            todo=f"if the clock is right: {command('touch', late)}",
        )


def command(words: str, paths: Sequence[str]) -> str:
    """A shell command on the first of many files; how many more there are is a comment in it."""
    more = f"  # and {len(paths) - MOST:,} more" if len(paths) > MOST else ""
    return f"{words} {' '.join(map(shlex.quote, paths[:MOST]))}{more}"


def date_back(folder: Path) -> None:
    """Give every file of a folder that is dated later than now the time of now."""
    for path in folder.rglob("*"):
        if _is_late(path):
            path.touch()


def _is_late(path: Path) -> bool:
    return path.is_file() and path.stat().st_mtime > time.time()


def digest(content: Any) -> str:
    """SHA-256 of anything that JSON can hold, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@contextmanager
def replacing(path: Path | str) -> Iterator[Path]:
    """Yield a temporary name in the folder of `path`; move it to `path` when the block succeeds.

    The name holds the process id, so that a job that outlived its killed Snakemake cannot write
    into the file of the job that replaced it. When the block raises, the temporary file is removed.

    Raises:
        AuditError: the file cannot be written.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield temporary
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise not_written(path, error) from error


def not_written(path: Path | str, error: OSError) -> AuditError:
    """Say why a file could not be written, and what helps."""
    if error.errno in _FULL:
        free = shutil.disk_usage(Path(path).parent).free
        return AuditError(
            "A file cannot be written, for the disk is full.",
            where=str(path),
            found=f"{_FULL[error.errno]}: {free / 1e6:.1f} MB without the unfinished file",
            expected="room for all results",
            todo="make room and run again; what is done already stays",
        )
    return AuditError(
        "A file cannot be written.",
        where=str(path),
        found=error.strerror or str(error),
        expected="a folder that you may write to",
        todo="change its permissions, or call snakemake with --directory and another folder",
    )


def write_bytes(path: Path | str, data: bytes) -> None:
    """Write `data` to `path` in one step."""
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def write_text(path: Path | str, text: str) -> None:
    """Write `text` to `path` as UTF-8 with Unix line ends, in one step."""
    write_bytes(path, text.encode())


def write_json(path: Path | str, content: Any) -> None:
    """Write `content` as JSON with sorted keys, so that equal content gives equal bytes."""
    text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    write_text(path, text + "\n")


def read_json(path: Path | str) -> Any:
    """Read a JSON file written by `write_json`."""
    return json.loads(Path(path).read_text(encoding="utf-8"))


def write_table(path: Path | str, table: pa.Table, row_group_size: int | None = None) -> None:
    """Write a table as Parquet (zstd), in one step; equal tables give equal bytes.

    Args:
        path: where to write.
        table: an Arrow table, already in its documented order.
        row_group_size: rows a row group; None for one row group.
    """
    import pyarrow.parquet as pq

    rows = row_group_size or max(1, table.num_rows)
    with replacing(path) as temporary:
        pq.write_table(table, temporary, row_group_size=rows, compression="zstd")
