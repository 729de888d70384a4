"""Runs: one order for every query, and notes on what was found."""

from __future__ import annotations

import pytest

from poolaudit.errors import AuditError
from poolaudit.runs import read_run

SIMPLE = """\
q2 Q0 d1 1 3.0 mine
q2 Q0 d2 2 2.0 mine
q1 Q0 d1 1 5.0 mine
q1 Q0 d3 2 1.0 mine
q1 Q0 d2 3 1.0 mine
"""


@pytest.fixture
def write(tmp_path):
    def write_file(content: str | bytes, name: str = "run.txt"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file


def ranking(run) -> list[tuple[str, str]]:
    return [(row["query_id"], row["doc_id"]) for row in run.table.to_pylist()]


def test_documents_are_ordered_by_query_then_score_then_descending_id(write):
    run = read_run(write(SIMPLE))
    assert ranking(run) == [
        ("q1", "d1"),
        ("q1", "d3"),
        ("q1", "d2"),
        ("q2", "d1"),
        ("q2", "d2"),
    ]
    assert run.table["rank"].to_pylist() == [1, 2, 3, 1, 2]
    assert run.table["given_rank"].to_pylist() == [1, 2, 3, 1, 2]
    assert run.table["line"].to_pylist() == [3, 4, 5, 1, 2]


def test_a_document_twice_in_a_query_is_refused_with_both_lines(write):
    with pytest.raises(AuditError) as error:
        read_run(write("q1 Q0 d1 1 2 t\nq1 Q0 d1 2 1 t\n"))
    assert "line 2: document d1 of query q1, as in line 1" in error.value.found
