"""Columns of text turned into ids and numbers; what cannot be is complained about by line."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from poolaudit.reading.columns import filled, lengths, to_numpy, valid, where
from poolaudit.reading.complaints import Complaints

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$|^[+-]?(?i:inf|infinity|nan)$"
_WHOLE = r"^[+-]?[0-9]{1,18}(\.0*)?$"


def convert(
    texts: pa.Array, kind: str, lines: np.ndarray, complaints: Complaints, name: str
) -> pa.Array:
    """A column of text (binary, null where there is none) as its kind says.

    Args:
        texts: the column.
        kind: "id": a string that is not empty; "number": float64, infinite values and NaN among
            them; "whole": int64, null where it is no whole number ("3.0" is one); "label": a
            string that is only shown, whatever its bytes, and "" where there is none.
        lines: the line number of each row.
        complaints: gets the rows that are no ids or numbers; these rows then hold null or "".
        name: what the column is called in complaints.
    """
    if kind == "id":
        return _ids(texts, lines, complaints, name)
    if kind == "number":
        return _numbers(texts, lines, complaints, name)
    return _wholes(texts) if kind == "whole" else filled(_strings(texts))


def _ids(texts: pa.Array, lines: np.ndarray, complaints: Complaints, name: str) -> pa.Array:
    try:
        ids = texts.cast(pa.string())
    except pa.ArrowInvalid:
        ids = _strings(texts)
        bad = np.flatnonzero(lengths(ids.cast(pa.binary())) != lengths(texts))
        complaints.add(lines[bad], lambda _: f"the {name} is not UTF-8")
    empty = np.flatnonzero(lengths(ids) == 0)
    complaints.add(lines[empty], lambda _: f"the {name} is missing")
    return ids


def _numbers(texts: pa.Array, lines: np.ndarray, complaints: Complaints, name: str) -> pa.Array:
    strings = _strings(texts)
    try:
        numbers = strings.cast(pa.float64())
        good = valid(numbers)
    except pa.ArrowInvalid:
        good = _matches(strings, _NUMBER)
        numbers = where(strings, good).cast(pa.float64())
    bad = np.flatnonzero(~good)

    def reason(i: int) -> str:
        text = strings[int(bad[i])].as_py()
        if not text:
            return f"the {name} is missing"
        return f"the {name} is no number" + (" (a decimal comma?)" if "," in text else "")

    complaints.add(lines[bad], reason)
    return numbers


def _wholes(texts: pa.Array) -> pa.Array:
    strings = _strings(texts)
    try:
        wholes = strings.cast(pa.int64())
    except pa.ArrowInvalid:
        wholes = None
    # Arrow takes 0x10 for 16.
    if (
        wholes is not None
        and not pc.any(pc.match_substring(strings, "x", ignore_case=True)).as_py()
    ):
        return wholes
    wholes = where(strings, _matches(strings, _WHOLE))
    return pc.replace_substring_regex(wholes, r"^\+|\.0*$", "").cast(pa.int64())


def _strings(texts: pa.Array) -> pa.Array:
    """Text as strings; bytes that are no UTF-8 are written out as \\x escapes."""
    try:
        return texts.cast(pa.string())
    except pa.ArrowInvalid:
        decoded = [
            None if text is None else text.decode("utf-8", "backslashreplace")
            for text in texts.to_pylist()
        ]
        return pa.array(decoded, pa.string())


def _matches(strings: pa.Array, pattern: str) -> np.ndarray:
    return to_numpy(pc.match_substring_regex(strings, pattern)) & valid(strings)
