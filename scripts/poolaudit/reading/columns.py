"""Arrow columns as numpy arrays and back, without the import of pandas that pyarrow's own do."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_DTYPES = {
    pa.bool_(): np.bool_,
    pa.int16(): np.int16,
    pa.int32(): np.int32,
    pa.int64(): np.int64,
    pa.uint64(): np.uint64,
    pa.float64(): np.float64,
}


def one(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column as a single array; no copy when it is one already."""
    if isinstance(column, pa.Array):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def stack(parts: list[pa.Table]) -> pa.Table:
    """Tables below each other, each column a single array.

    `parts` is emptied column by column on the way, so that no more than one column is held twice.
    """
    columns = {}
    for name in parts[0].column_names:
        columns[name] = pa.concat_arrays([chunk for part in parts for chunk in part[name].chunks])
        parts[:] = [part.drop_columns(name) for part in parts]
    pa.default_memory_pool().release_unused()
    return pa.table(columns)


def to_numpy(column: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """The values of a column of numbers or truth values; where it is null, any value."""
    array = one(column)
    dtype = _DTYPES[array.type]
    if not len(array):
        return np.empty(0, dtype)
    if dtype is np.bool_:
        bits = np.frombuffer(array.buffers()[1], np.uint8)
        bits = np.unpackbits(bits, count=array.offset + len(array), bitorder="little")
        return bits[array.offset :].view(np.bool_)
    return np.frombuffer(array.buffers()[1], dtype)[array.offset : array.offset + len(array)]


def from_numpy(values: np.ndarray, valid: np.ndarray | None = None) -> pa.Array:
    """Numbers or truth values as an Arrow array, null where not `valid`; numbers are not copied."""
    kind = pa.from_numpy_dtype(values.dtype)
    data = np.packbits(values, bitorder="little") if kind == pa.bool_() else values
    bitmap = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    data = pa.py_buffer(np.ascontiguousarray(data))
    return pa.Array.from_buffers(kind, len(values), [bitmap, data])


def valid(column: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """Where a column is not null."""
    return to_numpy(one(column).is_valid())


def lengths(column: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """The length in bytes of each text of a string or binary column (0 where null)."""
    array = one(column)
    if not len(array):
        return np.empty(0, np.int32)
    ends = np.frombuffer(array.buffers()[1], np.int32)[array.offset : array.offset + len(array) + 1]
    return np.diff(ends)


def where(column: pa.Array, mask: np.ndarray) -> pa.Array:
    """A column with null wherever `mask` is false."""
    return pc.if_else(from_numpy(mask), column, pa.nulls(len(column), column.type))


def filled(texts: pa.Array) -> pa.Array:
    """A string column with "" where it was null."""
    if not texts.null_count:
        return texts
    ends = np.cumsum(lengths(texts) * valid(texts), dtype=np.int32)
    offsets = pa.py_buffer(np.append(np.int32(0), ends))
    _, _, data = pc.drop_null(texts).buffers()
    return pa.Array.from_buffers(texts.type, len(texts), [None, offsets, data])


def repeats(column: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """Whether each text equals the one in the row before it (false in the first row)."""
    array = one(column)
    same = np.zeros(len(array), bool)
    same[1:] = to_numpy(pc.equal(array.slice(1), array.slice(0, max(len(array) - 1, 0))))
    return same
