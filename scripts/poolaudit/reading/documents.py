"""The text of documents, from a local file or from the store that ir_datasets keeps.

Nothing is downloaded here: a store is read where it has been built on this machine, and only there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pc_csv

from poolaudit.errors import AuditError, first_of, shorten
from poolaudit.reading.streams import Stream, Unpacked

BATCH = 10_000


class Documents(Protocol):
    """The documents of a collection."""

    def texts(self, doc_ids: pa.Array) -> dict[str, str]:
        """The texts of those of these documents that there are, by id."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """doc_id and text of every document, in the order of the collection."""


@dataclass(frozen=True)
class DocumentFile:
    """The documents of a local file, as `read_documents` reads it."""

    path: Path | str

    @cached_property
    def _table(self) -> pa.Table:
        return read_documents(self.path)

    def texts(self, doc_ids: pa.Array) -> dict[str, str]:
        found = self._table.filter(pc.field("doc_id").isin(doc_ids)).to_pydict()
        return dict(zip(found["doc_id"], found["text"], strict=True))

    def batches(self) -> Iterator[pa.RecordBatch]:
        yield from self._table.to_batches(BATCH)


@dataclass(frozen=True)
class DocumentStore:
    """The documents of an ir_datasets id, in the store that ir_datasets has built on this machine.

    Raises:
        AuditError: the dataset has no documents, or its store has not been built; on every use.
    """

    dataset_id: str

    @cached_property
    def _store(self) -> Any:
        import ir_datasets

        dataset = ir_datasets.load(self.dataset_id)
        store = dataset.docs_store() if dataset.has_docs() else None
        if store is None or not getattr(store, "built", bool)():
            build = f"ir_datasets.load({self.dataset_id!r}).docs_store().build()"
            raise AuditError(
                "ir_datasets has no store of these documents on this machine.",
                where="judgments.documents",
                found=f"{self.dataset_id} without a built document store",
                expected="a store that has been built before",
                todo="leave the key out, or build the store, which downloads the collection: "
                f'python -c "import ir_datasets; {build}"',
            )
        return store

    def texts(self, doc_ids: pa.Array) -> dict[str, str]:
        found = self._store.get_many(doc_ids.to_pylist())
        return {doc_id: document.default_text() for doc_id, document in found.items()}

    def batches(self) -> Iterator[pa.RecordBatch]:
        documents = iter(self._store)
        while rows := list(islice(documents, BATCH)):
            yield pa.record_batch(
                {
                    "doc_id": pa.array([row.doc_id for row in rows], pa.string()),
                    "text": pa.array([row.default_text() for row in rows], pa.string()),
                }
            )


def open_documents(files: list[str], dataset_id: str | None) -> Documents | None:
    """The documents of a file, or of an ir_datasets id; None where neither is given."""
    if files:
        return DocumentFile(files[0])
    return DocumentStore(dataset_id) if dataset_id else None


def read_documents(path: Path | str) -> pa.Table:
    """Read a file with one document a line: id, tab, text; plain or compressed.

    A first line `doc_id<tab>text` is a header. Texts are taken as they are: no quotes, no escapes.

    Returns:
        doc_id, text (string), in the order of the file.

    Raises:
        AuditError: the file cannot be read, or unpacks to far more than its size; a line has not
            just one tab; an id stands on two lines.
    """
    try:
        table = _read(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise AuditError(
            "The documents cannot be read.",
            where=str(path),
            found=str(error),
            expected="lines of document id, tab, text, in UTF-8",
            todo="replace tabs and line ends inside texts by blanks",
        ) from None
    has_header = table.num_rows and table.slice(0, 1).to_pylist() == [
        {"doc_id": "doc_id", "text": "text"}
    ]
    table = table.slice(1) if has_header else table
    if pc.count_distinct(table["doc_id"]).as_py() < table.num_rows:
        counts = table["doc_id"].value_counts()
        twice = counts.filter(pc.greater(counts.field("counts"), 1)).field("values").to_pylist()
        raise AuditError(
            "Documents stand in the file more than once.",
            where=str(path),
            found=f"{len(twice):,} ids on several lines: {first_of(map(shorten, twice), 5)}",
            expected="one line a document",
            todo="delete the others: which text is the right one cannot be told here",
        )
    return table


def _read(path: Path | str) -> pa.Table:
    with Stream(path) as stream:
        return pc_csv.read_csv(
            Unpacked(stream),
            pc_csv.ReadOptions(column_names=["doc_id", "text"]),
            pc_csv.ParseOptions(delimiter="\t", quote_char=False, escape_char=False),
            pc_csv.ConvertOptions(
                column_types={"doc_id": pa.string(), "text": pa.string()},
                strings_can_be_null=False,
            ),
        )
