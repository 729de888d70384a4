"""How low and how high a score could be, if the unjudged documents were judged.

The documents that may be judged, with any grade from 0 to the highest, are the unjudged ones among
the first `depth` of any audited run; what lies deeper stays nonrelevant. R and the ideal ranking
move with every judging, so "all of them relevant" is not the highest AP or nDCG, and "none" is not
the lowest. Each rule here finds the extreme judgings without trying them all:

* P, Success, RR, RBP: all of them in the list relevant, or none.
* R: all in the list and no other, or all others and none in the list.
* AP: for each number of newly relevant documents in the list the best places are the highest, the
  worst the lowest; no other document is relevant for the maximum, all others are for the minimum.
* nDCG, NCG and Bpref: see `gain_bounds` and `bpref_bounds`.

The bounds are exact: some judging reaches them. They are worst cases, not intervals: no chance is
attached to them, and over a deep population they say little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from poolaudit.pairs import Pairs, Rankings
from poolaudit.scores.bpref_bounds import bpref_bounds
from poolaudit.scores.formulas import ratio
from poolaudit.scores.gain_bounds import gain_bounds
from poolaudit.scores.judgeable import Judgeable, population
from poolaudit.scores.lists import JudgedLists
from poolaudit.scores.measure_names import Measure, parse_measures
from poolaudit.scores.measures import UNCUT, Graded, View, compute, running, running_in_lists
from poolaudit.scores.policies import restricted_depth

DEPTH = 100


@dataclass(frozen=True)
class Bounds:
    """The lowest and highest scores over the judgings of a stated population.

    Attributes:
        measures, runs, query_ids: what the axes of the arrays stand for.
        depths: for each measure, how far down the audited runs the judgeable documents were taken.
        low, high: float64[measures, runs, queries], over all judgeable documents. 0 where the run
            did not answer the query; NaN for measures without a rule.
        own_low, own_high: the same where only those among the list's own first documents can be
            relevant.
    """

    measures: tuple[str, ...]
    runs: tuple[str, ...]
    query_ids: tuple[str, ...]
    depths: tuple[int, ...]
    low: np.ndarray
    high: np.ndarray
    own_low: np.ndarray
    own_high: np.ndarray


def bounds(
    pairs: Pairs,
    rankings: Rankings,
    measures: Iterable[str | Measure],
    *,
    grades: np.ndarray | None = None,
    depth: int = DEPTH,
    top_grade: int | None = None,
) -> Bounds:
    """Bound the scores of every run on every query.

    Args:
        pairs, rankings: the two tables.
        measures: names, or parsed measures. infAP, Judged, measures of judged documents only and
            those of ir_measures have no rule.
        grades: int16[pairs], the judgment set; default: all the judgments.
        depth: how far down the audited runs documents count as judgeable for a measure without a
            cutoff; for one with a cutoff it is the cutoff.
        top_grade: the highest grade that a judging can give; default: the highest given.

    Returns:
        The bounds. The score under `nonrelevant` lies between them, but for Bpref: see there.
    """
    measures = parse_measures(measures)
    grades = pairs.relevance if grades is None else grades
    if top_grade is None:
        top_grade = max(1, int(pairs.relevance.max(initial=0)))
    depths = tuple(measure.cutoff or depth for measure in measures)
    populations = {d: population(pairs, rankings, grades, d, top_grade) for d in set(depths)}
    found = []
    for measure, at in zip(measures, depths, strict=True):
        lists = populations[at].graded.lists
        for own in (False, True):
            judgeable = populations[at].seen_to(measure.cutoff, own=own)
            unanswered = 0 if has_rule(measure) else np.nan
            ends = _bounds_of(judgeable, measure)
            found += [lists.spread(values, missing=unanswered) for values in ends]
    shape = (len(measures), 4, len(rankings.runs), len(rankings.query_ids))
    low, high, own_low, own_high = np.moveaxis(np.array(found).reshape(shape), 1, 0)
    return Bounds(
        measures=tuple(measure.name for measure in measures),
        runs=rankings.runs,
        query_ids=rankings.query_ids,
        depths=depths,
        low=low,
        high=high,
        own_low=own_low,
        own_high=own_high,
    )


def join_bounds(parts: Sequence[Bounds]) -> Bounds:
    """The bounds of batches of queries as those of all."""
    ends = {
        end: np.concatenate([getattr(part, end) for part in parts], axis=2)
        for end in ("low", "high", "own_low", "own_high")
    }
    query_ids = tuple(query for part in parts for query in part.query_ids)
    return replace(parts[0], query_ids=query_ids, **ends)


def has_rule(measure: Measure) -> bool:
    """Whether there are bounds of the measure."""
    return measure.ours and not measure.judged_only and measure.base in _RULES


def _bounds_of(judgeable: Judgeable, measure: Measure) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and highest value of each list."""
    if not has_rule(measure):
        nothing = np.full(judgeable.n_lists, np.nan)
        return nothing, nothing
    if measure.rel is not None and measure.rel > judgeable.top:
        nothing = np.zeros(judgeable.n_lists)
        return nothing, nothing
    return _RULES[measure.base](judgeable, measure)


def _none_or_all(judgeable: Judgeable, measure: Measure) -> tuple[np.ndarray, np.ndarray]:
    """P, Success, RR and RBP: what is not in the list does not matter."""
    low = compute(judgeable.view, measure)
    graded = judgeable.view.graded
    grade = graded.grade.copy()
    grade[judgeable.row] = judgeable.top
    return low, compute(View(graded.regraded(grade), condensed=False), measure)


def _recall(judgeable: Judgeable, measure: Measure) -> tuple[np.ndarray, np.ndarray]:
    """R@k: more found in the list raises it, more elsewhere lowers it."""
    now = compute(judgeable.view, measure)
    relevant = judgeable.view.graded.relevant(measure.rel)[judgeable.view.query]
    found = np.rint(now * relevant)
    low = ratio(found, relevant + judgeable.outside)
    return low, ratio(found + judgeable.count, relevant + judgeable.count)


def _average_precision(judgeable: Judgeable, measure: Measure) -> tuple[np.ndarray, np.ndarray]:
    """AP: R times AP is the sum over pairs of relevant documents of 1 / the lower rank of the two,
    a document being paired with itself too, so each newly relevant one adds a known amount.
    """
    view, lists = judgeable.view, judgeable.view.graded.lists
    of, offsets = judgeable.of, judgeable.offsets
    now = compute(view, measure)
    relevant = view.graded.relevant(measure.rel)[view.query]
    total = now * relevant

    within = (view.graded.grade >= measure.rel) & (lists.rank <= (measure.cutoff or UNCUT))
    above = lists.above(running(within), judgeable.row, of)
    # The row itself is not relevant yet: what is not above it is below it.
    weight, of_list = running_in_lists(np.where(within, 1 / lists.rank, 0), lists.offsets)
    alone = (1 + above) / judgeable.rank + of_list[of] - weight[judgeable.row]

    from_top, _ = running_in_lists(alone + (judgeable.place - 1) / judgeable.rank, offsets)
    high = now.copy()
    np.maximum.at(high, of, (total[of] + from_top) / (relevant[of] + judgeable.place))

    own, of_list = running_in_lists(1 / judgeable.rank, offsets)
    alone += of_list[of] - own
    down_to, of_list = running_in_lists(alone, offsets)
    worst = total[of] + of_list[of] - down_to + alone
    chosen = judgeable.count[of] - judgeable.place + 1
    low = np.minimum(now, ratio(total, relevant + judgeable.outside))
    np.minimum.at(low, of, worst / (relevant[of] + chosen + judgeable.outside[of]))
    return low, high


_RULES: dict[str, Callable[[Judgeable, Measure], tuple[np.ndarray, np.ndarray]]] = {
    "P": _none_or_all,
    "Success": _none_or_all,
    "RR": _none_or_all,
    "RBP": _none_or_all,
    "R": _recall,
    "AP": _average_precision,
    "nDCG": gain_bounds,
    "NCG": gain_bounds,
    "Bpref": bpref_bounds,
}


def residuals(
    lists: JudgedLists, grades: np.ndarray, measure: str | Measure, policy: str = "nonrelevant"
) -> np.ndarray:
    """What RBP leaves open: its value could be higher by this much (Moffat and Zobel 2008).

    The weight of the unjudged documents and that of all ranks below the last one evaluated, p^n:
    1 minus the weight of the judged documents.

    Args:
        lists, grades: the judged lists and the judgment set.
        measure: an RBP.
        policy: one of POLICIES.

    Returns:
        float64[runs, queries]; 1 where the run did not answer the query.
    """
    (measure,) = parse_measures([measure])
    graded = Graded(lists, grades)
    judged = graded.regraded(np.where(graded.grade >= 0, 1, graded.grade))
    view = View(judged, condensed=policy == "condense")
    depth = measure.cutoff or UNCUT
    if policy.startswith("restrict"):
        depth = restricted_depth(view, depth, common=policy == "restrict-common")
    weight = compute(view, replace(measure, rel=1), depth)
    return lists.spread(np.maximum(1 - weight, 0), missing=1)


def residuals_of(
    lists: JudgedLists, grades: np.ndarray, measures: Sequence[str], policy: str
) -> np.ndarray:
    """float64[measures, runs, queries]: `residuals` of each RBP; NaN for other measures."""
    none = np.full((len(lists.runs), len(lists.query_ids)), np.nan)
    return np.stack(
        [
            residuals(lists, grades, measure, policy) if measure.base == "RBP" else none
            for measure in parse_measures(measures)
        ]
    )
