"""What the order of tied documents decides.

A run that gives several documents one score does not say which is first; the tie rule does, and
another tool may break ties another way. The lowest and highest scores here are those over all
orders of the tied documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from poolaudit.errors import AuditError
from poolaudit.pairs import Pairs, Rankings
from poolaudit.scores.lists import JudgedLists, judged_lists
from poolaudit.scores.measure_names import Measure, parse_measures
from poolaudit.scores.policies import evaluate


@dataclass(frozen=True)
class Ties:
    """How much ties matter.

    Attributes:
        policy: the policy scored under.
        measures, runs, query_ids: what the axes of `low` and `high` stand for.
        low, high: float64[measures, runs, queries], the scores with the worst and with the best
            grades first among tied documents; NaN for infAP and measures left to ir_measures.
        cutoffs: those of the measures, ascending.
        crossed: int64[cutoffs, runs], the number of queries with tied documents on both sides of
            the cutoff.
    """

    policy: str
    measures: tuple[str, ...]
    runs: tuple[str, ...]
    query_ids: tuple[str, ...]
    low: np.ndarray
    high: np.ndarray
    cutoffs: tuple[int, ...]
    crossed: np.ndarray


def tie_sensitivity(
    pairs: Pairs,
    rankings: Rankings,
    measures: Iterable[str | Measure],
    *,
    grades: np.ndarray | None = None,
    policy: str = "nonrelevant",
    by_score: bool = True,
) -> Ties:
    """Score every run with its ties broken in the worst and in the best way.

    Args:
        pairs, rankings: the two tables.
        measures: names, or parsed measures.
        grades: int16[pairs], the judgment set; default: all the judgments.
        policy: "nonrelevant" or "condense".
        by_score: whether lists are ordered by score. Where the rank column is trusted instead,
            nothing is tied.

    Raises:
        AuditError: a restricting policy, under which the best grades first need not score highest.
    """
    if policy.startswith("restrict"):
        raise AuditError(
            "the effect of ties is not bounded under a restricting policy",
            found=policy,
            expected="nonrelevant or condense",
        )
    measures = parse_measures(measures)
    grades = pairs.relevance if grades is None else grades
    lists = judged_lists(pairs, rankings, grades)
    with_previous = _tied_with_previous(rankings) & by_score
    known = [i for i, m in enumerate(measures) if m.ours and m.base != "infAP"]
    worst, best = (
        evaluate(
            _reordered(lists, rankings, with_previous, grades, best_first=best_first),
            grades,
            [measures[place] for place in known],
            policy,
        ).values
        for best_first in (False, True)
    )
    low, high = np.full((2, len(measures), *worst.shape[1:]), np.nan)
    low[known], high[known] = worst, best
    cutoffs = tuple(sorted({measure.cutoff for measure in measures if measure.cutoff}))
    return Ties(
        policy=policy,
        measures=tuple(measure.name for measure in measures),
        runs=rankings.runs,
        query_ids=rankings.query_ids,
        low=low,
        high=high,
        cutoffs=cutoffs,
        crossed=_crossed(rankings, with_previous, cutoffs),
    )


def join_ties(parts: Sequence[Ties]) -> Ties:
    """The ties of batches of queries as those of all."""
    return replace(
        parts[0],
        query_ids=tuple(query for part in parts for query in part.query_ids),
        low=np.concatenate([part.low for part in parts], axis=2),
        high=np.concatenate([part.high for part in parts], axis=2),
        crossed=sum(part.crossed for part in parts),
    )


def _tied_with_previous(rankings: Rankings) -> np.ndarray:
    """bool[rows]: the document has the score of the one above it in its list."""
    score, tied = rankings.score, np.zeros(len(rankings), bool)
    # Not by their difference: minus infinity, for scores that are no number, has none to itself.
    tied[1:] = score[1:] == score[:-1]
    return tied & (rankings.rank > 1)


def _reordered(
    lists: JudgedLists,
    rankings: Rankings,
    with_previous: np.ndarray,
    grades: np.ndarray,
    *,
    best_first: bool,
) -> JudgedLists:
    """The lists with tied documents in the order of their grades, unjudged ones as the lowest."""
    row = rankings.offsets[lists.list_of] + lists.rank - 1
    first = np.flatnonzero(~with_previous)  # the first row of each group of tied documents
    size = np.diff(first, append=len(rankings))
    group = np.searchsorted(first, row, side="right") - 1
    tied = np.flatnonzero(size[group] > 1)
    group, grade = group[tied], grades[lists.pair[tied]].astype(np.int64)
    order = np.lexsort((-grade if best_first else grade, group))

    starts = np.flatnonzero(np.diff(group, prepend=-1))
    judged = np.diff(starts, append=len(group))
    above = np.arange(len(group)) - np.repeat(starts, judged)
    if not best_first:
        above += size[group] - np.repeat(judged, judged)
    rank, pair = lists.rank.copy(), lists.pair.copy()
    rank[tied] = rankings.rank[first[group]] + above
    pair[tied] = lists.pair[tied[order]]
    return replace(lists, rank=rank, pair=pair)


def _crossed(rankings: Rankings, with_previous: np.ndarray, cutoffs: tuple[int, ...]) -> np.ndarray:
    counts = [
        np.bincount(
            rankings.list_run[rankings.list_of[with_previous & (rankings.rank == cutoff + 1)]],
            minlength=len(rankings.runs),
        )
        for cutoff in cutoffs
    ]
    return np.array(counts, np.int64).reshape(len(cutoffs), len(rankings.runs))
