"""The text of documents, from a local file."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pc_csv

from poolaudit.errors import AuditError


def read_documents(path: Path | str) -> pa.Table:
    """Read a file with one document a line: id, tab, text; plain or compressed (.gz, .bz2, .zst).

    A first line `doc_id<tab>text` is a header. Texts are taken as they are: no quotes, no escapes.

    Returns:
        doc_id, text (string), in the order of the file.

    Raises:
        AuditError: the file cannot be read, or a line has not just one tab.
    """
    try:
        table = pc_csv.read_csv(
            path,
            pc_csv.ReadOptions(column_names=["doc_id", "text"]),
            pc_csv.ParseOptions(delimiter="\t", quote_char=False, escape_char=False),
            pc_csv.ConvertOptions(
                column_types={"doc_id": pa.string(), "text": pa.string()},
                strings_can_be_null=False,
            ),
        )
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
    return table.slice(1) if has_header else table
