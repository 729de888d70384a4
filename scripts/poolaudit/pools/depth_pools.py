"""Depth pools: what a campaign would have judged, what it cost, and who brought what.

The depth-d pool of a query is the union over the pooled runs of their first d documents (Sparck
Jones and van Rijsbergen 1975; Harman 1993). Every pool is a comparison of `best_rank` with d.
Relevance levels are grades: a pair is relevant at level 2 when its grade is 2 or more. A grade
below zero says that the pair was in the pool and was not judged (docs/reading.md, Judgments).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from poolaudit.errors import AuditError
from poolaudit.escapes import defuse
from poolaudit.pairs import KINDS, NEVER, UNJUDGED, Contributor, Pairs, Rankings

BANDS = (5, 10, 20, 50, 100, 200, 500, 1000)
WHOLE_POOL = "pool"


def depth_judgments(pairs: Pairs, depth: int | None) -> str:
    """The judgments that a campaign of this pool depth would have had, in TREC format.

    Lines `query_id 0 doc_id grade` in the order of the pairs, as trec_eval reads them. Grades below
    zero are kept: trec_eval counts them as unjudged and infAP needs them. `depth` None: all of the
    judgments.
    """
    rows = np.flatnonzero(pairs.grades(depth) != UNJUDGED)
    queries = (pairs.query_ids[code] for code in pairs.query[rows])
    docs = pairs.doc_id.take(rows).to_pylist()
    grades = pairs.relevance[rows].tolist()
    return "".join(f"{q} 0 {d} {g}\n" for q, d, g in zip(queries, docs, grades, strict=True))


def depth_if_known(setting: int | None, explanation: Mapping[str, Any] | None = None) -> int | None:
    """The depth of the pool that was judged: the setting, else what explains the judgments."""
    return setting or (explanation["depth"] if explanation else None)


def nominal_depth(setting: int | None, explanation: Mapping[str, Any] | None = None) -> int:
    """The same, where no number can be told without it.

    Raises:
        AuditError: neither says one.
    """
    depth = depth_if_known(setting, explanation)
    if depth is None:
        raise AuditError(
            "How deep the pool was judged is not known.",
            where="pool.depth of the collection",
            found="no setting, and no depth at which the pooled runs' first documents are judged",
            expected="the depth to which the pooled runs were judged",
            todo="set pool.depth, or correct the column pooled of the run sheet",
        )
    return depth


def unjudged(pairs: Pairs, depth: int, texts: dict[str, str] | None = None) -> pd.DataFrame:
    """What a campaign of this pool depth would still have to read.

    Args:
        pairs: the pairs.
        depth: pool depth.
        texts: the text of each query by its id; where it has none, the text is empty.

    Returns:
        query_id, doc_id, best_rank, text: the pairs of the pool without a grade, in the order of
        query, best rank and document. No cell is a formula of a spreadsheet (`defuse`).
    """
    rows = np.flatnonzero(pairs.in_pool(depth) & (pairs.relevance < 0))
    rows = rows[np.lexsort((rows, pairs.best_rank[rows], pairs.query[rows]))]
    text = [defuse((texts or {}).get(q) or "") for q in pairs.query_ids]
    query_ids = [defuse(q) for q in pairs.query_ids]
    return pd.DataFrame(
        {
            "query_id": [query_ids[code] for code in pairs.query[rows]],
            "doc_id": [defuse(doc) for doc in pairs.doc_id.take(rows).to_pylist()],
            "best_rank": pairs.best_rank[rows],
            "text": [text[code] for code in pairs.query[rows]],
        }
    )


def contributions(
    pairs: Pairs,
    rankings: Rankings,
    contributors: Sequence[Contributor],
    depths: Sequence[int],
    levels: Sequence[int] = (1,),
) -> pd.DataFrame:
    """What each contributor put into the pool, at each depth.

    Args:
        pairs, rankings: the two tables.
        contributors: the audited runs, with what the run sheet says of them.
        depths: pool depths.
        levels: lowest grades that count as relevant; one row for each.

    Returns:
        One row for each kind (`pool`, run, group, family, type), contributor, query, depth and
        level, in this order, with these counts of pairs:

        * pooled: it returned them to this depth; judged: those of them with a grade.
        * relevant: those with a grade at the level or above.
        * unique, unique_relevant: no other contributor of the kind returned them to this depth.
        * first, first_relevant: no other reached them at a better rank. A pair that several reach
          at the same best rank counts for each of them.

        The kind `pool` has one contributor, `pool`, with the counts of the whole pool. Counts that
        do not depend on the level are the same in its rows; do not add them up over levels.
    """
    entries = [_entries_of_pool(pairs, max(depths))]
    for kind in KINDS:
        if kind in pairs.holders:
            entries.append(_entries(pairs, rankings, contributors, kind, max(depths)))
    frames = [
        _count(pairs, *entry, depth, level)
        for entry in entries
        for depth in depths
        for level in levels
    ]
    order = ["kind", "contributor", "query_id", "depth", "level"]
    table = pd.concat(frames, ignore_index=True)
    ranks = {kind: i for i, kind in enumerate((WHOLE_POOL, *KINDS))}
    return table.sort_values(
        order,
        key=lambda column: column.map(ranks) if column.name == "kind" else column,
        ignore_index=True,
    )


def _entries_of_pool(pairs: Pairs, depth: int) -> tuple:
    """The whole pool as a contributor: every pair of the pool at its best rank."""
    rows = np.flatnonzero(pairs.in_pool(depth))
    nobody = np.full(len(rows), NEVER, np.int32)
    zeros = np.zeros(len(rows), np.int32)
    return WHOLE_POOL, (WHOLE_POOL,), rows, zeros, pairs.best_rank[rows], nobody


def _entries(
    pairs: Pairs,
    rankings: Rankings,
    contributors: Sequence[Contributor],
    kind: str,
    depth: int,
) -> tuple:
    """The pairs that each contributor of a kind returned to `depth`, once each.

    Returns:
        kind, names, and by entry: the pair, the contributor's code, the best rank at which the
        contributor returned the pair, the best rank of any other.
    """
    holders = pairs.holders[kind]
    code_of_run = _codes_of_runs(rankings.runs, contributors, kind, holders.names)
    code = code_of_run[rankings.list_run][rankings.list_of]
    rows = np.flatnonzero((rankings.rank <= depth) & (code >= 0))
    pair, code, rank = rankings.pair[rows], code[rows], rankings.rank[rows]
    order = np.lexsort((rank, code, pair))
    pair, code, rank = pair[order], code[order], rank[order]
    first = np.ones(len(pair), bool)
    first[1:] = (pair[1:] != pair[:-1]) | (code[1:] != code[:-1])
    pair, code, rank = pair[first], code[first], rank[first]
    of_others = np.where(holders.best[pair] == code, holders.next_best[pair], pairs.best_rank[pair])
    return kind, holders.names, pair, code, rank, of_others


def _codes_of_runs(
    runs: Sequence[str], contributors: Sequence[Contributor], kind: str, names: Sequence[str]
) -> np.ndarray:
    """int32[runs]: which contributor of the kind each pooled run belongs to; -1 for none."""
    position = {name: i for i, name in enumerate(names)}
    known = {c.run: position.get(getattr(c, kind), -1) if c.pooled else -1 for c in contributors}
    return np.array([known[run] for run in runs], np.int32)


def _count(
    pairs: Pairs,
    kind: str,
    names: Sequence[str],
    pair: np.ndarray,
    code: np.ndarray,
    rank: np.ndarray,
    of_others: np.ndarray,
    depth: int,
    level: int,
) -> pd.DataFrame:
    """The counts of one kind at one depth and level, for every contributor and query."""
    n_queries = len(pairs.query_ids)
    cell = code.astype(np.int64) * n_queries + pairs.query[pair]
    pooled, grade = rank <= depth, pairs.relevance[pair]
    relevant, unique, first = grade >= level, of_others > depth, rank <= of_others

    def count(chosen: np.ndarray) -> np.ndarray:
        return np.bincount(cell[pooled & chosen], minlength=len(names) * n_queries)

    return pd.DataFrame(
        {
            "kind": kind,
            "contributor": np.repeat(np.array(names, object), n_queries),
            "query_id": np.tile(np.array(pairs.query_ids, object), len(names)),
            "depth": depth,
            "level": level,
            "pooled": count(pooled),
            "judged": count(grade >= 0),
            "relevant": count(relevant),
            "unique": count(unique),
            "unique_relevant": count(unique & relevant),
            "first": count(first),
            "first_relevant": count(first & relevant),
        }
    )


def found_by_depth(pairs: Pairs, deepest: int, level: int = 1) -> pd.DataFrame:
    """The trade: what each step of depth costs and what it finds, summed over queries.

    Returns:
        One row for each depth 1 to `deepest`: depth; new_pairs, new_judged, new_relevant: pairs
        whose best rank it is; pooled, judged, relevant: the sums to this depth; share: the relevant
        ones among the newly judged (NaN where none is).
    """
    inside = pairs.in_pool(deepest)
    rank, grade = pairs.best_rank[inside], pairs.relevance[inside]

    def count(chosen: np.ndarray) -> np.ndarray:
        return np.bincount(rank[chosen], minlength=deepest + 1)[1:]

    new = {
        "new_pairs": count(grade == grade),
        "new_judged": count(grade >= 0),
        "new_relevant": count(grade >= level),
    }
    table = pd.DataFrame({"depth": np.arange(1, deepest + 1), **new})
    for column, step in zip(("pooled", "judged", "relevant"), new, strict=True):
        table[column] = table[step].cumsum()
    table["share"] = table["new_relevant"] / table["new_judged"].where(table["new_judged"] > 0)
    return table


def coverage_by_band(
    pairs: Pairs,
    rankings: Rankings,
    contributors: Sequence[Contributor],
    depth: int,
    kind: str = "run",
    bands: Sequence[int] = BANDS,
) -> pd.DataFrame:
    """How much of what a run returned is judged, by band of rank.

    A new run on an old pool is best compared with what the pooled runs would have had without
    their own documents: those that only the run's contributor of this kind put into the pool.

    Args:
        pairs, rankings, contributors: as in `contributions`.
        depth: the depth of the pool that the judgments came from.
        kind: what is left out of a run's own coverage: run, group, family or type.
        bands: the last rank of each band, ascending; the first band starts at rank 1.

    Returns:
        One row for each run and band: run, pooled, first_rank, last_rank, returned, judged,
        judged_without (its contributor), share, share_without (NaN where nothing was returned).
        For a run whose contributor put nothing into the pool the two are equal.
    """
    judged = pairs.relevance[rankings.pair] >= 0
    kept = judged & ~_own(pairs, rankings, contributors, depth, kind)
    band = np.searchsorted(bands, rankings.rank)
    inside = band < len(bands)
    cell = rankings.list_run[rankings.list_of].astype(np.int64) * len(bands) + band

    def count(chosen: np.ndarray) -> np.ndarray:
        return np.bincount(cell[inside & chosen], minlength=len(rankings.runs) * len(bands))

    edges = np.array([0, *bands])
    in_band = np.clip(rankings.length[:, None] - edges[:-1], 0, np.diff(edges))
    returned = np.zeros((len(rankings.runs), len(bands)), np.int64)
    np.add.at(returned, rankings.list_run, in_band)
    table = pd.DataFrame(
        {
            "run": np.repeat(np.array(rankings.runs, object), len(bands)),
            "pooled": np.repeat(_pooled(rankings.runs, contributors), len(bands)),
            "first_rank": np.tile([1, *(last + 1 for last in bands[:-1])], len(rankings.runs)),
            "last_rank": np.tile(bands, len(rankings.runs)),
            "returned": returned.ravel(),
            "judged": count(judged),
            "judged_without": count(kept),
        }
    )
    some = table["returned"].where(table["returned"] > 0)
    table["share"] = table["judged"] / some
    table["share_without"] = table["judged_without"] / some
    return table


def fully_judged_to(
    pairs: Pairs,
    rankings: Rankings,
    contributors: Sequence[Contributor],
    depth: int,
    kind: str = "run",
) -> pd.DataFrame:
    """How far down each list has no unjudged document.

    Args: as in `coverage_by_band`.

    Returns:
        One row for each list: run, query_id, pooled, returned, judged_to, judged_to_without; the
        last two are the number of documents above the first one that is unjudged, with all
        judgments and without those that only the run's contributor put into the pool.
    """
    judged = pairs.relevance[rankings.pair] >= 0
    kept = judged & ~_own(pairs, rankings, contributors, depth, kind)
    return pd.DataFrame(
        {
            "run": np.array(rankings.runs, object)[rankings.list_run],
            "query_id": np.array(rankings.query_ids, object)[rankings.list_query],
            "pooled": _pooled(rankings.runs, contributors)[rankings.list_run],
            "returned": rankings.length,
            "judged_to": _leading(judged, rankings),
            "judged_to_without": _leading(kept, rankings),
        }
    ).sort_values(["run", "query_id"], ignore_index=True)


def reach(
    pairs: Pairs, rankings: Rankings, contributors: Sequence[Contributor], depth: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """`coverage_by_band` and `fully_judged_to`, without a run's own documents and its group's.

    Returns:
        The two tables, with a column `without`: run, and group where groups are known.
    """
    kinds = [kind for kind in ("run", "group") if kind in pairs.holders] or ["run"]
    bands, judged_to = (
        pd.concat(
            count(pairs, rankings, contributors, depth, kind).assign(without=kind) for kind in kinds
        )
        for count in (coverage_by_band, fully_judged_to)
    )
    return bands, judged_to


def _own(
    pairs: Pairs,
    rankings: Rankings,
    contributors: Sequence[Contributor],
    depth: int,
    kind: str,
) -> np.ndarray:
    """bool[rows]: only the contributor of the row's run put the pair into the pool."""
    if kind not in pairs.holders:  # nothing was pooled
        return np.zeros(len(rankings), bool)
    holders = pairs.holders[kind]
    position = {name: i for i, name in enumerate(holders.names)}
    # Not -1, which stands for "nobody" among the holders.
    code = {c.run: position.get(getattr(c, kind), -2) for c in contributors}
    mine = np.array([code[run] for run in rankings.runs])[rankings.list_run][rankings.list_of]
    unique = pairs.in_pool(depth) & (holders.next_best > depth)
    return unique[rankings.pair] & (holders.best[rankings.pair] == mine)


def _pooled(runs: Sequence[str], contributors: Sequence[Contributor]) -> np.ndarray:
    pooled = {c.run: c.pooled for c in contributors}
    return np.array([pooled[run] for run in runs])


def _leading(chosen: np.ndarray, rankings: Rankings) -> np.ndarray:
    """int64[lists]: how many rows at the head of each list are chosen without a gap."""
    last = np.int64(len(chosen))
    place = np.arange(1, last + 1) - rankings.offsets[rankings.list_of]
    chosen = chosen & (rankings.rank == place)  # a document without a row is a gap too
    first_gap = np.append(np.where(chosen, last, np.arange(last)), last)
    starts, ends = rankings.offsets[:-1], rankings.offsets[1:]
    gap = np.minimum.reduceat(first_gap, starts) if len(starts) else starts
    return np.minimum(gap, ends) - starts
