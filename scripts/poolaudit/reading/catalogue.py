"""Judgments and topics of the datasets that ir_datasets knows; documents are never touched.

ir_datasets trusts whatever lies in its cache, and two processes that fetch the same file write to
the same temporary name. So everything here happens under a lock, and each cached file is compared
with the MD5 in ir_datasets' own list, before it is read and after.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from poolaudit.errors import AuditError, nearest, shorten
from poolaudit.files import sha256
from poolaudit.reading.complaints import SHOWN
from poolaudit.reading.qrels import Judgments, assemble, checked

log = logging.getLogger(__name__)
DEMO = "the demo needs no download: snakemake --cores all report --config collection=demo"


@dataclass(frozen=True)
class CachedFile:
    """A file that ir_datasets keeps: where it comes from, where it lies, what it should be.

    Attributes:
        urls: where it is downloaded from, in the order tried.
        path: where it lies; None when it is not kept.
        md5: what ir_datasets expects of the file at `path`; None where it has no such digest, as
            for files it keeps unpacked.
    """

    urls: tuple[str, ...]
    path: Path | None
    md5: str | None


def fetch(dataset_id: str, *, negatives: str = "unjudged") -> Judgments:
    """The judgments and topics of an ir_datasets id, downloaded where they are not yet cached.

    Args:
        dataset_id: as "msmarco-passage/trec-dl-2019/judged".
        negatives: as in `qrels.read_judgments`.

    Raises:
        AuditError: an unknown id, a dataset without judgments, a cached file whose MD5 is not the
            expected one, a download that failed, or judgments that `qrels.checked` refuses.
    """
    import ir_datasets

    dataset = _dataset(dataset_id)
    home = _home()
    with _lock(home):
        files = _files(dataset)
        for file in files:
            _verify(file)
        try:
            rows = list(dataset.qrels_iter())
            queries = list(dataset.queries_iter()) if dataset.has_queries() else []
        except Exception as error:
            raise _failed(dataset_id, files, error) from error
        record = [_record(file, home) for file in files if file.path and file.path.is_file()]
        for file in files:
            _verify(file)
    table, notes = checked(_table(rows), negatives, _refusal(dataset_id), "row")
    texts = {query.query_id: " ".join(_text(query).split()) for query in queries}
    topics = pa.table({"query_id": list(texts), "text": list(texts.values())})
    source = {
        "ir_datasets": dataset_id,
        "ir_datasets_version": ir_datasets.__version__,
        "files": record,
        "negatives": negatives,
        "meanings": {str(grade): text for grade, text in sorted(dataset.qrels_defs().items())},
        "official_measures": list(dataset.documentation().get("official_measures", [])),
    }
    return assemble(table, topics, source, notes)


def _dataset(dataset_id: str) -> Any:
    import ir_datasets

    try:
        dataset = ir_datasets.load(dataset_id)
    except KeyError:
        raise AuditError(
            f"ir_datasets knows no dataset {dataset_id!r}",
            where="judgments: ir_datasets",
            expected="a dataset id, as msmarco-passage/trec-dl-2019/judged",
            todo=nearest(dataset_id, ir_datasets.registry) or "correct the id",
        ) from None
    if not dataset.has_qrels():
        below = [
            name
            for name in ir_datasets.registry
            if name.startswith(dataset_id + "/") and ir_datasets.load(name).has_qrels()
        ]
        raise AuditError(
            f"the dataset {dataset_id} has no judgments",
            where="judgments: ir_datasets",
            expected="a dataset id with qrels" + (": " + ", ".join(below[:8]) if below else ""),
            todo="name one that has, or a local file of judgments",
        )
    return dataset


def _home() -> Path:
    from ir_datasets.util import home_path

    try:
        return home_path()
    except OSError as error:
        raise AuditError(
            "the folder that ir_datasets keeps its files in cannot be made",
            where=str(error.filename),
            found=error.strerror or str(error),
            todo="set IR_DATASETS_HOME to a folder that can be written; " + DEMO,
        ) from None


@contextmanager
def _lock(home: Path) -> Iterator[None]:
    """Let one process at a time read and write the cache; nothing is locked that can't change."""
    if not os.access(home, os.W_OK):
        log.info("%s cannot be written, so it is read without a lock", home)
        yield
        return
    with (home / ".poolaudit.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _files(dataset: Any) -> list[CachedFile]:
    """The files behind the qrels and queries of a dataset, found by walking their handlers."""
    from ir_datasets.util import Cache, Download, RelativePath

    files: dict[int, CachedFile] = {}
    seen: set[int] = set()

    def walk(thing: Any, unpacked: Path | None) -> None:
        if isinstance(thing, list | tuple):
            for part in thing:
                walk(part, unpacked)
        elif isinstance(thing, Download):
            path = thing.path(force=False) if thing._cache_path else unpacked
            urls = tuple(m.url for m in thing.mirrors if hasattr(m, "url"))
            md5 = thing.expected_md5 if thing._cache_path else None
            files[id(thing)] = CachedFile(urls, Path(path) if path else None, md5)
        elif type(thing).__module__.startswith("ir_datasets.") and id(thing) not in seen:
            seen.add(id(thing))
            kept = isinstance(thing, Cache | RelativePath)
            below = Path(thing.path(force=False)) if kept else unpacked
            for name, part in vars(thing).items():
                if "docs" not in name:
                    walk(part, below)

    handlers = [dataset.qrels_handler()]
    if dataset.has_queries():
        handlers.append(dataset.queries_handler())
    walk(handlers, None)
    return list(files.values())


def _verify(file: CachedFile) -> None:
    if not (file.md5 and file.path and file.path.is_file()):
        return
    with file.path.open("rb") as content:
        found = hashlib.file_digest(content, "md5").hexdigest()
    if found != file.md5:
        raise AuditError(
            "a cached file is not what ir_datasets expects",
            where=str(file.path),
            found=f"md5 {found}",
            expected=f"md5 {file.md5}",
            todo="delete the file and run again; if it comes back, put a good copy there by hand"
            " from " + " or ".join(file.urls),
        )


def _record(file: CachedFile, home: Path) -> dict:
    """What the provenance says of a cached file; no path of this machine."""
    return {
        "urls": list(file.urls),
        "path": os.path.relpath(file.path, home),
        "sha256": sha256(file.path),
        "md5": file.md5,
        "verified": file.md5 is not None,
    }


def _failed(dataset_id: str, files: list[CachedFile], error: Exception) -> AuditError:
    absent = [file for file in files if not (file.path and file.path.is_file())]
    tried = [url for file in absent for url in file.urls]
    places = [str(file.path) for file in absent if file.path]
    return AuditError(
        f"the judgments of {dataset_id} could not be fetched or read",
        where=", ".join(tried) or ", ".join(str(file.path) for file in files),
        found=shorten(f"{type(error).__name__}: {error}"),
        expected="a download, or the file at " + " and ".join(places) if places else "",
        todo="check the network, or put the file there by hand; " + DEMO,
    )


def _table(rows: list[Any]) -> pa.Table:
    """Rows of any kind of ir_datasets qrels as the table that `qrels.checked` takes."""
    names = {"iteration": ("iteration", "subtopic_id"), "method": ("method",)}
    columns = {
        "query_id": pa.array([row.query_id for row in rows], pa.string()),
        "doc_id": pa.array([row.doc_id for row in rows], pa.string()),
        "relevance": pa.array([row.relevance for row in rows], pa.float64()),
        "line": pa.array(np.arange(1, len(rows) + 1)),
    }
    for name, fields in names.items():
        field = next((field for field in fields if rows and hasattr(rows[0], field)), None)
        if field:
            columns[name] = pa.array([str(getattr(row, field)) for row in rows], pa.string())
    if rows and hasattr(rows[0], "iprob"):
        columns["probability"] = pa.array([row.iprob for row in rows], pa.float64())
    return pa.table(columns)


def _refusal(dataset_id: str):
    def refuse(lines: np.ndarray, reason, what: str, todo: str) -> None:
        found = [f"row {lines[i]}: {reason(i)}" for i in range(min(SHOWN, len(lines)))]
        raise AuditError(what, where=dataset_id, found="; ".join(found), todo=todo)

    return refuse


def _text(query: Any) -> str:
    """The text of a query: its title where topics have several parts."""
    return query.default_text() if hasattr(query, "default_text") else str(query[1])
