"""Formats: the same ranking in any of them reads the same; what is no run says why."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import re
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from poolaudit.errors import AuditError
from poolaudit.files import sha256
from poolaudit.reading import lines, streams
from poolaudit.reading.complaints import Complaints
from poolaudit.reading.qrels import QRELS, read_judgments
from poolaudit.reading.runs import RUN, read_run
from poolaudit.reading.topics import read_topics

ROWS = [("q1", "d1", 1, 5.5), ("q1", "d3", 2, 1.0), ("q2", "d1", 1, -3.0)]
TREC = "q1 Q0 d1 1 5.5 mine\nq1 Q0 d3 2 1.0 mine\nq2 Q0 d1 1 -3.0 mine\n"
COMPRESS = {
    "gzip": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.compress,
}
QUICK = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def write(tmp_path):
    def write_file(content: str | bytes):
        path = tmp_path / "file"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file


def ranking(path, **settings) -> list[tuple]:
    """(query, document, rank, score) of a run, in its order."""
    table = read_run(path, **settings).table
    columns = [table[name].to_pylist() for name in ("query_id", "doc_id", "rank", "score")]
    return list(zip(*columns, strict=True))


def complaint(path, reader=read_run, **settings) -> str:
    with pytest.raises(AuditError) as error:
        reader(path, **settings)
    return str(error.value)


def trec(rows, separator: str = " ") -> bytes:
    lines = [separator.join((q, "Q0", d, str(r), repr(s), "mine")) for q, d, r, s in rows]
    return "".join(line + "\n" for line in lines).encode()


def separated(rows, separator: str) -> bytes:
    def quote(text: str) -> str:
        return '"' + text.replace('"', '""') + '"'

    lines = [separator.join((quote(q), quote(d), str(r), repr(s))) for q, d, r, s in rows]
    header = separator.join(("qid", "docno", "rank", "score"))
    return "".join(line + "\n" for line in [header, *lines]).encode()


def json_lines(rows) -> bytes:
    names = ("qid", "docno", "rank", "score")
    return "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows).encode()


def parquet(rows) -> bytes:
    names = ("qid", "docno", "rank", "score")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    return parquet_of(pa.table({name: list(values) for name, values in columns.items()}))


def parquet_of(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


WRITE = {
    "trec, blanks": trec,
    "trec, tabs": lambda rows: trec(rows, "\t"),
    "trec, both": lambda rows: b" " + trec(rows, " \t"),
    "csv": lambda rows: separated(rows, ","),
    "csv, semicolons": lambda rows: separated(rows, ";"),
    "tsv": lambda rows: separated(rows, "\t"),
    "jsonl": json_lines,
    "parquet": parquet,
}


# What every format has in common


@pytest.mark.parametrize("format", WRITE)
def test_every_format_reads_the_same(write, format):
    assert ranking(write(WRITE[format](ROWS))) == ROWS


@pytest.mark.parametrize("compression", COMPRESS)
@pytest.mark.parametrize("format", ["trec, tabs", "csv", "jsonl", "parquet"])
def test_every_compression_reads_the_same(write, format, compression):
    path = write(COMPRESS[compression](WRITE[format](ROWS)))
    run = read_run(path)
    assert run.notes["file"]["compression"] == compression
    assert run.notes["file"]["sha256"] == sha256(path)
    assert ranking(path) == ROWS


def test_ms_marco_lines_have_a_rank_and_no_score(write):
    path = write("q1\td1\t1\nq1\td3\t2\nq2\td1\t1\n")
    assert read_run(path).notes["file"]["format"] == "msmarco"
    assert ranking(path) == [("q1", "d1", 1, -1.0), ("q1", "d3", 2, -2.0), ("q2", "d1", 1, -1.0)]


def test_members_of_a_gzip_file_are_read_on(write):
    half = TREC.encode().split(b"q2")
    assert ranking(write(gzip.compress(half[0]) + gzip.compress(b"q2" + half[1]))) == ROWS


@QUICK
@given(data=st.data())
def test_any_ranking_in_any_format_compressed_and_shuffled_reads_the_same(write, data):
    letters = st.characters(exclude_categories=("C", "Z"))
    ids = st.text(letters, min_size=1, max_size=8)
    queries = ids.filter(lambda text: not text.startswith("#"))
    scores = st.floats(-1e300, 1e300) | st.sampled_from([0.0, -0.0, 5e-324, 1 / 3])
    lists = data.draw(
        st.dictionaries(queries, st.dictionaries(ids, scores, min_size=1, max_size=6), min_size=1)
    )
    expected = []
    for query in sorted(lists, key=str.encode):
        found = sorted(lists[query], key=str.encode, reverse=True)
        found.sort(key=lists[query].get, reverse=True)
        expected += [(query, d, rank, lists[query][d]) for rank, d in enumerate(found, 1)]
    format = data.draw(st.sampled_from(sorted(WRITE)))
    content = WRITE[format](data.draw(st.permutations(expected)))
    compression = data.draw(st.sampled_from([None, *COMPRESS]))
    path = write(COMPRESS[compression](content) if compression else content)
    assert ranking(path) == expected


FRAGMENTS = [
    *(b"q1 Q0 d1 1 2.5 t", b"q1", b"d1", b"1", b"-2.5", b"nan", b"1e400", b"1_0", b"#", b"\xff"),
    *(b" ", b"\t", b"\n", b"\n", b"\r", b"\r\n", b"\v", b"\0", b"\xc3\xa9", b"\xef\xbb\xbf"),
    *(b"qid,docno,score\n", b"1,a,2\n", b",", b'"', b";", b"label", b"text", b"rank"),
    *(b'{"qid":1,"docno":"a","score":1}\n', b'{"', b"}", b":", b"[", b"q1 0 d1 1\n"),
    *(b"<top>", b"<num> 1", b"<title>", b"PAR1", b"\x1f\x8b\x08", b"BZh91AY&SY", b"(\xb5/\xfd"),
]


@QUICK
@given(
    content=st.binary(max_size=200)
    | st.lists(st.sampled_from(FRAGMENTS), max_size=30).map(b"".join),
    format=st.sampled_from([None, "csv", "tsv", "jsonl", "parquet"]),
    settings=st.fixed_dictionaries(
        {
            "order": st.sampled_from(["score", "rank"]),
            "duplicates": st.sampled_from(["refuse", "first", "best"]),
            "nonfinite": st.sampled_from(["refuse", "last"]),
        }
    ),
)
def test_no_bytes_make_a_reader_raise_anything_but_its_own_error(write, content, format, settings):
    path = write(content)
    for read in (
        lambda: read_run(path, format=format, **settings),
        lambda: read_judgments(path, format=format),
        lambda: read_topics(path),
    ):
        try:
            read()
        except AuditError as error:
            assert error.where.startswith(str(path))


TOKENS = b"q1 d1 1 2.5 -1 nan 1e5 .5 5. +1 #x \xff x".split()


@QUICK
@given(
    rows=st.lists(
        st.tuples(
            st.lists(st.sampled_from(TOKENS), min_size=5, max_size=7),
            st.sampled_from([b" ", b" ", b"\t", b"\t", b"  "]),
            st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b"\r", b"\n\n", b" \n"]),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_what_the_fast_parser_accepts_the_careful_one_reads_the_same(rows):
    block = b"".join(separator.join(tokens) + end for tokens, separator, end in rows)
    layout = RUN.layouts["trec"]
    fast = lines._read_regular(block, layout)
    complaints = Complaints("file", "run")
    careful = lines._read_irregular(block, layout, 1, complaints, Counter())
    if fast is not None:
        assert complaints.count == 0
        assert str(fast.to_pydict()) == str(careful.drop_columns("line").to_pydict())


# Lines, as users write them


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "  q1\tQ0 d1  1\t5.5 mine\n\tq1 Q0 d3 2 1 mine\nq2 Q0 d1 1 -3 mine", id="blanks"
        ),
        pytest.param(TREC.replace("mine", "mine, and more words"), id="trailing text"),
        pytest.param(TREC.replace(" ", "\t").replace("mine", "my run"), id="tags with spaces"),
        pytest.param(TREC.replace("Q0", "q0"), id="q0"),
        pytest.param(TREC.replace("Q0", "0"), id="any second field"),
        pytest.param(TREC.replace("\n", "\r\n"), id="CRLF"),
        pytest.param(TREC.replace("\n", "\r"), id="CR"),
        pytest.param(TREC.strip(), id="no final line end"),
        pytest.param("\n" + TREC.replace("\n", "\n \t\n"), id="blank lines"),
        pytest.param("# a comment\n" + TREC, id="comments"),
        pytest.param("\ufeff" + TREC, id="byte-order mark"),
        pytest.param(TREC.replace("5.5", "55e-1").replace("-3.0", "-.3E+1"), id="exponents"),
        pytest.param(TREC.replace(" 1 ", " 0001 ").replace(" 2 ", " 0002 "), id="padded ranks"),
        pytest.param(TREC.replace("1 5.5", "x 5.5"), id="unreadable rank"),
    ],
)
def test_lines_are_read_as_trec_eval_reads_them(write, text):
    assert ranking(write(text)) == ROWS


def test_line_numbers_count_blank_lines_and_comments(write):
    table = read_run(write("\n# c\nq1 Q0 a 1 3 t\r\n\n q1 Q0 b 2 2 t")).table
    assert table["line"].to_pylist() == [3, 5]


def test_line_numbers_run_on_over_blocks(write, monkeypatch):
    monkeypatch.setattr(streams, "BLOCK", 40)
    rows = [("q1", f"d{i:03}", i, 100.0 - i) for i in range(1, 60)]
    path = write(trec(rows))
    assert ranking(path) == rows
    assert read_run(path).table["line"].to_pylist() == list(range(1, 60))


@pytest.mark.parametrize(
    "document", ["WT01-B01#7", "en:page/a", "clueweb09-en0000-00-00000", "Ää🙂"]
)
def test_document_ids_hold_anything_but_blanks(write, document):
    rows = [("Frage-1", document, 1, 1.0)]
    assert ranking(write(trec(rows))) == rows


def test_ids_that_look_like_numbers_or_nothing_stay_text(write):
    rows = [
        ("007", "NA", 1, 4.0),
        ("007", "null", 2, 3.0),
        ("007", "1e3", 3, 2.0),
        ("07", "1", 1, 1.0),
    ]
    for format in ("trec, tabs", "csv", "jsonl", "parquet"):
        assert ranking(write(WRITE[format](rows))) == rows


# Tables with names


@pytest.mark.parametrize("query", ["qid", "query_id", "query", "topic", "Query ID", "query-id"])
@pytest.mark.parametrize("document", ["docno", "docid", "doc_id", "pid", "did", "corpus-id"])
def test_columns_have_the_names_people_use(write, query, document):
    text = f"{query},more,{document},score\nq1,x,d1,5.5\nq1,x,d3,1\nq2,x,d1,-3\n"
    assert ranking(write(text)) == ROWS


def test_of_two_names_the_public_id_is_taken(write):
    run = read_run(write("qid,docid,docno,score,query\nq1,17,d1,1,some words\n"))
    assert run.notes["file"]["columns"] == {"query_id": "qid", "doc_id": "docno", "score": "score"}


def test_numbers_serve_as_ids_in_json_lines_and_parquet(write):
    assert ranking(write('{"qid": 1, "docno": 20, "score": 3}\n')) == [("1", "20", 1, 3.0)]
    table = pa.table({"qid": [1], "docno": pa.array(["a"]).dictionary_encode(), "score": [3]})
    assert ranking(write(parquet_of(table))) == [("1", "a", 1, 3.0)]


def test_json_lines_may_change_the_type_of_a_value(write):
    text = '{"qid": 1, "docno": "a", "score": 1}\n\n{"score": "2.5", "docno": 7, "qid": "1"}\n'
    assert ranking(write(text)) == [("1", "7", 1, 2.5), ("1", "a", 2, 1.0)]


def test_text_that_looks_like_a_date_stays_text(write):
    text = '{"qid": "2019-01-01", "docno": "2019-01-01T00:00:00", "score": 1}\n'
    assert ranking(write(text)) == [("2019-01-01", "2019-01-01T00:00:00", 1, 1.0)]


def test_a_format_can_be_named(write):
    assert ranking(write("q1 d1 1\n"), format="msmarco") == [("q1", "d1", 1, -1.0)]
    assert "too few columns (3 instead of 6)" in complaint(write("q1 d1 1\n"), format="trec")
    text = complaint(write(TREC), format="terc")
    assert "there is no format 'terc' for a run file" in text
    assert "did you mean trec?" in text


# What is refused, and how


def test_twenty_bad_lines_are_shown_and_the_others_counted(write):
    bad = "".join(f"q1 Q0 d{i} {i} {'x' if i % 2 else i} t\n" for i in range(1, 101))
    text = complaint(write(bad))
    assert "cannot be read: 50" in text
    assert "line 1: the score is no number: q1 Q0 d1 1 x t" in text
    assert "line 39: the score is no number" in text
    assert "line 41:" not in text
    assert "and 30 more" in text
    assert "expected: trec: query Q0 document rank score tag" in text


def test_a_long_line_is_cut_and_control_characters_are_shown(write):
    text = complaint(write("q1 Q0 d1 1 5 t\nq1 Q0 \x1b[1m" + "d" * 500 + " 1 x t\n"))
    assert "\\x1b[1mddd" in text
    assert "d..." in text
    assert "d" * 100 not in text


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("q1 Q0 d1 1 5.5", "too few columns (5 instead of 6)"),
        ("q1 Q0 d1 1 high t", "the score is no number"),
        ("q1 Q0 d1 1 5,5 t", "the score is no number (a decimal comma?)"),
        ("q1 Q0 d1 1 1_000 t", "the score is no number"),
        ("q1 Q0 d1 1 0x1p3 t", "the score is no number"),
    ],
)
def test_a_line_that_cannot_be_read_is_shown_with_the_reason(write, line, reason):
    text = complaint(write(f"q1 Q0 d0 1 6 t\n{line}\n"))
    assert f"line 2: {reason}: {line}" in text


def test_ids_must_be_utf_8_and_tags_need_not(write):
    assert ranking(write(b"q1 Q0 d1 1 2 caf\xe9\n")) == [("q1", "d1", 1, 2.0)]
    assert "line 1: the doc id is not UTF-8" in complaint(write(b"q1 Q0 caf\xe9 1 2 t\n"))
    assert "line 2: the line is not UTF-8" in complaint(write(b"qid,docno,score\n1,caf\xe9,2\n"))


def test_rows_of_a_table_are_complained_about_by_line(write):
    text = complaint(write("qid,docno,score\nq1,a\nq1,b,2,3\nq1,c,x\n,d,1\n\nq1,e,2\n"))
    assert "line 2: 2 columns, where the header has 3: q1,a\n" in text
    assert "line 3: 4 columns, where the header has 3: q1,b,2,3" in text
    assert "line 4: the score is no number: q1,c,x" in text
    assert "line 5: the query id is missing: ,d,1" in text


def test_objects_of_json_lines_are_complained_about_by_line(write):
    good = '{"qid": 1, "docno": "a", "score": 1}\n'
    text = complaint(
        write(good + '{"qid": 1, "docno": "b"}\n[1]\n{"qid": 1.5, "docno": "b", "score": 3}')
    )
    assert "line 2: the score is missing" in text
    assert "line 3: no JSON object: [1]" in text
    assert "line 4: the query id is missing" in text


def test_a_table_without_the_columns_needed_says_which_it_has(write):
    text = complaint(write(parquet_of(pa.table({"qid": ["q1"], "url": ["x"], "score": [1.0]}))))
    assert "no column for the doc id" in text
    assert "columns qid, url, score" in text
    text = complaint(write(parquet_of(pa.table({"qid": [1.5], "docno": ["x"], "score": [1.0]}))))
    assert "the column qid cannot be used" in text


def test_what_is_no_run_says_what_it_looks_like(write):
    text = complaint(write("q1 0 d1 1\n"))
    assert "lines of four fields are usually judgments" in text
    assert "trec: query Q0 document rank score tag" in text
    assert "no run file in a known format" in complaint(write("q1,d1,5\n"))


@pytest.mark.parametrize(
    ("content", "what"),
    [
        pytest.param(b"", "the file is empty", id="nothing"),
        pytest.param(gzip.compress(b""), "the file is empty", id="nothing, compressed"),
        pytest.param("\ufeff".encode(), "the file is empty", id="byte-order mark"),
        pytest.param(b"\n \n", "there is nothing in this run file", id="blank lines"),
        pytest.param(b"qid,docno,score\n", "there is nothing in this run file", id="header"),
        pytest.param(TREC.encode("utf-16"), "the text is UTF-16 or UTF-32", id="UTF-16"),
        pytest.param(TREC.encode("utf-16-le"), "the text is UTF-16 or UTF-32", id="no mark"),
        pytest.param(b"q1 Q0 d1 1 2 t\n\0\1", "the file is binary, not text", id="binary"),
        pytest.param(b"PK\x03\x04 and more", "the file is a zip archive", id="zip"),
        pytest.param(
            gzip.compress(gzip.compress(TREC.encode())), "the file is compressed twice", id="twice"
        ),
        pytest.param(b"PAR1 and no more", "the Parquet file cannot be read", id="Parquet"),
    ],
)
def test_content_of_another_kind_is_named(write, content, what):
    path = write(content)
    text = complaint(path)
    assert text.startswith(what)
    assert str(path) in text


@pytest.mark.parametrize("compression", COMPRESS)
def test_a_compressed_file_that_is_cut_off_or_damaged_is_refused(write, compression):
    whole = COMPRESS[compression](trec([("q1", f"d{i * i}", i, 9.0 / i) for i in range(1, 300)]))
    for end in (len(whole) // 2, len(whole) - 1):
        assert f"the {compression} file is cut off" in complaint(write(whole[:end]))
    middle = len(whole) // 2
    damaged = (
        whole[:middle] + bytes([whole[middle] ^ 255, whole[middle + 1] ^ 255]) + whole[middle + 2 :]
    )
    assert f"the {compression} file is" in complaint(write(damaged))


def test_a_file_that_cannot_be_opened_is_named(tmp_path):
    assert "No such file" in complaint(tmp_path / "none")
    assert "Is a directory" in complaint(tmp_path)


def test_a_file_that_unpacks_a_thousandfold_is_refused(write, monkeypatch):
    monkeypatch.setattr(streams, "HARMLESS", 100_000)
    bomb = write(gzip.compress(TREC.encode() + b"\n" * 1_000_000))
    text = complaint(bomb)
    assert "the file unpacks to far more than its size" in text
    assert ranking(bomb, expansion=10_000) == ROWS
    worse = write(gzip.compress(TREC.replace("5.5", "x").encode() + b"\n" * 1_000_000))
    assert "line 1: the score is no number: q1 Q0 d1 1 x mine" in complaint(worse, expansion=10_000)


def test_text_without_line_ends_is_refused(write, monkeypatch):
    monkeypatch.setattr(streams, "HARMLESS", 1000)
    monkeypatch.setattr(streams, "BLOCK", 100)
    assert "there is no line end" in complaint(write("q1 Q0 d1 1 2 " + "t" * 5000))


def test_rows_of_other_kinds_of_files_have_their_own_expectations(write):
    text = complaint(write(TREC), read_judgments)
    assert "lines of six fields are usually a run" in text
    for layout in QRELS.layouts.values():
        assert layout.example in text


# The table of cases


def cases_of(module) -> set[str]:
    """The tests of a module, as name and, for parameters with ids, as name[id]."""
    names = set()
    for name, test in vars(module).items():
        if name.startswith("test_"):
            names.add(name)
            for mark in getattr(test, "pytestmark", []):
                cases = mark.args[1] if mark.name == "parametrize" else []
                names |= {f"{name}[{case.id}]" for case in cases if hasattr(case, "id")}
    return names


def test_the_table_of_cases_names_every_test_and_no_other():
    import test_answers
    import test_formats
    import test_qrels
    import test_runs

    modules = (test_answers, test_formats, test_qrels, test_runs)
    tests = set().union(*map(cases_of, modules))
    text = (Path(__file__).parents[1] / "docs" / "reading.md").read_text()
    columns = [name for kind in (RUN, QRELS) for column in kind.columns for name in column.names]
    assert {f"`{name}`" for name in columns} <= set(re.findall("`[^`]+`", text))
    named = set(re.findall(r"`(test_[^`]+)`", text))
    assert named - tests == set()
    untold = {name for name in tests - named if "[" not in name and f"`{name}[" not in text}
    assert untold == {
        "test_real_datasets_are_fetched_from_the_cache",
        "test_the_judgments_of_trec_8_are_read",
        "test_the_table_of_cases_names_every_test_and_no_other",
    }


def test_a_quoted_line_end_before_a_bad_row_is_a_mistake_like_others(write):
    text = complaint(write(b'\n\nquery_id,doc_id,rank,score\nq1,d1,1,9\n",d2,2,8\n\n'))
    assert "columns, where the header has 4" in text


def test_a_parquet_file_with_damaged_names_cannot_be_read(write):
    table = pa.table({"query_id": ["q1"], "doc_id": ["d1"], "score": [1.0]})
    content = parquet_of(table)
    damaged = content.replace(b"doc_id", b"doc\xcfid")
    assert "the Parquet file cannot be read" in complaint(write(damaged))
