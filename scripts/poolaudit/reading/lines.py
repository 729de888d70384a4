"""Blank-separated lines, as TREC has written runs and judgments since 1992.

A block of regular lines is parsed by `pyarrow.csv`. What that refuses, or could misread, is split
here by the rules of trec_eval: any number of blanks and tabs separates fields, leading blanks and
blank lines count for nothing, and a line that begins with `#` is a comment.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

from poolaudit.reading.columns import from_numpy
from poolaudit.reading.complaints import Complaints
from poolaudit.reading.fields import convert

PIECE = csv.ReadOptions().block_size
_BLANK = np.zeros(256, bool)
_BLANK[[*b" \t\n\v\f\r"]] = True
# pyarrow takes 0x10 for 16 where it reads whole numbers.
_HEXADECIMAL = re.compile(rb"[ \t][+-]?0[xX]")
_TYPES = {"id": pa.string(), "number": pa.float64(), "whole": pa.int64(), "label": pa.string()}


@dataclass(frozen=True)
class Layout:
    """What the fields of a line mean.

    Attributes:
        fields: for each field the name of its column, or "" where it is not read.
        kinds: the kind of each column, as `fields.convert` takes it.
        trailing: whether text after the last field is allowed, and ignored.
        example: a line, for error messages.
    """

    fields: tuple[str, ...]
    kinds: dict[str, str]
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
        found: counts "lines" in all, and the "blank", "comment" and "trailing" ones among them.
    """
    table = _read_regular(block, layout)
    if table is None:
        return _read_irregular(block, layout, first_line, complaints, found)
    found["lines"] += table.num_rows
    line = np.arange(first_line, first_line + table.num_rows, dtype=np.int64)
    return table.append_column("line", from_numpy(line))


def _read_regular(block: bytes, layout: Layout) -> pa.Table | None:
    """Parse lines with exactly the fields wanted and one and the same separator, else None.

    All fields are read, because one that is empty means two separators in a row.
    """
    separator = b"\t" if b"\t" in block else b" "
    if (separator == b"\t" and b" " in block) or b"\v" in block or b"\f" in block:
        return None
    if (b"0x" in block or b"0X" in block) and _HEXADECIMAL.search(block):
        return None
    names = [name or "unread" for name in layout.fields]
    try:
        table = csv.read_csv(
            pa.BufferReader(block),
            # Threads share the work by pieces of this size, and cost more than a single one.
            read_options=csv.ReadOptions(column_names=names, use_threads=len(block) > PIECE),
            parse_options=csv.ParseOptions(
                delimiter=separator.decode(), quote_char=False, ignore_empty_lines=False
            ),
            convert_options=csv.ConvertOptions(
                column_types={name: _TYPES[layout.kinds.get(name, "label")] for name in names},
                null_values=[],
            ),
        )
    except pa.ArrowInvalid:
        return None
    texts = [column for column in table.columns if column.type == pa.string()]
    if any(pc.min(pc.binary_length(column)).as_py() == 0 for column in texts):
        return None
    if b"#" in block and pc.any(pc.starts_with(table[0], "#")).as_py():
        return None
    return table.select([name for name in layout.fields if name])


def _read_irregular(
    block: bytes, layout: Layout, first_line: int, complaints: Complaints, found: Counter
) -> pa.Table:
    """Split lines at any run of blanks; complain about those with too few or too many fields."""
    content = np.frombuffer(block, np.uint8)
    start, end, line_end = _tokens(content)
    tokens_to = np.searchsorted(start, line_end)
    count = np.diff(tokens_to, prepend=0)
    filled = np.flatnonzero(count)
    number, count, head = first_line + filled, count[filled], (tokens_to - count)[filled]
    comment = content[start[head]] == ord("#")
    wanted = len(layout.fields)
    long = ~comment & (count > wanted)
    bad = ~comment & (count != wanted) & ~(long & layout.trailing)

    found["lines"] += len(line_end)
    found["blank"] += len(line_end) - len(filled)
    found["comment"] += int(comment.sum())
    found["trailing"] += int(long.sum()) if layout.trailing else 0
    counts = count[bad]
    complaints.add(
        number[bad],
        lambda i: (
            f"too {'few' if counts[i] < wanted else 'many'} columns"
            f" ({counts[i]} instead of {wanted})"
        ),
    )

    good = ~comment & ~bad
    number, head = number[good], head[good]
    table = {}
    for i, name in enumerate(layout.fields):
        if name:
            texts = _gather(content, start[head + i], end[head + i])
            called = name.removeprefix("given_").replace("_", " ")
            table[name] = convert(texts, layout.kinds[name], number, complaints, called)
    return pa.table({**table, "line": from_numpy(number.astype(np.int64))})


def _tokens(content: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where tokens start and end (exclusive), and where lines end: LF, CRLF, a lone CR, the end."""
    ends = content == ord("\n")
    returns = np.flatnonzero(content == ord("\r"))
    ends[returns[~ends[np.minimum(returns + 1, len(content) - 1)]]] = True
    line_end = np.flatnonzero(ends)
    if not len(line_end) or line_end[-1] < len(content) - 1:
        line_end = np.append(line_end, len(content))
    edges = np.flatnonzero(np.diff(_BLANK[content], prepend=True, append=True))
    return edges[0::2], edges[1::2], line_end


def _gather(content: np.ndarray, start: np.ndarray, end: np.ndarray) -> pa.Array:
    """The bytes between `start` and `end` as a binary array."""
    offsets = np.zeros(len(start) + 1, np.int32)
    np.cumsum(end - start, out=offsets[1:])
    take = np.arange(offsets[-1], dtype=np.int64) + np.repeat(start - offsets[:-1], end - start)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(content[take])]
    return pa.Array.from_buffers(pa.binary(), len(start), buffers)
