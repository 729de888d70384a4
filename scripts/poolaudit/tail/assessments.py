"""New assessments: folded into the judgments, and what they do to the scores.

Folding makes a new version of the judgments and leaves the old one alone. Each pair of it says by
which route it came in: "pool" for what was judged before, "sample" for what was drawn at random,
"targeted" for what somebody picked. Only sampled documents have a known chance of having been
drawn, so only they enter estimates.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from poolaudit.errors import BELOW, AuditError, first_of
from poolaudit.pairs import UNJUDGED, Pairs, Rankings
from poolaudit.scores.lists import JudgedLists, judged_lists
from poolaudit.scores.measure_names import Measure, parse_measures
from poolaudit.scores.policies import change, coverage, evaluate

if TYPE_CHECKING:
    import pandas as pd

KEY = ["query_id", "doc_id"]
CHANCE = "inclusion_probability"
SCHEMA = pa.schema(
    [
        ("query_id", pa.string()),
        ("doc_id", pa.string()),
        ("relevance", pa.int16()),
        ("route", pa.string()),
        (CHANCE, pa.float64()),
    ]
)


def fold_assessments(judgments: pa.Table, assessed: pd.DataFrame, route: str) -> pa.Table:
    """Add assessments to the judgments.

    Args:
        judgments: query_id, doc_id, relevance and, from the second version on, route and
            inclusion_probability; without them the pairs count as route "pool".
        assessed: query_id, doc_id, relevance (rows without a grade are left out) and, for a sample,
            inclusion_probability.
        route: "sample" for documents drawn at random, "targeted" for others.

    Returns:
        query_id, doc_id, relevance, route, inclusion_probability (null unless sampled), in byte
        order of query and document. A pair that was in the pool and not judged (grade below 0) has
        its new grade and the new route.

    Raises:
        AuditError: another route, a sample without probabilities, or pairs that have another grade
            already.
    """
    import pandas as pd

    _check(assessed, route)
    given = assessed[assessed["relevance"].notna()].set_index(KEY)
    sampled = given[CHANCE] if route == "sample" else np.nan
    new = pd.DataFrame({"relevance": given["relevance"], "route": route, CHANCE: sampled})
    old = judgments.to_pandas().set_index(KEY)
    old = pd.DataFrame(
        {
            "relevance": old["relevance"],
            "route": old.get("route", "pool"),
            CHANCE: old.get(CHANCE, np.nan),
        }
    )
    judged = old[old["relevance"] >= 0]
    again = new.join(judged["relevance"].rename("before"), how="inner")
    _refuse_regrading(again[again["relevance"] != again["before"]])
    new = new[~new.index.isin(judged.index)]
    folded = pd.concat([old[~old.index.isin(new.index)], new]).sort_index()
    return _table(folded.reset_index())


def _table(frame: pd.DataFrame) -> pa.Table:
    """A table in which NaN is null, ordered by query and document in byte order."""
    schema = pa.schema([SCHEMA.field(name) for name in frame.columns])
    table = pa.Table.from_pandas(frame, schema, preserve_index=False).replace_schema_metadata()
    return table.sort_by([(name, "ascending") for name in KEY])


def _check(assessed: pd.DataFrame, route: str) -> None:
    if route not in ("sample", "targeted"):
        raise AuditError("no such route", found=route, expected="sample or targeted")
    if route == "sample" and CHANCE not in assessed:
        raise AuditError(
            "a sample needs the probability with which each document was drawn",
            found="columns " + ", ".join(assessed.columns),
            expected="a column inclusion_probability",
            todo="fold the documents in as targeted; they never enter an estimate",
        )
    if assessed.duplicated(KEY).any():
        twice = assessed[assessed.duplicated(KEY)].iloc[0]
        raise AuditError(
            "a document was assessed twice", found=f"{twice['query_id']} {twice['doc_id']}"
        )


def _refuse_regrading(changed: pd.DataFrame) -> None:
    if changed.empty:
        return
    lines = [
        f"{query_id} {doc_id}: {row.before} before, {row.relevance} now"
        for (query_id, doc_id), row in changed.sort_index().iterrows()
    ]
    raise AuditError(
        f"{len(changed):,} documents have another grade already",
        found=first_of(lines, between=BELOW),
        expected="one grade a document",
        todo="settle each of them, and leave it out of the assessments or mend the judgments",
    )


def routes(judgments: pa.Table) -> dict[str, int]:
    """How many pairs came in by each route; nothing for judgments that do not say."""
    if "route" not in judgments.column_names:
        return {}
    counts = judgments["route"].value_counts().to_pylist()
    return dict(sorted((count["values"], count["counts"]) for count in counts))


def trec_format(judgments: pa.Table) -> str:
    """Judgments as trec_eval reads them, a line `query_id 0 doc_id grade` for each."""
    columns = (judgments[name].to_pylist() for name in (*KEY, "relevance"))
    return "".join(f"{q} 0 {d} {g}\n" for q, d, g in zip(*columns, strict=True))


def union(old: pa.Table, new: pa.Table) -> pa.Table:
    """query_id, doc_id, relevance of every pair that either version judged.

    The two tables of the data model are built from it when two versions are compared, so that they
    hold the pairs of both; the grade is the new one where there is one.
    """
    import pandas as pd

    both = pd.concat([table.select([*KEY, "relevance"]).to_pandas() for table in (new, old)])
    return _table(both.drop_duplicates(KEY))


@dataclass(frozen=True)
class Comparison:
    """Two versions of the judgments side by side.

    Attributes:
        queries: a row for each query: query_id, judged_before, judged_after, added, removed,
            regraded, relevant_before, relevant_after (documents with a grade of 1 or more).
        runs: a row for each run and measure: run, measure, score_before, score_after, change, own
            and base (see `compare_judgments`), judged_before, judged_after (judged share of what
            the run returned to the measure's cutoff, or of all of it). Means over the queries that
            both versions judged.
    """

    queries: pd.DataFrame
    runs: pd.DataFrame

    def record(self) -> dict[str, Any]:
        """The queries, and the sums over them, for JSON."""
        counts = self.queries.drop(columns="query_id")
        both = (counts[["judged_before", "judged_after"]] > 0).all(axis=1)
        return {
            "pairs": {name: int(total) for name, total in counts.sum().items()},
            "queries_compared": int(both.sum()),
            "queries": self.queries.to_dict("records"),
        }


def compare_judgments(
    pairs: Pairs,
    rankings: Rankings,
    before: np.ndarray,
    after: np.ndarray,
    measures: Iterable[str | Measure],
    policy: str = "nonrelevant",
) -> Comparison:
    """Compare two versions of the judgments: what was judged, and what it does to each run.

    A score changes because documents of the run's own lists are newly judged (or regraded, or no
    longer judged), and because R, N and the ideal ranking have moved. With s(l, b) the score when
    the documents in the list have the grades of version l and R, N and the ideal are those of
    version b, the part of its own documents is the mean of s(after, before) - s(before, before) and
    s(after, after) - s(before, after); the part of the base is the rest. So neither depends on
    which of the two is thought to change first, and they add up to the change.

    Args:
        pairs, rankings: the two tables, built with the judged pairs of both versions (`union`).
        before, after: int16[pairs], the two versions.
        measures: names, or parsed measures. Those left to ir_measures are not split (null).
        policy: "nonrelevant" or "condense".

    Raises:
        AuditError: another policy: it evaluates each version to other depths. No query that both
            versions judged.
    """
    import pandas as pd

    if policy not in ("nonrelevant", "condense"):
        raise AuditError(
            "versions of the judgments cannot be compared under this policy",
            found=policy,
            expected="nonrelevant or condense",
        )
    measures = parse_measures(measures)
    either = np.where((before != UNJUDGED) | (after != UNJUDGED), 0, UNJUDGED).astype(np.int16)
    lists = judged_lists(pairs, rankings, either)
    queries = _by_query(pairs, before, after)
    both = ((queries["judged_before"] > 0) & (queries["judged_after"] > 0)).to_numpy()
    _check_queries(both)
    scores = [evaluate(lists, grades, measures, policy) for grades in (before, after)]
    total = change(*scores)[:, :, both]
    own = _own_part(lists, before, after, measures, policy)[:, :, both]
    own[[not measure.ours for measure in measures]] = np.nan
    runs = len(lists.runs)
    table = {
        "run": np.tile(np.array(lists.runs, object), len(measures)),
        "measure": np.repeat([measure.name for measure in measures], runs),
        "score_before": scores[0].values[:, :, both].mean(axis=2).ravel(),
        "score_after": scores[1].values[:, :, both].mean(axis=2).ravel(),
        "change": total.mean(axis=2).ravel(),
        "own": own.mean(axis=2).ravel(),
        "base": (total - own).mean(axis=2).ravel(),
    }
    depths = [measure.cutoff or int(lists.length.max(initial=1)) for measure in measures]
    for name, grades in (("judged_before", before), ("judged_after", after)):
        retrieved, judged, _ = (n[:, :, both].sum(axis=2) for n in coverage(lists, grades, depths))
        table[name] = (judged / np.maximum(1, retrieved)).ravel()
    return Comparison(queries, pd.DataFrame(table))


def _check_queries(both: np.ndarray) -> None:
    if not both.any():
        raise AuditError(
            "no query was judged in both versions of the judgments",
            found=f"{len(both):,} queries, each judged in one of the two",
            expected="two versions of the judgments of one collection",
            todo="name the right file under judgments: compare_with",
        )


def _own_part(
    lists: JudgedLists,
    before: np.ndarray,
    after: np.ndarray,
    measures: list[Measure],
    policy: str,
) -> np.ndarray:
    """float64[measures, runs, queries]: the part of a change that the run's own documents make."""
    # R, N and the ideal are counted over `judged_pair`. Pointed at a second copy of the pairs, they
    # are counted over other grades than the rows of the lists have.
    apart = replace(lists, judged_pair=lists.judged_pair + len(before))

    def score(of_lists: np.ndarray, of_base: np.ndarray) -> np.ndarray:
        return evaluate(apart, np.concatenate([of_lists, of_base]), measures, policy).values

    own = score(after, before) - score(before, before) + score(after, after) - score(before, after)
    return own / 2


def _by_query(pairs: Pairs, before: np.ndarray, after: np.ndarray) -> pd.DataFrame:
    import pandas as pd

    old, new = before >= 0, after >= 0
    counted = {
        "judged_before": old,
        "judged_after": new,
        "added": new & ~old,
        "removed": old & ~new,
        "regraded": old & new & (before != after),
        "relevant_before": before >= 1,
        "relevant_after": after >= 1,
    }
    queries = len(pairs.query_ids)
    counts = {k: np.bincount(pairs.query[m], minlength=queries) for k, m in counted.items()}
    return pd.DataFrame({"query_id": pairs.query_ids, **counts})
