"""The text of documents from a file."""

import gzip

import pytest

from poolaudit.errors import AuditError
from poolaudit.reading.documents import read_documents


def test_id_tab_text(tmp_path):
    (tmp_path / "d.tsv").write_text('d1\tthe "quoted text\nd2\t\n')
    assert read_documents(tmp_path / "d.tsv").to_pylist() == [
        {"doc_id": "d1", "text": 'the "quoted text'},
        {"doc_id": "d2", "text": ""},
    ]


def test_a_header_is_not_a_document(tmp_path):
    (tmp_path / "d.tsv.gz").write_bytes(gzip.compress(b"doc_id\ttext\n007\tseven\n"))
    assert read_documents(tmp_path / "d.tsv.gz").to_pylist() == [{"doc_id": "007", "text": "seven"}]


def test_a_tab_within_a_text_is_refused(tmp_path):
    (tmp_path / "d.tsv").write_text("d1\tone\nd2\ttwo\tthree\n")
    with pytest.raises(AuditError, match="cannot be read") as raised:
        read_documents(tmp_path / "d.tsv")
    assert "d.tsv" in str(raised.value) and "replace tabs" in str(raised.value)
