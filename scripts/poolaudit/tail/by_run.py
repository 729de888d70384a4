"""What a judged sample of the tail means for each run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from poolaudit.pairs import Pairs, Rankings
from poolaudit.scores.formulas import ratio
from poolaudit.scores.lists import JudgedLists, judged_lists
from poolaudit.scores.policies import evaluate
from poolaudit.tail.sampled_measures import SampledJudgments, from_frame, infndcg, xinfap
from poolaudit.tail.sampling import Frame

if TYPE_CHECKING:
    import pandas as pd


SCORES = ("ap", "xinfap", "ap_true", "ndcg", "infndcg", "ndcg_true", "recall_true")


def grades_in(pairs: Pairs, sample: pd.DataFrame) -> np.ndarray:
    """int16[pairs]: the grades of a filled-in sample; UNJUDGED for all other pairs."""
    graded = sample[sample["relevance"].notna()]
    return pairs.grades_of(
        pa.table(
            {
                "query_id": pa.array(graded["query_id"], pa.string()),
                "doc_id": pa.array(graded["doc_id"], pa.string()),
                "relevance": graded["relevance"].to_numpy(np.int16),
            }
        )
    )


def by_run(
    pairs: Pairs,
    rankings: Rankings,
    judged: np.ndarray,
    frame: Frame,
    found: np.ndarray,
    levels: Sequence[int],
    known: np.ndarray | None = None,
) -> pd.DataFrame:
    """What the estimate of the tail makes of each run's recall, AP and nDCG.

    Args:
        pairs, rankings: the two tables.
        judged: int16[pairs], the judgment set that the tail was missing from.
        frame: the strata of the tail.
        found: int16[pairs], the grades of the sample (`grades_in`).
        levels: the lowest relevant grades.
        known: int16[pairs], the grades of the whole tail, where they are known.

    Returns:
        A row for each level and run: level, run, returned (relevant documents of the judgment set
        that the run returned), sampled (those of the sample), returned_tail (each of these times
        N / n of its stratum), base and base_tail (R over all queries, and what the sample adds to
        it), recall = returned / base and recall_estimated, with both parts; ap and ndcg (uncut),
        their estimates xinfap and infndcg, means over the queries of which every stratum was
        sampled: null unless the sample was drawn by query; recall_true, ap_true and ndcg_true, with
        the known grades of the tail, over the same queries; null where they are not known.
    """
    import pandas as pd

    drawn = frame.rows[found[frame.rows] >= 0]
    stands_for = _stands_for(frame, found)
    by_query = frame.strata["query_id"].notna().all()
    sample = from_frame(pairs, rankings, judged, frame, found) if by_query else None
    whole = _with_tail(judged, frame, found if known is None else known)
    lists = judged_lists(pairs, rankings, whole)
    tables = []
    for level in levels:
        relevant = drawn[found[drawn] >= level]
        weight = np.zeros(len(pairs))
        weight[relevant] = stands_for[np.searchsorted(frame.rows, relevant)]
        counts = {
            "returned": _sums(lists, judged >= level),
            "sampled": _sums(lists, weight > 0),
            "returned_tail": _sums(lists, weight),
            "base": (judged >= level).sum(),
            "base_tail": weight.sum(),
        }
        scores = _scores(lists, judged, None if known is None else whole, sample, level)
        tables.append(pd.DataFrame({"level": level, "run": lists.runs, **counts, **scores}))
    table = pd.concat(tables, ignore_index=True)
    table = table.astype({"returned": "int64", "sampled": "int64"})
    table["recall"] = ratio(table["returned"], table["base"])
    table["recall_estimated"] = ratio(
        table["returned"] + table["returned_tail"], table["base"] + table["base_tail"]
    )
    return table


def _stands_for(frame: Frame, found: np.ndarray) -> np.ndarray:
    """float64[population]: N / n of each document's stratum, n counted over what was judged."""
    held = frame.strata["population"].to_numpy()
    judged = np.bincount(frame.stratum[found[frame.rows] >= 0], minlength=len(held))
    return ratio(held, judged)[frame.stratum]


def _sums(lists: JudgedLists, values: np.ndarray) -> np.ndarray:
    """float64[runs]: the sum of values of pairs over what each run returned."""
    run = lists.list_run[lists.list_of]
    return np.bincount(run, values[lists.pair], minlength=len(lists.runs))


def _with_tail(judged: np.ndarray, frame: Frame, grades: np.ndarray) -> np.ndarray:
    """int16[pairs]: the judgments, and the grades of the tail."""
    whole = judged.copy()
    whole[frame.rows] = grades[frame.rows]
    return whole


def _scores(
    lists: JudgedLists,
    judged: np.ndarray,
    whole: np.ndarray | None,
    sample: SampledJudgments | None,
    level: int,
) -> dict[str, np.ndarray | float]:
    """Scores without and with the sample, and with all of the tail, over the same queries."""
    measures = [f"AP(rel={level})", "nDCG"]
    values = dict(zip(("ap", "ndcg"), evaluate(lists, judged, measures).values, strict=True))
    sampled = np.ones(len(lists.query_ids), bool)
    if sample is not None:
        values |= {"xinfap": xinfap(sample, level), "infndcg": infndcg(sample)}
        sampled = ~np.isnan(values["xinfap"][0])
    if whole is not None:
        values["ap_true"], values["ndcg_true"] = evaluate(lists, whole, measures).values
    means = {name: value[:, sampled].mean(axis=1) for name, value in values.items()}
    if whole is not None:
        means["recall_true"] = _sums(lists, whole >= level) / max(1, (whole >= level).sum())
    return dict.fromkeys(SCORES, np.nan) | means
