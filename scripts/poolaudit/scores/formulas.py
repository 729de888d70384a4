"""The formulas of the measures, each over all lists at once.

Every measure is a fraction: what the relevant documents of a list add up to, over what the query
and the cutoff allow at most. Each function takes a `View` of the judged lists, the measure with its
parameters, and the depth to stop at: one number for all lists, or one number a list, the depth that
it is restricted to. Sums run down each list in rank order and in double precision, as trec_eval's
do, so that the values are equal to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from poolaudit.scores.measure_names import Measure
    from poolaudit.scores.measures import View

INFAP_EPSILON = 1e-5
UNCUT = np.iinfo(np.int64).max
Depth = int | np.ndarray


def discounts(depth: int) -> np.ndarray:
    """log2(rank + 1) for the ranks 0 to `depth`."""
    # Few lengths, so that nearly every call finds its logarithms computed.
    return _discounts(1 << int(depth).bit_length())[: depth + 1]


@cache
def _discounts(n: int) -> np.ndarray:
    # numpy's own log2 may differ from C's, which trec_eval calls, in the last bit.
    return np.array([math.log2(rank + 1) for rank in range(n)])


def discounted_gain(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """nDCG (Järvelin and Kekäläinen 2002), gain = grade: sum g_i / log2(i + 1) over its ideal."""
    hits = view.hits(1, depth)
    return view.sum(hits, hits.discounted)


def gain(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """NCG@k: the sum of the grades to rank k over the sum of the k highest grades judged."""
    hits = view.hits(1, depth)
    return view.sum(hits, hits.grade)


def found(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """P@k: relevant documents to rank k over k, also when the list is shorter. R@k: over R."""
    return view.count(view.hits(measure.rel, depth))


def precisions(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """AP: the sum over retrieved relevant documents of the precision at their ranks, over R."""
    hits = view.hits(measure.rel, depth)
    return view.sum(hits, hits.precision)


def reciprocal_rank(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """RR: 1 / rank of the first relevant document, or 0."""
    hits = view.hits(measure.rel, depth)
    first = hits.only(hits.count == 1)
    return view.sum(first, 1 / first.rank)


def success(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """Success@k: 1 if any of the first k documents is relevant, else 0."""
    return found(view, measure, depth) > 0


def rank_biased_precision(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """RBP (Moffat and Zobel 2008): (1 - p) sum of p^(i - 1) over the relevant documents' ranks i.

    The value is the low end; what unjudged documents and the end of the list leave open is the
    residual (`bounds.residuals`).
    """
    hits = view.hits(measure.rel, depth)
    weights = measure.p ** np.arange(hits.rank.max(initial=1))
    return (1 - measure.p) * view.sum(hits, weights[hits.rank - 1])


def preferences(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """Bpref (Buckley and Voorhees 2004), as trec_eval has it since version 8.

    (1 / R) sum over the retrieved relevant documents of 1 - min(n, R) / min(N, R), with n judged
    nonrelevant documents above; 1 where n = 0. Unjudged documents do not matter to it.
    """
    hits = view.graded.hits(measure.rel)
    relevant = view.graded.relevant(measure.rel)[view.query]
    most = np.minimum(view.graded.nonrelevant(measure.rel)[view.query], relevant)
    above = view.graded.judged_above(measure.rel) - (hits.count - 1)
    # Where N = 0 nothing stands above; R > 0 where there is a hit.
    lost = np.minimum(above, relevant[hits.of]) / np.maximum(most, 1)[hits.of]
    return view.sum(hits, 1 - lost)


def inferred_precisions(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """infAP (Yilmaz and Aslam 2006), as trec_eval has it: expected precisions over R.

    Documents of grade -1 are in the pool and were not sampled for judging: the share of relevant
    documents among the judged ones above is taken to hold for them. Other unjudged documents,
    those of grade -2 included, are nonrelevant.
    """
    hits = view.hits(measure.rel)
    judged = view.graded.judged_above(measure.rel)
    pooled = view.pooled_above(measure.rel)
    relevant = hits.count - 1
    above = np.maximum(hits.rank - 1, 1).astype(np.float64)
    expected = 1 / (above + 1) + (above / (above + 1)) * (pooled / above) * (
        (relevant + INFAP_EPSILON) / (judged + 2 * INFAP_EPSILON)
    )
    return view.sum(hits, np.where(hits.rank == 1, 1, expected))


def judged(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """Judged@k: the judged share of the first min(k, retrieved) documents of the list as returned.

    No policy changes it.
    """
    return view.graded.judged_within(depth)


def ideal_discounted_gain(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """The discounted gain of the best ranking to the depth."""
    return _ideal(view, depth, discounted=True)


def ideal_gain(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """The gain of the best ranking to the depth."""
    return _ideal(view, depth, discounted=False)


def _ideal(view: View, depth: Depth, *, discounted: bool) -> np.ndarray:
    ideal = view.graded.ideal(discounted)
    return ideal[view.query, np.minimum(depth, ideal.shape[1] - 1)]


def relevant(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """R for each list; min(R, depth) where lists are restricted to a depth."""
    r = view.graded.relevant(measure.rel)[view.query]
    return np.minimum(r, depth) if np.ndim(depth) else r


def retrieved(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """The documents to the depth."""
    return np.minimum(depth, view.graded.lists.length)


def cutoff(view: View, measure: Measure, depth: Depth) -> Depth:
    """The depth itself, also of a list that is shorter."""
    return depth


def one(view: View, measure: Measure, depth: Depth) -> int:
    """Of totals that cannot be above 1."""
    return 1


@dataclass(frozen=True)
class Formula:
    """A measure as a fraction.

    Attributes:
        total: what each list adds up to.
        over: the most that it could be; the value is 0 where this is 0.
        of_ranks: the total depends on ranks, and so on what becomes of the unjudged documents.
    """

    total: Callable[[View, Measure, Depth], np.ndarray]
    over: Callable[[View, Measure, Depth], Depth]
    of_ranks: bool = True


FORMULAS = {
    "nDCG": Formula(discounted_gain, ideal_discounted_gain),
    "NCG": Formula(gain, ideal_gain),
    "P": Formula(found, cutoff),
    "R": Formula(found, relevant),
    "AP": Formula(precisions, relevant),
    "RR": Formula(reciprocal_rank, one),
    "Success": Formula(success, one),
    "RBP": Formula(rank_biased_precision, one),
    "Bpref": Formula(preferences, relevant, of_ranks=False),
    "infAP": Formula(inferred_precisions, relevant),
    "Judged": Formula(judged, retrieved, of_ranks=False),
}


def ratio(above: np.ndarray, below: np.ndarray | int) -> np.ndarray:
    """above / below; 0 where below is 0."""
    quotient = np.zeros(np.broadcast_shapes(np.shape(above), np.shape(below)))
    return np.divide(above, below, out=quotient, where=np.asarray(below) != 0)
