"""Tables with named columns: CSV, TSV, JSON lines and Parquet, under the names people use."""

from __future__ import annotations

import csv as plain_csv
import io
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

from poolaudit.columns import from_numpy, lengths, one, to_numpy, valid, where
from poolaudit.complaints import Complaints
from poolaudit.errors import AuditError
from poolaudit.lines import convert

SEPARATORS = {"csv": ",;|", "tsv": "\t"}


@dataclass(frozen=True)
class Column:
    """A column of the project, and what users call it.

    Attributes:
        name: its name here.
        kind: "id", "number", "whole" or "label".
        names: what it is called in files, the preferred first; case, blanks, hyphens don't matter.
        required: whether a table without it is refused.
    """

    name: str
    kind: str
    names: tuple[str, ...]
    required: bool


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


def header_of(line: str, columns: tuple[Column, ...]) -> tuple[str, str] | None:
    """The format ("csv" or "tsv") and separator of a header line, None if it is no header."""
    for kind, separators in SEPARATORS.items():
        for separator in separators:
            names = _split(line, separator)
            found = match(names, columns)
            if all(column.name in found for column in columns if column.required):
                return kind, separator
    return None


def read_separated(
    text: bytes, separator: str, columns: tuple[Column, ...], complaints: Complaints, found: Counter
) -> tuple[pa.Table, dict[str, str]]:
    """Read CSV or TSV text with a header line; quoted fields may hold the separator.

    Returns:
        The columns found and `line` (int64; right as long as no field holds a line end), and
        which name of the header each was read from.
    """
    first, _, _ = text.partition(b"\n")
    names = _split(first.decode("utf-8", "replace").rstrip("\r"), separator)
    matched = match(names, columns)
    unique = [f"{i} {name}" for i, name in enumerate(names)]
    chosen = {name: unique[names.index(header)] for name, header in matched.items()}
    bad: list[csv.InvalidRow] = []

    def keep(row: csv.InvalidRow) -> str:
        bad.append(row)
        return "skip"

    def parse(threads: bool, handler) -> pa.Table:
        return csv.read_csv(
            pa.BufferReader(text),
            read_options=csv.ReadOptions(
                column_names=unique,
                skip_rows=1,
                use_threads=threads,
                block_size=1 << 20 if threads else max(len(text), 1 << 20),
            ),
            parse_options=csv.ParseOptions(
                delimiter=separator,
                newlines_in_values=b'"' in text,
                ignore_empty_lines=False,
                invalid_row_handler=handler,
            ),
            convert_options=csv.ConvertOptions(
                include_columns=list(chosen.values()),
                column_types=dict.fromkeys(unique, pa.binary()),
                strings_can_be_null=False,
            ),
        )

    try:
        table = parse(True, None)
    except pa.ArrowInvalid:
        table = parse(False, keep)
    table = table.rename_columns(list(chosen)).combine_chunks()
    skipped = np.array([row.number for row in bad], np.int64)
    complaints.add(
        skipped,
        lambda i: f"{bad[i].actual_columns} columns, where the header has {len(names)}",
    )
    number = np.setdiff1d(np.arange(2, 2 + table.num_rows + len(bad)), skipped)
    empty = np.ones(table.num_rows, bool)
    for name in table.column_names:
        empty &= lengths(table[name]) == 0
    found["lines"] += 1 + table.num_rows + len(bad)
    found["blank"] += int(empty.sum())
    return _converted(
        table.filter(from_numpy(~empty)), number[~empty], columns, complaints
    ), matched


def read_json_lines(
    text: bytes, columns: tuple[Column, ...], complaints: Complaints, found: Counter
) -> tuple[pa.Table, dict[str, str]]:
    """Read one JSON object a line. Ids may be strings or whole numbers.

    Returns:
        As `read_separated`; the names are those of the first object.
    """
    rows, numbers, matched = [], [], None
    for number, line in enumerate(io.BytesIO(text), 1):
        found["lines"] += 1
        if not line.strip():
            found["blank"] += 1
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            complaints.add([number], lambda _, e=error: f"no JSON ({e})")
            continue
        if not isinstance(row, dict):
            complaints.add([number], lambda _: "no JSON object")
            continue
        if matched is None:
            matched = match(row, columns)
            _refuse_missing(matched, columns, row, complaints.path)
        rows.append([row.get(name) for name in matched.values()])
        numbers.append(number)
    table = {
        name: pa.array([_json_text(row[i]) for row in rows], pa.binary())
        for i, name in enumerate(matched or {})
    }
    return _converted(pa.table(table), np.array(numbers, np.int64), columns, complaints), matched


def read_parquet(
    content: bytes, columns: tuple[Column, ...], complaints: Complaints, found: Counter
) -> tuple[pa.Table, dict[str, str]]:
    """Read a Parquet file; `line` is the number of the row. Returns as `read_separated`."""
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        header = file.schema_arrow.names
        matched = match(header, columns)
        _refuse_missing(matched, columns, header, complaints.path)
        table = file.read(columns=list(matched.values()), use_pandas_metadata=False)
    except (pa.ArrowException, OSError) as error:
        raise AuditError(
            "the Parquet file cannot be read",
            where=str(complaints.path),
            found=str(error),
            todo="write the file again",
        ) from None
    kinds = {column.name: column.kind for column in columns}
    read = {}
    for name, header in matched.items():
        read[name] = _parquet_column(table[header], kinds[name], header, complaints.path)
    found["lines"] += table.num_rows
    number = np.arange(1, 1 + table.num_rows, dtype=np.int64)
    return _converted(pa.table(read), number, columns, complaints), matched


def _parquet_column(column: pa.ChunkedArray, kind: str, header: str, path: Path) -> pa.Array:
    """A column of a typed table as text or as it is, when its type can hold what is wanted."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind_of = column.type
    text = pa.types.is_string(kind_of) or pa.types.is_large_string(kind_of)
    if text or pa.types.is_binary(kind_of) or pa.types.is_integer(kind_of):
        return column.cast(pa.string()).cast(pa.binary()).combine_chunks()
    if pa.types.is_floating(kind_of) and kind in ("number", "whole"):
        return column.cast(pa.float64()).combine_chunks()
    raise AuditError(
        f"the column {header} has a type that is no {kind}",
        where=str(path),
        found=str(kind_of),
        expected="text or whole numbers" if kind == "id" else "numbers",
        todo=f"write {header} as text" if kind == "id" else f"write {header} as numbers",
    )


def _converted(
    table: pa.Table, number: np.ndarray, columns: tuple[Column, ...], complaints: Complaints
) -> pa.Table:
    read = {}
    for column in columns:
        if column.name not in table.column_names:
            continue
        values = one(table[column.name])
        if pa.types.is_floating(values.type):
            missing = np.flatnonzero(~valid(values))
            complaints.add(number[missing], lambda _, n=column.name: f"the {n} is empty")
            if column.kind == "whole":
                whole = to_numpy(pc.equal(values, pc.floor(values)))
                values = where(values, whole).cast(pa.int64())
            read[column.name] = values
        else:
            read[column.name] = convert(values, column.kind, number, complaints, column.name)
    return pa.table({**read, "line": from_numpy(number.astype(np.int64))})


def _json_text(value: object) -> bytes | None:
    """A JSON value as it would stand in a text file; None for what is neither text nor number."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return repr(value).encode()


def _refuse_missing(
    matched: dict[str, str], columns: tuple[Column, ...], header: Iterable[str], path: Path
) -> None:
    missing = [column for column in columns if column.required and column.name not in matched]
    if missing:
        raise AuditError(
            f"the table has no column for the {missing[0].name}",
            where=str(path),
            found="columns " + ", ".join(map(str, header)),
            expected="a column named " + " or ".join(missing[0].names),
            todo="rename the column",
        )


def _split(line: str, separator: str) -> list[str]:
    try:
        return next(plain_csv.reader([line], delimiter=separator), [])
    except plain_csv.Error:
        return []
