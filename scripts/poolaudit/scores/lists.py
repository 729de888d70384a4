"""The part of the rankings that any measure can need: the rows somebody judged.

A document that no assessor saw adds nothing to a measure but its place. So once the judged rows
are taken out with their ranks, and the lists with their lengths, every measure under every policy
and every smaller judgment set can be computed from them alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from poolaudit.pairs import UNJUDGED, Pairs, Rankings


@dataclass(frozen=True)
class JudgedLists:
    """The judged rows of the rankings, in the order of query, run and rank.

    Attributes:
        runs: the audited runs.
        query_ids: the queries averaged over.
        list_query, list_run: int32[lists], indices into `query_ids` and `runs`.
        length: int64[lists], the number of documents that the run returned, judged or not.
        offsets: int64[lists + 1]: the rows of list i are offsets[i] up to offsets[i + 1].
        rank: int32[rows], the rank in the whole list, from 1.
        pair: int32[rows], row number in Pairs.
        judged_pair: int32[judged], every pair with a judgment, returned or not: R, N and the ideal
            ranking of a smaller judgment set are counted over these.
        judged_query: int32[judged], index into `query_ids`, ascending.
    """

    runs: tuple[str, ...]
    query_ids: tuple[str, ...]
    list_query: np.ndarray
    list_run: np.ndarray
    length: np.ndarray
    offsets: np.ndarray
    rank: np.ndarray
    pair: np.ndarray
    judged_pair: np.ndarray
    judged_query: np.ndarray

    def __len__(self) -> int:
        return len(self.rank)

    @property
    def n_lists(self) -> int:
        """The number of lists: answered queries, over all runs."""
        return len(self.list_query)

    @cached_property
    def list_of(self) -> np.ndarray:
        """int64[rows]: the list that each row belongs to."""
        return np.repeat(np.arange(self.n_lists), np.diff(self.offsets))

    @cached_property
    def unbroken(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """int64[rows]: the rows of whose lists all documents above have a row too.

        And their pairs; and int64[lists], how many of them each list has.
        """
        place = np.arange(1, len(self) + 1) - self.offsets[self.list_of]
        rows = np.flatnonzero(self.rank == place)
        return rows, self.pair[rows], np.bincount(self.list_of[rows], minlength=self.n_lists)

    def above(self, before: np.ndarray, row: np.ndarray, of: np.ndarray) -> np.ndarray:
        """Take a running total over all rows down to what stands above each given row in its list.

        Args:
            before: [rows + 1], the total over the rows before each one.
            row, of: the rows, and the lists they belong to.
        """
        return before.take(row) - before.take(self.offsets.take(of))

    def spread(self, values: np.ndarray, missing: float = 0) -> np.ndarray:
        """Put one value a list into an array [runs, queries]; `missing` where there is no list."""
        table = np.full((len(self.runs), len(self.query_ids)), missing, values.dtype)
        table[self.list_run, self.list_query] = values
        return table

    def of_judged(self) -> JudgedLists:
        """The same lists with the judged pairs numbered anew, without the others between them.

        The grades that fit are those of `judged_pair`: far fewer, so that they stay in the cache.
        """
        pair = np.searchsorted(self.judged_pair, self.pair)
        numbers = np.arange(len(self.judged_pair))
        return replace(self, pair=pair, judged_pair=numbers)

    def of_queries(self, queries: np.ndarray) -> JudgedLists:
        """The lists of these queries alone.

        Args:
            queries: indices into `query_ids`, ascending and without repeats.

        Returns:
            Lists whose `query_ids` are these queries only; `pair` still points into all pairs, so
            the same vectors of grades fit.
        """
        queries = np.asarray(queries)
        lists = _ranges(self.list_query, queries)
        rows = join_ranges(self.offsets[lists], self.offsets[lists + 1])
        judged = _ranges(self.judged_query, queries)
        return JudgedLists(
            runs=self.runs,
            query_ids=tuple(self.query_ids[query] for query in queries),
            list_query=np.searchsorted(queries, self.list_query[lists]).astype(np.int32),
            list_run=self.list_run[lists],
            length=self.length[lists],
            offsets=np.append(0, np.cumsum(np.diff(self.offsets)[lists])),
            rank=self.rank[rows],
            pair=self.pair[rows],
            judged_pair=self.judged_pair[judged],
            judged_query=np.searchsorted(queries, self.judged_query[judged]).astype(np.int32),
        )


def judged_lists(pairs: Pairs, rankings: Rankings, grades: np.ndarray | None = None) -> JudgedLists:
    """Take the judged rows out of the rankings.

    Args:
        pairs, rankings: the two tables.
        grades: int16[pairs], a judgment set; rows of documents that are UNJUDGED in it are left
            out, others with a grade below zero are kept. Default: all the judgments. Any judgment
            set within this one can be evaluated on the result.

    Returns:
        The judged lists. A list without a judged document keeps its place and its length.
    """
    grades = pairs.relevance if grades is None else grades
    in_set = grades != UNJUDGED
    rows = np.flatnonzero(in_set[rankings.pair])
    judged = np.flatnonzero(in_set)
    return JudgedLists(
        runs=rankings.runs,
        query_ids=rankings.query_ids,
        list_query=rankings.list_query,
        list_run=rankings.list_run,
        length=rankings.length,
        offsets=np.searchsorted(rows, rankings.offsets),
        rank=rankings.rank[rows],
        pair=rankings.pair[rows],
        judged_pair=judged.astype(np.int32),
        judged_query=pairs.query[judged],
    )


def _ranges(sorted_values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The positions of the wanted values in a sorted array."""
    return join_ranges(
        np.searchsorted(sorted_values, wanted, side="left"),
        np.searchsorted(sorted_values, wanted, side="right"),
    )


def join_ranges(starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """The integers start..stop-1 of each range, one range after the other."""
    lengths = stops - starts
    before = np.cumsum(lengths) - lengths
    return np.arange(lengths.sum()) + np.repeat(starts - before, lengths)
