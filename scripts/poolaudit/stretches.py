"""Stretches: things that follow each other, together as large as fits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def stretches(sizes: np.ndarray, most: int) -> Iterator[tuple[int, int]]:
    """Cut a row of things into stretches whose sizes add up to `most` at most.

    Args:
        sizes: int[things].
        most: of a stretch; a thing that is larger is a stretch alone.

    Yields:
        From and up to which thing each goes.
    """
    total = np.append(0, np.cumsum(sizes))
    start = 0
    while start < len(sizes):
        stop = int(np.searchsorted(total, total[start] + most, side="right")) - 1
        stop = max(start + 1, stop)
        yield start, stop
        start = stop
