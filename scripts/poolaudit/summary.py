"""What the report says, as data: one dictionary, from which page, text and audit.json are made.

Every function here makes one section from the artifacts. A section whose stage this collection
cannot have is None. Numbers are not rounded; None stands where a number does not exist.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from poolaudit.artifacts import Artifacts
from poolaudit.measures import Measure, levels_of, parse_measure, parse_measures
from poolaudit.rank_correlation import competition_ranks, kendall_tau, tau_ap
from poolaudit.removal import CANNOT_SEE
from poolaudit.runs import same_rankings

FORMAT = 1
KINDS = ("run", "group", "family", "type")


@dataclass(frozen=True)
class Subject:
    """What is audited.

    Attributes:
        collection, title: its name, and what it is called in headings.
        settings: its settings, with all defaults.
        contributors: run, pooled, group, family, type of each run.
        made: the artifacts.
    """

    collection: str
    title: str
    settings: Mapping[str, Any]
    contributors: Sequence[Mapping[str, Any]]
    made: Artifacts

    @cached_property
    def measures(self) -> tuple[str, ...]:
        return tuple(m.name for m in parse_measures(self.settings["measures"]))

    @cached_property
    def primary(self) -> Measure:
        return parse_measure(self.settings["primary"]["measure"])

    @property
    def policy(self) -> str:
        return self.settings["primary"]["policy"]

    @property
    def cutoff(self) -> int:
        """How far down a list the primary measure looks; bounds.depth where it has no cutoff."""
        return self.primary.cutoff or self.settings["bounds"]["depth"]

    @property
    def level(self) -> int:
        """The lowest grade that the primary measure takes for relevant."""
        return self.primary.rel or 1

    @cached_property
    def means(self) -> pd.DataFrame:
        """policy, depth, measure, run, mean (NaN without values), queries (with a value)."""
        return pd.concat(
            _mean_over_queries(table).assign(policy=policy)
            for policy, table in self.made.evaluations.items()
        )

    @cached_property
    def primary_means(self) -> pd.DataFrame:
        """float64[run, depth] under the primary measure and policy; depth NaN: all judgments."""
        table = self.means
        chosen = table[(table["policy"] == self.policy) & (table["measure"] == self.primary.name)]
        return chosen.pivot(index="run", columns="depth", values="mean")


def summarise(subject: Subject) -> dict[str, Any]:
    """The whole report as data; workflow/schemas/audit.schema.json describes it."""
    runs = _runs(subject)
    return {
        "format": FORMAT,
        "collection": _collection(subject),
        "settings": dict(subject.settings),
        "judgments": _judgments(subject),
        "runs": runs,
        "depth": _depth(subject),
        "removal": _removal(subject),
        "truth": _truth(subject, runs),
        "queries": _queries(subject),
        "provenance": _provenance(subject),
    }


def number(value: Any) -> float | None:
    """A float for JSON; None for NaN, which JSON has not."""
    return None if value is None or math.isnan(value) else float(value)


def share(part: float, whole: float) -> float | None:
    """part / whole; None of nothing."""
    return float(part / whole) if whole else None


def _mean_over_queries(table: pd.DataFrame) -> pd.DataFrame:
    keys = [key for key in ("depth", "measure", "run") if key in table]
    grouped = table.groupby(keys, observed=True, dropna=False, sort=False)["value"]
    found = grouped.agg(mean="mean", queries="count").reset_index()
    return found.astype(dict.fromkeys(("measure", "run"), str))


def _collection(subject: Subject) -> dict[str, Any]:
    pooled = sum(c["pooled"] for c in subject.contributors)
    return {
        "name": subject.collection,
        "title": subject.title,
        "runs": len(subject.contributors),
        "pooled_runs": pooled,
        "queries": subject.made.source["queries"],
        "judgments": subject.made.source["rows"],
        "primary": {
            "measure": subject.primary.name,
            "policy": subject.policy,
            "cutoff": subject.cutoff,
            "level": subject.level,
        },
        "assessors": subject.settings["assessors"],
    }


def _judgments(subject: Subject) -> dict[str, Any]:
    """Where the judgments come from, what the grades are, and which pool explains them."""
    source, found = subject.made.source, subject.made.explanation
    grades = {int(grade): count for grade, count in source["grades"].items()}
    relevance = subject.made.pairs["relevance"]
    return {
        "source": source.get("ir_datasets"),
        "files": [
            {
                "name": file.get("path") or file["name"],
                "sha256": file["sha256"],
                "as_published": file.get("verified"),
            }
            for file in source["files"]
        ],
        "notes": [note["text"] for note in source["found"]],
        "grades": [
            {"grade": grade, "meaning": source["meanings"].get(str(grade)), "judgments": count}
            for grade, count in sorted(grades.items())
        ],
        "relevant": {
            str(level): int((relevance >= level).sum()) for level in levels_of(subject.measures)
        },
        "official_measures": source["official_measures"],
        "level_differs": _other_levels(subject.measures, source["official_measures"]),
        "explanation": {key: found[key] for key in found if key not in {"queries", "depths"}},
    }


def _other_levels(measures: Sequence[str], official: Sequence[str]) -> list[str]:
    """A sentence for each measure whose relevance level is not the collection's official one."""
    levels = {m.base: m.rel for m in parse_measures(official) if m.rel is not None}
    return [
        f"{m.name} counts grades from {m.rel} on as relevant; the collection's official {m.base} "
        f"counts them from {levels[m.base]} on."
        for m in parse_measures(measures)
        if m.rel is not None and levels.get(m.base, m.rel) != m.rel
    ]


def _runs(subject: Subject) -> list[dict[str, Any]]:
    """One entry a run, the best by the primary measure first."""
    whole = subject.means[subject.means["depth"].isna()]
    values: dict[str, dict[str, dict[str, Any]]] = {}
    for row in whole.itertuples():
        of_policy = values.setdefault(row.run, {}).setdefault(row.policy, {})
        of_policy[row.measure] = {"mean": number(row.mean), "queries": int(row.queries)}
    coverage, bounds = _coverage_of_runs(subject), _bounds_of_runs(subject)
    losses = _own_losses(subject)
    notes = _notes(subject)
    scores = subject.primary_means[np.nan]
    ranks = dict(zip(scores.index, competition_ranks(scores.to_numpy()), strict=True))
    entries = [
        {
            **{key: c[key] for key in ("run", "pooled", "group", "family", "type")},
            "rank": None if math.isnan(ranks[c["run"]]) else int(ranks[c["run"]]),
            "value": number(scores[c["run"]]),
            **coverage[c["run"]],
            "values": values[c["run"]],
            "bounds": bounds.get(c["run"], {}),
            "removal": losses.get(c["run"]),
            "notes": notes[c["run"]],
        }
        for c in subject.contributors
    ]
    return sorted(entries, key=lambda entry: entry["rank"] or len(entries) + 1)


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


def _bounds_of_runs(subject: Subject) -> dict[str, dict[str, dict[str, float | None]]]:
    ends = ["low", "high", "own_low", "own_high"]
    mean = subject.made.bounds.groupby(["run", "measure"], observed=True)[ends].mean()
    found: dict[str, dict[str, dict[str, float | None]]] = {}
    for (run, measure), row in mean.iterrows():
        found.setdefault(str(run), {})[str(measure)] = {end: number(row[end]) for end in ends}
    return found


def _own_losses(subject: Subject) -> dict[str, dict[str, Any]]:
    """What each pooled run loses of the primary measure when it, or its group, is left out."""
    if subject.made.removal is None:
        return {}
    table = _primary_removal(subject)
    found: dict[str, dict[str, Any]] = {}
    for row in table[table["pooled"] & table["kind"].isin(["run", "group"])].itertuples():
        found.setdefault(row.run, {})[row.kind] = {
            "change": number(row.change),
            "relative": number(row.relative_change),
            "unique_relevant": int(row.unique_relevant),
        }
    return found


def _primary_removal(subject: Subject) -> pd.DataFrame:
    """The rows of the primary measure and policy that reduce all of the judgments."""
    table = subject.made.removal
    return table[
        table["depth"].isna()
        & (table["measure"] == subject.primary.name)
        & (table["policy"] == subject.policy)
    ]


def _notes(subject: Subject) -> dict[str, list[str]]:
    """For each run what was found in its file, how its queries agree, and which runs equal it."""
    notes = {
        run: [note["text"] for note in [*record["found"], *record["topics"]]]
        for run, record in subject.made.notes.items()
    }
    for note in same_rankings(subject.made.notes):
        for run in note["runs"]:
            notes[run].append(note["text"])
    return notes


def _depth(subject: Subject) -> dict[str, Any] | None:
    """What each depth of the pool costs, finds and changes."""
    if subject.made.growth is None:
        return None
    growth = subject.made.growth
    growth = growth[growth["level"] == subject.level]
    depths = subject.settings["pool"]["depths"]
    scores = subject.primary_means
    return {
        "nominal": _nominal_depth(subject),
        "steps": [
            {
                "depth": int(row.depth),
                "pooled": int(row.pooled),
                "judged": int(row.judged),
                "relevant": int(row.relevant),
                "new_pairs": int(row.new_pairs),
                "new_judged": int(row.new_judged),
                "new_relevant": int(row.new_relevant),
            }
            for row in growth.itertuples()
        ],
        "depths": depths,
        "scores": [
            {"run": run, "depth": depth, "value": number(scores.loc[run, depth])}
            for run in scores.index
            for depth in depths
        ],
        "order": _order_by_depth(subject),
        "coverage": _coverage_by_depth(subject),
    }


def _nominal_depth(subject: Subject) -> int:
    """The depth that was judged: what the settings say, else what explains the judgments best."""
    depths = subject.settings["pool"]
    return depths.get("depth") or subject.made.explanation["depth"] or max(depths["depths"])


def _order_by_depth(subject: Subject) -> list[dict[str, Any]]:
    """For each measure and depth: how far the runs are in the order of all judgments."""
    table = subject.means[subject.means["policy"] == subject.policy]
    rows = []
    for measure in subject.measures:
        wide = table[table["measure"] == measure].pivot(index="run", columns="depth", values="mean")
        whole = wide[np.nan].to_numpy()
        ranks = competition_ranks(whole)
        for depth in subject.settings["pool"]["depths"]:
            cut = wide[depth].to_numpy()
            moved = np.abs(competition_ranks(cut) - ranks)
            rows.append(
                {
                    "measure": measure,
                    "depth": depth,
                    "tau": number(kendall_tau(whole, cut)),
                    "tau_ap": number(tau_ap(whole, cut)),
                    "largest_move": None if np.isnan(moved).all() else int(np.nanmax(moved)),
                    "mean_change": number(np.nanmean(cut - whole)),
                }
            )
    return rows


def _coverage_by_depth(subject: Subject) -> list[dict[str, Any]]:
    """The judged share of what pooled and other runs return above each cutoff, by pool depth."""
    pooled = {c["run"]: c["pooled"] for c in subject.contributors}
    table = subject.made.coverage
    table = table.assign(pooled=table["run"].astype(str).map(pooled))
    sums = table.groupby(["pooled", "cutoff", "depth"], observed=True, dropna=False)
    sums = sums[["retrieved", "judged"]].sum()
    return [
        {
            "pooled": bool(in_pool),
            "cutoff": int(cutoff),
            "depth": None if math.isnan(depth) else int(depth),
            "judged": share(row["judged"], row["retrieved"]),
        }
        for (in_pool, cutoff, depth), row in sums.iterrows()
    ]


def _removal(subject: Subject) -> dict[str, Any] | None:
    """What leaving contributors out does to their own scores."""
    if subject.made.removal is None:
        return None
    table = subject.made.removal
    whole = table[table["depth"].isna() & (table["policy"] == subject.policy)]
    primary = _primary_removal(subject)
    if table.empty:
        return {"cannot_see": CANNOT_SEE, "kinds": [], "contributors": []}
    columns = [
        *("kind", "left_out", "run", "pooled", "score", "score_without", "change"),
        *("relative_change", "change_low", "change_high", "queries_changed", "deep_relative"),
        *("rank", "rank_without", "tau", "unique", "unique_relevant"),
    ]
    return {
        "cannot_see": CANNOT_SEE,
        "kinds": [
            _of_kind(whole[(whole["kind"] == kind) & (whole["measure"] == measure)], kind, measure)
            for measure in subject.measures
            for kind in KINDS
            if (whole["kind"] == kind).any()
        ],
        "contributors": _records(primary[columns]),
    }


def _of_kind(table: pd.DataFrame, kind: str, measure: str) -> dict[str, Any]:
    """The removals of one kind and measure in a few numbers; means and largest over pooled runs."""
    pooled = table[table["pooled"]]
    relative = pooled["relative_change"].astype(float)
    at = relative.abs().idxmax() if relative.notna().any() else None
    deep = pooled["deep_relative"].astype(float)
    return {
        "kind": kind,
        "measure": measure,
        "contributors": int(table["left_out"].nunique()),
        "mean": number(relative.mean()),
        "mean_absolute": number(relative.abs().mean()),
        "largest": None if at is None else number(relative[at]),
        "largest_run": None if at is None else str(pooled["run"][at]),
        "largest_left_out": None if at is None else str(pooled["left_out"][at]),
        "deep_mean": number(deep.mean()),
        "deep_largest": number(deep[deep.abs().idxmax()]) if deep.notna().any() else None,
        "lowest_tau": number(table["tau"].astype(float).min()),
    }


def _truth(subject: Subject, runs: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Measured scores beside true ones, which only a simulation knows."""
    if subject.made.truth is None:
        return None
    means = _mean_over_queries(subject.made.truth)
    true = means[means["measure"] == subject.primary.name].set_index("run")["mean"]
    table = pd.DataFrame(
        {
            "run": [run["run"] for run in runs],
            "family": [run["family"] for run in runs],
            "pooled": [run["pooled"] for run in runs],
            "measured": [run["value"] for run in runs],
            "true": [number(true[run["run"]]) for run in runs],
        }
    )
    table["relative"] = table["measured"] / table["true"] - 1
    families = table.groupby("family", dropna=False, sort=True)
    return {
        "runs": _records(table),
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


def _queries(subject: Subject) -> list[dict[str, Any]]:
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
            & (subject.made.coverage["cutoff"] == _nearest_cutoff(subject))
        ]
    )[["retrieved", "unjudged"]].sum()
    bounds = subject.made.bounds
    bounds = bounds[bounds["measure"] == subject.primary.name]
    width = (bounds["high"] - bounds["low"]).groupby(bounds["query_id"].astype(str)).mean()
    scores = subject.made.evaluations[subject.policy]
    scores = scores[scores["depth"].isna() & (scores["measure"] == subject.primary.name)]
    mean = _by_query(scores)["value"].mean()
    losses = _largest_loss_by_query(subject)
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
        }
        for query in sorted(counts.index)
    ]


def _by_query(table: pd.DataFrame):
    return table.groupby(table["query_id"].astype(str))


def _nearest_cutoff(subject: Subject) -> int:
    """The cutoff in the coverage table that the primary measure looks down to."""
    cutoffs = subject.made.coverage["cutoff"].unique()
    return int(min(cutoffs, key=lambda cutoff: abs(cutoff - subject.cutoff)))


def _largest_loss_by_query(subject: Subject) -> dict[str, dict[str, Any]]:
    """For each query the pooled run that loses most when it alone is left out."""
    if subject.made.removal_queries is None:
        return {}
    table = subject.made.removal_queries
    table = table[
        (table["kind"] == "run")
        & table["depth"].isna()
        & (table["measure"] == subject.primary.name)
        & (table["policy"] == subject.policy)
    ]
    if table.empty:
        return {}
    largest = table.loc[table.groupby("query_id")["change"].idxmax()]
    return {
        row.query_id: {"run": row.run, "change": float(row.change)}
        for row in largest.itertuples()
        if row.change > 0
    }


def _provenance(subject: Subject) -> dict[str, Any]:
    record = subject.made.provenance
    packages = {p: v for code in record["code"].values() for p, v in code["packages"].items()}
    return {
        "artifacts": [
            {"name": name, "rule": made["rule"], "sha256": made["sha256"]}
            for name, made in sorted(record["artifacts"].items())
        ],
        "code": {rule: code["digest"] for rule, code in sorted(record["code"].items())},
        "packages": dict(sorted(packages.items())),
    }


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as dictionaries of plain Python values; missing ones are None."""
    columns = {
        name: [None if value is pd.NA or value != value else value for value in column.tolist()]
        for name, column in table.items()
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
