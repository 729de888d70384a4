"""Topics: the queries of a collection and their text."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa

from poolaudit.errors import AuditError
from poolaudit.reading import formats
from poolaudit.reading.complaints import Complaints
from poolaudit.reading.streams import EXPANSION, Stream
from poolaudit.reading.tables import Column

TOPICS = formats.Kind(
    holds="topics",
    columns=(
        Column("query_id", "id", ("query_id", "qid", "topic_id", "_id", "id", "number"), True),
        Column("text", "label", ("text", "title", "query_text", "query", "question"), True),
    ),
    recognise=lambda rows: "lines",
)

_TOPIC = re.compile(r"<top(?:ic)?\b([^>]*)>(.*?)(?=<top(?:ic)?\b[^>]*>|\Z)", re.I | re.S)
_NUMBER = re.compile(r"<num(?:ber)?>\s*(?:number\s*:)?\s*(\S+?)\s*(?=<|\s)", re.I)
_NUMBER_ATTRIBUTE = re.compile(r"number\s*=\s*[\"']?\s*([^\s\"'>]+)", re.I)
_TITLE = re.compile(r"<(?:title|query)>\s*(?:topic\s*:)?(.*?)(?=<|\Z)", re.I | re.S)


def read_topics(path: Path | str, *, expansion: int = EXPANSION) -> tuple[pa.Table, dict]:
    """Read a topics file: query_id and text (string), sorted by query_id in byte order; and facts.

    Args:
        path: TREC topics (`<top>` with `<num>` and `<title>`, or `<topic number=...>`; the title
            is the text), lines of query id, tab, text, or CSV, TSV, JSON lines or Parquet with
            named columns; plain or compressed.
        expansion: a compressed file may unpack to this many times its size.

    Raises:
        AuditError: a file that cannot be read, a topic without number or title, a line without
            tab, or two texts for one query id.
    """
    with Stream(path, expansion=expansion) as stream:
        start = stream.head[: 1 << 16].decode("utf-8", "replace")
        trec = _TOPIC.search(start) is not None
        format = "trec" if trec else formats.recognise(stream.head, TOPICS, path=path)[0]
        if format in formats.TABLES:
            table, facts = formats.read(path, TOPICS, format=format, expansion=expansion)
            rows = table.to_pylist()
            topics = [(row["line"], row["query_id"], row["text"] or "") for row in rows]
            return _table(topics, path), facts
        text = b"".join(stream.blocks()).decode("utf-8", "replace")
        facts = {"format": format, **stream.facts()}
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    complaints = Complaints(path, TOPICS.holds)
    topics = _trec(text, complaints) if trec else _tabbed(lines, complaints)
    complaints.raise_any(
        lambda numbers: {number: lines[number - 1] for number in numbers},
        expected="<top>, <num> Number: 401, <title> words" if trec else "query id, tab, text",
        todo="mend these topics",
    )
    return _table(topics, path), facts


def _trec(text: str, complaints: Complaints) -> list[tuple[int, str, str]]:
    topics = []
    for match in _TOPIC.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        number = _NUMBER_ATTRIBUTE.search(match[1]) or _NUMBER.search(match[2])
        title = _TITLE.search(match[2])
        if number and title:
            topics.append((line, number[1], title[1]))
        else:
            missing = "title" if number else "number"
            complaints.add([line], lambda _, m=missing: f"a topic without {m}")
    return topics


def _tabbed(lines: list[str], complaints: Complaints) -> list[tuple[int, str, str]]:
    topics = []
    for line, content in enumerate(lines, 1):
        query, tab, words = content.partition("\t")
        if tab and query.strip():
            topics.append((line, query.strip(), words))
        elif content.strip():
            complaints.add([line], lambda _: "no tab between query id and text")
    return topics


def _table(topics: list[tuple[int, str, str]], path: Path | str) -> pa.Table:
    texts: dict[str, tuple[int, str]] = {}
    for line, query, words in topics:
        text = " ".join(words.split())
        before, known = texts.setdefault(query, (line, text))
        if known != text:
            raise AuditError(
                f"two texts for the query {query}",
                where=f"{path}:{line}",
                found=f"{text!r}, and {known!r} in line {before}",
                expected="one topic a query id",
                todo="delete one of them",
            )
    if not texts:
        raise AuditError(
            "the topics file holds no topic",
            where=str(path),
            expected="TREC topics, lines of query id, tab, text, or a table with named columns",
            todo="name the right file",
        )
    queries = sorted(texts, key=str.encode)
    return pa.table(
        {
            "query_id": pa.array(queries, pa.string()),
            "text": pa.array([texts[query][1] for query in queries], pa.string()),
        }
    )
