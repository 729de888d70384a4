"""The runs and the queries of the report: scores under every policy, coverage, bounds, losses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from poolaudit.reading.runs import same_rankings
from poolaudit.report.subject import (
    Subject,
    mean_over_queries,
    number,
    primary_removal,
    records,
    share,
)
from poolaudit.scores.rank_correlation import competition_ranks, kendall_tau
from poolaudit.scores.resampling import mean_intervals


def runs(subject: Subject) -> list[dict[str, Any]]:
    """One entry a run, the best by the primary measure first."""
    values: dict[str, dict[str, dict[str, Any]]] = {}
    residuals = _residuals(subject)
    for row in subject.made.means.itertuples():
        of_policy = values.setdefault(row.run, {}).setdefault(row.policy, {})
        of_policy[row.measure] = {
            "mean": number(row.mean_unanswered_as_0),
            "residual": residuals.get((row.policy, row.measure, row.run)),
            "queries": int(row.queries),
            "mean_over_answered": number(row.mean_over_answered),
            "answered": int(row.answered),
        }
    coverage, bounds = _coverage_of_runs(subject), _bounds_of_runs(subject)
    losses, sparse = _own_losses(subject), _sparse_scores(subject)
    notes, intervals, ties = _notes(subject), _intervals(subject), _ties(subject)
    reach = _fully_judged_to(subject)
    verdicts = {
        n["run"]: n["verdict"]
        for n in subject.made.verdicts["numbers"]
        if n["measure"] == subject.primary.name
    }
    scores = subject.primary_means[np.nan]
    ranks = dict(zip(scores.index, competition_ranks(scores.to_numpy()), strict=True))
    entries = [
        {
            **{key: c[key] for key in ("run", "pooled", "group", "family", "type", "subtask")},
            "rank": None if math.isnan(ranks[c["run"]]) else int(ranks[c["run"]]),
            "verdict": verdicts[c["run"]],
            "value": number(scores[c["run"]]),
            "interval": intervals[c["run"]],
            **coverage[c["run"]],
            "fully_judged_to": reach[c["run"]],
            "values": values[c["run"]],
            "bounds": bounds.get(c["run"], {}),
            "ties": ties[c["run"]],
            "sparse_labels": sparse.get(c["run"]),
            "removal": losses.get(c["run"]),
            "notes": notes[c["run"]],
        }
        for c in subject.contributors
    ]
    return sorted(entries, key=lambda entry: entry["rank"] or len(entries) + 1)


def _residuals(subject: Subject) -> dict[tuple[str, str, str], float]:
    """By policy, measure and run what RBP leaves open, mean over queries."""
    found: dict[tuple[str, str, str], float] = {}
    for policy, table in subject.made.evaluations.items():
        table = table[table["depth"].isna() & table["residual"].notna()]
        means = table.groupby(["measure", "run"], observed=True)["residual"].mean()
        found |= {(policy, str(m), str(run)): float(value) for (m, run), value in means.items()}
    return found


def _intervals(subject: Subject) -> dict[str, list[float | None]]:
    """For each run the bootstrap interval of its primary score over queries."""
    table = subject.made.evaluations[subject.policy]
    table = table[table["depth"].isna() & (table["measure"] == subject.primary.name)]
    values = table.assign(run=table["run"].astype(str), query_id=table["query_id"].astype(str))
    values = values.pivot(index="run", columns="query_id", values="value")
    ends = zip(*mean_intervals(values.to_numpy(float)), strict=True)
    return {run: list(map(number, of_run)) for run, of_run in zip(values.index, ends, strict=True)}


def _coverage_of_runs(subject: Subject) -> dict[str, dict[str, Any]]:
    """For each run the unjudged share of what it returned above each cutoff, over all queries."""
    table = subject.made.coverage
    table = table[table["depth"].isna()]
    answered = table[table["cutoff"] == table["cutoff"].min()].groupby("run", observed=True)
    unanswered = answered["retrieved"].agg(lambda counts: int((counts == 0).sum()))
    sums = table.groupby(["run", "cutoff"], observed=True)[["retrieved", "unjudged"]].sum()
    found: dict[str, dict[str, Any]] = {}
    for (run, cutoff), row in sums.iterrows():
        entry = found.setdefault(str(run), {"unanswered": int(unanswered[run]), "unjudged": {}})
        entry["unjudged"][str(cutoff)] = share(row["unjudged"], row["retrieved"])
    return found


def _fully_judged_to(subject: Subject) -> dict[str, float]:
    """For each run the mean over its queries of the documents above the first unjudged one."""
    table = subject.made.judged_to
    table = table[table["without"] == "run"]
    return table.groupby(table["run"].astype(str))["judged_to"].mean().to_dict()


def _bounds_of_runs(subject: Subject) -> dict[str, dict[str, dict[str, float | None]]]:
    ends = ["low", "high", "own_low", "own_high"]
    mean = subject.made.bounds.groupby(["run", "measure"], observed=True)[ends].mean()
    found: dict[str, dict[str, dict[str, float | None]]] = {}
    for (run, measure), row in mean.iterrows():
        found.setdefault(str(run), {})[str(measure)] = {end: number(row[end]) for end in ends}
    return found


def _ties(subject: Subject) -> dict[str, dict[str, Any]]:
    """For each run what the order of its tied documents decides of the primary score.

    `crossed` is the number of queries with tied documents on both sides of the cutoff; None for a
    measure without one.
    """
    table = subject.made.ties
    table = table[table["measure"] == subject.primary.name]
    ends = table.groupby(table["run"].astype(str))[["low", "high"]].mean()
    crossed = subject.made.ties_crossed
    crossed = crossed[crossed["cutoff"] == (subject.primary.cutoff or 0)]
    queries = dict(zip(crossed["run"].astype(str), crossed["queries"], strict=True))
    return {
        str(run): {
            "low": number(row["low"]),
            "high": number(row["high"]),
            "crossed": int(queries[run]) if run in queries else None,
        }
        for run, row in ends.iterrows()
    }


def _sparse_scores(subject: Subject) -> dict[str, dict[str, Any]]:
    """For each run its mean over a second, sparse set of labels, where there is one."""
    if subject.made.sparse_labels is None:
        return {}
    return {
        row.run: {"measure": row.measure, "mean": number(row.mean), "queries": int(row.queries)}
        for row in mean_over_queries(subject.made.sparse_labels).itertuples()
    }


def _own_losses(subject: Subject) -> dict[str, dict[str, Any]]:
    """What each pooled run loses of the primary measure when it, or its group, is left out."""
    if subject.made.removal is None:
        return {}
    table = primary_removal(subject)
    found: dict[str, dict[str, Any]] = {}
    for row in table[table["pooled"] & table["kind"].isin(["run", "group"])].itertuples():
        found.setdefault(row.run, {})[row.kind] = {
            "change": number(row.change),
            "relative": number(row.relative_change),
            "unique_relevant": int(row.unique_relevant),
        }
    return found


def _notes(subject: Subject) -> dict[str, list[str]]:
    """For each run what was found in its file, how its queries agree, and which runs equal it."""
    notes = {
        run: [note["text"] for note in [*record["found"], *subject.made.answered[run]]]
        for run, record in subject.made.notes.items()
    }
    for note in same_rankings(subject.made.notes):
        for run in note["runs"]:
            notes[run].append(note["text"])
    return notes


def truth(subject: Subject, runs: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Measured scores beside true ones, which only a simulation knows."""
    if subject.made.truth is None:
        return None
    means = mean_over_queries(subject.made.truth)
    scores = means[means["measure"] == subject.primary.name].set_index("run")["mean"]
    table = pd.DataFrame(
        {
            "run": [run["run"] for run in runs],
            "family": [run["family"] for run in runs],
            "pooled": [run["pooled"] for run in runs],
            "measured": [run["value"] for run in runs],
            "true": [number(scores[run["run"]]) for run in runs],
        }
    )
    table["relative"] = table["measured"] / table["true"] - 1
    families = table.groupby("family", dropna=False, sort=True)
    return {
        "runs": records(table),
        "families": [
            {
                "family": None if family is None or family != family else family,
                "runs": len(rows),
                "measured": number(rows["measured"].mean()),
                "true": number(rows["true"].mean()),
                "lowest": number(rows["relative"].min()),
                "highest": number(rows["relative"].max()),
            }
            for family, rows in families
        ],
        "tau": number(kendall_tau(table["true"].to_numpy(), table["measured"].to_numpy())),
    }


def queries(subject: Subject) -> list[dict[str, Any]]:
    """One entry a query: its judgments, and how safely runs are scored on it."""
    texts = subject.made.topics.set_index("query_id")["text"]
    pairs = subject.made.pairs
    judged = pairs[pairs["relevance"] >= 0]
    grouped = judged["relevance"].groupby(judged["query_id"].astype(str))
    relevant = (judged["relevance"] >= subject.level).groupby(judged["query_id"].astype(str)).sum()
    counts = grouped.size()
    unjudged = _by_query(
        subject.made.coverage[
            subject.made.coverage["depth"].isna()
            & (subject.made.coverage["cutoff"] == subject.cutoff)
        ]
    )[["retrieved", "unjudged"]].sum()
    bounds = subject.made.bounds
    bounds = bounds[bounds["measure"] == subject.primary.name]
    width = (bounds["high"] - bounds["low"]).groupby(bounds["query_id"].astype(str)).mean()
    scores = subject.made.evaluations[subject.policy]
    scores = scores[scores["depth"].isna() & (scores["measure"] == subject.primary.name)]
    mean = _by_query(scores)["value"].mean()
    losses = _largest_loss_by_query(subject)
    ledger = subject.made.queries.set_index("query_id")
    return [
        {
            "query_id": query,
            "text": texts.get(query),
            "judged": int(counts[query]),
            "relevant": int(relevant[query]),
            "unjudged": share(unjudged["unjudged"][query], unjudged["retrieved"][query]),
            "mean": number(mean.get(query)),
            "width": number(width.get(query)),
            "largest_loss": losses.get(query),
            "few_relevant": bool(ledger["few_relevant"][query]),
            "in_topics": bool(ledger["in_topics"][query]),
            "not_answered_by": list(ledger["not_answered_by"][query]),
        }
        for query in sorted(counts.index)
    ]


def _by_query(table: pd.DataFrame):
    return table.groupby(table["query_id"].astype(str))


def _largest_loss_by_query(subject: Subject) -> dict[str, dict[str, Any]]:
    """For each query the pooled run that loses most when it alone is left out."""
    if subject.made.removal_queries is None:
        return {}
    table = subject.made.removal_queries
    table = table[table["change"].notna()]
    largest = table.loc[table.groupby("query_id")["change"].idxmax()]
    return {
        row.query_id: {"run": row.run, "change": float(row.change)}
        for row in largest.itertuples()
        if row.change > 0
    }
