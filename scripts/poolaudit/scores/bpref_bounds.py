"""Exact bounds of Bpref.

Judging adds to R and to N at once. When M of the judgeable documents are found relevant and the
rest nonrelevant, R and N follow from M alone, whichever they are. For one M the score is highest
with as many of the M as possible in the list, at the highest judgeable ranks, and lowest with as
few as possible, at the lowest: so one scan over M finds both ends.

With n nonrelevant documents above each retrieved relevant one, the score is

    (1 / R) (retrieved relevant - sum of min(n, R) / min(N, R)).

As M grows n falls by steps of one until the judgeable documents above are all relevant, and R
grows by one. So min(n, R) is a straight line in at most three pieces of M for each document. The
sums over documents are built from these pieces, all values of M at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poolaudit.scores.formulas import ratio
from poolaudit.scores.judgeable import Judgeable
from poolaudit.scores.measure_names import Measure
from poolaudit.scores.measures import running


def bpref_bounds(judgeable: Judgeable, measure: Measure) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and highest Bpref of each list when every judgeable document is judged.

    The score now need not lie between them: documents found nonrelevant count against the relevant
    ones below, which unjudged ones do not.

    Returns:
        low, high: float64[lists].
    """
    lists = _Lists(judgeable, measure.rel)
    highest, lowest = _lines_of_highest(lists), _lines_of_lowest(lists)
    low, high = np.zeros(judgeable.n_lists), np.zeros(judgeable.n_lists)
    for _, some in judgeable.queries():
        found = np.arange(1 + judgeable.judged_anew[some].max())
        in_list = np.minimum(found, lists.inside[some, None])
        high[some] = lists.scores(some, found, in_list, highest, -np.inf).max(axis=1)
        in_list = np.maximum(found - lists.outside[some, None], 0)
        low[some] = lists.scores(some, found, in_list, lowest, np.inf).min(axis=1)
    return low, high


@dataclass(frozen=True)
class _Lines:
    """Pieces of straight lines over M: constant + slope x M for start <= M < stop; by list."""

    of: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    constant: np.ndarray
    slope: np.ndarray

    def sum(self, lists: slice, width: int) -> np.ndarray:
        """float64[lists, width]: the sum of the lines of each list at M = 0, 1, ..., width - 1."""
        mine = slice(*np.searchsorted(self.of, (lists.start, lists.stop)))
        start = np.minimum(self.start[mine], width)
        stop = np.clip(self.stop[mine], start, width)
        first = (self.of[mine] - lists.start) * (width + 1)
        shape = (lists.stop - lists.start, width + 1)
        ends = np.concatenate((first + start, first + stop))
        constant, slope = (
            np.bincount(ends, np.concatenate((values, -values)), minlength=shape[0] * shape[1])
            .reshape(shape)
            .cumsum(axis=1)[:, :width]
            for values in (self.constant[mine], self.slope[mine])
        )
        return constant + slope * np.arange(width)


class _Lists:
    """What the scan over M has to know.

    Of each list: `relevant`, R now; `nonrelevant`, N if M is 0; `retrieved`, its relevant
    documents; `inside` and `outside`, the judgeable documents in the list and elsewhere. Of each
    retrieved relevant document and of each judgeable one: `of`, its list; `above`, the documents
    above it that are nonrelevant whatever M is; `open_above`, the judgeable documents above it.
    """

    def __init__(self, judgeable: Judgeable, rel: int) -> None:
        graded, lists = judgeable.view.graded, judgeable.view.graded.lists
        query, hits = judgeable.view.query, judgeable.view.hits(rel)
        stays = running(judgeable.nonrelevant | ((graded.grade >= 0) & (graded.grade < rel)))
        is_judgeable = np.zeros(len(lists), bool)
        is_judgeable[judgeable.row] = True
        self.hit_of, self.judgeable_of = hits.of, judgeable.of
        self.hit_above = lists.above(stays, hits.row, hits.of)
        self.hit_open_above = lists.above(running(is_judgeable), hits.row, hits.of)
        self.judgeable_above = lists.above(stays, judgeable.row, judgeable.of)
        self.judgeable_open_above = judgeable.place - 1
        self.relevant = graded.relevant(rel)[query]
        self.nonrelevant = graded.nonrelevant(rel)[query] + judgeable.judged_anew
        self.retrieved = np.bincount(hits.of, minlength=lists.n_lists)
        self.inside, self.outside = judgeable.count, judgeable.outside

    def scores(
        self, lists: slice, found: np.ndarray, in_list: np.ndarray, lines: _Lines, never: float
    ) -> np.ndarray:
        """float64[lists, M]: the score for each M, `in_list` of them in the list."""
        relevant = self.relevant[lists, None] + found
        nonrelevant = self.nonrelevant[lists, None] - found
        above = ratio(lines.sum(lists, len(found)), np.minimum(nonrelevant, relevant))
        score = ratio(self.retrieved[lists, None] + in_list - above, relevant)
        movable = self.inside[lists] + self.outside[lists]
        return np.where(found <= movable[:, None], score, never)


def _lines_of_highest(lists: _Lists) -> _Lines:
    """min(n, R) of each document when the M stand first in the list, then elsewhere.

    For a relevant document n = above + max(0, open_above - M). A judgeable one is relevant from
    M = open_above + 1 on, and all judgeable ones above it are too: n = above.
    """
    of, above, opened = lists.hit_of, lists.hit_above, lists.hit_open_above
    relevant = lists.relevant[of]
    meet = _half_up(above + opened - relevant)
    meet = np.where(meet <= opened, np.maximum(meet, 0), above - relevant)
    level = np.maximum(meet, opened)
    pieces = [
        (of, np.zeros_like(of), meet, relevant, 1),
        (of, meet, level, above + opened, -1),
        (of, level, _END, above, 0),
    ]
    of, above, first = lists.judgeable_of, lists.judgeable_above, lists.judgeable_open_above + 1
    meet = np.maximum(first, above - lists.relevant[of])
    return _join([*pieces, (of, first, meet, lists.relevant[of], 1), (of, meet, _END, above, 0)])


def _lines_of_lowest(lists: _Lists) -> _Lines:
    """min(n, R) of each document when the M stand elsewhere, then last in the list.

    With T judgeable documents in all, T - M of those in the list are nonrelevant once M passes the
    number elsewhere. For a relevant document n = above + min(open_above, T - M). A judgeable one is
    relevant from M = T - open_above on, with all that are nonrelevant above it: n = above + T - M.
    """
    total = lists.inside + lists.outside
    of, above, opened = lists.hit_of, lists.hit_above, lists.hit_open_above
    relevant, falls = lists.relevant[of], total[of] - opened
    meet = above + opened - relevant
    meet = np.where(meet <= falls, np.maximum(meet, 0), _half_up(above + total[of] - relevant))
    level = np.maximum(meet, falls)
    pieces = [
        (of, np.zeros_like(of), meet, relevant, 1),
        (of, meet, level, above + opened, 0),
        (of, level, _END, above + total[of], -1),
    ]
    of, above = lists.judgeable_of, lists.judgeable_above
    relevant, first = lists.relevant[of], total[of] - lists.judgeable_open_above
    meet = np.maximum(first, _half_up(above + total[of] - relevant))
    return _join([*pieces, (of, first, meet, relevant, 1), (of, meet, _END, above + total[of], -1)])


_END = np.iinfo(np.int64).max


def _half_up(values: np.ndarray) -> np.ndarray:
    """Half of each whole number, rounded up."""
    return -(-values // 2)


def _join(pieces: list[tuple]) -> _Lines:
    """All pieces, by list."""
    columns = [np.broadcast_arrays(*piece) for piece in pieces]
    joined = [np.concatenate(column) for column in zip(*columns, strict=True)]
    order = np.argsort(joined[0], kind="stable")
    return _Lines(*(column[order] for column in joined))
