"""Explaining judgments: which pool of which runs did the assessors read?

The question is turned around: for every depth and every rule for tied scores, which runs have
their first documents judged, and how well does the pool of these runs agree with the judged pairs?
A pool explains judgments by what it holds of them; pooled documents that nobody judged speak
against it. Judged documents outside the pool do not: they may have come by another route, such as
a run that is not at hand or a classifier that chose what to read.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from poolaudit.errors import AuditError
from poolaudit.pairs import UNJUDGED, Contributor, Pairs, Rankings, build, join_pairs

DEEPEST = 200
HANDFUL = 5
# One pooled document that nobody judged weighs as much as ten judged ones: a step of depth, or a
# run, belongs to the explanation when more than ten in eleven of the pairs it adds were judged.
WEIGHT = 10
SLACK = 0.01

NEEDED = "needed"
INTERCHANGEABLE = "interchangeable"
UNDECIDED = "undecided"
OUTSIDE = "outside"


@dataclass(frozen=True)
class _Rows:
    """What each run returned under one tie rule.

    Attributes:
        run: int32[rows], index among the runs.
        rank: int16[rows], at most `deepest`; ascending once all batches are joined.
        pair: int32[rows].
    """

    run: np.ndarray
    rank: np.ndarray
    pair: np.ndarray

    def top(self, depth: int) -> _Rows:
        last = self.stop(depth)
        return _Rows(self.run[:last], self.rank[:last], self.pair[:last])

    def stop(self, depth: int) -> int:
        """The number of rows to this depth."""
        # A number of another type would have all ranks converted.
        return int(np.searchsorted(self.rank, self.rank.dtype.type(depth), side="right"))

    def pool_of(self, runs: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        """bool[pairs]: returned by a run that the mask chooses."""
        pool = np.zeros(len(pairs), bool)
        pool[self.pair[runs[self.run]]] = True
        return pool


@dataclass(frozen=True)
class _Pool:
    """The pool of the runs that fit a depth, and how it agrees with the judgments."""

    depth: int
    fits: np.ndarray
    explained: int
    not_judged: int

    @property
    def worth(self) -> int:
        return self.explained - WEIGHT * self.not_judged

    def numbers(self) -> dict[str, int]:
        return {
            "depth": self.depth,
            "runs": int(self.fits.sum()),
            "explained": self.explained,
            "pooled_not_judged": self.not_judged,
        }


def explain(
    batches: Iterable[tuple[pa.Table, Sequence[pa.Table]]],
    runs: Sequence[str],
    sheet: Mapping[str, bool] | None = None,
    settled: str = "docid_desc",
    deepest: int = DEEPEST,
) -> dict[str, Any]:
    """Find the depth, the tie rule and the runs whose pool explains the judgments best.

    Tie rules: equal scores by document id descending (`docid_desc`) or ascending (`docid_asc`), by
    line (`file`); or the rank column in place of the score (`rank`; left out when a run has none).
    A run fits a depth when all of its first documents to that depth are judged; or all but one in
    a hundred, if it brings ten judged pairs that no run without a gap brings for each one missing.
    Among all depths and rules the best explanation has the highest number of judged pairs in the
    pool of the fitting runs less ten times the number of pooled pairs that nobody judged.

    Args:
        batches: for each batch of queries, in their order, the judgments and the table of each run
            (see `joining`). Judgments: query_id, doc_id, relevance; one row a pair. A grade below
            zero says that the pair was in the pool, and counts as judged here. Runs: query_id,
            doc_id, rank, score, given_rank, line.
        runs: the names of the runs, in the order of their tables.
        sheet: what the run sheet says of each run's place in the pool; None if it says nothing.
        settled: the rule that the audit orders runs by. Where the judgments do not tell it apart
            from the best, the numbers below are those under this rule.
        deepest: depths 1 to this one are tried.

    Returns:
        A dictionary ready for JSON:

        * depth: of the best explanation; None when no run fits any depth. tie_rule: the best rule,
          None when not decided; tie_rules: those within five pairs of the best at this depth and
          for the runs that fit; shown_with: the rule that the numbers are for; rules: for each its
          own best depth, and the numbers of pairs at the explained depth for the same runs;
        * runs: run, place, returned, unjudged, own (judged pairs of the pool that only it brings),
          sheet. Places: `needed`: the pool would lose judged pairs without it; `interchangeable`:
          it alone would not be missed, but it and others like it would; `undecided`: it fits, and
          all it brings others bring, so the judgments cannot tell; `outside`: it does not fit;
        * contributed (needed and interchangeable), undecided, against_sheet (runs whose place the
          sheet contradicts);
        * pooled, judged, explained (both), pooled_not_judged, judged_not_pooled (they came by
          another route): numbers of pairs;
        * depths: depth, runs that fit, explained and pooled_not_judged at every depth tried;
        * queries: for each query_id pooled, judged and the lists of documents pooled_not_judged and
          judged_not_pooled.

    Raises:
        AuditError: no runs.
    """
    if not runs:
        raise AuditError(
            "Judgments cannot be explained without runs.",
            expected="the runs that may have made the pool",
            todo="add the runs to the run sheet",
        )
    pairs, orders = _join([_first_documents(*batch, runs, deepest) for batch in batches])
    runs, judged = sorted(runs), pairs.relevance != UNJUDGED
    tried = {rule: _try(rows, judged, len(runs), deepest) for rule, rows in orders.items()}
    # Of equals the shallower depth and the rule named first.
    best = {rule: max(found, key=lambda pool: pool.worth) for rule, found in tried.items()}
    winner = max(orders, key=lambda rule: best[rule].worth)
    depth = best[winner].depth if best[winner].worth > 0 else 0

    top = {rule: rows.top(depth) for rule, rows in orders.items()}
    fits = best[winner].fits
    agreements = {rule: _agreement(top[rule].pool_of(fits, judged), judged) for rule in orders}
    apart = {
        rule: numbers["pooled_not_judged"] + numbers["judged_not_pooled"]
        for rule, numbers in agreements.items()
    }
    close = [rule for rule in orders if abs(apart[rule] - apart[winner]) <= HANDFUL]
    chosen = settled if settled in close else winner
    pool = top[chosen].pool_of(fits, judged)
    return {
        "depth": depth or None,
        "tie_rule": winner if close == [winner] else None,
        "tie_rules": close,
        "shown_with": chosen,
        "rules": [
            {"rule": rule, "best_depth": best[rule].depth, **agreements[rule]} for rule in orders
        ],
        **_places(top[chosen], fits, judged, runs, sheet),
        **_agreement(pool, judged),
        "depths": [pool.numbers() for pool in tried[chosen]],
        "queries": _by_query(pairs, pool, judged),
    }


def _first_documents(
    judgments: pa.Table, tables: Sequence[pa.Table], runs: Sequence[str], deepest: int
) -> tuple[Pairs, dict[str, _Rows]]:
    """The pairs of a batch of queries, and the first documents of every run under each rule."""
    short = {
        run: _shorten(table, judgments, deepest) for run, table in zip(runs, tables, strict=True)
    }
    pairs, rankings = build(judgments, [(Contributor(run, False), short[run]) for run in runs])
    return pairs, _orders(rankings, [short[run] for run in rankings.runs], deepest)


def _join(parts: Sequence[tuple[Pairs, dict[str, _Rows]]]) -> tuple[Pairs, dict[str, _Rows]]:
    """The same of all batches together; a rule that one of them cannot have is left out."""
    pairs, orders = zip(*parts, strict=True)
    first = np.cumsum([0, *map(len, pairs)], dtype=np.int32)
    joined = {}
    for rule in list(orders[0]):
        if all(rule in of_batch for of_batch in orders):
            of_rule = [of_batch.pop(rule) for of_batch in orders]
            joined[rule] = _by_rank(
                np.concatenate([rows.run for rows in of_rule]),
                np.concatenate([rows.rank for rows in of_rule]),
                np.concatenate([r.pair + start for r, start in zip(of_rule, first, strict=False)]),
            )
    return join_pairs(pairs), joined


def _by_rank(run: np.ndarray, rank: np.ndarray, pair: np.ndarray) -> _Rows:
    order = np.argsort(rank, kind="stable")
    return _Rows(run[order], rank[order], pair[order])


def _shorten(table: pa.Table, judgments: pa.Table, deepest: int) -> pa.Table:
    """The rows of judged queries that can be among the first `deepest` under some rule."""
    queries = pc.unique(judgments["query_id"])
    table = table.filter(pc.is_in(table["query_id"], value_set=queries))
    query = pc.index_in(table["query_id"], value_set=queries).to_numpy()
    chosen = _heads(query, -table["score"].to_numpy(), deepest)
    if _has_ranks(table):
        chosen |= _heads(query, table["given_rank"].to_numpy(), deepest)
    table, query = table.filter(pa.array(chosen)), query[chosen]
    starts = _starts(query)
    rank = np.arange(1, len(query) + 1) - np.repeat(starts[:-1], np.diff(starts))
    column = table.schema.get_field_index("rank")
    return table.set_column(column, "rank", pa.array(rank, pa.int32()))


def _has_ranks(table: pa.Table) -> bool:
    return table["given_rank"].null_count == 0


def _starts(query: np.ndarray) -> np.ndarray:
    """int64[queries + 1]: where each run of equal values begins, and the end of the last."""
    return np.append(np.flatnonzero(np.diff(query, prepend=-1)), len(query))


def _heads(query: np.ndarray, key: np.ndarray, deepest: int) -> np.ndarray:
    """bool[rows]: the key is among the `deepest` lowest of its query, or ties with the last."""
    ascending = key[np.lexsort((key, query))] if len(key) else key
    starts = _starts(query)
    last = np.minimum(starts[:-1] + deepest, starts[1:]) - 1
    return key <= np.repeat(ascending[last], np.diff(starts))


def _orders(rankings: Rankings, tables: Sequence[pa.Table], deepest: int) -> dict[str, _Rows]:
    """The first documents of every run under each tie rule."""
    run = rankings.list_run[rankings.list_of]
    # The tables stand one after the other in the order of run, query and rank.
    of_tables = np.argsort(run, kind="stable")

    def column(name: str) -> np.ndarray:
        values = np.empty(len(run), np.int64)
        values[of_tables] = np.concatenate([table[name].to_numpy() for table in tables])
        return values

    line, score = column("line"), -rankings.score
    # Within a query the pairs are in the order of document ids.
    keys = {"docid_desc": (-rankings.pair, score), "docid_asc": (rankings.pair, score)}
    keys["file"] = (line, score)
    if all(_has_ranks(table) for table in tables):
        keys["rank"] = (line, column("given_rank"))
    return {rule: _ordered(rankings, run, key, deepest) for rule, key in keys.items()}


def _ordered(
    rankings: Rankings, run: np.ndarray, keys: tuple[np.ndarray, ...], deepest: int
) -> _Rows:
    order = np.lexsort((*keys, rankings.list_of))
    first = np.flatnonzero(rankings.rank <= deepest)
    rows = order[first]
    return _Rows(run[rows], rankings.rank[first].astype(np.int16), rankings.pair[rows])


def _try(rows: _Rows, judged: np.ndarray, n_runs: int, deepest: int) -> list[_Pool]:
    """For each depth the runs whose first documents are judged, and their pool."""
    shape = (deepest + 1, n_runs)
    cell = np.ravel_multi_index((rows.rank, rows.run), shape)
    of_run = np.bincount(cell, minlength=np.prod(shape)).reshape(shape).cumsum(axis=0)
    is_judged = judged[rows.pair]
    unseen = np.bincount(cell[~is_judged], minlength=np.prod(shape))
    missing_of_run = unseen.reshape(shape).cumsum(axis=0)
    seen = _Rows(rows.run[is_judged], rows.rank[is_judged], rows.pair[is_judged])
    found = []
    fitting, pooled = _GrowingPool(rows, len(judged)), _GrowingPool(rows, len(judged))
    for depth in range(1, deepest + 1):
        returned, missing = of_run[depth], missing_of_run[depth]
        fits = (returned > 0) & (missing == 0)
        nearly = (missing > 0) & (missing <= SLACK * returned)
        if not (fits | nearly).any():
            found.append(_Pool(depth, fits, 0, 0))
            continue
        if nearly.any():
            top = seen.top(depth)
            own = ~fitting.to(depth, fits)[top.pair]
            own_of_run = np.bincount(top.run[own], minlength=n_runs)
            fits |= nearly & (own_of_run >= WEIGHT * missing)
        pool = pooled.to(depth, fits)
        explained = int((pool & judged).sum())
        found.append(_Pool(depth, fits, explained, int(pool.sum()) - explained))
    return found


class _GrowingPool:
    """The pools of one set of runs at ever greater depths: each adds to the one before."""

    def __init__(self, rows: _Rows, n_pairs: int) -> None:
        self._rows, self._pool = rows, np.zeros(n_pairs, bool)
        self._runs, self._stop = np.zeros(0, bool), 0

    def to(self, depth: int, runs: np.ndarray) -> np.ndarray:
        """bool[pairs]: returned to this depth by a run that the mask chooses."""
        if not np.array_equal(runs, self._runs):
            self._runs, self._stop = runs.copy(), 0
            self._pool[:] = False
        start, self._stop = self._stop, self._rows.stop(depth)
        rows = slice(start, self._stop)
        self._pool[self._rows.pair[rows][runs[self._rows.run[rows]]]] = True
        return self._pool


def _places(
    rows: _Rows,
    fits: np.ndarray,
    judged: np.ndarray,
    runs: Sequence[str],
    sheet: Mapping[str, bool] | None,
) -> dict[str, Any]:
    """The place of each run: could the pool be what it is without it?"""
    seen = judged[rows.pair]
    returned = np.bincount(rows.run, minlength=len(runs))
    missing = np.bincount(rows.run[~seen], minlength=len(runs))
    brought = np.bincount(rows.pair[fits[rows.run]], minlength=len(judged))
    own = np.bincount(rows.run[seen & (brought[rows.pair] == 1)], minlength=len(runs)) * fits
    needed = own > 0
    spare = seen & ~rows.pool_of(needed, judged)[rows.pair]
    like_others = (np.bincount(rows.run[spare], minlength=len(runs)) > 0) & fits & ~needed
    place = np.select(
        [needed, like_others, fits], [NEEDED, INTERCHANGEABLE, UNDECIDED], default=OUTSIDE
    )
    entries = [
        {
            "run": run,
            "place": str(place[i]),
            "returned": int(returned[i]),
            "unjudged": int(missing[i]),
            "own": int(own[i]),
            "sheet": None if sheet is None else sheet[run],
        }
        for i, run in enumerate(runs)
    ]
    inside = {NEEDED: True, INTERCHANGEABLE: True, OUTSIDE: False}
    return {
        "runs": entries,
        "contributed": [e["run"] for e in entries if inside.get(e["place"])],
        "undecided": [e["run"] for e in entries if e["place"] == UNDECIDED],
        "against_sheet": [
            e["run"]
            for e in entries
            if e["sheet"] is not None and inside.get(e["place"], e["sheet"]) != e["sheet"]
        ],
    }


def _agreement(pool: np.ndarray, judged: np.ndarray) -> dict[str, int]:
    return {
        "pooled": int(pool.sum()),
        "judged": int(judged.sum()),
        "explained": int((pool & judged).sum()),
        "pooled_not_judged": int((pool & ~judged).sum()),
        "judged_not_pooled": int((judged & ~pool).sum()),
    }


def _by_query(pairs: Pairs, pool: np.ndarray, judged: np.ndarray) -> list[dict[str, Any]]:
    """What each query has of the pool and of the judgments, and where they differ."""
    n = len(pairs.query_ids)

    def documents(chosen: np.ndarray) -> list[list[str]]:
        rows = np.flatnonzero(chosen)
        docs = pairs.doc_id.take(rows).to_pylist()
        edges = np.searchsorted(pairs.query[rows], np.arange(n + 1))
        return [docs[a:b] for a, b in itertools.pairwise(edges)]

    pooled = np.bincount(pairs.query[pool], minlength=n).tolist()
    seen = np.bincount(pairs.query[judged], minlength=n).tolist()
    missing, extra = documents(pool & ~judged), documents(judged & ~pool)
    return [
        {
            "query_id": query,
            "pooled": pooled[i],
            "judged": seen[i],
            "pooled_not_judged": missing[i],
            "judged_not_pooled": extra[i],
        }
        for i, query in enumerate(pairs.query_ids)
    ]
