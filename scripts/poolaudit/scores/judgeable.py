"""The documents that a further judging could turn relevant, as each list sees them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from poolaudit.pairs import Pairs, Rankings
from poolaudit.scores.lists import judged_lists
from poolaudit.scores.measures import UNCUT, Graded, View, running


@dataclass(frozen=True)
class Judgeable:
    """The judgeable documents of each list, down to a cutoff.

    Attributes:
        view: the judged lists; they have rows for the judgeable documents too, with grades below 0.
        row: int64[documents], their rows, in the order of list and rank.
        of: int64[documents], the list.
        rank: int64[documents].
        outside: int64[lists], judgeable documents of the query that the list does not hold down to
            the cutoff: they move R, N and the ideal ranking only.
        nonrelevant: bool[rows], other documents that the judging finds nonrelevant.
        judged_anew: int64[lists], all documents of the query that the judging reads.
        top: the highest grade it can give.
    """

    view: View
    row: np.ndarray
    of: np.ndarray
    rank: np.ndarray
    outside: np.ndarray
    nonrelevant: np.ndarray
    judged_anew: np.ndarray
    top: int

    @property
    def n_lists(self) -> int:
        return self.view.graded.lists.n_lists

    @cached_property
    def count(self) -> np.ndarray:
        """int64[lists]: judgeable documents in each list down to the cutoff."""
        return np.bincount(self.of, minlength=self.n_lists)

    @cached_property
    def offsets(self) -> np.ndarray:
        """int64[lists + 1]: the documents of list i are offsets[i] up to offsets[i + 1]."""
        return running(self.count)

    @cached_property
    def place(self) -> np.ndarray:
        """int64[documents]: 1 for the first judgeable document of the list, and so on."""
        return np.arange(1, len(self.of) + 1) - self.offsets[self.of]

    def table(self, values: np.ndarray, lists: slice) -> np.ndarray:
        """[lists, 1 + most]: the values of a run of lists, by place; 0 where there is none."""
        documents = slice(self.offsets[lists.start], self.offsets[lists.stop])
        width = 1 + self.count[lists].max(initial=0)
        table = np.zeros((lists.stop - lists.start, width), values.dtype)
        table[self.of[documents] - lists.start, self.place[documents]] = values[documents]
        return table

    def queries(self) -> Iterator[tuple[int, slice]]:
        """Each query that has lists, and the run of its lists."""
        queries, starts = np.unique(self.view.query, return_index=True)
        edges = np.append(starts, self.n_lists)
        for query, start, stop in zip(queries, edges[:-1], edges[1:], strict=True):
            yield int(query), slice(int(start), int(stop))


@dataclass(frozen=True)
class Population:
    """The unjudged documents among the first `depth` of any audited run.

    Attributes:
        depth: that depth.
        graded: the lists with rows for judged and judgeable documents, and the judgment set.
        judgeable: bool[rows].
        size: int64[queries], how many there are.
        top: the highest grade.
    """

    depth: int
    graded: Graded
    judgeable: np.ndarray
    size: np.ndarray
    top: int

    def seen_to(self, cutoff: int | None, *, own: bool) -> Judgeable:
        """The judgeable documents as each list sees them down to a cutoff.

        Args:
            cutoff: where the measure stops, or None.
            own: only those among the list's own first `depth`; the others are nonrelevant.
        """
        lists = self.graded.lists
        mine = self.judgeable & (lists.rank <= self.depth) if own else self.judgeable
        row = np.flatnonzero(mine & (lists.rank <= (cutoff or UNCUT)))
        of = lists.list_of[row]
        size = self.size[lists.list_query]
        movable = np.diff(running(mine)[lists.offsets]) if own else size
        return Judgeable(
            view=View(self.graded, condensed=False),
            row=row,
            of=of,
            rank=lists.rank[row].astype(np.int64),
            outside=movable - np.bincount(of, minlength=lists.n_lists),
            nonrelevant=self.judgeable & ~mine,
            judged_anew=size,
            top=self.top,
        )


def population(
    pairs: Pairs, rankings: Rankings, grades: np.ndarray, depth: int, top: int
) -> Population:
    """Find the judgeable documents.

    Args:
        pairs, rankings: the two tables.
        grades: int16[pairs], the judgment set.
        depth: how far down the audited runs they are looked for.
        top: the highest grade that a judging can give.
    """
    judgeable = (grades < 0) & (pairs.any_best_rank <= depth)
    lists = judged_lists(pairs, rankings, np.where(judgeable, 0, grades))
    return Population(
        depth=depth,
        graded=Graded(lists, grades),
        judgeable=judgeable[lists.pair],
        size=np.bincount(pairs.query[judgeable], minlength=len(pairs.query_ids)),
        top=top,
    )
