"""The formulas of the measures, each over all lists at once.

Each function takes a `View` of the judged lists, the measure with its parameters, and the depth to
stop at: one number for all lists, or one number a list, the depth that it is restricted to. It
returns float64[lists]. Sums run down each list in rank order and in double precision, as
trec_eval's do, so that the values are equal to the last bit.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from poolaudit.scores.measure_names import Measure
    from poolaudit.scores.measures import Hits, View

INFAP_EPSILON = 1e-5
Depth = int | np.ndarray


def discounts(depth: int) -> np.ndarray:
    """log2(rank + 1) for the ranks 0 to `depth`."""
    # Few lengths, so that nearly every call finds its logarithms computed.
    return _discounts(1 << int(depth).bit_length())[: depth + 1]


@cache
def _discounts(n: int) -> np.ndarray:
    # numpy's own log2 may differ from C's, which trec_eval calls, in the last bit.
    return np.array([math.log2(rank + 1) for rank in range(n)])


def ndcg(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """nDCG (Järvelin and Kekäläinen 2002), gain = grade: sum g_i / log2(i + 1) over its ideal."""
    hits = view.hits(1)
    within = _within(hits, depth)
    return _over_ideal(view, np.where(within, hits.discounted, 0), depth, discounted=True)


def ncg(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """NCG@k: the sum of the grades to rank k over the sum of the k highest grades judged."""
    hits = view.hits(1)
    within = _within(hits, depth)
    return _over_ideal(view, np.where(within, hits.grade, 0), depth, discounted=False)


def _over_ideal(view: View, gain: np.ndarray, depth: Depth, *, discounted: bool) -> np.ndarray:
    ideal = view.graded.ideal(discounted)
    at = np.minimum(depth, ideal.shape[1] - 1)
    total = view.sum(view.hits(1), gain)
    return ratio(total, ideal[view.query, at])


def precision(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """P@k: relevant documents to rank k, over k, also when the list is shorter."""
    hits = view.hits(measure.rel)
    return ratio(view.sum(hits, _within(hits, depth)), depth)


def recall(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """R@k: relevant documents to rank k, over R."""
    hits = view.hits(measure.rel)
    found = view.sum(hits, _within(hits, depth))
    return ratio(found, _to_find(view, measure, depth))


def average_precision(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """AP: the sum over retrieved relevant documents of the precision at their ranks, over R."""
    hits = view.hits(measure.rel)
    within = _within(hits, depth)
    total = view.sum(hits, np.where(within, hits.precision, 0))
    return ratio(total, _to_find(view, measure, depth))


def _to_find(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """R for each list; min(R, depth) where lists are restricted to a depth."""
    relevant = view.graded.relevant(measure.rel)[view.query]
    return np.minimum(relevant, depth) if np.ndim(depth) else relevant


def reciprocal_rank(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """RR: 1 / rank of the first relevant document, or 0."""
    hits = view.hits(measure.rel)
    within = _within(hits, depth)
    return view.sum(hits, np.where(within & (hits.count == 1), 1 / hits.rank, 0))


def success(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """Success@k: 1 if any of the first k documents is relevant, else 0."""
    hits = view.hits(measure.rel)
    within = _within(hits, depth)
    return view.sum(hits, within & (hits.count == 1))


def rank_biased_precision(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """RBP (Moffat and Zobel 2008): (1 - p) sum of p^(i - 1) over the relevant documents' ranks i.

    The value is the low end; what unjudged documents and the end of the list leave open is the
    residual (`bounds.residuals`).
    """
    hits = view.hits(measure.rel)
    within = _within(hits, depth)
    weights = measure.p ** np.arange(hits.rank.max(initial=1))
    return (1 - measure.p) * view.sum(hits, np.where(within, weights[hits.rank - 1], 0))


def bpref(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """Bpref (Buckley and Voorhees 2004), as trec_eval has it since version 8.

    (1 / R) sum over the retrieved relevant documents of 1 - min(n, R) / min(N, R), with n judged
    nonrelevant documents above; 1 where n = 0.
    """
    hits = view.hits(measure.rel)
    relevant = view.graded.relevant(measure.rel)[view.query]
    nonrelevant = view.graded.nonrelevant(measure.rel)[view.query]
    above = view.graded.judged_above(measure.rel) - (hits.count - 1)
    lost = ratio(np.minimum(above, relevant[hits.of]), np.minimum(nonrelevant, relevant)[hits.of])
    return ratio(view.sum(hits, 1 - lost), relevant)


def inferred_average_precision(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """infAP (Yilmaz and Aslam 2006), as trec_eval has it.

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
    total = view.sum(hits, np.where(hits.rank == 1, 1, expected))
    return ratio(total, view.graded.relevant(measure.rel)[view.query])


def judged_share(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """Judged@k: the judged share of the first min(k, retrieved) documents of the list as returned.

    No policy changes it.
    """
    return view.graded.judged_within(depth) / np.minimum(depth, view.graded.lists.length)


def _within(hits: Hits, depth: Depth) -> np.ndarray:
    """Which hits are within the depth."""
    return hits.rank <= (depth[hits.of] if np.ndim(depth) else depth)


def ratio(above: np.ndarray, below: np.ndarray | int) -> np.ndarray:
    """above / below; 0 where below is 0."""
    quotient = np.zeros(np.broadcast_shapes(np.shape(above), np.shape(below)))
    return np.divide(above, below, out=quotient, where=np.asarray(below) != 0)
