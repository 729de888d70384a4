"""Routes: how each judged document came to be judged.

A route is whatever put a document before the assessors: a run or group whose first documents were
pooled, or in a key made by hand a letter, a search tool, a chance find. A document may have
several, or none that is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from poolaudit.errors import AuditError
from poolaudit.pairs import UNJUDGED, Contributor, Pairs, Rankings

COLUMNS = ("query_id", "doc_id", "route")


@dataclass(frozen=True)
class Routes:
    """Which routes lead to which judged pairs.

    Attributes:
        names: the routes, in byte order.
        pair, route: int64[entries], in the order of pair and route, without repeats.
        rank: int64[entries], the best rank at which a pooled route has the pair; 0 for named ones.
    """

    names: tuple[str, ...]
    pair: np.ndarray
    route: np.ndarray
    rank: np.ndarray


def pool_routes(
    pairs: Pairs,
    rankings: Rankings,
    contributors: Sequence[Contributor],
    depth: int,
    kind: str = "run",
) -> Routes:
    """The contributors of a kind as routes to what they returned within the pool's depth."""
    names = pairs.holders[kind].names if kind in pairs.holders else ()
    position = {name: i for i, name in enumerate(names)}
    code = {c.run: position[getattr(c, kind)] if c.pooled else -1 for c in contributors}
    of_list = np.array([code[run] for run in rankings.runs], np.int64)[rankings.list_run]
    top = np.flatnonzero((rankings.rank <= depth) & (of_list >= 0)[rankings.list_of])
    top = top[pairs.relevance[rankings.pair[top]] != UNJUDGED]
    route = of_list[rankings.list_of[top]]
    return _sorted(names, rankings.pair[top].astype(np.int64), route, rankings.rank[top])


def named_routes(pairs: Pairs, table: pd.DataFrame, where: str = "") -> Routes:
    """The routes of a key made by hand.

    Args:
        pairs: the pairs.
        table: query_id, doc_id, route; one row for each route to a document.
        where: the file it was read from, for errors.

    Raises:
        AuditError: rows whose pair is not judged (all are listed).
    """
    rows = table[list(COLUMNS)].astype(str)
    judged = np.flatnonzero(pairs.relevance != UNJUDGED)
    keys = pd.MultiIndex.from_arrays(
        [
            [pairs.query_ids[code] for code in pairs.query[judged]],
            pairs.doc_id.take(judged).to_pylist(),
        ]
    )
    at = keys.get_indexer(pd.MultiIndex.from_frame(rows[["query_id", "doc_id"]]))
    if (at < 0).any():
        unknown = rows[at < 0]
        raise AuditError(
            f"{len(unknown)} routes lead to documents that are not judged.",
            where=where,
            found=", ".join(f"{r.query_id} {r.doc_id}" for r in unknown.itertuples()),
            expected="documents of the judgments",
            todo="correct the identifiers, or add the documents to the judgments",
        )
    names, route = np.unique(rows["route"], return_inverse=True)
    return _sorted(tuple(names), judged[at], route, np.zeros(len(rows), np.int64))


def read_named_routes(pairs: Pairs, path: Path | str) -> Routes:
    """Read routes from a TSV file with the header query_id, doc_id, route.

    Raises:
        AuditError: another header, or as in `named_routes`.
    """
    table = pd.read_csv(path, sep="\t", dtype=str, keep_default_na=False)
    if not set(COLUMNS) <= set(table.columns):
        raise AuditError(
            "The header of the routes is not understood.",
            where=str(path),
            found=", ".join(table.columns),
            expected=", ".join(COLUMNS),
            todo="give the file a header line with these names, separated by tabs",
        )
    return named_routes(pairs, table, str(path))


def join(first: Routes, second: Routes) -> Routes:
    """The routes of both; a route that both name is one route."""
    names = tuple(sorted({*first.names, *second.names}))
    position = {name: i for i, name in enumerate(names)}
    route = [position[routes.names[code]] for routes in (first, second) for code in routes.route]
    return _sorted(
        names,
        np.concatenate([first.pair, second.pair]),
        np.array(route, np.int64),
        np.concatenate([first.rank, second.rank]),
    )


def routes_of_judgments(pairs: Pairs, routes: Routes, kind: str = "route") -> pd.DataFrame:
    """Every judged pair with its routes.

    Returns:
        query_id, doc_id, relevance, kind, route, rank (null for routes without ranks): one row for
        each route to a judged pair, in the order of the pairs; a pair that no known route leads to
        has one row, with a null route.
    """
    judged = np.flatnonzero(pairs.relevance != UNJUDGED)
    reached = np.zeros(len(pairs), bool)
    reached[routes.pair] = True
    unreached = judged[~reached[judged]]
    pair = np.concatenate([routes.pair, unreached])
    route = np.concatenate([routes.route, np.full(len(unreached), -1)])
    rank = np.concatenate([routes.rank, np.zeros(len(unreached), np.int64)])
    order = np.lexsort((route, pair))
    pair, route, rank = pair[order], route[order], rank[order]
    return pd.DataFrame(
        {
            "query_id": np.array(pairs.query_ids, object)[pairs.query[pair]],
            "doc_id": pairs.doc_id.take(pair).to_pylist(),
            "relevance": pairs.relevance[pair],
            "kind": kind,
            "route": np.array([*routes.names, None], object)[route],
            "rank": pd.Series(rank, dtype="Int32").where(rank > 0),
        }
    )


def _sorted(
    names: tuple[str, ...], pair: np.ndarray, route: np.ndarray, rank: np.ndarray
) -> Routes:
    """Entries in order, each pair and route once with its best rank."""
    order = np.lexsort((rank, route, pair))
    pair, route, rank = pair[order], route[order], rank[order]
    first = np.ones(len(pair), bool)
    first[1:] = (pair[1:] != pair[:-1]) | (route[1:] != route[:-1])
    return Routes(names, pair[first], route[first].astype(np.int64), rank[first].astype(np.int64))
