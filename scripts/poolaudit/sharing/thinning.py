"""Missing at random or not: what thinner judgments do to the order of the runs.

Throwing judgments away at random leaves the order of runs nearly as it was, down to half of them
and less (Buckley and Voorhees 2004; Yilmaz and Aslam 2006). What real campaigns leave unjudged is
not random: it lies deep, or is what one family of systems would have found. So each such cut is set
against random thinning to the same number of judged pairs in each query. Only what lies beyond the
band of the random draws is due to the structure of what is missing, and not to its amount.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from poolaudit.pairs import UNJUDGED, Pairs, Rankings
from poolaudit.scores.lists import judged_lists
from poolaudit.scores.measure_names import Measure, parse_measures
from poolaudit.scores.measures import Graded
from poolaudit.scores.policies import POLICIES, evaluate_graded, means
from poolaudit.scores.rank_correlation import kendall_tau

RATES = (0.75, 0.5, 0.25, 0.1)
DRAWS = 30
NOT_DRAWN = np.int16(-1)  # in the pool, not judged: what infAP takes a random sample to leave
COLUMNS = [
    *("kind", "cut", "judged", "share", "policy", "measure"),
    *("tau", "random", "low", "high", "beyond", "draws"),
]
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Cut:
    """A judgment set that lacks something.

    Attributes:
        kind: "depth" for a shallower pool, else the kind of contributor that is left out.
        name: the depth, or the contributor.
        grades: int16[pairs], the judgment set.
    """

    kind: str
    name: str
    grades: np.ndarray


def thin(
    grades: np.ndarray, query: np.ndarray, keep: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Keep a simple random sample of each query's judged pairs.

    Args:
        grades: int16[pairs], a judgment set.
        query: int[pairs], ascending.
        keep: int[queries], how many judged pairs stay, at most those there are.
        rng: the source of chance.

    Returns:
        int16[pairs]. What is thrown out becomes NOT_DRAWN: under a random sample it is known which
        documents of the pool were not judged.
    """
    judged = np.flatnonzero(grades >= 0)
    of = query[judged]
    shuffled = judged[np.argsort(of + rng.random(len(judged)))]
    first = np.searchsorted(of, np.arange(len(keep)))
    thinned = grades.copy()
    thinned[shuffled[np.arange(len(judged)) - first[of] >= keep[of]]] = NOT_DRAWN
    return thinned


def n_judged(pairs: Pairs, grades: np.ndarray) -> np.ndarray:
    """int64[queries]: the judged pairs of each query."""
    return np.bincount(pairs.query[grades >= 0], minlength=len(pairs.query_ids))


def structured_cuts(
    pairs: Pairs, depth: int, depths: Sequence[int], kinds: Sequence[str] = ("family",)
) -> Iterator[Cut]:
    """The judgments of shallower pools, and those without what one contributor alone brought.

    Args:
        pairs: the pairs.
        depth: the depth of the pool that the judgments came from.
        depths: depths of shallower pools.
        kinds: of contributors to leave out; those with fewer than two contributors are passed over.

    Yields:
        The cuts that throw out something and leave something.
    """
    cuts = [Cut("depth", str(d), pairs.grades(d)) for d in depths]
    for kind in kinds:
        names = pairs.holders[kind].names if kind in pairs.holders else ()
        for name in names if len(names) > 1 else ():
            unique = pairs.unique_to(kind, name, depth)
            cuts.append(Cut(kind, name, np.where(unique, np.int16(UNJUDGED), pairs.relevance)))
    whole = np.count_nonzero(pairs.relevance >= 0)
    yield from (cut for cut in cuts if 0 < np.count_nonzero(cut.grades >= 0) < whole)


def order_under_thinning(
    pairs: Pairs,
    rankings: Rankings,
    measures: Sequence[str | Measure],
    policies: Sequence[str] = POLICIES[:3],
    cuts: Sequence[Cut] = (),
    *,
    rates: Sequence[float] = RATES,
    draws: int = DRAWS,
    seed: int = 0,
) -> pd.DataFrame:
    """Kendall's tau of the order of the runs with their order under all of the judgments.

    Both orders are of all audited runs, by the mean of the same measure under the same policy.

    Args:
        pairs, rankings: the two tables.
        measures, policies: what orders the runs.
        cuts: structured cuts.
        rates: shares of each query's judged pairs that random thinning keeps.
        draws: random draws for each rate, and for each cut.
        seed: of the draws; those of one rate or cut do not depend on the others.

    Returns:
        One row for each rate, then for each cut, and each policy and measure:

        * kind (`random`, or that of the cut), cut (`50%`, or the cut's name), measure, policy;
        * judged, share: the judged pairs that are left, and their share of all;
        * tau: of the cut; the mean over the draws for a rate;
        * random, low, high: mean, smallest and largest tau over the draws. By chance alone the tau
          of a cut falls below `low` once in draws + 1 times;
        * beyond: `below` or `above` the band, or `within` it; null for a rate, and where the policy
          gives no score;
        * draws: those that gave an order.
    """
    measures = parse_measures(measures)
    lists = judged_lists(pairs, rankings)
    judged, lists = lists.judged_pair, lists.of_judged()
    whole = Graded(lists, pairs.relevance[judged])
    total = n_judged(pairs, pairs.relevance)
    reference = _scores(whole, measures, policies)

    def taus(grades: np.ndarray) -> np.ndarray:
        return _taus(reference, _scores(whole.smaller(grades), measures, policies))

    plans = [("random", f"{rate:.0%}", _at_rate(total, rate), None) for rate in rates]
    plans += [(cut.kind, cut.name, n_judged(pairs, cut.grades), cut) for cut in cuts]
    tables = [pd.DataFrame(columns=COLUMNS)]
    for number, (kind, name, keep, cut) in enumerate(plans):
        # A cut's stream of chance goes by its place among the cuts, a rate's by the rate itself.
        stream = [1, number - len(rates)] if cut else [0, round(1e6 * rates[number])]
        rng = np.random.default_rng([seed, *stream])
        thinned = (thin(whole.grades, lists.judged_query, keep, rng) for _ in range(draws))
        drawn = np.array([taus(grades) for grades in thinned])
        table = _rows(drawn, taus(cut.grades[judged]) if cut else None, measures, policies)
        left = int(keep.sum())
        table = table.assign(kind=kind, cut=name, judged=left, share=left / total.sum())
        tables.append(table[COLUMNS])
    return pd.concat(tables[1:] or tables, ignore_index=True)


def _at_rate(total: np.ndarray, rate: float) -> np.ndarray:
    """int64[queries]: this share of each query's judged pairs, and no query left without one."""
    return np.minimum(total, np.maximum(1, np.rint(rate * total).astype(np.int64)))


def _scores(graded: Graded, measures: Sequence[Measure], policies: Sequence[str]) -> np.ndarray:
    """float64[policies, measures, runs]: mean scores."""
    return np.array([means(e) for e in evaluate_graded(graded, measures, policies)])


def _taus(reference: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """float64[policies, measures]."""
    shape = reference.shape
    rows = zip(reference.reshape(-1, shape[2]), scores.reshape(-1, shape[2]), strict=True)
    return np.array([kendall_tau(*row) for row in rows]).reshape(shape[:2])


def _rows(
    drawn: np.ndarray,
    tau: np.ndarray | None,
    measures: Sequence[Measure],
    policies: Sequence[str],
) -> pd.DataFrame:
    """The rows of one rate or cut, from float64[draws, policies, measures] and its own tau."""
    # A draw in which all runs tie, or none has a score, has no tau.
    valid = np.isfinite(drawn)
    n_valid = valid.sum(axis=0)
    total = np.where(valid, drawn, 0).sum(axis=0)
    mean = np.divide(total, n_valid, out=np.full(total.shape, np.nan), where=n_valid > 0)
    low = np.where(n_valid > 0, np.where(valid, drawn, np.inf).min(axis=0), np.nan)
    high = np.where(n_valid > 0, np.where(valid, drawn, -np.inf).max(axis=0), np.nan)
    beyond = np.full(mean.shape, None, object)
    if tau is not None:
        known = np.isfinite(tau) & np.isfinite(mean)
        beyond[known] = "within"
        beyond[known & (tau < low - _TOLERANCE)] = "below"
        beyond[known & (tau > high + _TOLERANCE)] = "above"
    columns = {"tau": mean if tau is None else tau, "random": mean, "low": low, "high": high}
    return pd.DataFrame(
        {
            "policy": np.repeat(np.array(policies, object), len(measures)),
            "measure": np.tile(np.array([m.name for m in measures], object), len(policies)),
            **{name: values.reshape(-1) for name, values in columns.items()},
            "beyond": beyond.reshape(-1),
            "draws": n_valid.reshape(-1),
        }
    )
