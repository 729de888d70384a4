"""Removal: what would the scores be if a contributor had never been pooled?

*Leave out uniques* (Zobel 1998; by group: Voorhees 2001): take from the judgments what only one
contributor put into the pool, and score its runs again. A small change says that a run which did
not take part would have been judged fairly by what the others found. All runs are scored under
each reduced judgment set, so ranks and rank correlations are exact.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from poolaudit.errors import AuditError, nearest
from poolaudit.pairs import KINDS, UNJUDGED, Contributor, Pairs, Rankings
from poolaudit.pools.routes import Routes
from poolaudit.removal.reduced import RELEVANT, Absence, Reductions, Whole, reach, rescore
from poolaudit.scores.lists import judged_lists
from poolaudit.scores.measure_names import Measure, parse_measures
from poolaudit.scores.policies import POLICIES, same_values
from poolaudit.scores.rank_correlation import competition_ranks, correlations

CANNOT_SEE = (
    "Removal shows what one contributor alone brought. It cannot see what all contributors share: "
    "relevant documents that none of them looked for were never judged, and leaving one out does "
    "not bring them back."
)
VARIANTS = ("all", "relevant")
KEY = ("kind", "left_out", "run", "measure", "policy", "depth")
DEEP_QUERIES = 10
FEWEST_CHANGED = 10
LEVEL = 0.95
RESAMPLES = 1000
_TOLERANCE = 1e-12


def kinds_to_leave_out(pairs: Pairs) -> tuple[list[str], dict[str, str]]:
    """The kinds of contributor that removal can be done for, and why not for the others.

    Returns:
        The kinds with at least two contributors; and for each other kind that the pool's runs are
        named by, one sentence.
    """
    kinds = [kind for kind in KINDS if kind in pairs.holders]
    usable = [kind for kind in kinds if len(pairs.holders[kind].names) > 1]
    return usable, {kind: _refusal(pairs, kind) for kind in kinds if kind not in usable}


def _refusal(pairs: Pairs, kind: str) -> str:
    return (
        f"The pool has one {kind} only, {pairs.holders[kind].names[0]}: without it nothing would "
        f"be judged. {CANNOT_SEE}"
    )


def uniques(pairs: Pairs, kind: str, depth: int) -> Reductions:
    """What each contributor alone put into the depth-`depth` pool, and somebody judged.

    Owners are numbered as in `pairs.holders[kind].names`.

    Raises:
        AuditError: the kind is not known, or has one contributor only.
    """
    if kind not in pairs.holders:
        raise AuditError(
            f"The pool's runs are not named by {kind}.",
            found=kind,
            expected="one of " + ", ".join(pairs.holders),
            todo=nearest(kind, pairs.holders) or f"fill in the column {kind} of the run sheet",
        )
    holders = pairs.holders[kind]
    if len(holders.names) < 2:
        raise AuditError(
            _refusal(pairs, kind),
            expected=f"at least two contributors of the kind {kind}",
            todo="leave out another kind, or judge documents found in another way",
        )
    alone = pairs.in_pool(depth) & (holders.next_best > depth) & (holders.best >= 0)
    pair = np.flatnonzero(alone & (pairs.relevance != UNJUDGED))
    return Reductions(len(holders.names), pair, holders.best[pair].astype(np.int64))


def unique_to_routes(routes: Routes) -> Reductions:
    """The pairs that have a single route, by route: what is lost without it."""
    single = np.bincount(routes.pair, minlength=1)[routes.pair] == 1
    return Reductions(len(routes.names), routes.pair[single], routes.route[single])


def leave_out_uniques(
    pairs: Pairs,
    rankings: Rankings,
    contributors: Sequence[Contributor],
    measures: Sequence[str | Measure],
    policies: Sequence[str] = ("nonrelevant",),
    depths: Sequence[int] = (),
    *,
    nominal: int | None = None,
    kinds: Sequence[str] | None = None,
    routes: Routes | None = None,
    variant: str = "all",
    ranks: bool = True,
    seed: int = 0,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Score every contributor's runs as if it had never been pooled.

    Args:
        pairs, rankings: the two tables.
        contributors: the audited runs, with what the run sheet says of them.
        measures, policies: what is computed.
        depths: pool depths; at each the judgments are those of a campaign of that depth.
        nominal: also reduce all of the judgments, by what is unique in the pool of this depth. What
            came by another route stays, also where it was found by learning from that pool.
        kinds: among run, group, family, type; default those with two contributors or more.
        routes: also leave out each of these routes, from all of the judgments.
        variant: `all` unique documents are taken from the judgments, or only the `relevant` ones:
            grade above 0 for graded measures, at the level or above for binary ones. They differ
            for Bpref, infAP and Judged, and under the policies condense and restrict.
        ranks: score all runs under each reduced judgment set. Without it only the runs of the
            contributor that is left out are scored, and there are no ranks and no correlations.
        seed: of the bootstrap.

    Returns:
        By contributor, one row for each kind, left_out, run (of this contributor, pooled or not;
        all runs for routes), measure, policy and depth (null: all of the judgments):

        * pooled (whether means should count it) and type of the run; variant;
        * score, score_without, change (score less score_without), relative_change (over score;
          null where it is 0); change_low, change_high: as in `change_intervals`;
        * queries, queries_without (that have a value), queries_changed (whose value changed);
        * deep_score, deep_without, deep_change, deep_relative: the same on the ten queries with the
          most relevant documents;
        * rank, rank_without (among all audited runs; equal scores share the better rank), tau,
          tau_ap (of the order of all runs with the full order);
        * unique, unique_relevant: judged pairs only it contributed, and the relevant ones of them;
        * cannot_see: CANNOT_SEE, to stand beside every small number.

        By query, the rows whose value changed: kind, left_out, run, measure, policy, depth,
        query_id, score, score_without, change, unique, unique_relevant (of the query).

    Raises:
        AuditError: a kind is not known or has one contributor; an unknown measure or policy.
    """
    measures = parse_measures(measures)
    _check_known("variant", [variant], VARIANTS)
    _check_known("policy", policies, POLICIES)
    kinds = kinds_to_leave_out(pairs)[0] if kinds is None else kinds
    weights = bootstrap_weights(len(pairs.query_ids), seed)
    by_contributor, by_query = _Rows(), _Rows()
    all_judgments = [None] if nominal is not None or routes is not None else []
    for depth in [*depths, *all_judgments] or [None]:
        grades, pool_depth = pairs.grades(depth), nominal if depth is None else depth
        sources = [
            _contributors_of(pairs, rankings.runs, contributors, kind, pool_depth)
            for kind in (kinds if pool_depth is not None else ())
        ]
        if depth is None and routes is not None:
            sources.append(_routes(routes, rankings.runs))
        whole = Whole(judged_lists(pairs, rankings, grades), grades)
        befores = [_Before.of(plan, whole, pairs) for plan in _plans(measures, policies, variant)]
        # With nobody to leave out, the tables have their columns and no rows.
        for source in sources or [_nobody(rankings.runs)]:
            absences = source.absences(pairs, whole, {b.plan.level for b in befores}, ranks)
            for before in befores:
                absence = absences[before.plan.level]
                _leave_out(pairs, before, source, absence, depth, weights, by_contributor, by_query)
    table = by_contributor.table(KEY)
    made_by = {c.run: c for c in contributors}
    table.insert(len(KEY), "pooled", np.array([made_by[r].pooled for r in table["run"]], bool))
    types = pd.Series([made_by[r].type for r in table["run"]], dtype="str")
    table.insert(len(KEY) + 1, "type", types)
    table.insert(len(KEY) + 2, "variant", variant)
    codes = np.zeros(len(table), np.int8)
    table["cannot_see"] = pd.Categorical.from_codes(codes, [CANNOT_SEE])
    return table, by_query.table([*KEY, "query_id"])


def _check_known(what: str, names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            expected = "one of " + ", ".join(known)
            todo = nearest(name, known)
            raise AuditError(f"There is no such {what}.", found=name, expected=expected, todo=todo)


def summarise(table: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """What removal did to the pooled runs, in a few numbers.

    Args:
        table: by contributor, as `leave_out_uniques` returns it.
        by: further columns to tell runs apart by, such as `type`.

    Returns:
        One row for each kind, measure, policy, depth and value of `by`: contributors that have a
        pooled run; runs, a run counted once for each contributor that it lost; three means of the
        relative changes, which need not be close: mean_relative (signed), mean_absolute and
        ratio_of_sums (sum of changes over sum of scores); largest (by size, signed), largest_run
        and largest_left_out; deep_mean and deep_largest on the ten queries with the most relevant
        documents; tau and tau_ap, the lowest of any removal, where ranks were asked for; and
        cannot_see.
    """
    keys = ["kind", "measure", "policy", "depth", *by]
    groups = table[table["pooled"]].groupby(keys, dropna=False, sort=True)
    rows = [dict(zip(keys, key, strict=True)) | _summary(group) for key, group in groups]
    columns = [*keys, *_summary(table[:0])]
    return pd.DataFrame(rows, columns=columns).astype({"depth": "Int32"})


def _summary(group: pd.DataFrame) -> dict[str, object]:
    relative, deep = group["relative_change"], group["deep_relative"]
    at = relative.abs().idxmax() if relative.notna().any() else None
    correlations = [column for column in ("tau", "tau_ap") if column in group]
    return {
        "contributors": group["left_out"].nunique(),
        "runs": len(group),
        "mean_relative": relative.mean(),
        "mean_absolute": relative.abs().mean(),
        "ratio_of_sums": group["change"].sum() / (group["score"].sum() or np.nan),
        "largest": np.nan if at is None else relative[at],
        "largest_run": None if at is None else group["run"][at],
        "largest_left_out": None if at is None else group["left_out"][at],
        "deep_mean": deep.mean(),
        "deep_largest": deep.loc[deep.abs().idxmax()] if deep.notna().any() else np.nan,
        **{column: group[column].min() for column in correlations},
        "cannot_see": CANNOT_SEE,
    }


@dataclass(frozen=True)
class _Sources:
    """One kind of contributor: what leaves the judgments with each, and which runs are its own.

    Attributes:
        kind, names: the kind and its contributors.
        reductions: the judged pairs that leave with each.
        own: bool[names, runs].
    """

    kind: str
    names: tuple[str, ...]
    reductions: Reductions
    own: np.ndarray

    def absences(
        self, pairs: Pairs, whole: Whole, levels: set[int | None], ranks: bool
    ) -> dict[int | None, Absence]:
        """What each takes away that is relevant at a level; None: all that it takes away."""
        wanted, removed = None if ranks else self.own, self.reductions
        return {
            level: Absence(
                whole,
                removed if level is None else removed.only(pairs.relevance >= level),
                wanted,
            )
            for level in levels
        }


def _contributors_of(
    pairs: Pairs, runs: Sequence[str], contributors: Sequence[Contributor], kind: str, depth: int
) -> _Sources:
    reductions, names = uniques(pairs, kind, depth), pairs.holders[kind].names
    of_run = {c.run: getattr(c, kind) for c in contributors}
    own = np.array([[of_run[run] == name for run in runs] for name in names])
    return _Sources(kind, names, reductions, own)


def _routes(routes: Routes, runs: Sequence[str]) -> _Sources:
    everyone = np.ones((len(routes.names), len(runs)), bool)
    return _Sources("route", routes.names, unique_to_routes(routes), everyone)


def _nobody(runs: Sequence[str]) -> _Sources:
    nothing = np.zeros(0, np.int64)
    return _Sources("", (), Reductions(0, nothing, nothing), np.zeros((0, len(runs)), bool))


@dataclass(frozen=True)
class _Plan:
    """Measures that are scored together: alike, and changed by the same documents.

    Attributes:
        policies: they have the same values under each.
        measures: what is scored.
        level: the removed documents that count have this grade or a higher one; None: all count.
    """

    policies: tuple[str, ...]
    measures: tuple[Measure, ...]
    level: int | None


def _plans(measures: Sequence[Measure], policies: Sequence[str], variant: str) -> list[_Plan]:
    plans: dict[tuple, list[Measure]] = defaultdict(list)
    for measure in measures:
        level = _level(measure) if variant == "relevant" else None
        for alike in same_values(measure, policies):
            kind = reach(measure, alike[0])
            plans[alike, kind, 1 if kind == RELEVANT else level].append(measure)
    return [_Plan(alike, tuple(group), level) for (alike, _, level), group in plans.items()]


def _level(measure: Measure) -> int:
    """The lowest grade that is relevant for the measure; for a graded one all above 0 are."""
    return measure.rel or 1


@dataclass(frozen=True)
class _Before:
    """The scores of one plan with nobody left out.

    Attributes:
        plan, whole: what is scored, and over which lists and judgments.
        values: float64[measures, runs, queries].
        means, ranks: float64[measures, runs].
        deep: int64[measures, ten], the queries with the most relevant documents.
    """

    plan: _Plan
    whole: Whole
    values: np.ndarray
    means: np.ndarray
    ranks: np.ndarray
    deep: np.ndarray

    @classmethod
    def of(cls, plan: _Plan, whole: Whole, pairs: Pairs) -> _Before:
        values = whole.score(plan.measures, plan.policies[0])
        means = _mean(values)
        return cls(
            plan=plan,
            whole=whole,
            values=values,
            means=means,
            ranks=np.array([competition_ranks(scores) for scores in means]),
            deep=np.array([_deep_queries(pairs, _level(m)) for m in plan.measures]),
        )


def _deep_queries(pairs: Pairs, level: int) -> np.ndarray:
    """The ten queries with the most relevant documents; of equals those first by id."""
    relevant = np.bincount(pairs.query[pairs.relevance >= level], minlength=len(pairs.query_ids))
    return np.sort(np.argsort(-relevant, kind="stable")[:DEEP_QUERIES])


def _leave_out(
    pairs: Pairs,
    before: _Before,
    source: _Sources,
    absence: Absence,
    depth: int | None,
    weights: np.ndarray,
    by_contributor: _Rows,
    by_query: _Rows,
) -> None:
    """Leave each contributor of a kind out in turn, and note what became of its runs."""
    plan, grades, removed = before.plan, pairs.relevance, source.reductions
    owner, run = np.nonzero(source.own)
    old = before.values[:, run]
    new, orders = _score_without(before, absence, source.own)

    unique = _count_by_query(pairs, removed)
    relevant = np.array(
        [_count_by_query(pairs, removed.only(grades >= _level(m))) for m in plan.measures]
    )
    names = np.array([measure.name for measure in plan.measures], object)
    left_out = np.array(source.names, object)[owner]
    run_names = np.array(before.whole.lists.runs, object)[run]
    where = {"kind": source.kind, "depth": np.nan if depth is None else depth}
    by_contributor.add(
        plan.policies,
        (len(names), len(owner)),
        **where,
        left_out=left_out,
        measure=names[:, None],
        run=run_names,
        **_compare(old, new, before.deep, weights),
        **orders,
        unique=unique.sum(axis=1)[owner],
        unique_relevant=relevant.sum(axis=2)[:, owner],
    )
    measure, cell, query = np.nonzero(_differ(old, new))
    score, score_without = old[measure, cell, query], new[measure, cell, query]
    by_query.add(
        plan.policies,
        measure.shape,
        **where,
        left_out=left_out[cell],
        measure=names[measure],
        run=run_names[cell],
        query_id=np.array(pairs.query_ids, object)[query],
        score=score,
        score_without=score_without,
        change=score - score_without,
        unique=unique[owner[cell], query],
        unique_relevant=relevant[measure, owner[cell], query],
    )


def _score_without(
    before: _Before, absence: Absence, own: np.ndarray
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The scores of each contributor's own runs without it, and what becomes of all ranks.

    Returns:
        float64[measures, cells, queries], a cell for each contributor and run of its own; and rank,
        rank_without, tau, tau_ap [measures, cells], or nothing unless all runs were scored.
    """
    plan, lists = before.plan, before.whole.lists
    owner, run = np.nonzero(own)
    cell_at = np.full(own.shape, -1)
    cell_at[owner, run] = np.arange(len(owner))
    new = before.values[:, run]
    orders = _Orders(before, len(own))
    ranks = absence.wanted is None
    for batch in rescore(absence, plan.measures, plan.policies[0]):
        list_run, list_query = lists.list_run[batch.list], lists.list_query[batch.list]
        cell = cell_at[batch.owner, list_run]
        mine = cell >= 0
        new[:, cell[mine], list_query[mine]] = batch.values[:, mine]
        if ranks:
            orders.add(batch.owner, list_run, list_query, batch.values)
    return new, orders.of_cells(owner, run) if ranks else {}


class _Orders:
    """The order of all runs without each contributor; without most it is what it was."""

    def __init__(self, before: _Before, n_owners: int) -> None:
        self.before = before
        self.ranks = np.repeat(before.ranks[:, None], n_owners, axis=1)
        self.tau, self.tau_ap = np.ones((2, len(before.means), n_owners))

    def add(
        self, owner: np.ndarray, run: np.ndarray, query: np.ndarray, values: np.ndarray
    ) -> None:
        """Take in the lists that were scored again; those of an owner come all at once."""
        owners, starts = np.unique(owner, return_index=True)
        for who, start, stop in zip(owners, starts, [*starts[1:], len(owner)], strict=True):
            after = self.before.values.copy()
            after[:, run[start:stop], query[start:stop]] = values[:, start:stop]
            means = _mean(after)
            for i in np.flatnonzero(_differ(self.before.means, means).any(axis=1)):
                self.ranks[i, who] = competition_ranks(means[i])
                self.tau[i, who], self.tau_ap[i, who] = correlations(self.before.means[i], means[i])

    def of_cells(self, owner: np.ndarray, run: np.ndarray) -> dict[str, np.ndarray]:
        return {
            "rank": self.before.ranks[:, run],
            "rank_without": self.ranks[:, owner, run],
            "tau": self.tau[:, owner],
            "tau_ap": self.tau_ap[:, owner],
        }


def _count_by_query(pairs: Pairs, removed: Reductions) -> np.ndarray:
    """int64[owners, queries]: the pairs that leave with each owner."""
    shape = removed.n_owners, len(pairs.query_ids)
    cell = removed.owner * shape[1] + pairs.query[removed.pair]
    return np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)


def _mean(values: np.ndarray) -> np.ndarray:
    """The mean over the last axis of the values that there are; NaN if there is none."""
    known = ~np.isnan(values)
    count = known.sum(axis=-1)
    total = np.where(known, values, 0.0).sum(axis=-1)
    return np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0)


def _differ(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Whether scores differ by more than rounding, or one of two is missing."""
    missing = np.isnan(before) != np.isnan(after)
    return missing | (np.abs(before - after) > _TOLERANCE)


def _compare(
    old: np.ndarray, new: np.ndarray, deep: np.ndarray, weights: np.ndarray
) -> dict[str, np.ndarray]:
    """What removals make of scores [measures, cells, queries]: arrays [measures, cells]."""
    changed = _differ(old, new).sum(axis=2)
    low, high = change_intervals(old - new, changed, weights)
    score, score_without = _mean(old), _mean(new)
    deep_score, deep_without = (
        _mean(np.take_along_axis(values, deep[:, None, :], axis=2)) for values in (old, new)
    )
    return {
        "score": score,
        "score_without": score_without,
        "change": score - score_without,
        "relative_change": _relative(score, score_without),
        "change_low": low,
        "change_high": high,
        "queries": (~np.isnan(old)).sum(axis=2),
        "queries_without": (~np.isnan(new)).sum(axis=2),
        "queries_changed": changed,
        "deep_score": deep_score,
        "deep_without": deep_without,
        "deep_change": deep_score - deep_without,
        "deep_relative": _relative(deep_score, deep_without),
    }


def _relative(score: np.ndarray, score_without: np.ndarray) -> np.ndarray:
    """The change over the original score; NaN where that is 0."""
    nothing = np.full(np.shape(score), np.nan)
    return np.divide(score - score_without, score, out=nothing, where=score != 0)


def bootstrap_weights(n_queries: int, seed: int) -> np.ndarray:
    """float64[resamples, queries]: how often each query is drawn, as a share of all draws."""
    drawn = np.random.default_rng(seed).multinomial(
        n_queries, np.full(n_queries, 1 / n_queries), size=RESAMPLES
    )
    return drawn / n_queries


def change_intervals(
    differences: np.ndarray, changed: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Bootstrap-t intervals of the mean change over queries (Efron and Tibshirani 1993).

    The percentile bootstrap is too short here: most queries do not change, and few carry most of
    the change. Each resample's mean is therefore taken in units of its own standard error.

    Args:
        differences: float64[..., queries]; NaN where a score before or after is missing.
        changed: int64[...], the number of queries that changed.
        weights: float64[resamples, queries], each query's share of a resample.

    Returns:
        low, high: float64[...], nominal level 95%. NaN where fewer than FEWEST_CHANGED queries
        changed, or a difference is missing.

    Coverage seen in simulations of 43 and 50 queries with ten or more changed: 92 to 97% for
    changes of exponential size, of log-normal size with sigma 1, and drawn from the changes of
    TREC-8 and DL 2019 themselves (sigma .7 to .8; the percentile bootstrap: 85 to 92%); 89% with
    sigma 1.5, when one or two queries carry nearly all of the change.
    """
    bounds = np.full((2, *changed.shape), np.nan)
    enough = (changed >= FEWEST_CHANGED) & ~np.isnan(differences).any(axis=-1)
    sample = differences[enough].T
    n_queries = len(sample)
    mean, error = sample.mean(axis=0), sample.std(axis=0) / np.sqrt(n_queries - 1)
    drawn = weights @ sample
    drawn_error = np.sqrt(np.maximum(weights @ sample**2 - drawn**2, 0) / (n_queries - 1))
    # A resample of queries that all changed alike has no error to measure its distance by.
    some = drawn_error > _TOLERANCE**0.5 * error
    spread = np.divide(drawn - mean, drawn_error, out=np.zeros_like(drawn), where=some)
    tail = (1 - LEVEL) / 2
    bounds[:, enough] = mean - error * np.quantile(spread, [1 - tail, tail], axis=0)
    return bounds[0], bounds[1]


class _Rows:
    """A table that grows by arrays of one shape at a time, the same for several policies."""

    def __init__(self) -> None:
        self._parts: dict[str, list[np.ndarray]] = defaultdict(list)

    def add(
        self,
        policies: Sequence[str],
        shape: tuple[int, ...],
        **columns: np.ndarray | str | float,
    ) -> None:
        for policy in policies:
            for name, values in {"policy": policy, **columns}.items():
                values = np.array(values, object) if isinstance(values, str) else np.asarray(values)
                self._parts[name].append(np.broadcast_to(values, shape).ravel())

    def table(self, key: Sequence[str]) -> pd.DataFrame:
        """The rows in the order of the key's columns, which come first."""
        parts = {name: np.concatenate(self._parts[name]) for name in self._parts}
        table = pd.DataFrame(parts, columns=[*key, *(n for n in parts if n not in key)])
        table = table.astype(dict.fromkeys(key, "str") | {"depth": "Int32"})
        return table.sort_values(list(key), ignore_index=True)
