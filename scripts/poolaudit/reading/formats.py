"""Which format a file is in, recognised by what it holds, and reading it.

A *kind* of file (a run, judgments, topics) says which columns it has. Lines without names are told
apart by their number of fields; tables with a header, JSON lines and Parquet by their names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from poolaudit.errors import AuditError, nearest, shorten
from poolaudit.reading import tables
from poolaudit.reading.columns import stack
from poolaudit.reading.complaints import Complaints, indented
from poolaudit.reading.lines import Layout, read_block
from poolaudit.reading.streams import EXPANSION, Stream, texts_of_lines
from poolaudit.reading.tables import Column

LOOKED_AT = 25

_TABLE_LINES = {
    "csv": "a header that names the columns, then lines with as many fields",
    "tsv": "a header that names the columns, then lines with as many fields",
    "jsonl": "a JSON object on each line, with the names of the first",
    "parquet": "rows with a value in each of these columns",
}
TABLES = tuple(_TABLE_LINES)


@dataclass(frozen=True)
class Kind:
    """What a file is meant to hold.

    Attributes:
        holds: in a word, as in "run".
        columns: those of a table with names.
        layouts: those of lines without names, by the name of the format.
        recognise: the format of lines without names, from the fields of the first; "" if none.
        mistaken: what lines with a number of fields that no layout has usually are.
    """

    holds: str
    columns: tuple[Column, ...]
    layouts: dict[str, Layout] = field(default_factory=dict)
    recognise: Callable[[list[list[str]]], str] = lambda rows: ""
    mistaken: dict[int, str] = field(default_factory=dict)


def usual_width(rows: list[list[str]]) -> int:
    """The number of fields that most rows have; of equals the largest."""
    widths = [len(row) for row in rows]
    return max(set(widths), key=lambda width: (widths.count(width), width))


def read(
    path: Path | str, kind: Kind, *, format: str | None = None, expansion: int = EXPANSION
) -> tuple[pa.Table, dict]:
    """Read a file of a kind, in any of its formats, compressed or not.

    Args:
        path: the file.
        kind: what it should hold.
        format: the name of a layout of the kind, "csv", "tsv", "jsonl" or "parquet"; None to
            recognise it.
        expansion: a compressed file may unpack to this many times its size.

    Returns:
        The columns found with `line` (int64, from 1); and facts: the format, the SHA-256 of the
        file, its compression, the names of the columns read, and lines by what they were.

    Raises:
        AuditError: the file cannot be opened or unpacked, is not text, is in no format of its
            kind, or has lines that cannot be read: all of them counted, the first 20 shown.
    """
    _check_format(format, kind, path)
    complaints, found = Complaints(path, kind.holds), Counter()
    with Stream(path, expansion=expansion) as stream:
        table, format, names = _read(stream, kind, format, complaints, found)
        facts = {"format": format, "columns": names, **stream.facts()}
    facts |= {name: found[name] for name in ("lines", "blank", "comment", "trailing")}
    complain(complaints, kind, format)
    if not table.num_rows:
        raise AuditError(
            f"there is nothing in this {kind.holds} file",
            where=str(path),
            found=f"{found['lines']} lines, none of which holds anything",
            todo="name the right file",
        )
    return table, facts


def complain(
    complaints: Complaints, kind: Kind, format: str, *, what: str = "", todo: str = ""
) -> None:
    """Raise what was complained about a file in a format, with the text of its lines, if any."""
    layout = kind.layouts.get(format)
    complaints.raise_any(
        lambda numbers: {} if format == "parquet" else texts_of_lines(complaints.path, numbers),
        what=what,
        expected=f"{format}: {layout.example if layout else _TABLE_LINES[format]}",
        todo=todo or "mend the lines, or name the format if it was not recognised rightly",
    )


def recognise(
    head: bytes, kind: Kind, format: str | None = None, path: Path | str = ""
) -> tuple[str, str]:
    """The format and, for CSV and TSV, the separator of a file that begins with `head`.

    Args:
        head: the first bytes, unpacked.
        kind: what it should hold.
        format: the format, where the user has named it.
        path: for the error.

    Raises:
        AuditError: it is in no format of its kind.
    """
    if format == "parquet" or (format is None and head.startswith(b"PAR1")):
        return "parquet", ""
    lines = head[: 1 << 16].replace(b"\r", b"\n").split(b"\n", 2 * LOOKED_AT)
    lines = [line.decode("utf-8", "replace") for line in lines if line.strip()][:LOOKED_AT]
    first = lines[0] if lines else ""
    separator = tables.separator_of(first, kind.columns)
    if separator and format in (None, "csv", "tsv"):
        return format or tables.SEPARATORS[separator], separator
    if format in ("csv", "tsv"):
        raise _unknown("the table has no header that names its columns", first, kind, path)
    if format:
        return format, ""
    if tables.json_object(first) is not None:
        return "jsonl", ""
    rows = [line.split() for line in lines if not line.lstrip().startswith("#")]
    format = kind.recognise(rows) if rows else next(iter(kind.layouts), "")
    if not format:
        usual = kind.mistaken.get(usual_width(rows), "") if rows else ""
        what = f"this is no {kind.holds} file in a known format" + (f"; {usual}" if usual else "")
        raise _unknown(what, first, kind, path)
    return format, ""


def _read(
    stream: Stream, kind: Kind, format: str | None, complaints: Complaints, found: Counter
) -> tuple[pa.Table, str, dict[str, str]]:
    format, separator = recognise(stream.head, kind, format, stream.path)
    layout = kind.layouts.get(format)
    if layout:
        parts = [
            read_block(block, layout, 1 + found["lines"], complaints, found)
            for block in stream.blocks()
        ]
        names = {name: f"field {i}" for i, name in enumerate(layout.fields, 1) if name}
        return (parts[0] if len(parts) == 1 else stack(parts)), format, names
    if format == "parquet":
        table, names = tables.read_parquet(stream.everything(), kind.columns, complaints, found)
        return table, format, names
    text = b"".join(stream.blocks()).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    _refuse_other_encodings(text, complaints, kind, format)
    if format == "jsonl":
        table, names = tables.read_json_lines(text, kind.columns, complaints, found)
    else:
        table, names = tables.read_separated(text, separator, kind.columns, complaints, found)
    return table, format, names


def _refuse_other_encodings(text: bytes, complaints: Complaints, kind: Kind, format: str) -> None:
    try:
        text.decode()
    except UnicodeDecodeError:
        lines = text.split(b"\n")
        bad = [
            i for i, line in enumerate(lines, 1) if line != line.decode(errors="replace").encode()
        ]
        complaints.add(bad, lambda _: "the line is not UTF-8")
        complain(complaints, kind, format, todo="convert the file to UTF-8, with iconv for example")


def _check_format(format: str | None, kind: Kind, path: Path | str) -> None:
    known = (*kind.layouts, *TABLES)
    if format is not None and format not in known:
        raise AuditError(
            f"there is no format {format!r} for a {kind.holds} file",
            where=str(path),
            expected=", ".join(known),
            todo=nearest(format, known) or "name one of these, or none to have it recognised",
        )


def _unknown(what: str, first: str, kind: Kind, path: Path | str) -> AuditError:
    forms = [f"{name}: {layout.example}" for name, layout in kind.layouts.items()]
    needed = [column.names[0] for column in kind.columns if column.required]
    forms.append(f"CSV, TSV, JSON lines or Parquet with columns named {', '.join(needed)}")
    return AuditError(
        what,
        where=f"{path}:1",
        found=shorten(first),
        expected=indented(forms),
        todo="convert the file to one of these, or name the right file",
    )
