"""Two ledgers that a reader of a score needs: which labels it used, and which queries.

The label ledger says for each measure from which grade on a document counts as relevant, what the
collection's official measures say, and what another level would do to the order of the runs. The
topic ledger says for each query where it occurs and whether it is averaged over. Beside them: the
means under both conventions for unanswered queries, and which comparisons cross the line between
reranking and full ranking.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from poolaudit.errors import AuditError
from poolaudit.pairs import UNJUDGED, Pairs, Rankings
from poolaudit.scores.lists import JudgedLists, judged_lists
from poolaudit.scores.measure_names import Measure, at_level, parse_measure, parse_measures
from poolaudit.scores.policies import Evaluation, answered, evaluate, means, n_values
from poolaudit.scores.rank_correlation import kendall_tau

FEW_RELEVANT = 5
MOST_SPARSE = 5


def label_ledger(
    lists: JudgedLists,
    grades: np.ndarray,
    measures: Iterable[str | Measure],
    official: Sequence[str],
) -> list[dict]:
    """Which grade counts as relevant, and what another choice would do.

    Args:
        lists, grades: the judged lists and a judgment set.
        measures: names, or parsed measures.
        official: the names of the collection's official measures.

    Returns:
        For each measure: "measure"; "rel", the lowest relevant grade, None where grades are gains;
        "official_rel", that of the official measure of the same kind, or the one level that all
        official measures of binary relevance share, or None; "agrees", None where either is None;
        "reference_rel", the official level, or the measure's own; "tau_at", for every other level
        Kendall's tau between the orders of the runs there and at the reference level (None where
        a single run, or equal scores, have no order); "mean_at",
        the mean score over runs at every level.
    """
    levels = range(1, max(1, int(grades.max(initial=0))) + 1)
    official_levels = _official_levels(official)
    return [
        _labels_of(lists, grades, measure, official_levels, levels)
        for measure in parse_measures(measures)
    ]


def _official_levels(official: Sequence[str]) -> dict[str, int]:
    """The level of each official measure of binary relevance; under "" the one they share."""
    known = []
    for name in official:
        try:
            known.append(parse_measure(name))
        except AuditError:  # a measure that cannot be computed here still stands in the documents
            continue
    levels = {measure.base: measure.rel for measure in known if measure.rel is not None}
    if len(set(levels.values())) == 1:
        levels[""] = next(iter(levels.values()))
    return levels


def _labels_of(
    lists: JudgedLists,
    grades: np.ndarray,
    measure: Measure,
    official_levels: Mapping[str, int],
    levels: Iterable[int],
) -> dict:
    official = official_levels.get(measure.base, official_levels.get(""))
    row = {
        "measure": measure.name,
        "rel": measure.rel,
        "official_rel": None if measure.rel is None else official,
        "agrees": None,
        "reference_rel": None,
        "tau_at": {},
        "mean_at": {},
    }
    if measure.rel is None:
        return row
    reference = official or measure.rel
    compared = sorted({*levels, measure.rel, reference})
    variants = [at_level(measure, level) for level in compared]
    scores = dict(zip(compared, means(evaluate(lists, grades, variants)), strict=True))
    return row | {
        "agrees": None if official is None else official == measure.rel,
        "reference_rel": reference,
        "tau_at": {
            level: _or_none(kendall_tau(scores[reference], scores[level]))
            for level in compared
            if level != reference
        },
        "mean_at": {level: float(np.nanmean(scores[level])) for level in compared},
    }


def _or_none(value: float) -> float | None:
    """The value; None where there is none, as for the order of one run or of equal scores."""
    return None if np.isnan(value) else float(value)


def label_warnings(
    lists: JudgedLists,
    grades: np.ndarray,
    measures: Iterable[str | Measure],
    official: Sequence[str],
    meanings: Collection[str] = (),
) -> list[dict]:
    """Labels that are not what the measures take them for.

    Args:
        lists, grades: the judged lists and the full judgments.
        measures: names, or parsed measures.
        official: the names of the collection's official measures.
        meanings: the grades that the collection's documentation explains.

    Returns:
        Notes {"kind", "text", "queries"}: "level", a measure counts other grades as relevant than
        the official one; "binarised", gains over judgments cut down to 0 and 1 of a collection with
        more grades; "mixed", queries with sparse labels beside queries with judged pools.
    """
    measures = parse_measures(measures)
    official_levels = _official_levels(official)
    return [
        *_level_notes(measures, official_levels),
        *_binarised_note(lists, grades, measures, official_levels, meanings),
        *_mixed_note(lists, grades),
    ]


def _level_notes(measures: Sequence[Measure], official_levels: Mapping[str, int]) -> list[dict]:
    notes = []
    for measure in measures:
        official = official_levels.get(measure.base, official_levels.get(""))
        if measure.rel is not None and official not in (None, measure.rel):
            text = (
                f"{measure.name} counts grades from {measure.rel} on as relevant; the collection's "
                f"official measures count them from {official} on"
            )
            notes.append({"kind": "level", "text": text, "queries": []})
    return notes


def _binarised_note(
    lists: JudgedLists,
    grades: np.ndarray,
    measures: Sequence[Measure],
    official_levels: Mapping[str, int],
    meanings: Collection[str],
) -> list[dict]:
    gains = [measure.name for measure in measures if measure.base in ("nDCG", "NCG")]
    highest = max([0, *map(int, meanings), *official_levels.values()])
    found = int(grades[lists.judged_pair].max(initial=0))
    if not gains or found > 1 or highest <= 1:
        return []
    text = (
        f"{', '.join(gains)}: no judgment here is above grade 1, but the collection's grades go up "
        f"to {highest}. These are binarised judgments; gains over them are not comparable with "
        "those over the graded ones"
    )
    return [{"kind": "binarised", "text": text, "queries": []}]


def _mixed_note(lists: JudgedLists, grades: np.ndarray) -> list[dict]:
    """Sparse labels name a few relevant documents of a query and no others, as MS MARCO's do.

    Where both kinds of labels were given for the same query this cannot be seen.
    """
    grade, n_queries = grades[lists.judged_pair], len(lists.query_ids)
    judged = np.bincount(lists.judged_query[grade >= 0], minlength=n_queries)
    ones = np.bincount(lists.judged_query[grade == 1], minlength=n_queries)
    sparse = (judged > 0) & (ones == judged) & (judged <= MOST_SPARSE)
    pooled = np.bincount(lists.judged_query[grade == 0], minlength=n_queries) > 0
    if not (sparse.any() and pooled.any()):
        return []
    text = (
        f"{sparse.sum()} queries have at most {MOST_SPARSE} documents of grade 1 and no other "
        f"judgment, as MS MARCO's sparse labels do, and {pooled.sum()} queries have judged pools. "
        "Means over both kinds of labels say nothing about either"
    )
    queries = [lists.query_ids[query] for query in np.flatnonzero(sparse)]
    return [{"kind": "mixed", "text": text, "queries": queries}]


def rr_over_sparse_labels(
    pairs: Pairs, rankings: Rankings, labels: pa.Table, *, cutoff: int = 10
) -> Evaluation:
    """RR@k over a second, sparse set of labels such as MS MARCO's, as a measure of its own.

    Args:
        pairs, rankings: the two tables.
        labels: query_id, doc_id, relevance; grades of 1 or more are relevant.
        cutoff: where it stops; MS MARCO's own is 10.

    Returns:
        One measure, `RR@<cutoff> (sparse labels)`; NaN for queries without a relevant label. It
        is never averaged with, or compared to, scores over the collection's judgments.
    """
    relevant = labels.filter(pc.greater_equal(labels["relevance"], 1))
    query_ids = pa.array(pairs.query_ids, pa.string())
    keys = pc.binary_join_element_wise(
        query_ids.take(pa.array(pairs.query)), pairs.doc_id.cast(pa.string()), "\t"
    )
    wanted = pc.binary_join_element_wise(relevant["query_id"], relevant["doc_id"], "\t")
    labelled = pc.is_in(keys, value_set=wanted).to_numpy(zero_copy_only=False)
    grades = np.where(labelled, 1, UNJUDGED).astype(np.int16)
    scores = evaluate(judged_lists(pairs, rankings, grades), grades, [f"RR@{cutoff}"])
    known = pc.is_in(query_ids, value_set=relevant["query_id"]).to_numpy(zero_copy_only=False)
    return Evaluation(
        policy=scores.policy,
        measures=(f"RR@{cutoff} (sparse labels)",),
        runs=scores.runs,
        query_ids=scores.query_ids,
        values=np.where(known, scores.values, np.nan),
    )


def topic_ledger(
    lists: JudgedLists,
    grades: np.ndarray,
    topics: Sequence[str],
    *,
    rel: int = 1,
    few: int = FEW_RELEVANT,
) -> pa.Table:
    """What became of each query.

    Args:
        lists, grades: the judged lists and a judgment set.
        topics: the query ids of the topics file.
        rel: the lowest relevant grade.
        few: fewer relevant documents than this are flagged: scores of such a query jump.

    Returns:
        query_id, in_topics, in_judgments, judged, relevant, averaged (bool: all queries with
        judgments are), few_relevant, answered_by (number of runs), not_answered_by (list of runs);
        ordered by query_id.
    """
    place = {query: i for i, query in enumerate(lists.query_ids)}
    grade, n_queries = grades[lists.judged_pair], len(lists.query_ids)
    judged = np.bincount(lists.judged_query[grade >= 0], minlength=n_queries)
    relevant = np.bincount(lists.judged_query[grade >= rel], minlength=n_queries)
    has_answer = answered(lists)
    in_topics, rows = set(topics), []
    for query in sorted({*topics, *lists.query_ids}, key=str.encode):
        at = place.get(query)
        silent = np.flatnonzero(~has_answer[:, at]) if at is not None else []
        rows.append(
            {
                "query_id": query,
                "in_topics": query in in_topics,
                "in_judgments": at is not None,
                "judged": 0 if at is None else int(judged[at]),
                "relevant": 0 if at is None else int(relevant[at]),
                "averaged": at is not None,
                "few_relevant": at is not None and bool(relevant[at] < few),
                "answered_by": 0 if at is None else int(has_answer[:, at].sum()),
                "not_answered_by": [lists.runs[run] for run in silent],
            }
        )
    return pa.Table.from_pylist(rows, _TOPIC_LEDGER)


_TOPIC_LEDGER = pa.schema(
    {
        "query_id": pa.string(),
        "in_topics": pa.bool_(),
        "in_judgments": pa.bool_(),
        "judged": pa.int32(),
        "relevant": pa.int32(),
        "averaged": pa.bool_(),
        "few_relevant": pa.bool_(),
        "answered_by": pa.int32(),
        "not_answered_by": pa.list_(pa.string()),
    }
)


def both_means(evaluation: Evaluation, lists: JudgedLists) -> pa.Table:
    """The mean score under both conventions for queries that a run did not answer.

    Returns:
        policy, measure, run; mean_unanswered_as_0 (trec_eval -c) over `queries` queries, and
        mean_over_answered (trec_eval's default) over `answered` queries; null where there are none.
        Queries without a value under the policy are in neither.
    """
    has_answer = answered(lists)
    over_answered = Evaluation(
        policy=evaluation.policy,
        measures=evaluation.measures,
        runs=evaluation.runs,
        query_ids=evaluation.query_ids,
        values=np.where(has_answer, evaluation.values, np.nan),
    )
    shape = (len(evaluation.measures), len(evaluation.runs))
    columns = {
        "policy": np.full(len(evaluation.measures) * len(evaluation.runs), evaluation.policy),
        "measure": np.repeat(evaluation.measures, shape[1]),
        "run": np.tile(evaluation.runs, shape[0]),
        "mean_unanswered_as_0": means(evaluation).ravel(),
        "queries": n_values(evaluation).ravel(),
        "mean_over_answered": means(over_answered).ravel(),
        "answered": n_values(over_answered).ravel(),
    }
    return pa.table({name: pa.array(values, from_pandas=True) for name, values in columns.items()})
