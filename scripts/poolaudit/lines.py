"""Blank-separated lines, as TREC has written runs and judgments since 1992.

A block of regular lines is parsed by `pyarrow.csv`. What that refuses, or could misread, is split
here by the rules of trec_eval: any number of blanks and tabs separates fields, leading blanks and
blank lines count for nothing, and a line that begins with `#` is a comment.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

from poolaudit import columns, fields
from poolaudit.complaints import Complaints

_BLANK = np.zeros(256, bool)
_BLANK[[*b" \t\n\v\f\r"]] = True
_FAST_TYPES = {
    "id": pa.string(),
    "number": pa.float64(),
    "whole": pa.int64(),
    "label": pa.string(),
}


@dataclass(frozen=True)
class Layout:
    """What the fields of a line mean.

    Attributes:
        fields: for each field its column, or None where it is not read.
        types: of each column: "id", "number", "whole" (null where it is none) or "label".
        trailing: whether text after the last field is allowed, and ignored.
        example: a line, for error messages.
    """

    fields: tuple[str | None, ...]
    types: dict[str, str]
    trailing: bool
    example: str


def read_block(
    block: bytes, layout: Layout, first_line: int, complaints: Complaints, found: Counter
) -> pa.Table:
    """The columns of `layout` and `line` (int64), one row a line that holds something.

    Args:
        block: whole lines.
        layout: what the fields are.
        first_line: the number of the block's first line in its file.
        complaints: gets the lines that cannot be read.
        found: counts what was skipped: "lines" in all, "blank", "comment", "trailing".
    """
    table = _read_regular(block, layout)
    if table is None:
        return _read_irregular(block, layout, first_line, complaints, found)
    found["lines"] += table.num_rows
    numbers = np.arange(first_line, first_line + table.num_rows, dtype=np.int64)
    return table.append_column("line", columns.from_numpy(numbers))


def _read_regular(block: bytes, layout: Layout) -> pa.Table | None:
    """Parse lines with exactly the fields wanted and one and the same separator, else None."""
    separator = b"\t" if b"\t" in block else b" "
    if (
        (separator == b"\t" and b" " in block)
        or separator * 2 in block
        or b"\v" in block
        or b"\f" in block
    ):
        return None
    names = [name or f"field {i}" for i, name in enumerate(layout.fields)]
    wanted = [name for name in layout.fields if name]
    try:
        table = csv.read_csv(
            pa.BufferReader(block),
            read_options=csv.ReadOptions(column_names=names),
            parse_options=csv.ParseOptions(
                delimiter=separator.decode(), quote_char=False, ignore_empty_lines=False
            ),
            convert_options=csv.ConvertOptions(
                include_columns=wanted,
                column_types={name: _FAST_TYPES[layout.types[name]] for name in wanted},
                null_values=[],
            ),
        )
    except pa.ArrowInvalid:
        return None
    texts = [name for name in wanted if layout.types[name] in ("id", "label")]
    if any(pc.min(pc.binary_length(table[name])).as_py() in (0, None) for name in texts):
        return None
    if b"#" in block and pc.any(pc.starts_with(table[layout.fields[0]], "#")).as_py():
        return None
    return table


def _read_irregular(
    block: bytes, layout: Layout, first_line: int, complaints: Complaints, found: Counter
) -> pa.Table:
    """Split lines at any run of blanks; complain about those with too few or too many fields."""
    content = np.frombuffer(block, np.uint8)
    start, end, line_ends = _tokens(content)
    line = np.searchsorted(line_ends, start)
    head = np.flatnonzero(np.diff(line, prepend=-1))
    count = np.diff(head, append=len(start))
    comment = content[start[head]] == ord("#")
    wanted = len(layout.fields)
    short = ~comment & (count < wanted)
    long = ~comment & (count > wanted)
    good = ~comment & ~short
    if not layout.trailing:
        good &= ~long

    lines = len(line_ends) + (len(content) - 1 not in line_ends[-1:])
    found["lines"] += lines
    found["blank"] += lines - len(head)
    found["comment"] += int(comment.sum())
    found["trailing"] += int(long.sum()) if layout.trailing else 0
    number = first_line + line[head]
    for few, bad in (("few", short), *(() if layout.trailing else (("many", long),))):
        counts = count[bad]
        complaints.add(
            number[bad], lambda i, c=counts, f=few: f"too {f} columns ({c[i]} instead of {wanted})"
        )

    read = {}
    number, head = number[good], head[good]
    for i, name in enumerate(layout.fields):
        if name:
            texts = _gather(content, start[head + i], end[head + i])
            read[name] = convert(texts, layout.types[name], number, complaints, name)
    return pa.table({**read, "line": columns.from_numpy(number.astype(np.int64))})


def convert(
    texts: pa.Array, kind: str, lines: np.ndarray, complaints: Complaints, name: str
) -> pa.Array:
    """A column of text as its kind says: "id", "number", "whole" or "label"."""
    said = name.replace("_", " ").replace("given ", "")
    if kind == "id":
        return fields.ids(texts, lines, complaints, said)
    if kind == "number":
        return fields.numbers(texts, lines, complaints, said)
    return fields.wholes(texts) if kind == "whole" else fields.labels(texts)


def _tokens(content: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where tokens start and end (exclusive), and where lines end (LF, CRLF's LF, or a lone CR)."""
    blank = _BLANK[content]
    line_end = content == ord("\n")
    lone = np.flatnonzero(content == ord("\r"))
    line_end[lone[~line_end[np.minimum(lone + 1, len(content) - 1)]]] = True
    edges = np.flatnonzero(np.diff(blank, prepend=True, append=True))
    return edges[0::2], edges[1::2], np.flatnonzero(line_end)


def _gather(content: np.ndarray, start: np.ndarray, end: np.ndarray) -> pa.Array:
    """The bytes between `start` and `end` as a binary array."""
    offsets = np.zeros(len(start) + 1, np.int32)
    np.cumsum(end - start, out=offsets[1:])
    take = np.arange(offsets[-1], dtype=np.int64) + np.repeat(start - offsets[:-1], end - start)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(content[take])]
    return pa.Array.from_buffers(pa.binary(), len(start), buffers)
