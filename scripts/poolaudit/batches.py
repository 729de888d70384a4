"""Batches: which light jobs share a process.

A job of its own for every run would spend most of its time starting up. So a batch of runs is read
by one job. A hash of its name says which batch a run is in: a changed run re-reads its own batch,
and a run that is added or taken away moves no other run to another batch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


def batches(names: Iterable[str], most: int) -> dict[int, list[str]]:
    """Share names out over at most `most` batches.

    Args:
        names: the names.
        most: the number of batches; a batch of no name is left out.

    Returns:
        The names of each batch by its number, from 1; both in ascending order.
    """
    found: dict[int, list[str]] = {}
    for name in sorted(names):
        found.setdefault(1 + _hash(name) % most, []).append(name)
    return dict(sorted(found.items()))


def _hash(name: str) -> int:
    """A hash that is the same in every process, unlike Python's own."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8])
