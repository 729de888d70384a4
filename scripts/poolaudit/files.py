"""Files: digests, and writing so that a final name never holds half a file."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


def sha256(path: Path | str) -> str:
    """SHA-256 of a file's bytes, as 64 hex digits."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest(content: Any) -> str:
    """SHA-256 of anything that JSON can hold, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@contextmanager
def replacing(path: Path | str) -> Iterator[Path]:
    """Yield a temporary name in the folder of `path`; move it to `path` when the block succeeds.

    The name holds the process id, so that a job that outlived its killed Snakemake cannot write
    into the file of the job that replaced it. When the block raises, the temporary file is removed.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


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
