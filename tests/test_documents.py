"""The text of documents from a file."""

import gzip

import pyarrow as pa
import pytest

from poolaudit.errors import AuditError
from poolaudit.reading.documents import (
    DocumentFile,
    DocumentStore,
    open_documents,
    read_documents,
)


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


def test_a_file_gives_the_texts_asked_for_and_all_in_order(tmp_path):
    (tmp_path / "d.tsv").write_text("d2\ttwo\nd1\tone\n")
    documents = DocumentFile(tmp_path / "d.tsv")
    assert documents.texts(pa.array(["d1", "d9"])) == {"d1": "one"}
    (batch,) = documents.batches()
    assert batch["doc_id"].to_pylist() == ["d2", "d1"]


@pytest.fixture
def leaves(tmp_path, monkeypatch):
    """The ir_datasets id of two documents, whose store has not been built."""
    import ir_datasets
    from ir_datasets.datasets.base import Dataset
    from ir_datasets.formats import TsvDocs
    from ir_datasets.util import LocalDownload

    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    (tmp_path / "leaves.tsv").write_text("d2\telm and oak\nd1\tash\n")
    documents = TsvDocs(LocalDownload(str(tmp_path / "leaves.tsv"), mkdir=False))
    monkeypatch.setitem(ir_datasets.registry._registered, "leaves", Dataset(documents))
    return "leaves"


def test_a_store_that_was_built_gives_the_texts(leaves):
    import ir_datasets

    ir_datasets.load(leaves).docs_store().build()
    documents = DocumentStore(leaves)
    assert documents.texts(pa.array(["d2", "d9"])) == {"d2": "elm and oak"}
    (batch,) = documents.batches()
    assert batch.to_pydict() == {"doc_id": ["d2", "d1"], "text": ["elm and oak", "ash"]}


def test_a_store_that_was_not_built_is_not_built_unasked(leaves, tmp_path):
    with pytest.raises(AuditError, match="no store of these documents") as raised:
        DocumentStore(leaves).texts(pa.array(["d1"]))
    assert "docs_store().build()" in raised.value.todo
    assert not list(tmp_path.rglob("*.pklz4"))


def test_a_dataset_without_documents_has_no_store(leaves, monkeypatch):
    import ir_datasets
    from ir_datasets.datasets.base import Dataset

    monkeypatch.setitem(ir_datasets.registry._registered, "bare", Dataset())
    with pytest.raises(AuditError, match="no store"):
        DocumentStore("bare").texts(pa.array(["d1"]))


def test_no_file_and_no_store_are_no_documents():
    assert open_documents([], None) is None


def test_two_lines_for_one_document_are_refused(tmp_path):
    (tmp_path / "d.tsv").write_text("d1\tone\nd2\ttwo\nd1\tanother\n")
    with pytest.raises(AuditError, match="more than once") as raised:
        read_documents(tmp_path / "d.tsv")
    assert raised.value.found == "1 ids on several lines: d1"


def test_documents_that_unpack_a_thousandfold_are_refused(tmp_path):
    (tmp_path / "d.gz").write_bytes(gzip.compress(b"d1\t" + b"words " * (12 << 20)))
    with pytest.raises(AuditError, match="unpacks to far more than its size") as raised:
        read_documents(tmp_path / "d.gz")
    assert "unpack it and name the unpacked file" in raised.value.todo
