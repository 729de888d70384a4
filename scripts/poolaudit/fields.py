"""Columns of text turned into ids and numbers; what cannot be is complained about by line."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from poolaudit import columns
from poolaudit.complaints import Complaints, shorten

NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$|^[+-]?(?i:inf|infinity|nan)$"
WHOLE = r"^[+-]?[0-9]{1,18}(\.0*)?$"


def ids(column: pa.Array, lines: np.ndarray, complaints: Complaints, name: str) -> pa.Array:
    """Ids as strings; complains about empty ones and bytes that are not UTF-8."""
    try:
        texts = column.cast(pa.string())
    except pa.ArrowInvalid:
        raw = column.to_pylist()
        decoded = [None if value is None else value.decode(errors="replace") for value in raw]
        bad = [i for i, text in enumerate(decoded) if text is not None and text.encode() != raw[i]]
        complaints.add(lines[bad], lambda _: f"the {name} is not UTF-8")
        texts = pa.array(decoded, pa.string())
    bad = np.flatnonzero(columns.lengths(texts) == 0)
    complaints.add(lines[bad], lambda _: f"the {name} is empty")
    return texts


def numbers(column: pa.Array, lines: np.ndarray, complaints: Complaints, name: str) -> pa.Array:
    """Text as float64, in the spellings that C's `atof` reads wholly; others are complained of.

    Infinite values and NaN are numbers here. Rows complained of hold null.
    """
    try:
        return column.cast(pa.string()).cast(pa.float64())
    except pa.ArrowInvalid:
        pass
    texts = _escaped(column)
    good = _matches(texts, NUMBER)
    bad = np.flatnonzero(~good)

    def reason(i: int) -> str:
        found = texts[int(bad[i])].as_py() or ""
        comma = " (a decimal comma?)" if "," in found else ""
        return f"the {name} is no number{comma}: {shorten(found)!r}"

    complaints.add(lines[bad], reason)
    return columns.where(texts, good).cast(pa.float64())


def wholes(column: pa.Array) -> pa.Array:
    """Text as int64; null where it is no whole number ("3.0" is one)."""
    texts = _escaped(column)
    try:
        return texts.cast(pa.int64())
    except pa.ArrowInvalid:
        wholes = columns.where(texts, _matches(texts, WHOLE))
        return pc.replace_substring_regex(wholes, r"^\+|\.0*$", "").cast(pa.int64())


def labels(column: pa.Array) -> pa.Array:
    """Text that is only shown, such as the tag of a run: any bytes will do."""
    return _escaped(column)


def _matches(texts: pa.Array, pattern: str) -> np.ndarray:
    return columns.to_numpy(pc.match_substring_regex(texts, pattern)) & columns.valid(texts)


def _escaped(column: pa.Array) -> pa.Array:
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        decoded = [
            None if value is None else value.decode("utf-8", "backslashreplace")
            for value in column.to_pylist()
        ]
        return pa.array(decoded, pa.string())
