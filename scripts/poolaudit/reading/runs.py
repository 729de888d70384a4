"""Runs: what a system returned, put into one order (docs/methods.md, The runs).

Every number of the audit comes from the order decided here: score descending, ties by document id
descending in byte order unless a setting says otherwise.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from poolaudit.errors import AuditError, nearest
from poolaudit.reading import formats
from poolaudit.reading.columns import from_numpy, one, repeats, to_numpy, valid
from poolaudit.reading.complaints import Complaints
from poolaudit.reading.lines import Layout
from poolaudit.reading.notes import NAMED, counted, some
from poolaudit.reading.order import TIES, number_queries, places, ranks, repeated
from poolaudit.reading.streams import EXPANSION
from poolaudit.reading.tables import Column

SETTINGS = {
    "order": ("score", "rank"),
    "ties": TIES,
    "precision": ("float64", "float32"),
    "duplicates": ("refuse", "first", "best"),
    "nonfinite": ("refuse", "last"),
}
TOP = 10

_KINDS = {
    "query_id": "id",
    "doc_id": "id",
    "given_rank": "whole",
    "score": "number",
    "tag": "label",
}


def _recognise(rows: list[list[str]]) -> str:
    """TREC where lines have six fields (or more, or the tag is missing), MS MARCO where three."""
    width = formats.usual_width([row[:6] for row in rows])
    return {6: "trec", 5: "trec", 3: "msmarco"}.get(width, "")


RUN = formats.Kind(
    holds="run",
    columns=(
        Column("query_id", "id", ("query_id", "qid", "topic_id", "topic", "query"), required=True),
        Column(
            "doc_id",
            "id",
            ("doc_id", "docno", "document_id", "corpus_id", "pid", "docid", "did"),
            required=True,
        ),
        Column("given_rank", "whole", ("rank",)),
        Column("score", "number", ("score", "sim")),
        Column("tag", "label", ("tag", "run", "run_id", "system")),
    ),
    layouts={
        "trec": Layout(
            ("query_id", "", "doc_id", "given_rank", "score", "tag"),
            _KINDS,
            trailing=True,
            example="query Q0 document rank score tag",
        ),
        "msmarco": Layout(
            ("query_id", "doc_id", "given_rank"),
            _KINDS,
            trailing=False,
            example="query document rank",
        ),
    },
    recognise=_recognise,
    mistaken={4: "lines of four fields are usually judgments"},
)


@dataclass(frozen=True)
class Run:
    """One run in its one order.

    Attributes:
        table: query_id (string), doc_id (string), rank (int32, from 1), score (float64), given_rank
            (int64, null where the file has none) and line (int64, from 1); sorted by query_id in
            byte order, then rank.
        notes: JSON-able: "file" (what was read, and its SHA-256), "ranking" (the settings),
            "counts", "digests", "tags" and "found", a list of notes {"kind", "text", ...}.
        path: the file it was read from.
    """

    table: pa.Table
    notes: dict
    path: Path


def read_run(
    path: Path | str,
    *,
    format: str | None = None,
    name: str | None = None,
    order: str = "score",
    ties: str = "docid_desc",
    precision: str = "float64",
    duplicates: str = "refuse",
    nonfinite: str = "refuse",
    expansion: int = EXPANSION,
) -> Run:
    """Read a run file and put each query's documents into one order.

    Args:
        path: the file: TREC or MS MARCO lines, CSV, TSV, JSON lines or Parquet, plain or
            compressed with gzip, bz2, xz or zstd.
        format: "trec", "msmarco", "csv", "tsv", "jsonl" or "parquet"; None to recognise it.
        name: the run's name, to compare its tag with.
        order: "score": by score, descending; "rank": by the rank column, ascending.
        ties: what orders equal scores (or ranks): "docid_desc" or "docid_asc" (byte order), or
            "file" (the line that comes first).
        precision: "float64", or "float32": scores are rounded to float32 before they are compared,
            as trec_eval holds them, and kept so.
        duplicates: a document twice in a query: "refuse"; keep its "first" line; keep its "best"
            place.
        nonfinite: NaN and infinite scores: "refuse"; or "last": below every other score of the
            query, tied with each other, and kept as minus infinity.
        expansion: a compressed file may unpack to this many times its size.

    A file without scores gets minus the rank as score. Nothing else about a score is changed.

    Raises:
        AuditError: an unknown setting, a file that cannot be read, bad lines, duplicates, scores
            that are not finite, or ranks missing where they are needed.
    """
    settings = dict(zip(SETTINGS, (order, ties, precision, duplicates, nonfinite), strict=True))
    _check_settings(settings)
    table, facts = formats.read(path, RUN, format=format, expansion=expansion)
    refuse = _refusal(path, facts["format"])
    tags = _tags(table)
    columns, found = _with_scores(table, settings, refuse)
    del table
    query, query_ids = number_queries(columns["query_id"])
    key = to_numpy(columns["given_rank"]) if order == "rank" else -to_numpy(columns["score"])
    keep, more = _kept(columns, query, key, duplicates, refuse)
    if not keep.all():
        columns = {name: column.filter(from_numpy(keep)) for name, column in columns.items()}
        query, key = query[keep], key[keep]
    rows, tied = places(query, key, columns["doc_id"], ties)
    query = query[rows]
    table = _ordered(columns, rows, query, query_ids)
    found += more + _notes_on_ties(query, tied) + _notes_on_ranks(table, query)
    found += _notes_on_file(facts, tags, name)
    depths = np.bincount(query)
    notes = {
        "file": {"name": Path(path).name, **facts},
        "ranking": settings,
        "counts": {
            "documents": table.num_rows,
            "queries": len(query_ids),
            "fewest_documents": int(depths.min()),
            "most_documents": int(depths.max()),
        },
        "digests": ranking_digests(table),
        "tags": tags[:NAMED],
        "found": found,
    }
    return Run(table, notes, Path(path))


def ranking_digests(table: pa.Table) -> dict[str, str]:
    """SHA-256 of a run's order: "ranking" of all of it, "top" of each query's first 10 documents.

    Runs with equal digests return the same documents in the same order; scores don't count.
    """
    top = table.filter(from_numpy(to_numpy(table["rank"]) <= TOP))
    return {"ranking": _digest(table), "top": _digest(top)}


def same_rankings(notes_of_runs: Mapping[str, dict]) -> list[dict]:
    """Which runs rank all documents, or each query's first 10, the same.

    Args:
        notes_of_runs: the notes of each run, by its name.

    Returns:
        Notes of the kinds "same_ranking" and "same_top", each with the names of its "runs". Runs
        named together under the first are not named together again under the second.
    """
    notes, told = [], set()
    for kind, digest, what in (
        ("same_ranking", "ranking", "the same documents in the same order"),
        ("same_top", "top", f"the same first {TOP} documents for every query"),
    ):
        groups: dict[str, list[str]] = {}
        for run in sorted(notes_of_runs):
            groups.setdefault(notes_of_runs[run]["digests"][digest], []).append(run)
        for group in groups.values():
            if len(group) > 1 and tuple(group) not in told:
                told.add(tuple(group))
                text = f"{', '.join(group[:-1])} and {group[-1]} return {what}"
                notes.append({"kind": kind, "text": text, "runs": group})
    return notes


Refuse = Callable[[np.ndarray, Callable[[int], str], str, str], None]


def _refusal(path: Path | str, format: str) -> Refuse:
    """What stops the reading: refuse(lines, reason by index, what is wrong, what to do)."""

    def refuse(lines: np.ndarray, reason: Callable[[int], str], what: str, todo: str) -> None:
        complaints = Complaints(path, RUN.holds)
        complaints.add(lines, reason)
        formats.complain(complaints, RUN, format, what=what, todo=todo)

    return refuse


def _check_settings(settings: dict[str, str]) -> None:
    for name, value in settings.items():
        if value not in SETTINGS[name]:
            raise AuditError(
                f"the setting {name} cannot be {value!r}",
                expected=", ".join(SETTINGS[name]),
                todo=nearest(str(value), SETTINGS[name]),
            )


def _with_scores(
    table: pa.Table, settings: dict[str, str], refuse: Refuse
) -> tuple[dict[str, pa.Array], list[dict]]:
    """query_id, doc_id, score, given_rank, line, with scores fit to be compared; and notes."""
    columns = {name: one(table[name]) for name in table.column_names if name != "tag"}
    columns.setdefault("given_rank", pa.nulls(table.num_rows, pa.int64()))
    line, unranked, notes = to_numpy(columns["line"]), ~valid(columns["given_rank"]), []
    scored = "score" in columns
    if (settings["order"] == "rank" or not scored) and unranked.any():
        why = "order: rank needs it" if scored else "there are no scores"
        refuse(
            line[unranked],
            lambda _: "the rank is missing or no whole number",
            f"the rank column cannot be used, and {why}",
            "give every document a rank" + (", or set order: score" if scored else ""),
        )
    if unranked.any() and not unranked.all():
        count = int(unranked.sum())
        notes.append(counted("ranks_unreadable", "ranks missing or no whole numbers", count))
    if scored:
        score = to_numpy(columns["score"])
    else:
        score = -to_numpy(columns["given_rank"]).astype(np.float64)
        text = "the file has no scores: minus the rank serves as the score"
        notes.append({"kind": "no_scores", "text": text})
    if settings["precision"] == "float32":
        with np.errstate(over="ignore"):
            score = score.astype(np.float32).astype(np.float64)
    bad = ~np.isfinite(score)
    if bad.any() and settings["nonfinite"] == "refuse":
        refuse(
            line[bad],
            lambda i: f"the score is {score[bad][i]}",
            f"scores that are not finite in {settings['precision']}",
            "mend the scores, or set nonfinite: last to rank these documents last",
        )
    if bad.any():
        score = np.where(bad, -np.inf, score)
        notes.append(counted("nonfinite", "scores not finite, ranked last", int(bad.sum())))
    return {**columns, "score": from_numpy(score)}, notes


def _kept(
    columns: dict[str, pa.Array],
    query: np.ndarray,
    key: np.ndarray,
    duplicates: str,
    refuse: Refuse,
) -> tuple[np.ndarray, list[dict]]:
    """bool[rows], true for one row of each document in a query; and a note on the others."""
    keep = np.ones(len(query), bool)
    keys = [key] if duplicates == "best" else []
    again, before = repeated(query, columns["doc_id"], *keys)
    if not len(again):
        return keep, []
    if duplicates == "refuse":
        line = to_numpy(columns["line"])
        documents, queries = (
            columns[name].take(from_numpy(again)).to_pylist() for name in ("doc_id", "query_id")
        )
        refuse(
            line[again],
            lambda i: (
                f"document {documents[i]} of query {queries[i]}, as in line {line[before[i]]}"
            ),
            "documents returned more than once for a query",
            "mend the run, or set duplicates: first or duplicates: best",
        )
    keep[again] = False
    which = "first line" if duplicates == "first" else "best place"
    text = f"repeated documents, of which the {which} is kept"
    return keep, [counted("duplicates", text, len(again))]


def _ordered(
    columns: dict[str, pa.Array], rows: np.ndarray, query: np.ndarray, query_ids: pa.Array
) -> pa.Table:
    """The table of a run. `columns` is emptied on the way, so that little is held twice."""
    in_order = (rows[1:] > rows[:-1]).all()
    del columns["query_id"]

    def ordered(name: str) -> pa.Array:
        column = columns.pop(name)
        return column if in_order else column.take(from_numpy(rows))

    return pa.table(
        {
            "query_id": query_ids.take(from_numpy(query)),
            "doc_id": ordered("doc_id"),
            "rank": from_numpy(ranks(query)),
            "score": ordered("score"),
            "given_rank": ordered("given_rank"),
            "line": ordered("line"),
        }
    )


def _notes_on_ties(query: np.ndarray, tied: np.ndarray) -> list[dict]:
    if not tied.any():
        return []
    queries = len(np.unique(query[tied]))
    note = counted("ties", "documents tied with another", int(tied.sum()), f"queries: {queries:,}")
    return [note | {"queries": queries}]


def _notes_on_ranks(table: pa.Table, query: np.ndarray) -> list[dict]:
    """Where the rank column puts a document before one with a higher score."""
    rank, score = to_numpy(table["given_rank"]), to_numpy(table["score"])
    if table["given_rank"].null_count:
        ranked = valid(table["given_rank"])
        rank, score, query = rank[ranked], score[ranked], query[ranked]
    if not ((rank[1:] < rank[:-1]) & (query[1:] == query[:-1])).any():
        return []
    score = score[np.lexsort((rank, query))]
    rises = np.flatnonzero((score[1:] > score[:-1]) & (query[1:] == query[:-1]))
    if not len(rises):
        return []
    queries = len(np.unique(query[rises]))
    text = "places where the rank column puts a lower score first"
    note = counted("rank_disagrees", text, len(rises), f"queries: {queries:,}")
    return [note | {"queries": queries}]


def _notes_on_file(facts: dict, tags: list[str], name: str | None) -> list[dict]:
    notes = []
    if len(tags) > 1:
        notes.append(counted("several_tags", "different tags", len(tags), some(tags)))
    if name is not None and tags and name not in tags:
        text = f"the tag is {some(tags)}, the name of the run {name}"
        notes.append({"kind": "tag_differs", "text": text})
    for fact, text in (
        ("blank", "blank lines, skipped"),
        ("comment", "lines that begin with #, skipped as comments"),
        ("trailing", "lines with text after the tag, ignored"),
    ):
        if facts[fact]:
            notes.append(counted(fact, text, facts[fact]))
    if facts["byte_order_mark"]:
        text = "the byte-order mark is not part of the first query id"
        notes.append({"kind": "byte_order_mark", "text": text})
    return notes


def _tags(table: pa.Table) -> list[str]:
    """The different tags of a run, in order of appearance."""
    if "tag" not in table.column_names:
        return []
    heads = np.flatnonzero(~repeats(table["tag"]))
    tags = table["tag"].take(from_numpy(heads)).unique().to_pylist()
    return [tag for tag in tags if tag]


def _digest(table: pa.Table) -> str:
    digest = hashlib.sha256()
    for name in ("query_id", "doc_id"):
        texts = one(table[name])
        _, offsets, data = texts.buffers()
        ends = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
        digest.update((ends - ends[0]).tobytes())
        digest.update(memoryview(data)[ends[0] : ends[-1]])
    return digest.hexdigest()
