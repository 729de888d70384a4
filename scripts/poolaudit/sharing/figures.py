"""The figures of shared bias: how alike contributors are, and what each kind of them alone brought.

Each function is one section of `sharing.parquet`: rows of one long table (COLUMNS), whose first
columns say what `value` is a figure of. `probing.probe` puts them together and explains them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from poolaudit.pairs import NEVER, Contributor, Holders, Pairs, Rankings
from poolaudit.pools.depth_pools import BANDS, coverage_by_band
from poolaudit.pools.routes import pool_routes
from poolaudit.removal.leave_out import leave_out_uniques
from poolaudit.scores.lists import JudgedLists, judged_lists
from poolaudit.scores.measure_names import Measure, parse_measure
from poolaudit.scores.policies import coverage, evaluate, means
from poolaudit.sharing import overlap, thinning
from poolaudit.sharing import titlestat as ts

COLUMNS = {
    "section": "object",
    "kind": "object",
    "subject": "object",
    "other": "object",
    "depth": "Int32",
    "level": "Int32",
    "measure": "object",
    "policy": "object",
    "statistic": "object",
    "value": "float64",
    "low": "float64",
    "high": "float64",
    "n": "Int64",
}
CUTOFF = 10  # where coverage is looked at when the primary measure has no cutoff
MOST_FAMILIES = 5  # left out in the thinning, which scores thirty draws for each
LEFT_OUT = ("run", "group", "family")
NOT_NAMED = "(not named)"


@dataclass(frozen=True)
class Pool:
    """A pool and its audited runs, as the probe looks at them.

    Attributes:
        pairs, rankings, contributors: with a family for every run.
        families_from: `sheet`, or `clusters` where the sheet names none.
        measure, policy: the primary ones.
        depth: of the pool.
        depths: of shallower pools.
        level: the lowest grade that counts as relevant.
        lists: the judged lists.
        scores: float64[runs], by the primary measure and policy.
        alike: float64[runs, runs], Jaccard overlap of the first documents.
    """

    pairs: Pairs
    rankings: Rankings
    contributors: tuple[Contributor, ...]
    families_from: str
    measure: Measure
    policy: str
    depth: int
    depths: tuple[int, ...]
    level: int
    lists: JudgedLists
    scores: np.ndarray
    alike: np.ndarray

    @property
    def pooled(self) -> np.ndarray:
        """bool[runs]."""
        return np.array([c.pooled for c in self.contributors])

    @property
    def families(self) -> list[str]:
        """The family of each run."""
        return [c.family or NOT_NAMED for c in self.contributors]

    @property
    def cutoff(self) -> int:
        """How far down coverage is looked at."""
        return self.measure.cutoff or CUTOFF


def prepare(
    pairs: Pairs,
    rankings: Rankings,
    contributors: Sequence[Contributor],
    primary: tuple[str, str],
    depth: int,
    depths: Sequence[int],
    level: int,
) -> Pool:
    """Give every run a family, and score the runs by the primary measure.

    Where the sheet names no family, runs that are alike are one family.
    """
    by_name = {c.run: c for c in contributors}
    contributors = [by_name[run] for run in rankings.runs]
    alike = overlap.jaccard(pairs, rankings)
    families_from = "sheet"
    if "family" not in pairs.holders:
        families_from = "clusters"
        names = overlap.name_families(alike, overlap.find_families(alike), rankings.runs)
        contributors = [replace(c, family=f) for c, f in zip(contributors, names, strict=True)]
        holders = hold_by_family(pairs, rankings, contributors, depth)
        pairs = replace(pairs, holders={**pairs.holders, "family": holders})
    lists = judged_lists(pairs, rankings)
    measure, policy = parse_measure(primary[0]), primary[1]
    return Pool(
        pairs=pairs,
        rankings=rankings,
        contributors=tuple(contributors),
        families_from=families_from,
        measure=measure,
        policy=policy,
        depth=depth,
        depths=tuple(sorted(d for d in set(depths) if d < depth)),
        level=level,
        lists=lists,
        scores=means(evaluate(lists, pairs.relevance, [measure], policy))[0],
        alike=alike,
    )


def hold_by_family(
    pairs: Pairs, rankings: Rankings, contributors: Sequence[Contributor], depth: int
) -> Holders:
    """Who holds the best rank of each pair, by family, as in Pairs.

    Args:
        pairs, rankings: the two tables.
        contributors: the audited runs, in the order of `rankings.runs`.
        depth: ranks below it count as never returned: the result is right for pools to this depth.
    """
    names = tuple(sorted({c.family for c in contributors if c.pooled}))
    code = np.array([names.index(c.family) if c.pooled else -1 for c in contributors])
    of_list = code[rankings.list_run]
    top = np.flatnonzero((rankings.rank <= depth) & (of_list >= 0)[rankings.list_of])
    pair, rank, family = rankings.pair[top], rankings.rank[top], of_list[rankings.list_of[top]]
    # Each family's best rank for each pair, then the best and the next best of these.
    order = np.lexsort((rank, family, pair))
    pair, rank, family = pair[order], rank[order], family[order]
    leads = np.diff(pair, prepend=-1).astype(bool) | np.diff(family, prepend=-1).astype(bool)
    pair, rank, family = pair[leads], rank[leads], family[leads]
    order = np.lexsort((family, rank, pair))
    pair, rank, family = pair[order], rank[order], family[order]
    first = np.flatnonzero(np.diff(pair, prepend=-1))
    followed = first[np.append(pair, -1)[first + 1] == pair[first]]
    best, next_best = np.full(len(pairs), -1, np.int32), np.full(len(pairs), NEVER, np.int32)
    best[pair[first]] = family[first]
    next_best[pair[followed]] = rank[followed + 1]
    return Holders(names, best, next_best)


def rows(section: str, **columns: Any) -> pd.DataFrame:
    """Rows of the table; columns not given are null."""
    table = pd.DataFrame(columns) if columns else pd.DataFrame(index=range(0))
    table = table.assign(section=section).reindex(columns=list(COLUMNS))
    return table.astype(COLUMNS)


def _names(values: Iterable[str]) -> np.ndarray:
    return np.array(list(values), object)


def overlap_rows(pool: Pool) -> pd.DataFrame:
    """Overlap of every two contributors of each kind, and the order of the heat map."""
    runs = _names(pool.rankings.runs)
    rbo = overlap.rank_biased_overlap(pool.rankings)
    tables = [_matrix("run", runs, "rbo", rbo), _matrix("run", runs, "jaccard", pool.alike)]
    for kind, names, alike in _overlap_of_kinds(pool):
        tables.append(_matrix(kind, names, "jaccard", alike))
    order = overlap.order_by_family(pool.alike, pool.families)
    place = {
        "kind": "run",
        "subject": runs[order],
        "other": _names(pool.families)[order],
        "statistic": "place",
        "value": np.arange(1, len(runs) + 1),
        "n": pool.pooled[order].astype(int),
    }
    return pd.concat([*tables, rows("families", **place)], ignore_index=True)


def _matrix(kind: str, names: np.ndarray, statistic: str, values: np.ndarray) -> pd.DataFrame:
    return rows(
        "overlap",
        kind=kind,
        subject=np.repeat(names, len(names)),
        other=np.tile(names, len(names)),
        depth=overlap.DEPTH,
        statistic=statistic,
        value=values.reshape(-1),
    )


def _overlap_of_kinds(pool: Pool) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """For group and family: the pooled contributors' names and their overlap."""
    for kind in ("group", "family"):
        if kind in pool.pairs.holders:
            names = pool.pairs.holders[kind].names
            member = [names.index(getattr(c, kind)) if c.pooled else -1 for c in pool.contributors]
            alike = overlap.jaccard(pool.pairs, pool.rankings, member=np.array(member))
            yield kind, _names(names), alike


def independence_rows(pool: Pool) -> pd.DataFrame:
    """The effective number of the pooled contributors of each kind."""
    pooled = pool.alike[np.ix_(pool.pooled, pool.pooled)]
    matrices = {"run": pooled, **{k: alike for k, _, alike in _overlap_of_kinds(pool)}}
    return rows(
        "independence",
        kind=list(matrices),
        depth=overlap.DEPTH,
        statistic="effective_number",
        value=[overlap.effective_number(matrix) for matrix in matrices.values()],
        n=[len(matrix) for matrix in matrices.values()],
    )


def removal_rows(pool: Pool) -> pd.DataFrame:
    """What each pooled run loses without itself, without its group and without its family."""
    held = pool.pairs.holders
    kinds = [kind for kind in LEFT_OUT if kind in held and len(held[kind].names) > 1]
    if not kinds:
        return rows("removal")
    by_run, _ = leave_out_uniques(
        pool.pairs,
        pool.rankings,
        pool.contributors,
        [pool.measure],
        (pool.policy,),
        nominal=pool.depth,
        kinds=kinds,
        ranks=False,
    )
    by_run = by_run[by_run["pooled"].astype(bool)]
    return rows(
        "removal",
        kind=_names(by_run["kind"]),
        subject=_names(by_run["run"]),
        other=_names(by_run["left_out"]),
        depth=pool.depth,
        measure=pool.measure.name,
        policy=pool.policy,
        statistic="relative_change",
        value=by_run["relative_change"].to_numpy(float),
        n=by_run["unique_relevant"].to_numpy(int),
    )


def steps_rows(pool: Pool, removal: pd.DataFrame) -> pd.DataFrame:
    """For each family the mean change of its runs: the step from kind to kind is what it shares."""
    family = dict(zip(pool.rankings.runs, pool.families, strict=True))
    changes = removal.assign(family=removal["subject"].map(family)).groupby(["family", "kind"])
    if removal.empty:
        return rows("steps")
    summary = changes["value"].agg(["mean", "min", "max", "count"]).reset_index()
    summary["place"] = summary["kind"].map(LEFT_OUT.index)
    summary = summary.sort_values(["family", "place"])
    return rows(
        "steps",
        kind="family",
        subject=_names(summary["family"]),
        depth=pool.depth,
        measure=pool.measure.name,
        policy=pool.policy,
        statistic=_names("without_" + kind for kind in summary["kind"]),
        value=summary["mean"].to_numpy(),
        low=summary["min"].to_numpy(),
        high=summary["max"].to_numpy(),
        n=summary["count"].to_numpy(),
    )


def relevant_rows(pool: Pool, levels: Sequence[int]) -> pd.DataFrame:
    """The relevant share of all judged pairs, of those in each pool, and of each step of depth."""
    grade, rank = pool.pairs.relevance, pool.pairs.best_rank
    judged = grade >= 0
    depths = sorted({*pool.depths, max(1, pool.depth // 2), pool.depth})
    steps = zip([0, *depths], depths, strict=False)
    sets = [("share", None, judged)]
    sets += [("share", depth, judged & (rank <= depth)) for depth in depths]
    sets += [("new_share", high, judged & (rank > low) & (rank <= high)) for low, high in steps]
    counted = []
    for level in levels:
        for statistic, depth, chosen in sets:
            relevant = np.count_nonzero(grade[chosen] >= level)
            counted.append((level, statistic, depth, relevant, np.count_nonzero(chosen)))
    level, statistic, depth, relevant, n = zip(*counted, strict=True)
    return rows(
        "relevant",
        depth=pd.array(depth, "Int32"),
        level=level,
        statistic=statistic,
        value=[r / n if n else np.nan for r, n in zip(relevant, n, strict=True)],
        n=n,
    )


def routes_rows(pool: Pool) -> pd.DataFrame:
    """By how many contributors each judged relevant document was reached, and what each brought."""
    relevant = pool.pairs.relevance >= pool.level
    runs = _names(pool.rankings.runs)[pool.pooled]
    primary = {"measure": pool.measure.name, "policy": pool.policy}
    scores = {"statistic": "score", "value": pool.scores[pool.pooled]}
    tables = [rows("routes", kind="run", subject=runs, depth=pool.depth, **primary, **scores)]
    for kind in (kind for kind in LEFT_OUT if kind in pool.pairs.holders):
        routes = pool_routes(pool.pairs, pool.rankings, pool.contributors, pool.depth, kind)
        reached = np.bincount(routes.pair, minlength=len(relevant))
        by_number = np.bincount(reached[relevant], minlength=2)
        of_relevant = relevant[routes.pair]
        single = of_relevant & (reached[routes.pair] == 1)
        numbers, names = map(str, range(len(by_number))), routes.names
        counts = [
            ("relevant_documents", numbers, by_number),
            ("relevant", names, np.bincount(routes.route[of_relevant], minlength=len(names))),
            ("unique_relevant", names, np.bincount(routes.route[single], minlength=len(names))),
        ]
        shared = {"kind": kind, "depth": pool.depth, "level": pool.level}
        tables += [
            rows("routes", subject=_names(subject), statistic=statistic, value=value, **shared)
            for statistic, subject, value in counts
        ]
    return pd.concat(tables, ignore_index=True)


def outside_rows(pool: Pool) -> pd.DataFrame:
    """How much of each run's first documents nobody judged, and how good the judged ones are."""
    grades, runs = pool.pairs.relevance, _names(pool.rankings.runs)
    returned, _, unjudged = coverage(pool.lists, grades, [pool.cutoff])
    share = unjudged[0].sum(axis=1) / np.maximum(1, returned[0].sum(axis=1))
    condensed = means(evaluate(pool.lists, grades, [pool.measure], "condense"))[0]
    shared = {"kind": "run", "subject": runs, "depth": pool.cutoff}
    shared |= {"other": np.where(pool.pooled, "pooled", "outside")}
    scored = {"measure": pool.measure.name, "policy": "condense"}
    tables = [
        rows("outside", **shared, statistic="unjudged", value=share),
        rows("outside", **shared, statistic="unjudged_without_own", value=_without_own(pool)),
        rows("outside", **shared, **scored, statistic="condensed_score", value=condensed),
    ]
    return pd.concat(tables, ignore_index=True)


def _without_own(pool: Pool) -> np.ndarray:
    """float64[runs]: the unjudged share if the run's group (else itself) had not been pooled."""
    kind = "group" if "group" in pool.pairs.holders else "run"
    by_band = coverage_by_band(
        pool.pairs,
        pool.rankings,
        pool.contributors,
        pool.depth,
        kind,
        bands=(pool.cutoff,),
    )
    judged = by_band.set_index("run")["share_without"]
    return 1 - judged.loc[list(pool.rankings.runs)].to_numpy()


def titlestat_rows(pool: Pool, words: ts.TitleWords) -> pd.DataFrame:
    """titlestat of the relevant documents, of each run's first ones, and by rank."""
    pairs, level = pool.pairs, pool.level
    bands = [band for band in BANDS if band <= max(10, pool.depth)]
    labels = [f"{low + 1}-{high}" for low, high in zip([0, *bands], bands, strict=False)]
    of_runs = ts.of_runs(words, pairs, pool.rankings, pool.cutoff)
    relevant = ts.of_relevant(words, pairs, level)
    by_rank = ts.of_best_ranks(words, pairs, bands)
    relevant_by_rank = ts.of_best_ranks(words, pairs, bands, level)
    named = [
        ("relevant", ["relevant"], relevant[None, :], None),
        ("run", pool.rankings.runs, of_runs, pool.cutoff),
        ("pool", labels, by_rank, None),
        ("relevant_in_pool", labels, relevant_by_rank, None),
    ]
    tables = [
        rows(
            "titlestat",
            kind=kind,
            subject=_names(subjects),
            depth=depth,
            level=level if "relevant" in kind else None,
            statistic="titlestat",
            value=_mean(values),
            n=np.isfinite(values).sum(axis=1),
        )
        for kind, subjects, values, depth in named
    ]
    usual = _mean(of_runs[pool.pooled].T)
    differences = [ts.mean_difference(row, usual) for row in of_runs]
    tables.append(
        rows(
            "titlestat",
            kind="run",
            subject=_names(pool.rankings.runs),
            other="pooled runs",
            depth=pool.cutoff,
            statistic="difference",
            value=[difference for difference, _ in differences],
            n=[queries for _, queries in differences],
        )
    )
    return pd.concat(tables, ignore_index=True)


def _mean(values: np.ndarray) -> np.ndarray:
    """The mean of each row over its known values; NaN where none is."""
    known = np.isfinite(values)
    total = np.where(known, values, 0).sum(axis=1)
    nothing = np.full(len(values), np.nan)
    return np.divide(total, known.sum(axis=1), out=nothing, where=known.any(axis=1))


def thinning_rows(
    pool: Pool,
    measures: Sequence[str],
    policies: Sequence[str],
    rates: Sequence[float],
    draws: int,
    seed: int,
) -> pd.DataFrame:
    """Kendall's tau under random and structured thinning, and what each leaves."""
    cuts = list(thinning.structured_cuts(pool.pairs, pool.depth, pool.depths, ("family", "type")))
    families = [cut for cut in cuts if cut.kind == "family"]
    families.sort(key=lambda cut: np.count_nonzero(cut.grades >= 0))
    dropped = {cut.name for cut in families[MOST_FAMILIES:]}
    cuts = [cut for cut in cuts if cut.kind != "family" or cut.name not in dropped]
    taus = thinning.order_under_thinning(
        pool.pairs,
        pool.rankings,
        measures,
        policies,
        cuts,
        rates=rates,
        draws=draws,
        seed=seed,
    )
    left = taus.drop_duplicates(["kind", "cut"])
    shown = rows(
        "thinning",
        kind=_names(taus["kind"]),
        subject=_names(taus["cut"]),
        other=_names(taus["beyond"]),
        measure=_names(taus["measure"]),
        policy=_names(taus["policy"]),
        statistic="tau",
        value=taus["tau"].to_numpy(float),
        low=taus["low"].to_numpy(float),
        high=taus["high"].to_numpy(float),
        n=taus["draws"].to_numpy(int),
    )
    shares = rows(
        "thinning",
        kind=_names(left["kind"]),
        subject=_names(left["cut"]),
        statistic="judged_share",
        value=left["share"].to_numpy(float),
        n=left["judged"].to_numpy(int),
    )
    return pd.concat([shown, shares], ignore_index=True)
