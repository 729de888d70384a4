"""Measures that are not the project's own, computed by ir_measures over the same order."""

from __future__ import annotations

import numpy as np

from poolaudit.errors import AuditError
from poolaudit.scores.measure_names import Measure
from poolaudit.scores.measures import View


def compute_with_ir_measures(view: View, measure: Measure) -> np.ndarray:
    """The values of a measure that ir_measures computes.

    ir_measures is given documents whose scores fall with their rank in the project's order, so
    that no tie is left for it to break its own way. Documents stand under their row numbers; those
    that no assessor saw, which carry nothing but a place, under their ranks.

    Args:
        view: the judged lists under one judgment set, whole or condensed.
        measure: a measure with `ours` false.

    Returns:
        float64[lists].

    Raises:
        AuditError: the provider that ir_measures calls gives up.
    """
    import ir_measures

    lists = view.graded.lists
    evaluator = ir_measures.evaluator([ir_measures.parse_measure(measure.name)], _qrels(view))
    values = np.zeros((len(lists.runs), len(lists.query_ids)))
    try:
        for run in range(len(lists.runs)):
            for metric in evaluator.iter_calc(_run(view, run)):
                values[run, int(metric.query_id)] = metric.value
    except Exception as error:
        # A provider may be a program that gives up, as gdeval does on grades above 4.
        raise AuditError(
            f"ir_measures cannot compute {measure.name} on these judgments.",
            where="the measures of the collection",
            found=f"{type(error).__name__} from its provider; grades up to "
            f"{view.graded.grades.max()}",
            expected="grades and names that the provider takes: ERR and nDCG with dcg='exp-log2' "
            "are computed by gdeval, which takes grades up to 4",
            todo="leave the measure out, or choose another",
        ) from error
    return values[lists.list_run, lists.list_query]


def _qrels(view: View) -> dict[str, dict[str, int]]:
    """The judged documents by query."""
    lists = view.graded.lists
    qrels: dict[str, dict[str, int]] = {str(q): {} for q in range(len(lists.query_ids))}
    grades = view.graded.grades[lists.judged_pair]
    columns = lists.judged_query.tolist(), lists.judged_pair.tolist(), grades.tolist()
    for query, pair, grade in zip(*columns, strict=True):
        if grade >= 0:
            qrels[str(query)][str(pair)] = grade
    return qrels


def _run(view: View, run: int) -> dict[str, dict[str, float]]:
    """One run: for each query its documents, with scores that fall by one from rank to rank."""
    lists = view.graded.lists
    ranking = {}
    for i in np.flatnonzero(lists.list_run == run):
        rows = slice(lists.offsets[i], lists.offsets[i + 1])
        judged = view.graded.grade[rows] >= 0
        docs = lists.pair[rows][judged].tolist()
        if view.condensed:
            names = [str(doc) for doc in docs]
        else:
            names = [f"unjudged-{rank}" for rank in range(1, lists.length[i] + 1)]
            for rank, doc in zip(lists.rank[rows][judged].tolist(), docs, strict=True):
                names[rank - 1] = str(doc)
        scores = map(float, range(len(names), 0, -1))
        ranking[str(lists.list_query[i])] = dict(zip(names, scores, strict=True))
    return ranking
