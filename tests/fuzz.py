"""Throw damaged and hostile files at everything that reads a user's file, and count the faults.

PYTHONPATH=scripts python tests/fuzz.py --minutes 10 --seed 1

Each target has valid files as seeds. An input is a seed with a few of its bytes, words, lines or
values changed, sometimes compressed, or two seeds spliced. What may come of it is a result or an
AuditError. Everything else is a fault: another exception, more than the seconds or the memory that
an input of some kilobytes may take, and a result that a plain second reading of the same bytes does
not give (`Misread`). The same seed gives the same inputs. Inputs of faults are kept on request.

tests/test_fuzz.py takes a short turn; docs/hostile.md says what long ones found.
"""

from __future__ import annotations

import argparse
import bz2
import contextlib
import gzip
import hashlib
import io
import json
import lzma
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

import verify
from poolaudit import config
from poolaudit.archive import bag, changes, page
from poolaudit.errors import AuditError
from poolaudit.reading.documents import read_documents
from poolaudit.reading.qrels import _read as read_qrels
from poolaudit.reading.runs import read_run
from poolaudit.reading.topics import read_topics
from poolaudit.tail.sheets import read_sheet, scale
from poolaudit.verdicts import declared

SECONDS = 10
MEMORY = 1 << 30
"""What one input may add to the address space: twenty times the largest harmless expansion."""


class Misread(Exception):
    """The file was read without a word, as something that it does not say."""


class TooSlow(Exception):
    """An input took longer than SECONDS."""


# --- changing inputs --------------------------------------------------------------------------

WORDS = (
    *("", "0", "-1", "1e308", "1e400", "nan", "inf", "-inf", "9" * 30, "0x10", "1_0", "1,5", "+1"),
    *(" ", "\t", "\n", "\r", "\r\n", "\v", "\f", "\0", "\x1b[2J", "\x85", "\u2028", "\ufeff"),
    *(
        "#",
        "'",
        '"',
        '""',
        "`",
        "\\",
        "/",
        "../",
        "{",
        "}",
        "[",
        "]",
        "*",
        "&a",
        "*a",
        "!!int",
        "<<",
    ),
    *("<script>", "</script>", "=1+1", "@x", ";rm", "é", "\U0001f600", "query_id", "null", "true"),
    *("2001-13-45", "? ", ": ", "- ", "|", ">", "%", "~", "x" * 300, "\ud800"),
)


def changed(data: bytes, seeds: Sequence[bytes], random: random.Random) -> bytes:
    """A few changes to some bytes."""
    for _ in range(random.choice((1, 1, 2, 3, 6))):
        data = random.choice(_CHANGES)(data, seeds, random)
    return data


def _flip(data: bytes, seeds: Sequence[bytes], random: random.Random) -> bytes:
    if not data:
        return data
    at = random.randrange(len(data))
    return data[:at] + bytes([random.randrange(256)]) + data[at + 1 :]


def _cut(data: bytes, seeds: Sequence[bytes], random: random.Random) -> bytes:
    start, end = sorted(random.randrange(len(data) + 1) for _ in range(2))
    end = min(end, start + random.choice((1, 8, 80, len(data))))
    return data[:start] + data[end:]


def _repeat(data: bytes, seeds: Sequence[bytes], random: random.Random) -> bytes:
    start, end = sorted(random.randrange(len(data) + 1) for _ in range(2))
    return (
        data[:end] + data[start : min(end, start + 200)] * random.choice((1, 1, 2, 50)) + data[end:]
    )


def _insert(data: bytes, seeds: Sequence[bytes], random: random.Random) -> bytes:
    at = random.randrange(len(data) + 1)
    return data[:at] + random.choice(WORDS).encode("utf-8", "surrogatepass") + data[at:]


def _replace_word(data: bytes, seeds: Sequence[bytes], random: random.Random) -> bytes:
    found = list(re.finditer(rb"[^\s,:;\"{}\[\]]+", data))
    if not found:
        return data
    word, other = random.choice(found), random.choice(WORDS).encode("utf-8", "surrogatepass")
    if random.random() < 0.3:
        other = random.choice(found)[0]
    return data[: word.start()] + other + data[word.end() :]


def _shuffle_lines(data: bytes, seeds: Sequence[bytes], random: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    random.shuffle(lines)
    return b"".join(lines[: random.randrange(len(lines) + 1)] if random.random() < 0.3 else lines)


def _other_line_ends(data: bytes, seeds: Sequence[bytes], random: random.Random) -> bytes:
    return data.replace(b"\n", random.choice((b"\r\n", b"\r", b"\n\n", b"\n\r")))


def _splice(data: bytes, seeds: Sequence[bytes], random: random.Random) -> bytes:
    other = random.choice(seeds)
    return data[: random.randrange(len(data) + 1)] + other[random.randrange(len(other) + 1) :]


_CHANGES = (_flip, _cut, _repeat, _insert, _insert, _replace_word, _replace_word, _replace_word)
_CHANGES += (_shuffle_lines, _other_line_ends, _splice)
_PACKED = (gzip.compress, bz2.compress, lzma.compress)


def packed(data: bytes, random: random.Random) -> bytes:
    """Sometimes compressed, and sometimes damaged after that."""
    if random.random() > 0.1:
        return data
    data = random.choice(_PACKED)(data)
    return changed(data, [data], random) if random.random() < 0.5 else data


_VALUES: tuple[Any, ...] = (None, True, -1, 0, 1.5, 10**30, "", "x", "../../x", [], {}, [None])
_VALUES += (
    [[]],
    {"a": {}},
    "<script>",
    "\x1b[2J",
    "\u2028",
    "/etc/hosts",
    float("nan"),
    "x" * 5000,
)


def changed_json(value: Any, random: random.Random) -> Any:
    """JSON with one of its values changed, taken away or doubled."""
    if isinstance(value, dict) and value and random.random() < 0.9:
        key = random.choice(sorted(value, key=str))
        if random.random() < 0.1:
            return {k: v for k, v in value.items() if k != key}
        if random.random() < 0.05:
            return {**value, str(random.choice(_VALUES)): value[key]}
        return {**value, key: changed_json(value[key], random)}
    if isinstance(value, list) and value and random.random() < 0.9:
        at = random.randrange(len(value))
        if random.random() < 0.1:
            return value[:at] + value[at + 1 :]
        return [*value[:at], changed_json(value[at], random), *value[at + 1 :]]
    return random.choice(_VALUES)


# --- second readings --------------------------------------------------------------------------


def _tokens(data: bytes) -> list[list[bytes]]:
    """The fields of each line that is no comment, by nothing but Python's own split."""
    lines = re.split(rb"\r\n|\n|\r", data.removeprefix(b"\xef\xbb\xbf"))
    rows = [line.split() for line in lines]
    return [row for row in rows if row and not row[0].startswith(b"#")]


def _named(data: bytes, format: str, names: dict[str, str]) -> list[dict[str, Any]] | None:
    """The named columns of CSV, TSV or JSON lines; None where quotes leave room for opinions."""
    text = data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    if format == "jsonl":
        rows = [json.loads(line) for line in text.split("\n") if line.strip()]
    elif '"' in text:
        return None
    else:
        first, *lines = text.lstrip().split("\n")
        fits = [s for s in (",", ";", "\t") if set(names.values()) <= set(first.split(s))]
        if not fits:
            return None
        separator = fits[0]
        header = first.split(separator)
        at = {name: header.index(theirs) for name, theirs in names.items()}
        split = [line.split(separator) for line in lines]
        rows = [
            {names[n]: row[i] for n, i in at.items()}
            for row in split
            if len(row) > max(at.values())
        ]
        rows = [row for row in rows if any(row.values())]
    return [{name: row.get(theirs) for name, theirs in names.items()} for row in rows]


def _same(found: Counter, expected: Counter, what: str) -> None:
    if found != expected:
        only = list((found - expected).items())[:3], list((expected - found).items())[:3]
        raise Misread(f"{what}: read and not there {only[0]}, there and not read {only[1]}")


def check_run(path: Path) -> None:
    """Read a run; where the format is one of text, read it once more in a plain way."""
    run = read_run(path)
    facts, table = run.notes["file"], run.table.to_pydict()
    found = Counter(zip(table["query_id"], table["doc_id"], table["score"], strict=True))
    keys = zip(*(table[name] for name in ("query_id", "rank")), strict=True)
    if list(keys) != sorted(zip(table["query_id"], table["rank"], strict=True), key=_in_bytes):
        raise Misread("the rows are not in order")
    if facts["compression"] or facts["format"] == "parquet":
        return
    data = path.read_bytes()
    if facts["format"] in ("trec", "msmarco"):
        at = (0, 2, 4) if facts["format"] == "trec" else (0, 1, 2)
        sign = 1 if facts["format"] == "trec" else -1
        rows = [
            (r[at[0]].decode(), r[at[1]].decode(), sign * float(r[at[2]])) for r in _tokens(data)
        ]
    else:
        named = _named(data, facts["format"], facts["columns"])
        if named is None:
            return
        score = (lambda r: float(r["score"])) if "score" in facts["columns"] else None
        score = score or (lambda r: -float(r["given_rank"]))
        rows = [(str(r["query_id"]), str(r["doc_id"]), score(r)) for r in named]
    _same(found, Counter(rows), "rows")


def _in_bytes(key: tuple[str, int]) -> tuple[bytes, int]:
    return key[0].encode(), key[1]


def check_qrels(path: Path) -> None:
    """Read judgments, and once more in a plain way."""
    table, facts, _ = read_qrels(path, None, "unjudged", 200)
    columns = (table[name].to_pylist() for name in ("query_id", "doc_id", "relevance"))
    found = Counter(zip(*columns, strict=True))
    if facts["compression"] or facts["format"] == "parquet":
        return
    data, places = path.read_bytes(), {"qrels": (0, 2, 3), "strata": (0, 2, 4), "prels": (0, 1, 2)}
    if facts["format"] in places:
        q, d, g = places[facts["format"]]
        rows = {(r[q].decode(), r[d].decode(), int(float(r[g]))) for r in _tokens(data)}
    else:
        named = _named(data, facts["format"], facts["columns"])
        if named is None:
            return
        rows = {(str(r["query_id"]), str(r["doc_id"]), int(float(r["relevance"]))) for r in named}
    _same(found, Counter(rows), "judgments")


def check_topics(path: Path) -> None:
    table, _ = read_topics(path)
    if table["query_id"].null_count or "" in table["query_id"].to_pylist():
        raise Misread("a topic without an id")


def check_documents(path: Path) -> None:
    table = read_documents(path)
    if path.read_bytes()[:1].isalpha() and len(set(table["doc_id"].to_pylist())) < table.num_rows:
        raise Misread("two texts for one document")


# --- targets ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Target:
    """Something that reads a user's file.

    Attributes:
        name: as the command line names it.
        make: an input, from a source of randomness.
        read: reads it from a file; raises AuditError to refuse it.
        file: the name of the file.
    """

    name: str
    make: Callable[[random.Random], bytes]
    read: Callable[[Path], object]
    file: str = "input"


def _of_seeds(seeds: Sequence[bytes], compressed: bool = True) -> Callable[[random.Random], bytes]:
    def make(random: random.Random) -> bytes:
        data = changed(random.choice(seeds), seeds, random)
        return packed(data, random) if compressed else data

    return make


def _parquet(**columns: list) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


_IDS = {"query_id": ["q1", "q1", "q2"], "doc_id": ["d1", "d2", "d1"]}
RUN_SEEDS = (
    b"q1 Q0 d1 1 9.5 tag\nq1 Q0 d2 2 8 tag\nq2 Q0 d1 1 -1e-3 tag\n",
    b"q1\tQ0\td1\t1\t9.5\ttag\nq2\tQ0\td9\t1\t7\ttag\n",
    b"# a comment\n\nq1  Q0 d1 1 9.5 tag more\n q2 Q0 d1 1 7 tag\n",
    b"q1\td1\t1\nq1\td2\t2\nq2\td1\t1\n",
    b"query_id,doc_id,rank,score\nq1,d1,1,9.5\nq1,d2,2,8\n",
    b"qid\tdocno\tscore\nq1\td1\t9.5\nq2\td2\t8\n",
    b'query_id,doc_id,score\nq1,"d,1",9.5\nq1,"d ""2""",8\n',
    b'{"query_id": "q1", "doc_id": "d1", "score": 9.5}\n'
    b'{"query_id": "q1", "doc_id": "d2", "score": 8}\n',
    b'{"qid": 1, "docid": 7, "rank": 1}\n{"qid": 1, "docid": 8, "rank": 2}\n',
    _parquet(**_IDS, score=[9.5, 8.0, 7.0]),
    _parquet(**_IDS, rank=[1, 2, 1]),
)
QRELS_SEEDS = (
    b"q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\nq2 0 d3 -1\n",
    b"q1\t0\td1\t1\nq2\t0\td1\t0\n",
    b"q1 0 d1 2 1\nq1 0 d2 2 -1\n",
    b"q1 d1 1 1 0.5\nq1 d2 0 1 0.25\n",
    b"query_id,doc_id,relevance\nq1,d1,1\nq1,d2,0\n",
    b'{"query_id": "q1", "doc_id": "d1", "relevance": 1}\n'
    b'{"query_id": "q1", "doc_id": "d2", "relevance": 0}\n',
    _parquet(**_IDS, relevance=[1, 0, 2]),
)
TOPIC_SEEDS = (
    b"q1\tsome words\nq2\tother words\n",
    b"<top>\n<num> Number: 401\n<title> some words\n<desc> Description:\nx\n</top>\n"
    b"<top>\n<num> 402\n<title> y\n",
    b'<topics><topic number="1" type="x"><query>some words</query></topic></topics>',
    b"query_id,text\nq1,some words\n",
    b'{"_id": "q1", "text": "some words"}\n',
    _parquet(query_id=["q1", "q2"], text=["some words", None]),
)
DOCUMENT_SEEDS = (b"doc_id\ttext\nd1\tsome words\nd2\tothers\n", b"d1\tsome words\nd2\t=1+1\n")
SHEET_SEEDS = (
    b"run\tpath\tgroup\tfamily\ttype\tpooled\tsubtask\tformat\na\ta.run\tash\told\tauto\tyes\tfull\ttrec\n"
    b"b\tb.run\toak\told\tauto\tno\tfull\t\n",
    b"run\tpath\n# a comment\na\ta.run\nb\tb.run\n",
)
COLLECTION_SEEDS = (
    b"judgments: {file: key.qrels}\nruns: sheet.tsv\nmeasures: [nDCG@10, AP]\n",
    b"""title: A collection
judgments:
  file: key.qrels
  topics: key.qrels
  negatives: unjudged
  official: [nDCG@10]
  grades: {0: none, 1: some}
runs: sheet.tsv
runs_root: .
measures: [nDCG@10, NCG@1000, AP(rel=2), RR(rel=2), "RBP(p=0.5,rel=2)", Bpref(rel=2)]
policies: [nonrelevant, condense, restrict]
primary: {measure: nDCG@10, policy: nonrelevant}
baseline: a
ranking: {order: score, ties: docid_desc, precision: float32}
reading: {duplicates: refuse, nonfinite: last, expansion: 200}
batches: {runs: 8}
pool: {depth: 10, depths: [5, 10, 20]}
bounds: {depth: 100}
removal: {variant: all}
tail: {beyond: 10, depth: 100, budget: 60, cost: 0.5, design: total, draws: 100, seed: 2019}
sharing: {seed: 1}
verdicts: {seed: 1, thresholds: {flip: [0.1, 0.2, null], significance: 0.05}}
check: {allow: ok}
assessors: independent
archive:
  inputs: files
  authors: [{name: Ada Example, id: "https://orcid.org/0000-0002-1825-0097"}]
  publisher: {name: A Laboratory, url: "https://laboratory.example/"}
  licence: https://creativecommons.org/licenses/by/4.0/
  published: "2026-05-04"
""",
)
DECLARED_SEEDS = (
    b"run\tmeasure\tvalue\tthan\nalpha\tAP\t0.50\t\nalpha\t\t\tbeta\nbeta\tAP\t0.25\t\n",
    b"run\tvalue\nalpha\t0.5\nbeta\t.25\n",
)


def _number(run: str, value: float) -> dict[str, Any]:
    figures = {"policies": {"condense": value}}
    return {"run": run, "measure": "AP", "policy": "nonrelevant", "value": value} | {
        "verdict": "ok",
        "reason": f"The AP of {run} is ok.",
        "figures": figures,
    }


def _audit() -> dict[str, Any]:
    run = {"group": "us", "family": None, "type": None, "pooled": True}
    pair = {"run": "alpha", "other": "beta", "difference": 0.25, "verdict": "ok", "reason": "So."}
    return {
        "collection": {"name": "small", "title": "Small", "primary": {"measure": "AP"}},
        "judgments": {"files": [{"name": "key.qrels", "sha256": "k"}]},
        "runs": [{"run": "alpha", "rank": 1, **run}, {"run": "beta", "rank": 2, **run}],
        "verdicts": {
            "primary": {"measure": "AP"},
            "numbers": [_number("alpha", 0.5), _number("beta", 0.25)],
            "pairs": [pair],
        },
    }


def _provenance() -> dict[str, Any]:
    def made(rule: str, **inputs: str) -> dict[str, Any]:
        return {"rule": rule, "sha256": "0" * 64, "inputs": inputs}

    return {
        "collection": "small",
        "settings": {"measures": ["AP"], "pool": {"depth": 10}},
        "artifacts": {
            "results/small/judgments.parquet": made("fetch_judgments", **{"key.qrels": "k"}),
            "results/small/runs/alpha.parquet": made("normalize_runs", **{"a.run": "1"}),
            "results/small/runs/beta.parquet": made("normalize_runs", **{"b.run": "2"}),
            "results/small/pairs.parquet": made("build_pairs"),
        },
        "code": {
            "build_pairs": {"files": {"poolaudit/pairs.py": "c"}, "packages": {"numpy": "2.0"}},
            "normalize_runs": {"files": {"normalize_runs.py": "n"}, "packages": {}},
        },
    }


def make_collection(random: random.Random) -> bytes:
    """Settings with bytes changed, or with values changed and written anew."""
    data = random.choice(COLLECTION_SEEDS)
    if random.random() < 0.4:
        return changed(data, COLLECTION_SEEDS, random)
    settings = changed_json(yaml.safe_load(data), random)
    return yaml.safe_dump(settings, allow_unicode=True).encode("utf-8", "surrogatepass")


def check_collection(path: Path) -> None:
    config.load_collection(str(path))


def check_sheet_of_runs(path: Path) -> None:
    rows, _ = config.read_sheet(path, Path())
    for row in rows:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+=@~-]{0,99}", row.run):
            raise Misread(f"the run name {row.run!r}")


def check_declared(path: Path) -> None:
    """Read a table of declared numbers, hold it against verdicts, and read it in a plain way."""
    found = declared.read_declared(path)
    lines = re.split(r"\r\n|\n|\r", path.read_bytes().decode("utf-8-sig"))
    header = [name.strip() for name in lines[0].split("\t")]
    rows = [[cell.strip() or None for cell in line.split("\t")] for line in lines[1:]]
    rows = [dict(zip(header, row, strict=True)) for row in rows if any(row)]
    said = [{name: getattr(one, name) for name in header} for one in found]
    if rows != said:
        raise Misread(f"{said} for {rows}")
    for one in declared.check(_audit()["verdicts"], found):
        printed, value = one["declared"], one["value"]
        if one["passes"] and printed and abs(float(printed) - value) > 0.51:
            raise Misread(f"{printed} passes for {value}")


def _sample() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "query_id": ["q1", "q1", "q2", "q2"],
            "query": ["tall trees", "tall trees", '"quoted"', "=1+1"],
            "doc_id": ["d1", "00d2", "-d3", "d4"],
            "stratum": ["a", "a", "b", "b"],
            "inclusion_probability": [0.5, 0.5, 1 / 3, 1 / 3],
            "relevance": pd.array([None] * 4, "Int16"),
        }
    )


_FILLED = (
    "query_id\tquery\tdoc_id\tstratum\tinclusion_probability\trelevance\n"
    "q1\ttall trees\td1\ta\t0.5\t1\nq1\ttall trees\t00d2\ta\t0.5\t0\n"
    'q2\t"""quoted"""\t\'-d3\tb\t0.333333\t\nq2\t\'=1+1\td4\tb\t0.333333\t2\n'
)
JUDGED_SEEDS = (_FILLED.encode(), _FILLED.encode("utf-16"))


def check_judged(path: Path) -> None:
    """Read a filled-in sheet; each grade must stand at the end of a line with the document."""
    grades = scale({"meanings": {}, "grades": {"0": 1, "2": 1}})
    read = read_sheet(path, _sample(), grades)
    content = path.read_bytes()
    is_utf16 = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    text = content.decode("utf-16" if is_utf16 else "utf-8-sig", "replace")
    for row in read.itertuples():
        lines = [line for line in re.split(r"[\r\n]", text) if row.doc_id in line]
        if not pd.isna(row.relevance) and not any(str(row.relevance) in line for line in lines):
            raise Misread(f"{row.doc_id} has the grade {row.relevance}")
    read_sheet(path, _sample()[["query_id", "doc_id"]], grades, whole=False)


_CONTENT = {
    "bagit.txt": b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n",
    "data/audit.json": json.dumps(_audit()).encode(),
    "data/provenance.json": json.dumps(_provenance()).encode(),
    "data/a.txt": b"some text\n",
}


def _bag(content: dict[str, bytes]) -> bytes:
    """A bag of these files, by the project's own writer."""
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for i, (name, data) in enumerate(content.items()):
            if name.startswith("data/"):
                files[name.removeprefix("data/")] = Path(folder) / str(i)
                files[name.removeprefix("data/")].write_bytes(data)
        bag.write_bag(Path(folder) / "bag.zip", files)
        return (Path(folder) / "bag.zip").read_bytes()


_WHOLE = _bag(_CONTENT)
_NAMES = (
    "../x",
    "/etc/x",
    "data/../../x",
    "data/a.txt",
    "data/a.txt/b",
    "data",
    "data//a.txt",
    "x/",
)
_NAMES += (
    "data/./a.txt",
    "data/\u2028",
    "data/\x1b[2J",
    "C:\\x",
    "data/x\ny",
    "DATA/A.TXT",
    "data/" + "x" * 300,
)


def make_archive(random: random.Random) -> bytes:
    """A bag with bytes changed; or zipped anew with files added, renamed, doubled, compressed."""
    if random.random() < 0.5:
        return changed(_WHOLE, [_WHOLE], random)
    with zipfile.ZipFile(io.BytesIO(_WHOLE)) as opened:
        entries = [(entry, opened.read(entry)) for entry in opened.infolist()]
    sink = io.BytesIO()
    kind = random.choice(("add", "rename", "drop", "edit", "compress", "link", "order", "comment"))
    at = random.randrange(len(entries))
    with zipfile.ZipFile(sink, "w") as target, contextlib.suppress(UserWarning):
        if kind == "order":
            random.shuffle(entries)
        if kind == "comment":
            target.comment = b"a comment"
        for i, (entry, data) in enumerate(entries):
            if i == at and kind == "drop":
                continue
            if i == at and kind == "rename":
                entry.filename = random.choice(_NAMES)
            if i == at and kind == "edit":
                data = changed(data, [data], random)
            if i == at and kind == "compress":
                entry.compress_type = random.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA))
                data = data if random.random() < 0.5 else bytes(1 << 24)
            if i == at and kind == "link":
                entry.external_attr = 0o120777 << 16
            target.writestr(entry, data)
        if kind == "add":
            target.writestr(random.choice(_NAMES), b"x")
    return sink.getvalue()


def check_archive(path: Path) -> None:
    """An archive is either as it was made, byte for byte, or something is said of it."""
    opened = bag.open_bag(path)
    found = bag.faults(opened)
    if not found and path.read_bytes() != _WHOLE:
        raise Misread("a changed archive passes")
    if found:
        raise AuditError(found[0])


def make_forged(random: random.Random) -> bytes:
    """A bag whose manifests are right and whose records are not."""
    content = dict(_CONTENT)
    name = random.choice(("data/audit.json", "data/provenance.json"))
    if random.random() < 0.3:
        content[name] = changed(content[name], list(content.values()), random)
    else:
        content[name] = json.dumps(changed_json(json.loads(content[name]), random)).encode()
    return _bag(content)


def check_forged(path: Path) -> None:
    """Verify (but for making numbers again) and compare an archive that vouches for itself."""
    opened = bag.open_bag(path)
    if bag.faults(opened):
        raise Misread("an archive of the project's own making does not pass")
    verify.missing_inputs(opened)
    after = changes.read_audit([path])
    before = changes.Audit(_audit(), _provenance(), "0" * 64)
    found = changes.compare(before, after)
    if "<script>" in page.html(found):
        raise Misread("text of the archive reaches the page as markup")


TARGETS = {
    target.name: target
    for target in (
        Target("runs", _of_seeds(RUN_SEEDS), check_run),
        Target("qrels", _of_seeds(QRELS_SEEDS), check_qrels),
        Target("topics", _of_seeds(TOPIC_SEEDS), check_topics),
        Target("documents", _of_seeds(DOCUMENT_SEEDS), check_documents),
        Target("run sheet", _of_seeds(SHEET_SEEDS, False), check_sheet_of_runs, "sheet.tsv"),
        Target("collection", make_collection, check_collection, "mine.yaml"),
        Target("judging sheet", _of_seeds(JUDGED_SEEDS, False), check_judged),
        Target("declared", _of_seeds(DECLARED_SEEDS, False), check_declared),
        Target("archive", make_archive, check_archive, "archive.zip"),
        Target("forged", make_forged, check_forged, "archive.zip"),
    )
}


# --- the turn ---------------------------------------------------------------------------------


@dataclass
class Outcome:
    """What came of one target's inputs.

    Attributes:
        read, refused: how many gave a result or an AuditError.
        faults: how many gave something else, by what it was and where.
        seconds: spent on them.
        examples: the first input of each fault.
    """

    read: int = 0
    refused: int = 0
    faults: Counter = field(default_factory=Counter)
    seconds: float = 0.0
    examples: dict[str, bytes] = field(default_factory=dict)

    @property
    def executions(self) -> int:
        return self.read + self.refused + self.faults.total()


@contextlib.contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """A folder with the files that a collection names."""
    for name in ("key.qrels", "a.run", "b.run", "sheet.tsv"):
        (folder / name).write_bytes(
            {"key.qrels": QRELS_SEEDS[0], "sheet.tsv": SHEET_SEEDS[0]}.get(name, RUN_SEEDS[0])
        )
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """No input may take more than SECONDS, nor more than MEMORY beside what is used already."""

    def stop(*_: object) -> None:
        raise TooSlow

    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    old = signal.signal(signal.SIGALRM, stop)
    space = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, space[1]))
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)
        resource.setrlimit(resource.RLIMIT_AS, space)


def attempt(target: Target, data: bytes, folder: Path, outcome: Outcome) -> None:
    """Read one input and note what came of it."""
    path = folder / target.file
    path.write_bytes(data)
    try:
        with limited():
            target.read(path)
        outcome.read += 1
    except AuditError as error:
        outcome.refused += 1
        if not str(error).strip():
            outcome.faults["an error that says nothing"] += 1
    except Exception as error:
        ours = [f for f in traceback.extract_tb(error.__traceback__) if "poolaudit" in f.filename]
        place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "fuzz.py"
        what = f"{type(error).__name__} in {place}"
        outcome.faults[what] += 1
        outcome.examples.setdefault(what, data)


def turn(target: Target, seed: int, seconds: float, most: int | None = None) -> Outcome:
    """Make and read inputs for some seconds, or so many of them."""
    source, outcome = random.Random(f"{seed} {target.name}"), Outcome()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, working_in(Path(folder)):
        while time.monotonic() - start < seconds and outcome.executions != most:
            attempt(target, target.make(source), Path(folder), outcome)
    outcome.seconds = time.monotonic() - start
    return outcome


def main() -> int:
    """Fuzz what the command line names; 1 where a fault was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=1, help="in all (default: 1)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=TARGETS, action="append", help="default: all targets")
    parser.add_argument("--keep", type=Path, help="a folder for the first input of each fault")
    options = parser.parse_args()
    names = options.only or list(TARGETS)
    found = False
    print("| target | executions | minutes | read | refused | faults | peak MiB |")
    print("|---|---|---|---|---|---|---|")
    for name in names:
        outcome = turn(TARGETS[name], options.seed, 60 * options.minutes / len(names))
        print(
            f"| {name} | {outcome.executions:,} | {outcome.seconds / 60:.1f} | {outcome.read:,} "
            f"| {outcome.refused:,} | {len(outcome.faults)} "
            f"| {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10:,} |",
            flush=True,
        )
        for what, count in outcome.faults.most_common():
            found = True
            print(f"  {what}: {count:,} times", file=sys.stderr, flush=True)
            if options.keep and what in outcome.examples:
                digest = hashlib.sha256(outcome.examples[what]).hexdigest()[:8]
                options.keep.mkdir(parents=True, exist_ok=True)
                kept = options.keep / f"{name}-{re.sub(r'[^A-Za-z0-9.]+', '-', what)}-{digest}"
                kept.write_bytes(outcome.examples[what])
    return int(found)


if __name__ == "__main__":
    sys.exit(main())
