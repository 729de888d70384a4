"""Tables with named columns: CSV, TSV, JSON lines and Parquet, under the names people use."""

from __future__ import annotations

import csv as plain_csv
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

from poolaudit.errors import AuditError
from poolaudit.reading.columns import from_numpy, lengths, one, to_numpy, valid, where
from poolaudit.reading.complaints import Complaints
from poolaudit.reading.fields import convert

SEPARATORS = {",": "csv", ";": "csv", "\t": "tsv"}


@dataclass(frozen=True)
class Column:
    """A column of the project, and what users call it.

    Attributes:
        name: its name here.
        kind: as `fields.convert` takes it.
        names: what it is called in files, the preferred one first; upper case, blanks and hyphens
            make no difference.
        required: whether a table without it is refused.
    """

    name: str
    kind: str
    names: tuple[str, ...]
    required: bool = False


def match(header: Iterable[str], columns: Iterable[Column]) -> dict[str, str]:
    """Which name of `header` holds which column: {"query_id": "qid", ...}; absent ones left out.

    Where a header has several names of a column, the one that comes first in `names` is taken.
    """
    known: dict[str, str] = {}
    for name in header:
        known.setdefault(name.strip().lower().replace("-", "_").replace(" ", "_"), name)
    found = {}
    for column in columns:
        name = next((known[name] for name in column.names if name in known), None)
        if name is not None:
            found[column.name] = name
    return found


def separator_of(line: str, columns: Iterable[Column]) -> str:
    """The separator of a header line that names all required columns; "" if it is none."""
    for separator in SEPARATORS:
        found = match(_split(line, separator), columns)
        if all(column.name in found for column in columns if column.required):
            return separator
    return ""


def read_separated(
    text: bytes, separator: str, columns: tuple[Column, ...], complaints: Complaints, found: Counter
) -> tuple[pa.Table, dict[str, str]]:
    """Read CSV or TSV text with a header line; quoted fields may hold the separator.

    Returns:
        The columns found and `line` (int64; right as long as no field holds a line end), and
        which name of the header each was read from.

    Raises:
        AuditError: text that no quoting makes a table of.
    """
    above = len(text) - len(text.lstrip())
    skipped = text.count(b"\n", 0, above)
    end = text.find(b"\n", above)
    first = text[text.rfind(b"\n", 0, above) + 1 : end if end >= 0 else len(text)]
    header = _split(first.decode(), separator)
    matched = match(header, columns)
    unique = [f"{i} {name}" for i, name in enumerate(header)]
    chosen = {name: unique[header.index(theirs)] for name, theirs in matched.items()}
    bad: list[csv.InvalidRow] = []

    def parse(**options) -> pa.Table:
        return csv.read_csv(
            pa.BufferReader(text),
            read_options=csv.ReadOptions(
                column_names=unique,
                skip_rows=skipped + 1,
                block_size=max(len(text), 1 << 20),
                use_threads="invalid_row_handler" not in options,
            ),
            parse_options=csv.ParseOptions(
                delimiter=separator,
                newlines_in_values=b'"' in text,
                ignore_empty_lines=False,
                **options,
            ),
            convert_options=csv.ConvertOptions(
                include_columns=list(chosen.values()),
                column_types=dict.fromkeys(unique, pa.binary()),
            ),
        )

    def remember(row: csv.InvalidRow) -> str:
        bad.append(row)
        return "skip"

    try:
        try:
            table = parse()
        except pa.ArrowInvalid:
            table = parse(invalid_row_handler=remember)
    except pa.ArrowInvalid as error:
        raise _unreadable("table", complaints.path, error) from None
    table = table.rename_columns(list(chosen)).combine_chunks()
    rows = table.num_rows + len(bad)
    bad_lines = np.array([skipped + row.number for row in bad], np.int64)
    complaints.add(
        bad_lines, lambda i: f"{bad[i].actual_columns} columns, where the header has {len(header)}"
    )
    # Where a quoted field holds line ends, bad rows bear numbers that are too high.
    numbers = np.arange(skipped + 2, skipped + 2 + rows + len(bad))
    line = np.setdiff1d(numbers, bad_lines)[: table.num_rows]
    filled = np.zeros(table.num_rows, bool)
    for name in table.column_names:
        filled |= lengths(table[name]) > 0
    found["lines"] += skipped + 1 + rows
    found["blank"] += skipped + int((~filled).sum())
    table, line = table.filter(from_numpy(filled)), line[filled]
    return _converted(table, line, columns, complaints), matched


def read_json_lines(
    text: bytes, columns: tuple[Column, ...], complaints: Complaints, found: Counter
) -> tuple[pa.Table, dict[str, str]]:
    """Read one JSON object a line, with the names of the first object; returns as above.

    Ids may be texts or whole numbers. Regular text is parsed by `pyarrow.json`.

    Raises:
        AuditError: the first object lacks a required column.
    """
    lines = text.split(b"\n")
    first = next((json_object(line) for line in lines if line.strip()), None) or {}
    matched = _matched(list(first), columns, complaints.path)
    kinds = {column.name: column.kind for column in columns}
    count = len(lines) - (lines[-1] == b"")
    found["lines"] += count
    table = _read_regular_json(text, matched, kinds, first)
    if table is not None and table.num_rows == count:
        return _converted(table, np.arange(1, count + 1), columns, complaints), matched
    rows, numbers = [], []
    for number, line in enumerate(lines[:count], 1):
        if not line.strip():
            found["blank"] += 1
            continue
        row = json_object(line)
        if row is None:
            complaints.add([number], lambda _: "no JSON object")
        else:
            rows.append(row)
            numbers.append(number)
    values = {
        name: pa.array([_json_text(row.get(theirs), kinds[name]) for row in rows], pa.binary())
        for name, theirs in matched.items()
    }
    return _converted(pa.table(values), np.array(numbers), columns, complaints), matched


def read_parquet(
    content: bytes, columns: tuple[Column, ...], complaints: Complaints, found: Counter
) -> tuple[pa.Table, dict[str, str]]:
    """Read a Parquet file; `line` is the number of the row. Returns as above.

    Raises:
        AuditError: a damaged file, a required column that is missing or of no fitting type.
    """
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        matched = _matched(file.schema_arrow.names, columns, complaints.path)
        table = file.read(columns=list(matched.values()), use_pandas_metadata=False)
        read = {
            column.name: _parquet_column(table, matched[column.name], column.kind, complaints.path)
            for column in columns
            if column.name in matched
        }
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _unreadable("Parquet file", complaints.path, error) from None
    found["lines"] += table.num_rows
    line = np.arange(1, 1 + table.num_rows)
    return _converted(pa.table(read), line, columns, complaints), matched


def _parquet_column(table: pa.Table, name: str, kind: str, path: Path) -> pa.Array:
    """A column as text where it holds text or whole numbers, as float64 where it holds others."""
    column = table[name]
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    of = pa.types
    text = of.is_string(column.type) or of.is_large_string(column.type)
    if text or of.is_binary(column.type) or of.is_integer(column.type):
        return one(column.cast(pa.string()).cast(pa.binary()))
    if of.is_floating(column.type) and kind in ("number", "whole"):
        return one(column.cast(pa.float64()))
    raise AuditError(
        f"the column {name} cannot be used",
        where=str(path),
        found=f"type {column.type}",
        expected="text or whole numbers" if kind in ("id", "label") else "numbers",
        todo="write the column with such a type",
    )


def _converted(
    table: pa.Table, line: np.ndarray, columns: Iterable[Column], complaints: Complaints
) -> pa.Table:
    """The columns of a table, text or float64, as their kinds say; and `line`."""
    read = {}
    for column in columns:
        if column.name not in table.column_names:
            continue
        values, called = one(table[column.name]), column.names[0].replace("_", " ")
        if not pa.types.is_floating(values.type):
            values = convert(values, column.kind, line, complaints, called)
        elif column.kind == "whole":
            is_whole = to_numpy(pc.equal(values, pc.floor(values))) & valid(values)
            values = where(values, is_whole).cast(pa.int64(), safe=False)
        else:
            missing = np.flatnonzero(~valid(values))
            complaints.add(line[missing], lambda _, name=called: f"the {name} is missing")
        read[column.name] = values
    return pa.table({**read, "line": from_numpy(line.astype(np.int64))})


def _read_regular_json(
    text: bytes, matched: dict[str, str], kinds: dict[str, str], first: dict
) -> pa.Table | None:
    """JSON lines whose columns keep the types of the first object, else None."""
    import pyarrow.json as pj

    types = {}
    for name, theirs in matched.items():
        number = pa.float64() if kinds[name] == "number" else pa.int64()
        types[theirs] = pa.string() if isinstance(first[theirs], str) else number
    try:
        table = pj.read_json(
            pa.BufferReader(text),
            read_options=pj.ReadOptions(block_size=max(len(text), 1 << 20)),
            parse_options=pj.ParseOptions(
                explicit_schema=pa.schema(list(types.items())), unexpected_field_behavior="ignore"
            ),
        )
        return pa.table(
            {
                name: table[theirs]
                if types[theirs] == pa.float64()
                else table[theirs].cast(pa.string()).cast(pa.binary())
                for name, theirs in matched.items()
            }
        )
    except pa.ArrowInvalid:
        return None


def json_object(line: bytes | str) -> dict | None:
    """The JSON object that a line holds, None if it holds none."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _json_text(value: object, kind: str) -> bytes | None:
    """A JSON value as it would stand in a text file; None for what its kind cannot be."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    numbers = (int, float) if kind in ("number", "whole") else (int,)
    if isinstance(value, bool) or not isinstance(value, numbers):
        return None
    return repr(value).encode()


def _matched(header: list[str], columns: Iterable[Column], path: Path) -> dict[str, str]:
    matched = match(header, columns)
    missing = [column for column in columns if column.required and column.name not in matched]
    if missing:
        raise AuditError(
            f"the table has no column for the {missing[0].names[0].replace('_', ' ')}",
            where=str(path),
            found="columns " + ", ".join(header) if header else "no columns",
            expected="a column named " + " or ".join(missing[0].names),
            todo="rename the column",
        )
    return matched


def _unreadable(what: str, path: Path, error: Exception) -> AuditError:
    return AuditError(
        f"the {what} cannot be read",
        where=str(path),
        found=str(error)[:200],
        todo="write the file again",
    )


def _split(line: str, separator: str) -> list[str]:
    try:
        return next(plain_csv.reader([line], delimiter=separator), [])
    except plain_csv.Error:
        return []
