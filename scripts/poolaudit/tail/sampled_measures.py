"""AP and nDCG estimated from judgments that were sampled: xinfAP and infNDCG.

Yilmaz, Kanoulas and Aslam (2008), *A simple and efficient sampling method for estimating AP and
NDCG*. The documents of a query are divided into strata, such as the judged pool and bands of its
tail; of N_s documents of a stratum n_s were drawn at random and judged. So the sample has to be
drawn within queries (`by-query`).

NIST's sample_eval, which implements the same measures, differs in four ways. It smooths the share
of relevant documents with 3e below the line where the paper has 2e, which shows only where nothing
above a document was sampled; it multiplies xinfAP by R / 1000 where it estimates more than 1,000
relevant documents; it leaves strata without a sample out, where here the query has no value; and it
weights gains by the documents of the stratum in the list (`weights="retrieved"`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from poolaudit.errors import AuditError
from poolaudit.pairs import UNJUDGED, Pairs, Rankings
from poolaudit.scores.formulas import discounts, ratio
from poolaudit.scores.lists import JudgedLists, judged_lists
from poolaudit.scores.measures import UNCUT, running
from poolaudit.tail.sampling import Frame

EPSILON = 1e-5
WHOLE = 0
"""The stratum of the documents that were judged without being drawn."""


@dataclass(frozen=True)
class SampledJudgments:
    """Judgments of which some are a stratified sample.

    Attributes:
        lists: the lists, with rows for all documents of the strata, judged or not.
        query: int32[pairs].
        stratum: int32[pairs], numbered within each query from 0; -1 for documents of no stratum,
            which count as nonrelevant.
        grades: int16[pairs]; UNJUDGED where a document of a stratum was not sampled.
    """

    lists: JudgedLists
    query: np.ndarray
    stratum: np.ndarray
    grades: np.ndarray

    @cached_property
    def n_strata(self) -> int:
        """The largest number of strata of a query."""
        return int(self.stratum.max(initial=-1)) + 1

    @cached_property
    def held(self) -> np.ndarray:
        """N_s, int64[queries, strata]."""
        return self._count(self.stratum >= 0)

    @cached_property
    def sampled(self) -> np.ndarray:
        """n_s, int64[queries, strata]."""
        return self._count((self.stratum >= 0) & (self.grades >= 0))

    @cached_property
    def weight(self) -> np.ndarray:
        """N_s / n_s, float64[queries, strata]: what a sampled document stands for."""
        return ratio(self.held, self.sampled)

    def estimated(self, level: int) -> np.ndarray:
        """float64[queries]: the estimated number of documents with a grade of at least `level`."""
        found = self._count((self.stratum >= 0) & (self.grades >= level))
        return (self.weight * found).sum(axis=1)

    def _count(self, among: np.ndarray) -> np.ndarray:
        shape = len(self.lists.query_ids), self.n_strata
        place = self.query[among] * self.n_strata + self.stratum[among]
        return np.bincount(place, minlength=shape[0] * shape[1]).reshape(shape)

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Values of lists as float64[runs, queries]: 0 where a run has no list, NaN for all runs
        where a stratum of the query has no sampled document."""
        table = self.lists.spread(values)
        table[:, ((self.held > 0) & (self.sampled == 0)).any(axis=1)] = np.nan
        return table


def from_frame(
    pairs: Pairs, rankings: Rankings, judged: np.ndarray, frame: Frame, found: np.ndarray
) -> SampledJudgments:
    """Put judgments and a sample of their tail together.

    Args:
        pairs, rankings: the two tables.
        judged: int16[pairs], the judgment set that the tail was missing from. Its documents are the
            stratum WHOLE of each query.
        frame: the strata of the tail, drawn by query.
        found: int16[pairs], the grades of the sample; UNJUDGED elsewhere.

    Raises:
        AuditError: strata that span queries.
    """
    if frame.strata["query_id"].isna().any():
        raise AuditError(
            "xinfAP and infNDCG need a sample that was drawn within queries",
            found="strata that span queries",
            expected="tail: {design: by-query}",
            todo="draw the sample anew by query, or leave these two measures out",
        )
    number = frame.strata.groupby("query_id").cumcount().to_numpy(np.int32) + 1
    stratum = np.where(judged >= 0, np.int32(WHOLE), np.int32(-1))
    stratum[frame.rows] = number[frame.stratum]
    return sampled_judgments(pairs, rankings, stratum, np.where(judged >= 0, judged, found))


def sampled_judgments(
    pairs: Pairs, rankings: Rankings, stratum: np.ndarray, grades: np.ndarray
) -> SampledJudgments:
    """Judgments with the strata that they were sampled from, as `SampledJudgments` has them."""
    in_stratum = np.where(stratum >= 0, 0, UNJUDGED).astype(np.int16)
    lists = judged_lists(pairs, rankings, in_stratum)
    return SampledJudgments(lists, pairs.query, stratum, grades)


def xinfap(sample: SampledJudgments, level: int = 1) -> np.ndarray:
    """xinfAP: the estimated average precision.

    With r_s relevant among the n_s sampled of N_s, R_s = N_s r_s / n_s and R their sum, xinfAP =
    (1 / R) sum over s of R_s times the mean, over the sampled relevant documents of s, of the
    expected precision at their ranks, 0 for those not retrieved. At rank k it is
    1 / k + sum over s of (c_s / k) (rel_s + e) / (jud_s + 2e), where c_s documents of s stand above
    rank k, jud_s of them sampled and rel_s of these relevant.

    Args:
        sample: the judgments.
        level: the lowest relevant grade.

    Returns:
        float64[runs, queries]: 0 where the run did not answer or R = 0; NaN for a query with a
        stratum of which nothing was sampled.
    """
    lists = sample.lists
    grade, stratum = sample.grades[lists.pair], sample.stratum[lists.pair]
    row = np.flatnonzero(grade >= level)
    of = lists.list_of[row]
    expected = np.ones(len(row))
    for s in range(sample.n_strata):
        mine = stratum == s
        above, judged, relevant = (
            lists.above(running(mine & among), row, of)
            for among in (np.True_, grade >= 0, grade >= level)
        )
        expected += above * (relevant + EPSILON) / (judged + 2 * EPSILON)
    weight = sample.weight[lists.list_query[of], stratum[row]]
    total = np.bincount(of, weight * expected / lists.rank[row], minlength=lists.n_lists)
    return sample.spread(ratio(total, sample.estimated(level)[lists.list_query]))


def infndcg(
    sample: SampledJudgments, cutoff: int | None = None, weights: str = "stratum"
) -> np.ndarray:
    """infNDCG: the estimated nDCG, gain = grade, discount log2(rank + 1).

    DCG = sum over s of (N_s / n_s) times the discounted gains of the sampled documents of s that
    were retrieved. The ideal ranking has the estimated number of documents of each grade, rounded.

    Args:
        sample: the judgments.
        cutoff: where both stop; None: nowhere.
        weights: "stratum" for N_s / n_s as above; "retrieved" for the documents of s in the list
            over those of them that were sampled, as NIST's sample_eval has it.

    Returns:
        As `xinfap`.
    """
    lists, cutoff = sample.lists, cutoff or UNCUT
    grade, stratum = sample.grades[lists.pair], sample.stratum[lists.pair]
    row = np.flatnonzero((grade >= 1) & (lists.rank <= cutoff))
    of = lists.list_of[row]
    rank = lists.rank[row]
    if weights == "stratum":
        weight = sample.weight[lists.list_query[of], stratum[row]]
    else:
        weight = _retrieved_weight(lists, stratum, grade, cutoff)[of, stratum[row]]
    gain = weight * grade[row] / discounts(rank.max(initial=0))[rank]
    total = np.bincount(of, gain, minlength=lists.n_lists)
    return sample.spread(ratio(total, _ideal(sample, cutoff)[lists.list_query]))


def _retrieved_weight(
    lists: JudgedLists, stratum: np.ndarray, grade: np.ndarray, cutoff: int
) -> np.ndarray:
    """float64[lists, strata]: documents in the list over sampled documents in the list."""
    strata = int(stratum.max(initial=0)) + 1
    within = lists.rank <= cutoff
    place = lists.list_of * strata + stratum
    counts = [
        np.bincount(place[among], minlength=lists.n_lists * strata)
        for among in (within, within & (grade >= 0))
    ]
    return ratio(*counts).reshape(lists.n_lists, strata)


def _ideal(sample: SampledJudgments, cutoff: int) -> np.ndarray:
    """float64[queries]: the DCG of the best ranking of the estimated documents of each grade."""
    top = max(1, int(sample.grades.max(initial=0)))
    at_least = [sample.estimated(level) for level in range(1, top + 2)]
    of_grade = [np.rint(more - fewer) for more, fewer in pairwise(at_least)]
    to = np.cumsum(of_grade[::-1], axis=0).astype(np.int64)[::-1]
    to = np.minimum(to, cutoff)
    worth = running(1 / discounts(int(to.max(initial=0)))[1:])
    # A document of grade g stands among those of every level up to g, and each adds a gain of 1.
    return worth[to].sum(axis=0)
