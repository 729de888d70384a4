"""Answers: how the queries that runs answered agree with those of the collection.

This is no part of reading a run: a run need not be read again when a judgment or a depth changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from poolaudit.errors import AuditError
from poolaudit.reading.notes import NAMED, counted, some

# What nobody sees in an id, and zeros that change no number.
_BLANK = re.compile("[\\s\u200b\u200c\u200d\u2060\ufeff]+")
_ZEROS = re.compile("(?<![0-9.])0+(?=[0-9])")


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
        few ids; "misspelt_queries" where an unknown id differs from that of a judged query by case,
        blanks or zeros alone, and "likely_cause" where something else about the ids' spelling
        explains the difference.
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
    slips = likely_slips(unknown, judged)
    if slips:
        (first, (meant, how)), *others = slips.items()
        text = f"{_shown(first)} is not judged; {_shown(meant)} is: {how}"
        if others:
            text += (
                f"; like it {len(others):,} more: {some([_shown(query) for query, _ in others])}"
            )
        note = {"kind": "misspelt_queries", "text": text, "count": len(slips)}
        notes.append(note | {"queries": list(slips)[:NAMED]})
    cause = likely_cause(unknown, missing)
    if cause and not slips:
        notes.append({"kind": "likely_cause", "text": cause})
    return notes


def warning_of(notes: Iterable[Mapping]) -> str:
    """One line on answers that a run may have lost by mistake, from its notes; "" for none.

    A run may answer more queries than are judged, and need not answer all that are. What calls for
    a look is an id that is misspelt, or an unknown one while a judged query has no answer.
    """
    told = {note["kind"]: note["text"] for note in notes}
    if "misspelt_queries" in told:
        kinds = ["misspelt_queries", "missing_queries"]
    elif {"missing_queries", "unknown_queries"} <= told.keys():
        kinds = ["missing_queries", "unknown_queries", "likely_cause"]
    else:
        kinds = []
    return "; ".join(told[kind] for kind in kinds if kind in told)


def likely_slips(unknown: Sequence[str], judged: Iterable[str]) -> dict[str, tuple[str, str]]:
    """For each unknown id that is a judged one but for its spelling: that one, and what differs."""
    by_spelling: dict[str, str] = {}
    for query in judged if unknown else ():
        by_spelling.setdefault(_bare(query), query)
    slips = {query: by_spelling[_bare(query)] for query in unknown if _bare(query) in by_spelling}
    return {query: (meant, _difference(query, meant)) for query, meant in slips.items()}


def _bare(query: str) -> str:
    """An id without what is easily written in another way: case, blanks, zeros before a number."""
    return _ZEROS.sub("", _BLANK.sub("", query)).casefold()


def _difference(one: str, other: str) -> str:
    """What differs between two ids that are the same without it."""
    ways = {
        "the case of letters differs": str.casefold,
        "zero padding differs": lambda query: _ZEROS.sub("", query),
        "blanks differ": lambda query: _BLANK.sub("", query),
    }
    alone = (how for how, without in ways.items() if without(one) == without(other))
    return next(alone, "only case, blanks and zeros differ")


def _shown(query: str) -> str:
    """An id as a reader can see it: in quotes, and escaped, where it holds blanks."""
    return repr(query) if _BLANK.search(query) else query


def likely_cause(unknown: list[str], missing: list[str]) -> str:
    """Why no id of a run is one of the judgments: case, blanks, zero padding, a prefix, or ""."""
    slips = likely_slips(unknown, missing)
    if unknown and len(slips) == len(unknown):
        meant, how = slips[unknown[0]]
        return f"{how} ({_shown(unknown[0])} for {_shown(meant)})"
    for whose, longer, shorter in (("run", unknown, missing), ("judgments", missing, unknown)):
        for end in shorter if longer else ():
            prefix = longer[0].removesuffix(end)
            if prefix != longer[0] and {prefix + query for query in shorter} >= set(longer):
                return f"the {whose} may write {prefix!r} before each query id"
    return ""
