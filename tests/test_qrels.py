"""Judgments and topics: whole grades, one for each pair, and where they came from."""

from __future__ import annotations

import pytest

from poolaudit.errors import AuditError
from poolaudit.qrels import from_files, read_judgments


@pytest.fixture
def write(tmp_path):
    def write_file(content: str | bytes, name: str = "qrels.txt"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file


def rows(table) -> list[tuple]:
    return list(zip(*table.to_pydict().values(), strict=True))


def test_judgments_are_sorted_by_query_and_document_in_byte_order(write):
    table = read_judgments(write("q2 0 b 0\nq1 0 b 1\nq1 0 a 2\nq1 0 Z 0\n"))
    assert rows(table) == [("q1", "Z", 0), ("q1", "a", 2), ("q1", "b", 1), ("q2", "b", 0)]


def test_conflicting_judgments_are_refused_with_both_lines(write):
    with pytest.raises(AuditError) as error:
        read_judgments(write("q1 0 a 1\nq1 0 b 0\nq1 0 a 0\n"))
    assert "line 3: document a of query q1 has grade 0, and 1 in line 1" in error.value.found


def test_topics_say_which_queries_are_judged(write):
    qrels = write("q1 0 a 1\nq2 0 a -1\n")
    topics = write("q1\tfirst query\nq2\tsecond\n", "topics.tsv")
    assert rows(from_files(qrels, topics).topics) == [
        ("q1", "first query", True),
        ("q2", "second", False),
    ]
