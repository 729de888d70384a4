"""Judgments: which documents were read for a query, and what grade they got."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from poolaudit.errors import AuditError, nearest
from poolaudit.reading import formats
from poolaudit.reading.columns import from_numpy, one, repeats, to_numpy
from poolaudit.reading.complaints import Complaints
from poolaudit.reading.lines import Layout
from poolaudit.reading.streams import EXPANSION
from poolaudit.reading.tables import Column
from poolaudit.reading.topics import read_topics

NEGATIVES = ("unjudged", "nonrelevant")
# Every grade up to the highest is a grade that assessors may give: a choice in the form, and a case
# in the bounds of nDCG, which would take an hour for grades in the thousands.
LOWEST, HIGHEST = -(2**15), 100

_TYPES = {
    "query_id": "id",
    "iteration": "label",
    "doc_id": "id",
    "stratum": "label",
    "relevance": "number",
    "method": "label",
    "probability": "number",
}
_COLUMNS = (
    Column("query_id", "id", ("query_id", "qid", "topic_id", "topic", "query"), True),
    Column("iteration", "label", ("iteration", "iter", "subtopic_id", "subtopic")),
    Column(
        "doc_id",
        "id",
        ("doc_id", "docno", "document_id", "corpus_id", "pid", "docid", "did"),
        True,
    ),
    Column("stratum", "label", ("stratum", "strata")),
    Column("route", "label", ("route",)),
    Column(
        "relevance",
        "number",
        ("relevance", "rel", "grade", "label", "judgment", "judgement", "qrel", "score"),
        True,
    ),
)


def _recognise(rows: list[list[str]]) -> str:
    """Four fields, or five: then either strata, or sampling probabilities as the last."""
    width = formats.usual_width(rows)
    if width == 5:
        decimals = any("." in row[4] for row in rows if len(row) == 5)
        return "prels" if decimals else "strata"
    return "qrels" if width == 4 else ""


QRELS = formats.Kind(
    holds="judgments",
    columns=_COLUMNS,
    layouts={
        "qrels": Layout(
            ("query_id", "iteration", "doc_id", "relevance"),
            _TYPES,
            trailing=False,
            example="query iteration document grade",
        ),
        "strata": Layout(
            ("query_id", "iteration", "doc_id", "stratum", "relevance"),
            _TYPES,
            trailing=False,
            example="query iteration document stratum grade (-1: in the stratum, not judged)",
        ),
        "prels": Layout(
            ("query_id", "doc_id", "relevance", "method", "probability"),
            _TYPES,
            trailing=False,
            example="query document grade method probability",
        ),
    },
    recognise=_recognise,
    mistaken={6: "lines of six fields are usually a run"},
)


@dataclass(frozen=True)
class Judgments:
    """The judgments and topics of a collection.

    Attributes:
        judgments: query_id, doc_id (string), relevance (int16) and, where the source has them,
            stratum, method, route (string) and probability (float64); sorted by query_id, then
            doc_id, in byte order. Grades below 0 mean "in the pool, not judged".
        topics: query_id, text (string, null where unknown) and judged (bool: whether any document
            of the query has a grade of 0 or more); sorted by query_id.
        source: JSON-able: where they came from, with digests; "rows", "queries", "grades" (rows
            by grade), "meanings" (of the grades), "official_measures", "negatives" and "found", a
            list of notes {"kind", "text", "count"}.
    """

    judgments: pa.Table
    topics: pa.Table
    source: dict


def load(settings: Mapping[str, Any]) -> Judgments:
    """The judgments and topics that a collection names.

    Args:
        settings: "ir_datasets" (a dataset id), or "file" and, if there is one, "topics" (paths);
            "negatives" ("unjudged" or "nonrelevant"); "grades" (meaning by grade) and "official"
            (measures), which add to what the source says.

    Raises:
        AuditError: as `read_judgments`, `read_topics` and `catalogue.fetch`.
    """
    negatives = settings.get("negatives", "unjudged")
    if "ir_datasets" in settings:
        from poolaudit.reading import catalogue

        loaded = catalogue.fetch(settings["ir_datasets"], negatives=negatives)
    else:
        loaded = from_files(settings["file"], settings.get("topics"), negatives=negatives)
    source = dict(loaded.source)
    source["meanings"] = source["meanings"] | dict(settings.get("grades", {}))
    source["official_measures"] = list(settings.get("official") or source["official_measures"])
    return Judgments(loaded.judgments, loaded.topics, source)


def from_files(
    judgments: Path | str, topics: Path | str | None = None, *, negatives: str = "unjudged"
) -> Judgments:
    """Judgments and topics in local files, with a record of what was read."""
    table, facts, notes = _read(judgments, None, negatives, EXPANSION)
    files = [{"holds": "judgments", "name": Path(judgments).name, **facts}]
    texts = None
    if topics is not None:
        texts, facts = read_topics(topics)
        files.append({"holds": "topics", "name": Path(topics).name, **facts})
    return assemble(table, texts, {"files": files, "negatives": negatives}, notes)


def read_judgments(
    path: Path | str,
    *,
    format: str | None = None,
    negatives: str = "unjudged",
    expansion: int = EXPANSION,
) -> pa.Table:
    """Read a judgments file into the table that `Judgments` describes.

    Args:
        path: TREC qrels (with # comments), the five-column forms with strata or with sampling
            probabilities, CSV, TSV, JSON lines or Parquet; plain or compressed.
        format: "qrels", "strata", "prels", "csv", "tsv", "jsonl" or "parquet"; None to recognise.
        negatives: grades below 0 are kept ("unjudged") or become 0 ("nonrelevant").
        expansion: a compressed file may unpack to this many times its size.

    Identical duplicates are dropped.

    Raises:
        AuditError: a file that cannot be read, bad lines, grades that are no whole numbers,
            conflicting duplicates, subtopics.
    """
    return _read(path, format, negatives, expansion)[0]


def truth_of(judgments: pa.Table, truth: pa.Table) -> pa.Table:
    """What is true of the judged queries: the relevant documents, and all other judged ones as 0.

    Args:
        judgments: query_id, doc_id, relevance: what was judged, which says the queries.
        truth: the same for every relevant document; queries nobody judged are left out.

    Returns:
        query_id, doc_id, relevance; every judged query has a row, also one without a relevant
        document, so that means are taken over the same queries.
    """
    names = ["query_id", "doc_id", "relevance"]
    truth = truth.select(names)
    known = truth.filter(pc.is_in(truth["query_id"], value_set=judgments["query_id"].unique()))
    keys = names[:2]
    others = judgments.select(keys).join(known.select(keys), keys, join_type="left anti")
    zeros = pa.array(np.zeros(others.num_rows, np.int16))
    others = others.append_column("relevance", zeros)
    return pa.concat_tables([known, others]).sort_by([(key, "ascending") for key in keys])


def assemble(table: pa.Table, texts: pa.Table | None, source: dict, notes: list[dict]) -> Judgments:
    """Judgments from their table, the topics' query_id and text, and what is known of the source.

    Queries that are judged but have no topic get one with null as text.
    """
    seen = to_numpy(table["relevance"]) >= 0
    judged = set(table.filter(from_numpy(seen))["query_id"].unique().to_pylist())
    text_of = {} if texts is None else dict(zip(*texts.to_pydict().values(), strict=True))
    queries = sorted(set(text_of) | set(table["query_id"].unique().to_pylist()), key=str.encode)
    topics = pa.table(
        {
            "query_id": pa.array(queries, pa.string()),
            "text": pa.array([text_of.get(query) for query in queries], pa.string()),
            "judged": pa.array([query in judged for query in queries], pa.bool_()),
        }
    )
    grades, counts = np.unique(to_numpy(table["relevance"]), return_counts=True)
    record = {
        "rows": table.num_rows,
        "queries": len(judged),
        "grades": dict(zip(map(str, grades), map(int, counts), strict=True)),
        "meanings": {},
        "official_measures": [],
        "found": notes,
    }
    return Judgments(table, topics, record | source)


def checked(
    table: pa.Table, negatives: str, refuse, name: str = "line"
) -> tuple[pa.Table, list[dict]]:
    """Judgments fit for use: whole grades, one for each pair, sorted; and notes on what was mended.

    Args:
        table: query_id, doc_id (string), relevance (float64), line (int64), maybe iteration and
            the other columns of `Judgments`.
        negatives: "unjudged" or "nonrelevant".
        refuse: called with lines, a function from index to reason, what and todo; raises.
        name: what the numbers in `line` count, for messages.
    """
    if negatives not in NEGATIVES:
        raise AuditError(
            f"the setting negatives cannot be {negatives!r}",
            expected=", ".join(NEGATIVES),
            todo=nearest(str(negatives), NEGATIVES),
        )
    line, grade = to_numpy(table["line"]), to_numpy(table["relevance"])
    _refuse_fractions(table, grade, line, refuse)
    keys = [("query_id", "ascending"), ("doc_id", "ascending"), ("line", "ascending")]
    table = table.take(pc.sort_indices(table, sort_keys=keys))
    line, grade = to_numpy(table["line"]), to_numpy(table["relevance"])
    again = repeats(table["query_id"]) & repeats(table["doc_id"])
    notes = []
    if again.any():
        _refuse_conflicts(table, grade, line, again, refuse, name)
        count = int(again.sum())
        text = f"judgments given again, the same, and counted once: {count:,}"
        notes.append({"kind": "repeated_judgments", "text": text, "count": count})
        table, grade = table.filter(from_numpy(~again)), grade[~again]
    below = int((grade < 0).sum())
    if below:
        meaning = "nonrelevant" if negatives == "nonrelevant" else "in the pool, not judged"
        text = f"grades below 0, which count as {meaning}: {below:,}"
        notes.append({"kind": "negative_grades", "text": text, "count": below})
        if negatives == "nonrelevant":
            grade = np.maximum(grade, 0)
    columns = {name: one(table[name]) for name in ("query_id", "doc_id")}
    columns["relevance"] = from_numpy(grade.astype(np.int16))
    for extra in ("stratum", "method", "route", "probability"):
        if extra in table.column_names:
            columns[extra] = one(table[extra])
    return pa.table(columns), notes


def _read(
    path: Path | str, format: str | None, negatives: str, expansion: int
) -> tuple[pa.Table, dict, list[dict]]:
    table, facts = formats.read(path, QRELS, format=format, expansion=expansion)

    def refuse(lines: np.ndarray, reason, what: str, todo: str) -> None:
        complaints = Complaints(path, QRELS.holds)
        complaints.add(lines, reason)
        formats.complain(complaints, QRELS, facts["format"], what=what, todo=todo)

    table, notes = checked(table, negatives, refuse)
    return table, facts, notes


def _refuse_fractions(table: pa.Table, grade: np.ndarray, line: np.ndarray, refuse) -> None:
    with np.errstate(invalid="ignore"):
        odd = ~((grade == np.floor(grade)) & (grade >= LOWEST) & (grade <= HIGHEST))
    if not odd.any():
        return
    groups = one(table["iteration"]).unique() if "iteration" in table.column_names else []
    todo = "map the grades to whole numbers, with 0 for nonrelevant, and audit that file"
    if len(groups) > 1:
        todo += (
            "; if these are preferences of several judging groups (trec_eval's prefs), turn them"
            " into grades first: a pool audit needs judged documents, not judged pairs"
        )
    refuse(
        line[odd],
        lambda i: f"the grade is {grade[odd][i]:g}",
        f"grades that are no whole numbers from {LOWEST} to {HIGHEST}",
        todo,
    )


def _refuse_conflicts(
    table: pa.Table, grade: np.ndarray, line: np.ndarray, again: np.ndarray, refuse, name: str
) -> None:
    """Stop at pairs judged under several iterations, or with several grades."""
    where = np.flatnonzero(again)
    queries, documents = table["query_id"], table["doc_id"]

    def pair(row: int) -> str:
        return f"document {documents[int(row)].as_py()} of query {queries[int(row)].as_py()}"

    if "iteration" in table.column_names:
        other = where[~repeats(table["iteration"])[where]]
        if len(other):
            iteration = table["iteration"]
            refuse(
                line[other],
                lambda i: (
                    f"{pair(other[i])} under {iteration[int(other[i])].as_py()!r}, and under"
                    f" {iteration[int(other[i] - 1)].as_py()!r} in {name} {line[other[i] - 1]}"
                ),
                "documents judged several times for a query, under different iterations",
                "these look like subtopics or judging groups: choose one of them, or give each"
                " pair one grade (its highest, say), and audit that file",
            )
    conflict = where[grade[where] != grade[where - 1]]
    if len(conflict):
        refuse(
            line[conflict],
            lambda i: (
                f"{pair(conflict[i])} has grade {grade[conflict[i]]:g}, and"
                f" {grade[conflict[i] - 1]:g} in {name} {line[conflict[i] - 1]}"
            ),
            "conflicting judgments",
            "decide which grade is right, and delete the other lines",
        )
