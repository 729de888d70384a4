"""How likely it is that reading the unjudged documents turns an order of two runs around.

The range of a difference (`ranges`) says what could happen at worst. Here the unjudged documents
are given grades at random, as often as their like were found to have them: documents of one band of
best rank that about as many runs returned, a *stratum*. How often is not known exactly. So for each
draw the rates of a stratum come from their posterior, a Dirichlet distribution with 1/2 for each
grade before anything was seen, and then each document its grade. No rate is ever 0 because no
document was seen to have the grade.

The chance holds for these queries only: it says nothing of others that could have been asked. It
takes the documents of a stratum to be independent given its rates, and the judged ones to be like
the unjudged. They are not where judged documents were picked because they looked relevant, and the
chance of a change is too high then; nor where the unjudged ones are of a kind that no pooled run
looked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from poolaudit.pairs import Pairs, Rankings
from poolaudit.scores.lists import judged_lists
from poolaudit.scores.measure_names import Measure, parse_measure
from poolaudit.scores.measures import UNCUT, Graded
from poolaudit.scores.policies import evaluate, evaluate_graded
from poolaudit.tail.sampling import RANK_BANDS, RUN_BANDS
from poolaudit.verdicts.comparisons import Comparison
from poolaudit.verdicts.ranges import open_documents

DRAWS = 2_000
PRIOR = 0.5
"""What each grade of a stratum counts before any document was seen (Jeffreys)."""
FEWEST_JUDGED = 30
"""A stratum with fewer judged documents is merged with its neighbour."""
LEVEL = 0.95


@dataclass(frozen=True)
class Flip:
    """What the drawn judgings do to the difference between two runs.

    Attributes:
        run, other: the runs; differences are run - other.
        chance: the share of draws in which the difference has the other sign than the observed one;
            None where the observed one is 0 or has no value.
        mean, low, high: the mean of the drawn differences and the interval that holds the central
            95% of them.
        draws: how many there are.
    """

    run: str
    other: str
    chance: float | None
    mean: float
    low: float
    high: float
    draws: int


@dataclass(frozen=True)
class Strata:
    """The open documents with what is known of their like.

    Attributes:
        rows: int64[documents], row numbers in Pairs.
        stratum: int64[documents].
        judged: int64[strata, grades], judged documents of each stratum by grade, from 0.
    """

    rows: np.ndarray
    stratum: np.ndarray
    judged: np.ndarray

    def draw(self, draws: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """Yield int16[documents], the grades of one draw, `draws` times."""
        rates = rng.standard_gamma(self.judged + PRIOR, size=(draws, *self.judged.shape))
        limits = np.cumsum(rates, axis=2)
        for limit in limits / limits[:, :, -1:]:
            at = rng.random(len(self.rows))
            yield (at[:, None] >= limit[self.stratum, :-1]).sum(axis=1).astype(np.int16)


def stratify(
    pairs: Pairs, measure: str | Measure, *, depth: int = 100, fewest: int = FEWEST_JUDGED
) -> Strata:
    """Divide the open documents into strata, and count the judged ones of each.

    Args:
        pairs: the pairs.
        measure: its cutoff says how far down the runs documents are open, and judged ones counted.
        depth: the same for a measure without a cutoff.
        fewest: cells of a rank band and a run band are merged, in this order, until each stratum
            has so many judged documents; if there are fewer in all, it is one stratum.
    """
    measure = parse_measure(measure) if isinstance(measure, str) else measure
    is_open = open_documents(pairs, measure, depth)
    is_judged = (pairs.relevance >= 0) & (pairs.any_best_rank <= (measure.cutoff or depth))
    cell = np.searchsorted(RANK_BANDS, pairs.any_best_rank) * (len(RUN_BANDS) + 1)
    cell += np.searchsorted(RUN_BANDS, pairs.returned_by)
    n_cells = (len(RANK_BANDS) + 1) * (len(RUN_BANDS) + 1)
    of_cell = _merge(np.bincount(cell[is_judged], minlength=n_cells), fewest)

    grades = max(1, int(pairs.relevance.max(initial=0))) + 1
    at = of_cell[cell[is_judged]] * grades + pairs.relevance[is_judged]
    judged = np.bincount(at, minlength=(of_cell[-1] + 1) * grades).reshape(-1, grades)
    return Strata(np.flatnonzero(is_open), of_cell[cell[is_open]], judged)


def _merge(sizes: np.ndarray, fewest: int) -> np.ndarray:
    """int64[cells]: the stratum of each cell; what is too small at the end joins the one before."""
    stratum = np.zeros(len(sizes), np.int64)
    current, held = 0, 0
    for cell, size in enumerate(sizes):
        if held >= fewest and sizes[cell:].sum() >= fewest:
            current, held = current + 1, 0
        stratum[cell] = current
        held += size
    return stratum


def flips(
    pairs: Pairs,
    rankings: Rankings,
    comparisons: Sequence[Comparison],
    *,
    depth: int = 100,
    draws: int = DRAWS,
    seed: int = 2019,
    fewest: int = FEWEST_JUDGED,
) -> tuple[Flip, ...]:
    """Draw grades for the open documents and compare the runs again, many times.

    Args:
        pairs, rankings: the two tables.
        comparisons: pairs of runs, all by one measure of the project's own. What is drawn counts as
            judged; documents that are not open count as nonrelevant.
        depth: how deep unjudged documents are open for a measure without a cutoff.
        draws: how many; all comparisons see the same draws.
        seed: of the draws.
        fewest: judged documents of a stratum.

    Returns:
        One for each comparison; none for measures that are left to ir_measures.
    """
    if not comparisons:
        return ()
    measure = parse_measure(comparisons[0].measure)
    if not measure.ours:
        return ()
    runs = sorted({name for c in comparisons for name in (c.run, c.other)})
    strata = stratify(pairs, measure, depth=depth, fewest=fewest)
    means = _drawn_means(
        pairs, of_runs(rankings, runs, measure.cutoff), measure, strata, draws, seed
    )
    return tuple(
        _flip(c, means[:, runs.index(c.run)] - means[:, runs.index(c.other)]) for c in comparisons
    )


def _flip(comparison: Comparison, drawn: np.ndarray) -> Flip:
    observed = _sign(np.array(comparison.observed.difference or 0.0))
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Flip(
        run=comparison.run,
        other=comparison.other,
        chance=float((_sign(drawn) == -observed).mean()) if observed else None,
        mean=float(drawn.mean()),
        low=float(low),
        high=float(high),
        draws=len(drawn),
    )


def _sign(differences: np.ndarray) -> np.ndarray:
    """-1, 0 or 1; scores added up in another order may differ in the last bits and are equal."""
    return np.where(np.abs(differences) > 1e-12, np.sign(differences), 0)


def of_runs(rankings: Rankings, runs: Sequence[str], cutoff: int | None) -> Rankings:
    """The rankings of these runs alone, down to the cutoff."""
    chosen = np.isin(rankings.list_run, [rankings.runs.index(run) for run in runs])
    number = np.searchsorted(np.array(runs, str), np.array(rankings.runs))
    rows = np.flatnonzero(chosen[rankings.list_of] & (rankings.rank <= (cutoff or UNCUT)))
    held = np.bincount(rankings.list_of[rows], minlength=len(chosen))[chosen]
    return Rankings(
        runs=tuple(runs),
        query_ids=rankings.query_ids,
        list_query=rankings.list_query[chosen],
        list_run=number[rankings.list_run[chosen]],
        length=np.minimum(rankings.length[chosen], cutoff or UNCUT),
        offsets=np.append(0, np.cumsum(held)),
        rank=rankings.rank[rows],
        score=rankings.score[rows],
        pair=rankings.pair[rows],
    )


def _drawn_means(
    pairs: Pairs, rankings: Rankings, measure: Measure, strata: Strata, draws: int, seed: int
) -> np.ndarray:
    """float64[draws, runs]: the mean score of each run under each draw."""
    grades = pairs.relevance.copy()
    grades[strata.rows] = 0
    lists = judged_lists(pairs, rankings, grades)
    touched = np.unique(pairs.query[strata.rows])
    fixed = evaluate(lists, grades, [measure]).values[0]
    if not len(touched):
        return np.tile(fixed.mean(axis=1), (draws, 1))
    total = np.delete(fixed, touched, axis=1).sum(axis=1)
    grades[strata.rows] = max(1, grades.max(initial=0))
    most_relevant, grades = Graded(lists.of_queries(touched), grades), grades.copy()
    means = np.empty((draws, len(rankings.runs)))
    for i, drawn in enumerate(strata.draw(draws, np.random.default_rng(seed))):
        grades[strata.rows] = drawn
        (scored,) = evaluate_graded(most_relevant.smaller(grades), [measure], ("nonrelevant",))
        means[i] = total + scored.values[0].sum(axis=1)
    return means / len(pairs.query_ids)
