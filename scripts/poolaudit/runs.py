"""Runs: what a system returned, put into one order (METHODS 1).

Every number of the audit comes from the order decided here: score descending, ties by document id
descending in byte order unless a setting says otherwise.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from poolaudit import formats
from poolaudit.columns import from_numpy, one, to_numpy, valid
from poolaudit.complaints import Complaints
from poolaudit.errors import AuditError, nearest
from poolaudit.lines import Layout
from poolaudit.streams import EXPANSION
from poolaudit.tables import Column

ORDERS = ("score", "rank")
TIES = ("docid_desc", "docid_asc", "file")
PRECISIONS = ("float64", "float32")
DUPLICATES = ("refuse", "first", "best")
NONFINITE = ("refuse", "last")
TOP = 10
NAMED = 5

_TYPES = {"query_id": "id", "doc_id": "id", "given_rank": "whole", "score": "number"}
_COLUMNS = (
    Column("query_id", "id", ("query_id", "qid", "topic_id", "topic", "query"), True),
    Column(
        "doc_id",
        "id",
        ("doc_id", "docno", "document_id", "pid", "passage_id", "docid", "did"),
        True,
    ),
    Column("given_rank", "whole", ("rank",), False),
    Column("score", "number", ("score", "sim"), False),
    Column("tag", "label", ("tag", "run", "run_id", "system"), False),
)


def _recognise(rows: list[list[str]]) -> str:
    """TREC from six fields, MS MARCO from three of which the last is a whole number."""
    widths = [min(len(row), 6) for row in rows]
    width = max(set(widths), key=widths.count)
    if width >= 5 or 6 in widths:
        return "trec"
    thirds = [row[2] for row in rows if len(row) == 3]
    return "msmarco" if width == 3 and any(third.isdecimal() for third in thirds) else ""


RUN = formats.Kind(
    holds="run",
    columns=_COLUMNS,
    layouts={
        "trec": Layout(
            ("query_id", None, "doc_id", "given_rank", "score", "tag"),
            {**_TYPES, "tag": "label"},
            trailing=True,
            example="query Q0 document rank score tag",
        ),
        "msmarco": Layout(
            ("query_id", "doc_id", "given_rank"),
            {**_TYPES},
            trailing=False,
            example="query document rank",
        ),
    },
    recognise=_recognise,
)


@dataclass(frozen=True)
class Run:
    """One run in its one order.

    Attributes:
        table: query_id (string), doc_id (string), rank (int32, from 1), score (float64), given_rank
            (int64, null where the file has none) and line (int64, from 1); sorted by query_id in
            byte order, then rank.
        notes: JSON-able: "file" (what was read), "ranking" (the settings), "counts", "digests",
            "tags" and "found", a list of {"kind", "text", and figures}.
    """

    table: pa.Table
    notes: dict


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
            as trec_eval holds them.
        duplicates: a document twice in a query: "refuse"; keep the "first" line; keep the "best"
            placed one.
        nonfinite: NaN and infinite scores: "refuse"; or "last": below every other score of the
            query, tied with each other, and stored as minus infinity.
        expansion: a compressed file may unpack to this many times its size.

    A file without scores gets minus the rank as score. Nothing else about a score is changed.

    Raises:
        AuditError: an unknown setting, a file that cannot be read, bad lines, duplicates, scores
            that are not finite, or ranks missing where `order="rank"` needs them.
    """
    settings = {
        "order": order,
        "ties": ties,
        "precision": precision,
        "duplicates": duplicates,
        "nonfinite": nonfinite,
    }
    _check_settings(settings)
    contents = formats.read(path, RUN, format=format, expansion=expansion)
    refuse = _Refusal(Path(path), contents, expansion)
    notes: list[dict] = []
    table = _scored(contents, settings, refuse, notes)
    query, names = _query_codes(table["query_id"])
    keep = _without_duplicates(table, query, settings, refuse, notes)
    if keep is not None:
        table, query = table.take(from_numpy(keep)), query[keep]
    key = -to_numpy(table["given_rank"]) if order == "rank" else to_numpy(table["score"])
    places, tied = _places(query, key, table["doc_id"], ties)
    query, key = query[places], key[places]
    starts = np.flatnonzero(np.diff(query, prepend=-1))
    rank = np.arange(1, len(query) + 1) - np.repeat(starts, np.diff(starts, append=len(query)))
    ordered = table.take(from_numpy(places))
    result = pa.table(
        {
            "query_id": names.take(from_numpy(query)),
            "doc_id": one(ordered["doc_id"]),
            "rank": from_numpy(rank.astype(np.int32)),
            "score": one(ordered["score"]),
            "given_rank": one(ordered["given_rank"]),
            "line": one(ordered["line"]),
        }
    )
    notes += _notes_on_order(result, query, key, tied)
    tags = _tags(contents.table)
    notes += _notes_on_file(contents.facts, tags, name)
    depths = np.diff(starts, append=len(query))
    return Run(
        result,
        {
            "file": {"name": Path(path).name, **contents.facts},
            "ranking": settings,
            "counts": {
                "documents": len(query),
                "queries": len(names),
                "fewest_documents": int(depths.min()),
                "most_documents": int(depths.max()),
            },
            "digests": ranking_digests(result),
            "tags": tags[:NAMED],
            "found": notes,
        },
    )


def ranking_digests(table: pa.Table) -> dict[str, str]:
    """SHA-256 of a run's order: "ranking" of all of it, "top" of each query's first 10 documents.

    Two runs with equal digests return the same documents in the same order; scores don't count.
    """
    top = table.filter(from_numpy(to_numpy(table["rank"]) <= TOP))
    return {"ranking": _digest(table), "top": _digest(top)}


def same_rankings(notes_of_runs: Mapping[str, dict]) -> list[dict]:
    """Which runs rank all documents, or each query's first 10, the same.

    Args:
        notes_of_runs: the notes of each run, by its name.

    Returns:
        Notes of the kinds "same_ranking" and "same_top", each with the names of its "runs".
    """
    notes, told = [], set()
    for digest, kind, what in (
        ("ranking", "same_ranking", "the same documents in the same order"),
        ("top", "same_top", f"the same first {TOP} documents for every query"),
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


def compare_topics(run: Run, topics: pa.Table, *, depth: int | None = None) -> list[dict]:
    """Notes on how the queries of a run and of a collection agree.

    Args:
        run: the run.
        topics: query_id (string), text and judged (bool), one row a query of the collection.
        depth: the deepest pool to be made; None for none.

    Returns:
        Notes of the kinds "missing_queries" (judged, not answered), "unjudged_queries" (answered,
        in the topics, not judged), "unknown_queries" (answered, not in the topics) and "shallow"
        (fewer documents than `depth`), each with a count and the first few ids.

    Raises:
        AuditError: no query of the run is judged.
    """
    counts = one(run.table["query_id"]).value_counts()
    answered = dict(zip(counts.field(0).to_pylist(), counts.field(1).to_pylist(), strict=True))
    known = topics["query_id"].to_pylist()
    judged = topics.filter(topics["judged"])["query_id"].to_pylist()
    missing = sorted(set(judged) - set(answered))
    unknown = sorted(set(answered) - set(known))
    unjudged = sorted(set(answered) & set(known) - set(judged))
    cause = likely_cause(unknown, missing)
    if len(missing) == len(set(judged)):
        raise AuditError(
            "no query of the run is judged",
            where=run.notes["file"]["name"],
            found=f"{_some(list(answered))}" + (f"; {cause}" if cause else ""),
            expected=f"judged queries: {_some(judged)}",
            todo="check that the run belongs to this collection, and how its query ids are written",
        )
    notes = []

    def note(kind: str, ids: list[str], what: str, why: str = "") -> None:
        if ids:
            text = f"{len(ids)} {what}: {_some(ids)}" + (f"; {why}" if why else "")
            notes.append({"kind": kind, "text": text, "count": len(ids), "first": ids[:NAMED]})

    note("missing_queries", missing, "judged queries are not answered, and score 0", cause)
    note("unjudged_queries", unjudged, "answered queries are in the topics but not judged")
    note("unknown_queries", unknown, "answered queries are not in the topics", cause)
    if depth is not None:
        shallow = sorted(q for q in set(judged) & set(answered) if answered[q] < depth)
        note("shallow", shallow, f"judged queries have fewer than {depth} documents")
    return notes


def likely_cause(unknown: list[str], missing: list[str]) -> str:
    """Why ids of a run are not those of the judgments: zero padding or a prefix, else ""."""
    if not unknown or not missing:
        return ""
    bare = {query.lstrip("0") for query in missing}
    if all(query.lstrip("0") in bare for query in unknown):
        return f"zero padding may differ ({unknown[0]} for {_like(unknown[0], missing)})"
    for whose, prefixed, plain in (("run", unknown, missing), ("judgments", missing, unknown)):
        for end in plain:
            prefix = prefixed[0].removesuffix(end)
            if prefix != prefixed[0] and {prefix + query for query in plain} >= set(prefixed):
                return f"the {whose} may write the prefix {prefix!r} before each query id"
    return ""


class _Refusal:
    """Stops the reading of one file with the lines that are at fault."""

    def __init__(self, path: Path, contents: formats.Contents, expansion: int) -> None:
        self._path, self._contents, self._expansion = path, contents, expansion

    def __call__(self, lines: np.ndarray, reason, what: str, todo: str) -> None:
        complaints = Complaints(self._path, RUN.holds)
        complaints.add(lines, reason)
        formats.complain(
            self._contents, complaints, RUN, what=what, todo=todo, expansion=self._expansion
        )


def _check_settings(settings: dict[str, str]) -> None:
    allowed = {
        "order": ORDERS,
        "ties": TIES,
        "precision": PRECISIONS,
        "duplicates": DUPLICATES,
        "nonfinite": NONFINITE,
    }
    for name, value in settings.items():
        if value not in allowed[name]:
            raise AuditError(
                f"the setting {name} cannot be {value!r}",
                expected=", ".join(allowed[name]),
                todo=nearest(str(value), allowed[name]),
            )


def _scored(
    contents: formats.Contents, settings: dict[str, str], refuse: _Refusal, notes: list[dict]
) -> pa.Table:
    """query_id, doc_id, given_rank, score and line, with scores fit to be compared."""
    table = contents.table
    line = to_numpy(table["line"])
    if "given_rank" not in table.column_names:
        table = table.append_column("given_rank", pa.nulls(len(line), pa.int64()))
    unranked = ~valid(table["given_rank"])
    has_scores = "score" in table.column_names
    if (settings["order"] == "rank" or not has_scores) and unranked.any():
        why = "order: rank asks for it" if has_scores else "there is no score"
        refuse(
            line[unranked],
            lambda _: "the rank is missing or no whole number",
            f"the rank column cannot be used, and {why}",
            "give a rank for every document" + (", or set order: score" if has_scores else ""),
        )
    if has_scores:
        score = to_numpy(table["score"])
    else:
        score = -to_numpy(table["given_rank"]).astype(np.float64)
        notes.append(
            {"kind": "no_scores", "text": "the file has no scores: minus the rank serves as score"}
        )
    if unranked.any() and not unranked.all():
        count = int(unranked.sum())
        notes.append(_note("ranks_unreadable", count, "ranks are missing or no whole number"))
    if settings["precision"] == "float32":
        with np.errstate(over="ignore"):
            score = score.astype(np.float32).astype(np.float64)
    bad = ~np.isfinite(score)
    if bad.any():
        if settings["nonfinite"] == "refuse":
            refuse(
                line[bad],
                lambda i: f"the score is {score[bad][i]}",
                f"scores that are not finite in {settings['precision']}",
                "mend the scores, or set nonfinite: last to rank these documents last",
            )
        score = np.where(bad, -np.inf, score)
        notes.append(
            _note("nonfinite", int(bad.sum()), "scores are not finite, and are ranked last")
        )
    kept = {name: table[name] for name in ("query_id", "doc_id", "given_rank", "line")}
    return pa.table({**kept, "score": from_numpy(score)})


def _query_codes(column: pa.ChunkedArray) -> tuple[np.ndarray, pa.Array]:
    """The number of each row's query, and the queries' ids, in byte order."""
    coded = one(column).dictionary_encode()
    by_bytes = pc.sort_indices(coded.dictionary)
    number = np.empty(len(by_bytes), np.int32)
    number[to_numpy(by_bytes)] = np.arange(len(by_bytes))
    return number[to_numpy(coded.indices)], coded.dictionary.take(by_bytes)


def _without_duplicates(
    table: pa.Table,
    query: np.ndarray,
    settings: dict[str, str],
    refuse: _Refusal,
    notes: list[dict],
) -> np.ndarray | None:
    """Rows to keep where a query has a document more than once; None when none has."""
    coded = one(table["doc_id"]).dictionary_encode()
    if len(coded.dictionary) == table.num_rows:
        return None
    pair = query.astype(np.int64) * len(coded.dictionary) + to_numpy(coded.indices)
    in_order = np.sort(pair)
    if (in_order[1:] != in_order[:-1]).all():
        return None
    line = to_numpy(table["line"])
    if settings["duplicates"] == "best":
        by_rank = settings["order"] == "rank"
        key = to_numpy(table["given_rank"]) if by_rank else -to_numpy(table["score"])
        order = np.lexsort((line, key, pair))
    else:
        order = np.lexsort((line, pair))
    again = np.flatnonzero(np.diff(pair[order]) == 0) + 1
    if settings["duplicates"] == "refuse":
        first = line[order[again - 1]]
        documents = table["doc_id"].take(from_numpy(order[again])).to_pylist()
        queries = table["query_id"].take(from_numpy(order[again])).to_pylist()
        refuse(
            line[order[again]],
            lambda i: f"document {documents[i]} of query {queries[i]} again, as in line {first[i]}",
            "documents returned more than once for a query",
            "mend the run, or set duplicates: first or duplicates: best",
        )
    which = "first line" if settings["duplicates"] == "first" else "best place"
    notes.append(
        _note(
            "duplicates", len(again), f"repeated documents are dropped: the {which} of each counts"
        )
    )
    keep = np.ones(len(pair), bool)
    keep[order[again]] = False
    return np.flatnonzero(keep)


def _places(
    query: np.ndarray, key: np.ndarray, doc_id: pa.ChunkedArray, ties: str
) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers by query, key descending and the tie rule; and which rows, so ordered, are tied.

    Documents are compared as bytes, and only where keys are equal.
    """
    places = np.argsort(query, kind="stable")
    if ((np.diff(key[places]) > 0) & (np.diff(query[places]) == 0)).any():
        places = np.lexsort((-key, query))
    same = (np.diff(query[places]) == 0) & (key[places][1:] == key[places][:-1])
    tied = np.append(False, same) | np.append(same, False)
    if ties != "file" and same.any():
        group = np.cumsum(~np.append(False, same))[tied]
        rows = places[tied]
        direction = "descending" if ties == "docid_desc" else "ascending"
        documents = one(doc_id.take(from_numpy(rows)))
        within = np.empty(len(rows), np.int64)
        within[to_numpy(pc.array_sort_indices(documents, order=direction))] = np.arange(len(rows))
        places[tied] = rows[np.lexsort((within, group))]
    return places, tied


def _notes_on_order(
    table: pa.Table, query: np.ndarray, key: np.ndarray, tied: np.ndarray
) -> list[dict]:
    notes = []
    if tied.any():
        count, queries = int(tied.sum()), len(np.unique(query[tied]))
        text = f"documents in {queries} queries have the score of another document of their query"
        notes.append(_note("ties", count, text) | {"queries": queries})
    given = table["given_rank"]
    if given.null_count < len(given):
        ranked = np.flatnonzero(valid(given))
        order = ranked[np.lexsort((to_numpy(given)[ranked], query[ranked]))]
        score = to_numpy(table["score"])
        rises = (np.diff(score[order]) > 0) & (np.diff(query[order]) == 0)
        if rises.any():
            queries = len(np.unique(query[order][1:][rises]))
            text = f"places in {queries} queries where the rank column puts a lower score first"
            notes.append(_note("rank_disagrees", int(rises.sum()), text) | {"queries": queries})
    return notes


def _tags(table: pa.Table) -> list[str]:
    """The different tags of a run, in order of appearance."""
    if "tag" not in table.column_names:
        return []
    return [tag for tag in pc.unique(table["tag"]).to_pylist() if tag]


def _notes_on_file(facts: dict, tags: list[str], name: str | None) -> list[dict]:
    notes = []
    if len(tags) > 1:
        notes.append(_note("several_tags", len(tags), f"different tags: {_some(tags)}"))
    if name is not None and tags and name not in tags:
        notes.append(
            {"kind": "tag_differs", "text": f"the tag is {_some(tags)}, the run's name {name}"}
        )
    for fact, text in (
        ("blank_lines", "blank lines are skipped"),
        ("comment_lines", "lines that begin with # are skipped"),
        ("trailing_text", "lines have text after the tag, which is ignored"),
    ):
        if facts[fact]:
            notes.append(_note(fact, facts[fact], text))
    if facts["byte_order_mark"]:
        notes.append({"kind": "byte_order_mark", "text": "the byte-order mark is skipped"})
    return notes


def _note(kind: str, count: int, text: str) -> dict:
    return {"kind": kind, "text": f"{count:,} {text}", "count": count}


def _some(ids: list[str]) -> str:
    return ", ".join(ids[:NAMED]) + (f" and {len(ids) - NAMED} more" if len(ids) > NAMED else "")


def _like(query: str, missing: list[str]) -> str:
    return next(other for other in missing if other.lstrip("0") == query.lstrip("0"))


def _digest(table: pa.Table) -> str:
    digest = hashlib.sha256()
    for name in ("query_id", "doc_id"):
        column = one(table[name])
        _, offsets, data = column.buffers()
        ends = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
        digest.update((ends - ends[0]).tobytes())
        digest.update(memoryview(data)[ends[0] : ends[-1]])
    return digest.hexdigest()
