"""Which format a file is in, recognised by what it holds, and reading it.

A *kind* of file (a run, judgments) says which columns it has. Text without a header is told apart
by the number of fields on a line; text with a header, JSON lines and Parquet by their names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from poolaudit import tables
from poolaudit.complaints import Complaints, shorten
from poolaudit.errors import AuditError
from poolaudit.lines import Layout, read_block
from poolaudit.streams import EXPANSION, Stream, texts_of_lines
from poolaudit.tables import Column

TABLES = ("csv", "tsv", "jsonl", "parquet")
LOOKED_AT = 100


@dataclass(frozen=True)
class Kind:
    """What a file is meant to hold.

    Attributes:
        holds: in a word, as in "run".
        columns: those of a table with names.
        layouts: those of lines without names, by the name of the format.
        recognise: the format of headerless lines, from the fields of the first ones; "" if none.
    """

    holds: str
    columns: tuple[Column, ...]
    layouts: dict[str, Layout]
    recognise: Callable[[list[list[str]]], str]

    @property
    def formats(self) -> tuple[str, ...]:
        return (*self.layouts, *TABLES)


@dataclass(frozen=True)
class Contents:
    """What a file held: its columns with `line` (int64), and facts about the reading."""

    table: pa.Table
    facts: dict


def read(
    path: Path | str, kind: Kind, *, format: str | None = None, expansion: int = EXPANSION
) -> Contents:
    """Read a file of a kind, in any of its formats, compressed or not.

    Args:
        path: the file.
        kind: what it should hold.
        format: one of `kind.formats`; None to recognise it.
        expansion: a compressed file may unpack to this many times its size.

    Raises:
        AuditError: the file cannot be opened or unpacked, is not text, is in no format of its
            kind, or has lines that cannot be read: all of them counted, the first 20 shown.
    """
    if format is not None and format not in kind.formats:
        raise AuditError(
            f"there is no format {format!r} for {kind.holds}",
            where=str(path),
            expected=", ".join(kind.formats),
            todo="name one of these, or none to have it recognised",
        )
    stream = Stream(path, expansion=expansion)
    complaints = Complaints(stream.path, kind.holds)
    found: Counter = Counter()
    names: dict[str, str] = {}
    separator = ""
    if stream.head.startswith(b"PAR1") and format in (None, "parquet"):
        format = "parquet"
        table, names = tables.read_parquet(stream.everything(), kind.columns, complaints, found)
    else:
        blocks = stream.blocks()
        first = next(blocks, b"")
        format, separator = _recognise(first, kind, format, stream.path)
        if format in kind.layouts:
            layout = kind.layouts[format]
            parts = [read_block(first, layout, 1, complaints, found)]
            parts += [
                read_block(block, layout, 1 + found["lines"], complaints, found) for block in blocks
            ]
            table = pa.concat_tables(parts)
        else:
            text = b"".join([first, *blocks])
            if format == "jsonl":
                table, names = tables.read_json_lines(text, kind.columns, complaints, found)
            else:
                table, names = tables.read_separated(
                    text, separator, kind.columns, complaints, found
                )
    facts = {
        "format": format,
        "compression": stream.compression,
        "sha256": stream.sha256,
        "bytes": stream.size,
        "lines": found["lines"],
        "rows": table.num_rows,
        "blank_lines": found["blank"],
        "comment_lines": found["comment"],
        "trailing_text": found["trailing"],
        "byte_order_mark": stream.byte_order_mark,
        "columns": names,
    }
    contents = Contents(table, facts)
    complain(contents, complaints, kind, expansion=expansion)
    if not table.num_rows:
        raise AuditError(
            f"the {kind.holds} file holds no line",
            where=str(path),
            found=f"{found['lines']} lines, all blank or comments",
            todo="name the right file",
        )
    return contents


def complain(
    contents: Contents,
    complaints: Complaints,
    kind: Kind,
    *,
    what: str = "",
    todo: str = "",
    expansion: int = EXPANSION,
) -> None:
    """Raise what was complained about a file, with the text of its lines, if anything was."""
    format = contents.facts["format"]
    layout = kind.layouts.get(format)
    complaints.raise_any(
        lambda numbers: (
            {} if format == "parquet" else texts_of_lines(complaints.path, numbers, expansion)
        ),
        what=what,
        expected=f"{format}: {layout.example}" if layout else "",
        todo=todo or "mend the lines, or name the format if it was not recognised rightly",
    )


def recognise_table(head: bytes, kind: Kind) -> str:
    """The format of a file that begins with `head`, if it is a table with names; else ""."""
    if head.startswith(b"PAR1"):
        return "parquet"
    first = next((line for line in head[: 1 << 20].splitlines() if line.strip()), b"")
    header = tables.header_of(first.decode("utf-8", "replace"), kind.columns)
    if header:
        return header[0]
    return "jsonl" if first.lstrip().startswith(b"{") else ""


def _recognise(block: bytes, kind: Kind, named: str | None, path: Path) -> tuple[str, str]:
    """The format and, for CSV and TSV, the separator of text that begins with `block`."""
    lines = [line for line in block[: 1 << 20].splitlines()[: 10 * LOOKED_AT] if line.strip()]
    texts = [line.decode("utf-8", "replace") for line in lines[:LOOKED_AT]]
    first = texts[0] if texts else ""
    header = tables.header_of(first, kind.columns)
    if named in ("csv", "tsv"):
        if not header:
            raise _unknown("the table has no header line that names its columns", first, kind, path)
        return named, header[1]
    if named:
        return named, ""
    if header:
        return header
    if first.lstrip().startswith("{"):
        return "jsonl", ""
    rows = [text.split() for text in texts if not text.lstrip().startswith("#")]
    format = kind.recognise(rows) if rows else next(iter(kind.layouts))
    if not format:
        raise _unknown(f"this is no format known for {kind.holds}", first, kind, path)
    return format, ""


def _unknown(what: str, first: str, kind: Kind, path: Path) -> AuditError:
    forms = [f"{name}: {layout.example}" for name, layout in kind.layouts.items()]
    needed = [" or ".join(column.names[:3]) for column in kind.columns if column.required]
    forms.append(f"a table with a header, JSON lines or Parquet with {', '.join(needed)}")
    return AuditError(
        what,
        where=f"{path}:1",
        found=shorten(first),
        expected=("\n" + " " * 12).join(forms),
        todo="convert the file to one of these",
    )
