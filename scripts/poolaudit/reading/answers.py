"""Answers: how the queries that runs answered agree with those of the collection.

This is no part of reading a run: a run need not be read again when a judgment or a depth changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from poolaudit.errors import AuditError
from poolaudit.reading.notes import NAMED, counted, some


def refuse_strangers(answered: Mapping[str, pa.ChunkedArray], judged: Sequence[str]) -> None:
    """Refuse runs that belong to another collection.

    Args:
        answered: the query_id column of each run, by the run's name.
        judged: the queries that are judged, sorted.

    Raises:
        AuditError: runs of which no query is judged; all of them are named, with the likely cause.
    """
    strangers = {}
    for run, column in answered.items():
        queries = sorted(pc.unique(column).to_pylist())
        if not set(queries) & set(judged):
            cause = likely_cause(queries, list(judged))
            strangers[run] = f"queries {some(queries)}" + (f"; {cause}" if cause else "")
    if strangers:
        raise AuditError(
            "no query of the run is judged"
            if len(strangers) == 1
            else f"no query of {len(strangers)} runs is judged",
            where="run " + ", ".join(strangers),
            found="\n".join(f"{run}: {found}" for run, found in strangers.items()),
            expected=f"judged queries: {some(list(judged))}",
            todo="check that the run belongs to this collection, and how its query ids are written",
        )


def compare_topics(
    answered: pa.ChunkedArray, topics: pa.Table, *, depth: int | None = None
) -> list[dict]:
    """Notes on how the queries of a run and of a collection agree.

    Args:
        answered: the query of each document that the run returned.
        topics: query_id (string), text and judged (bool), one row a query of the collection.
        depth: the deepest pool that will be made; None for none.

    Returns:
        Notes of the kinds "missing_queries" (judged, not answered), "unjudged_queries" (answered,
        in the topics, not judged), "unknown_queries" (answered, not in the topics) and "shallow"
        (judged and answered, with fewer documents than `depth`), each with its count and the first
        few ids; and "likely_cause" where the spelling of the ids explains the difference.
    """
    counts = {row["values"]: row["counts"] for row in pc.value_counts(answered).to_pylist()}
    known = set(topics["query_id"].to_pylist())
    judged = topics.filter(topics["judged"])["query_id"].to_pylist()
    missing = sorted(set(judged) - set(counts))
    unknown = sorted(set(counts) - known)
    unjudged = sorted(set(counts) & known - set(judged))
    shallow = sorted(q for q in judged if 0 < counts.get(q, 0) < (depth or 0))
    notes = []
    for kind, queries, text in (
        ("missing_queries", missing, "judged queries without an answer, which score 0"),
        ("unjudged_queries", unjudged, "answered queries that are not judged, and left out"),
        ("unknown_queries", unknown, "answered queries that are not in the topics"),
        ("shallow", shallow, f"answered queries with fewer than {depth} documents"),
    ):
        if queries:
            note = counted(kind, text, len(queries), some(queries))
            notes.append(note | {"queries": queries[:NAMED]})
    cause = likely_cause(unknown, missing)
    if cause:
        notes.append({"kind": "likely_cause", "text": cause})
    return notes


def likely_cause(unknown: list[str], missing: list[str]) -> str:
    """Why query ids of a run are not those of the judgments: zero padding, a prefix, or ""."""
    bare = {query.lstrip("0"): query for query in missing}
    if unknown and all(query.lstrip("0") in bare for query in unknown):
        return f"zero padding differs ({unknown[0]} for {bare[unknown[0].lstrip('0')]})"
    for whose, longer, shorter in (("run", unknown, missing), ("judgments", missing, unknown)):
        for end in shorter if longer else ():
            prefix = longer[0].removesuffix(end)
            if prefix != longer[0] and {prefix + query for query in shorter} >= set(longer):
                return f"the {whose} may write {prefix!r} before each query id"
    return ""
