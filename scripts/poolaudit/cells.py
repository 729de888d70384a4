"""Arrays with named axes as tables with one row a cell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa


def cells(axes: Mapping[str, Sequence], values: Mapping[str, np.ndarray]) -> pa.Table:
    """Write arrays of one shape as a table.

    Args:
        axes: the name and the labels of each axis, in the order of the arrays' axes. A label may be
            None (null in the table).
        values: arrays whose shape is the lengths of the axes.

    Returns:
        A column for each axis and for each array, and one row for each cell, the last axis running
        fastest. NaN becomes null. Axis columns are dictionary encoded when they hold strings.
    """
    shape = tuple(len(labels) for labels in axes.values())
    columns = {}
    for i, (name, labels) in enumerate(axes.items()):
        repeats, tiles = math.prod(shape[i + 1 :]), math.prod(shape[:i])
        codes = np.tile(np.repeat(np.arange(shape[i], dtype=np.int32), repeats), tiles)
        known = pa.array(labels)
        if pa.types.is_string(known.type):
            columns[name] = pa.DictionaryArray.from_arrays(codes, known)
        else:
            columns[name] = known.cast(pa.int32()).take(pa.array(codes))
    for name, array in values.items():
        flat = np.broadcast_to(array, shape).reshape(-1)
        empty = np.isnan(flat) if flat.dtype.kind == "f" else None
        columns[name] = pa.array(flat, mask=empty)
    return pa.table(columns)
