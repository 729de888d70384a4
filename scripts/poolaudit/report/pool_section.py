"""The pool in the report: its depth, what its contributors carry, and its tail."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from poolaudit.pools.depth_pools import WHOLE_POOL, nominal_depth
from poolaudit.pools.yield_fit import expect_yield
from poolaudit.removal.leave_out import CANNOT_SEE, summarise
from poolaudit.report.subject import Subject, number, primary_removal, records, share
from poolaudit.scores.rank_correlation import competition_ranks, kendall_tau, tau_ap
from poolaudit.tail.calibration import proportional

KINDS = ("run", "group", "family", "type", "route")
SUMMARY = (
    *("kind", "measure", "contributors", "runs", "mean_relative", "mean_absolute"),
    *("ratio_of_sums", "largest", "largest_run", "largest_left_out", "deep_mean", "deep_largest"),
    *("tau", "tau_ap"),
)
ESTIMATE = (
    *("tail", "level", "population", "sampled", "judged", "relevant", "estimate", "low", "high"),
    *("truth", "judged_relevant", "completeness", "completeness_low", "completeness_high"),
)
BY_RUN = (
    *("tail", "run", "base", "base_tail", "recall", "recall_estimated", "recall_true"),
    *("ap", "xinfap", "ap_true", "ndcg", "infndcg", "ndcg_true"),
)


def depth(subject: Subject) -> dict[str, Any] | None:
    """What each depth of the pool costs, finds and changes."""
    if subject.made.growth is None:
        return None
    growth = subject.made.growth
    growth = growth[growth["level"] == subject.level]
    depths = subject.settings["pool"]["depths"]
    scores = subject.primary_means
    nominal = nominal_depth(subject.settings["pool"].get("depth"), subject.made.explanation)
    deeper = growth[growth["depth"].between(nominal + 1, 2 * nominal)]
    return {
        "nominal": nominal,
        "to_judge_for_twice_the_depth": int((deeper["new_pairs"] - deeper["new_judged"]).sum()),
        "forecast": expect_yield(growth.loc[growth["depth"] <= nominal, "new_relevant"].tolist()),
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


def _order_by_depth(subject: Subject) -> list[dict[str, Any]]:
    """For each measure and depth: how far the runs are in the order of all judgments."""
    table = subject.means[subject.means["policy"] == subject.policy]
    empty = _without_relevant(subject)
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
                    "queries_without_relevant": int(empty[depth]),
                }
            )
    return rows


def _without_relevant(subject: Subject) -> pd.Series:
    """How many queries each depth leaves without a relevant document; they score 0."""
    table = subject.made.contributions
    pool = table[(table["kind"] == WHOLE_POOL) & (table["level"] == subject.level)]
    return (pool["relevant"] == 0).groupby(pool["depth"]).sum()


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


def reach(subject: Subject) -> dict[str, Any]:
    """How far down the judgments reach in runs of the pool, with and without their own documents.

    A run outside the pool is best set beside pooled runs without what they alone, or their group
    alone, put into the pool.
    """
    bands = subject.made.bands
    sums = bands.groupby(["without", "pooled", "first_rank", "last_rank"], observed=True)[
        ["returned", "judged", "judged_without"]
    ].sum()
    depths = subject.made.judged_to
    means = depths.groupby(["without", "pooled"], observed=True)[["judged_to", "judged_to_without"]]
    return {
        "bands": [
            {
                "without": without,
                "pooled": bool(pooled),
                "first_rank": int(first),
                "last_rank": int(last),
                "share": share(row["judged"], row["returned"]),
                "share_without": share(row["judged_without"], row["returned"]),
            }
            for (without, pooled, first, last), row in sums.iterrows()
            if row["returned"]
        ],
        "fully_judged_to": [
            {
                "without": without,
                "pooled": bool(pooled),
                "mean": number(row["judged_to"]),
                "mean_without": number(row["judged_to_without"]),
            }
            for (without, pooled), row in means.mean().iterrows()
        ],
    }


def removal(subject: Subject) -> dict[str, Any] | None:
    """What leaving contributors out does to their own scores."""
    if subject.made.removal is None:
        return None
    table = subject.made.removal
    whole = table[table["depth"].isna() & (table["policy"] == subject.policy)]
    primary = primary_removal(subject)
    if table.empty:
        return {"cannot_see": CANNOT_SEE, "kinds": [], "contributors": []}
    found = summarise(whole)

    def place(row: dict[str, Any]) -> tuple[int, int]:
        return subject.measures.index(row["measure"]), KINDS.index(row["kind"])

    columns = [
        *("kind", "left_out", "run", "pooled", "score", "score_without", "change"),
        *("relative_change", "change_low", "change_high", "queries_changed", "deep_relative"),
        *("rank", "rank_without", "tau", "unique", "unique_relevant"),
    ]
    return {
        "cannot_see": CANNOT_SEE,
        "kinds": sorted(records(found[list(SUMMARY)]), key=place),
        "contributors": records(primary[columns]),
    }


def sharing(subject: Subject) -> dict[str, Any] | None:
    """The verdict on what contributors share, with the figures that the report shows."""
    if subject.made.sharing is None:
        return None
    table = subject.made.sharing_figures
    steps = table[table["section"] == "steps"]
    outside = _statistics(table, "outside")
    titles = _statistics(table[table["kind"] == "run"], "titlestat")
    return {
        **subject.made.sharing,
        "steps": [
            {"family": family, "runs": int(rows["n"].iloc[0])}
            | {
                row.statistic: {"mean": number(row.value), "low": row.low, "high": row.high}
                for row in rows.itertuples()
            }
            for family, rows in steps.groupby("subject")
        ],
        "taus": _taus(subject, table[table["section"] == "thinning"]),
        "overlap": _overlap(table),
        "outside": records(outside.reset_index()) if len(outside) else [],
        "titles": records(titles.reset_index()) if len(titles) else [],
    }


def _overlap(table: pd.DataFrame) -> dict[str, Any]:
    """The Jaccard overlap of every two runs, in the order of the heat map: alike side by side."""
    order = table[table["section"] == "families"].sort_values("value")
    runs = order["subject"].tolist()
    alike = table[
        (table["section"] == "overlap")
        & (table["kind"] == "run")
        & (table["statistic"] == "jaccard")
    ].pivot(index="subject", columns="other", values="value")
    return {
        "runs": runs,
        "families": order["other"].tolist(),
        "jaccard": alike.loc[runs, runs].to_numpy().tolist(),
    }


def _statistics(table: pd.DataFrame, section: str) -> pd.DataFrame:
    """One row for each subject of a section, one column for each statistic."""
    rows = table[table["section"] == section]
    return rows.pivot_table(index="subject", columns="statistic", values="value", observed=True)


def _taus(subject: Subject, thinning: pd.DataFrame) -> list[dict[str, Any]]:
    """What is left of the order of runs by the primary measure when judgments are taken away."""
    shares = thinning[thinning["statistic"] == "judged_share"]
    left = shares.set_index(["kind", "subject"])["value"]
    taus = thinning[
        (thinning["statistic"] == "tau")
        & (thinning["measure"] == subject.primary.name)
        & (thinning["policy"] == subject.policy)
    ]
    return [
        {
            "kind": row.kind,
            "cut": row.subject,
            "share": float(left[row.kind, row.subject]),
            "tau": number(row.value),
            "low": number(row.low),
            "high": number(row.high),
            "beyond": None if pd.isna(row.other) else row.other,
        }
        for row in taus.itertuples()
    ]


def routes(subject: Subject) -> list[dict[str, Any]]:
    """For each kind of route, how many of them lead to the judged and to the relevant documents."""
    if subject.made.routes is None:
        return []
    found = []
    for kind, rows in subject.made.routes.groupby("kind", sort=False):
        documents = rows.groupby(["query_id", "doc_id"], sort=False)
        number, grade = documents["route"].count(), documents["relevance"].first()
        relevant = number[grade >= subject.level]
        found.append(
            {"kind": kind, "routes": int(rows["route"].nunique())}
            | {name: int((number == n).sum()) for name, n in (("by_none", 0), ("by_one", 1))}
            | {"relevant": len(relevant)}
            | {
                f"relevant_by_{name}": int((relevant == n).sum())
                for name, n in (("none", 0), ("one", 1))
            }
        )
    return found


def tail(subject: Subject) -> dict[str, Any]:
    """What the sampled estimate says of the tails whose grades are known, and how it was tested."""
    made, settings = subject.made, subject.settings["tail"]
    known = made.estimate
    return {
        "beyond": settings["beyond"],
        "depth": settings["depth"],
        "design": settings["design"],
        "sheet": None
        if made.strata is None
        else {
            "population": int(made.strata["population"].sum()),
            "sampled": int(made.strata["sampled"].sum()),
        },
        "estimates": []
        if known is None
        else records(known.loc[known["scope"] == "total", list(ESTIMATE)]),
        "by_run": []
        if made.by_run is None
        else records(made.by_run.loc[made.by_run["level"] == subject.level, list(BY_RUN)]),
        "calibration": None if made.calibration is None else records(made.calibration),
        "proportional": None if made.losses is None else records(proportional(made.losses)),
        "losses": None
        if made.losses is None
        else records(made.losses[made.losses["measure"] == subject.primary.name]),
    }
