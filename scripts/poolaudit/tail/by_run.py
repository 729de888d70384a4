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
) -> pd.DataFrame:
    """What the estimate of the tail makes of each run's recall, AP and nDCG.

    Args:
        pairs, rankings: the two tables.
        judged: int16[pairs], the judgment set that the tail was missing from.
        frame: the strata of the tail.
        found: int16[pairs], the grades of the sample (`grades_in`).
        levels: the lowest relevant grades.

    Returns:
        A row for each level and run: level, run, returned (relevant documents of the judgment set
        that the run returned), sampled (those of the sample), returned_tail (each of these times
        N / n of its stratum), base and base_tail (R over all queries, and what the sample adds to
        it), recall = returned / base and recall_estimated, with both parts. Where the sample was
        drawn by query also ap beside xinfap, and ndcg beside infndcg (uncut): means over the
        queries with a value. Else these are null.
    """
    import pandas as pd

    drawn = frame.rows[found[frame.rows] >= 0]
    stands_for = _stands_for(frame, found)
    lists = judged_lists(pairs, rankings, np.where(judged >= 0, judged, found))
    by_query = frame.strata["query_id"].notna().all()
    sample = from_frame(pairs, rankings, judged, frame, found) if by_query else None
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
        scores = _scores(lists, judged, sample, level)
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


def _scores(
    lists: JudgedLists, judged: np.ndarray, sample: SampledJudgments | None, level: int
) -> dict[str, np.ndarray | float]:
    """Scores without and with the sample, over the queries with a value in the second."""
    if sample is None:
        return dict.fromkeys(("ap", "xinfap", "ndcg", "infndcg"), np.nan)
    ap, ndcg = evaluate(lists, judged, [f"AP(rel={level})", "nDCG"]).values
    estimated = xinfap(sample, level), infndcg(sample)
    known = ~np.isnan(estimated[0][0])
    values = {"ap": ap, "xinfap": estimated[0], "ndcg": ndcg, "infndcg": estimated[1]}
    return {name: value[:, known].mean(axis=1) for name, value in values.items()}
