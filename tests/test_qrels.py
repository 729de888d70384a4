"""Judgments and topics: whole grades, one for each pair, and where they came from."""

from __future__ import annotations

import fcntl
import hashlib
import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from poolaudit.errors import AuditError
from poolaudit.files import sha256
from poolaudit.reading import catalogue
from poolaudit.reading.qrels import from_files, load, read_judgments
from poolaudit.reading.topics import read_topics

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"


@pytest.fixture
def write(tmp_path):
    def write_file(*rows: str, name: str = "file"):
        path = tmp_path / name
        path.write_text("".join(row + "\n" for row in rows))
        return path

    return write_file


def rows(table) -> list[tuple]:
    return list(zip(*table.to_pydict().values(), strict=True))


def refusal(reader, *arguments, **settings) -> AuditError:
    with pytest.raises(AuditError) as error:
        reader(*arguments, **settings)
    return error.value


# Judgments in files


def test_judgments_are_sorted_by_query_and_document_in_byte_order(write):
    table = read_judgments(write("2 0 b 0", "10 0 é 1", "10 0 a 2", "10 0 Z 0"))
    assert rows(table) == [("10", "Z", 0), ("10", "a", 2), ("10", "é", 1), ("2", "b", 0)]
    assert [str(field.type) for field in table.schema] == ["string", "string", "int16"]


@pytest.mark.parametrize(
    "text",
    [
        ["# comment", "q1 0 a 1", "  # another", "q1 0 b 0"],
        ["q1\t0\ta\t1", "", " q1  Q0 b 0 "],
        ["q1 0 a 1.0", "q1 0 b 0.0"],
        ["query-id\tcorpus-id\tscore", "q1\ta\t1", "q1\tb\t0"],
        ["qid,docno,label", "q1,a,1", "q1,b,0"],
        ['{"qid": "q1", "docno": "a", "rel": 1}', '{"qid": "q1", "docno": "b", "rel": 0}'],
    ],
)
def test_judgments_are_read_from_lines_and_tables(write, text):
    assert rows(read_judgments(write(*text))) == [("q1", "a", 1), ("q1", "b", 0)]


def test_a_label_that_is_missing_is_no_subtopic(write):
    row = '{"qid": "q", "docno": "a", "rel": 1, "iter": %s}'
    assert rows(read_judgments(write(row % "null", row % '""'))) == [("q", "a", 1)]


def test_five_columns_hold_strata(write):
    table = read_judgments(write("1 0 a 1 2", "1 0 b 2 -1"))
    assert table.to_pydict() == {
        "query_id": ["1", "1"],
        "doc_id": ["a", "b"],
        "relevance": [2, -1],
        "stratum": ["1", "2"],
    }


def test_five_columns_that_end_in_decimals_hold_probabilities(write):
    table = read_judgments(write("1 a 1 0 0.25", "1 b 0 1 1.0"))
    assert table.to_pydict() == {
        "query_id": ["1", "1"],
        "doc_id": ["a", "b"],
        "relevance": [1, 0],
        "method": ["0", "1"],
        "probability": [0.25, 1.0],
    }


def test_grades_below_zero_are_kept_or_count_as_nonrelevant(write):
    path = write("q 0 a -1", "q 0 b -2", "q 0 c 1")
    assert read_judgments(path)["relevance"].to_pylist() == [-1, -2, 1]
    assert read_judgments(path, negatives="nonrelevant")["relevance"].to_pylist() == [0, 0, 1]
    found = from_files(path, negatives="nonrelevant").source["found"]
    assert found == [
        {
            "kind": "negative_grades",
            "text": "grades below 0, which count as nonrelevant: 2",
            "count": 2,
        }
    ]
    assert refusal(read_judgments, path, negatives="ignored").expected == "unjudged, nonrelevant"


def test_identical_judgments_are_counted_once_and_noted(write):
    loaded = from_files(write("q 0 a 1", "q 0 b 0", "q 0 a 1"))
    assert rows(loaded.judgments) == [("q", "a", 1), ("q", "b", 0)]
    assert loaded.source["found"][0]["text"] == (
        "judgments given again, the same, and counted once: 1"
    )


def test_conflicting_judgments_are_refused_with_both_lines(write):
    error = refusal(read_judgments, write("q 0 a 1", "q 0 b 0", "q 0 a 0", "q 0 a 2"))
    assert error.what == "conflicting judgments"
    assert "line 3: document a of query q has grade 0, and 1 in line 1: q 0 a 0" in error.found
    assert "line 4: document a of query q has grade 2, and 0 in line 3: q 0 a 2" in error.found


def test_subtopics_are_recognised_and_answered(write):
    error = refusal(read_judgments, write("1 1 a 1", "1 2 a 0", "1 2 b 0"))
    assert error.what == "documents judged several times for a query, under different iterations"
    assert "line 2: document a of query 1 under '2', and under '1' in line 1" in error.found
    assert "subtopics or judging groups" in error.todo


def test_grades_above_100_are_refused(write):
    # Bounds and the judging form go through every grade up to the highest.
    assert read_judgments(write("q 0 a 100"))["relevance"].to_pylist() == [100]
    error = refusal(read_judgments, write("q 0 a 101", "q 0 b 0"))
    assert "whole numbers from -32768 to 100" in error.what
    assert "line 1: the grade is 101" in error.found


def test_float_grades_are_recognised_and_answered(write):
    error = refusal(read_judgments, write("1 0 a 1", "1 0 b 0.5", "1 0 c nan", "1 0 d 40000"))
    assert "line 2: the grade is 0.5: 1 0 b 0.5" in error.found
    assert "line 3: the grade is nan" in error.found
    assert "line 4: the grade is 40000" in error.found
    assert "map the grades to whole numbers" in error.todo
    assert "prefs" not in error.todo


def test_preferences_are_recognised_and_answered(write):
    error = refusal(read_judgments, write("1 1 a 0.5", "1 2 a 1.5"))
    assert "preferences of several judging groups" in error.todo


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (["1 0 a 1", "1 0 b"], "line 2: too few columns (3 instead of 4)"),
        (["1 0 a 1", "1 0 b 0", "1 0 c 0 1"], "line 3: too many columns (5 instead of 4)"),
        (["1 0 a yes"], "line 1: the relevance is no number"),
        (["qid,docno,label", "1,a,"], "line 2: the relevance is missing"),
    ],
)
def test_lines_that_are_no_judgments_are_shown(write, text, reason):
    assert reason in refusal(read_judgments, write(*text)).found


# Topics


@pytest.mark.parametrize(
    "text",
    [
        ["052\tsecond  query", "051\tfirst \t query"],
        ["qid,query", "052,second query", '051,"first query"'],
        ['{"_id": "052", "text": "second query"}', '{"_id": "051", "text": "first query"}'],
        [
            "<top>\n<num> Number: 052\n<title> Topic: second\n query\n<desc> more\n</top>",
            "<top><num>051</num><title>first query</title></top>",
        ],
        [
            '<topics><topic number="051" type="single"><query>first query</query></topic>',
            "<topic number='052'><query>second query</query></topic></topics>",
        ],
    ],
)
def test_topics_are_read_from_lines_trec_topics_and_tables(write, text):
    table, _ = read_topics(write(*text))
    assert rows(table) == [("051", "first query"), ("052", "second query")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (["1 no tab", "2\tx"], "line 1: no tab between query id and text: 1 no tab"),
        (["<top>", "<num> 1", "</top>"], "line 1: a topic without title: <top>"),
        (["<top>", "<title> x", "</top>"], "line 1: a topic without number: <top>"),
        (["1\ta", "1\tb"], "'b', and 'a' in line 1"),
    ],
)
def test_topics_that_cannot_be_used_are_shown(write, text, found):
    assert refusal(read_topics, write(*text)).found == found


def test_topics_say_which_queries_are_judged(write):
    qrels = write("q1 0 a 1", "q2 0 a -1", "q4 0 b 0", name="qrels")
    topics = write("q1\tone", "q2\ttwo", "q3\tthree", name="topics")
    assert rows(from_files(qrels, topics).topics) == [
        ("q1", "one", True),
        ("q2", "two", False),
        ("q3", "three", False),
        ("q4", None, True),
    ]


def test_the_source_of_local_files_is_recorded(write):
    qrels = write("q1 0 a 1", "q1 0 b 0", "q2 0 c 0", name="qrels")
    topics = write("q1\tone", name="topics")
    settings = {"file": qrels, "topics": topics, "grades": {"1": "on topic"}, "official": ["AP"]}
    source = load(settings).source
    assert source["rows"] == 3
    assert source["queries"] == 2
    assert source["grades"] == {"0": 2, "1": 1}
    assert source["meanings"] == {"1": "on topic"}
    assert source["official_measures"] == ["AP"]
    assert [(f["holds"], f["name"], f["sha256"]) for f in source["files"]] == [
        ("judgments", "qrels", sha256(qrels)),
        ("topics", "topics", sha256(topics)),
    ]
    json.dumps(source, allow_nan=False)


# ir_datasets


QRELS = b"q1 0 a 1\nq1 0 b 0\n"
QUERIES = b"q1\tsome words\nq2\tmore\n"


class Answers(http.server.BaseHTTPRequestHandler):
    """Serves the two files of the toy dataset, or an error page."""

    broken = False

    def do_GET(self):
        body = {"/qrels": QRELS, "/queries": QUERIES}[self.path]
        if Answers.broken:
            body = b"<html>moved</html>"
        self.send_response(404 if Answers.broken else 200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture
def toy(server, tmp_path, monkeypatch):
    """Register a dataset with two small files on a local server; give its id and its folder."""
    import ir_datasets
    from ir_datasets.datasets.base import Dataset
    from ir_datasets.formats import TrecQrels, TsvQueries
    from ir_datasets.util import Download, RequestsDownload

    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("IR_DATASETS_DL_TRIES", "1")
    monkeypatch.setattr(Answers, "broken", False)
    folder = tmp_path / "home" / "toy"

    def download(name: str, content: bytes) -> Download:
        mirror = RequestsDownload(f"{server}/{name}")
        return Download([mirror], str(folder / name), hashlib.md5(content).hexdigest())

    qrels = TrecQrels(download("qrels", QRELS), {1: "on topic", 0: "not"})
    queries = TsvQueries(download("queries", QUERIES))
    monkeypatch.setitem(ir_datasets.registry._registered, "toy", Dataset(qrels, queries))
    known = {"official_measures": ["AP"]}
    monkeypatch.setattr(Dataset, "documentation", lambda _: known, raising=False)
    return folder


def test_judgments_are_fetched_verified_and_recorded(toy, server):
    fetched = catalogue.fetch("toy")
    assert rows(fetched.judgments) == [("q1", "a", 1), ("q1", "b", 0)]
    assert rows(fetched.topics) == [("q1", "some words", True), ("q2", "more", False)]
    source = fetched.source
    assert source["ir_datasets"] == "toy"
    assert source["meanings"] == {"0": "not", "1": "on topic"}
    assert source["official_measures"] == ["AP"]
    assert source["files"] == [
        {
            "urls": [f"{server}/{name}"],
            "path": f"toy/{name}",
            "sha256": hashlib.sha256(content).hexdigest(),
            "md5": hashlib.md5(content).hexdigest(),
            "verified": True,
        }
        for name, content in (("qrels", QRELS), ("queries", QUERIES))
    ]


def test_a_cached_file_with_another_md5_is_refused(toy):
    toy.mkdir(parents=True)
    (toy / "qrels").write_bytes(QRELS.replace(b"a 1", b"a 0"))
    error = refusal(catalogue.fetch, "toy")
    assert error.what == "a cached file is not what ir_datasets expects"
    assert error.where == str(toy / "qrels")
    assert error.expected == f"md5 {hashlib.md5(QRELS).hexdigest()}"
    assert "delete the file" in error.todo


def test_an_error_page_is_not_taken_for_judgments(toy, server, monkeypatch):
    monkeypatch.setattr(Answers, "broken", True)
    error = refusal(catalogue.fetch, "toy")
    assert error.what == "the judgments of toy could not be fetched or read"
    assert f"{server}/qrels" in error.where
    assert not (toy / "qrels").exists()


def test_without_network_the_error_says_where_to_put_the_file(toy, monkeypatch):
    import requests

    def unreachable(*_, **__):
        raise requests.exceptions.ConnectionError("no route to host")

    monkeypatch.setattr(requests, "get", unreachable)
    error = refusal(catalogue.fetch, "toy")
    assert "no route to host" in error.found
    assert str(toy / "qrels") in error.expected
    assert "put the file there by hand" in error.todo
    assert "the demo needs no download" in error.todo


def test_one_process_at_a_time_fetches(toy):
    toy.parent.mkdir()
    with (toy.parent / ".poolaudit.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        fetching = threading.Thread(target=catalogue.fetch, args=("toy",))
        fetching.start()
        time.sleep(0.2)
        assert not (toy / "qrels").exists()
    fetching.join(timeout=30)
    assert (toy / "qrels").read_bytes() == QRELS


def test_an_unknown_dataset_is_answered_with_the_nearest(toy):
    error = refusal(catalogue.fetch, "msmarco-pasage/trec-dl-2019")
    assert (
        error.todo == "did you mean msmarco-passage/trec-dl-2019 or msmarco-passage/trec-dl-2020?"
    )
    error = refusal(catalogue.fetch, "antique")
    assert error.what == "the dataset antique has no judgments"
    assert "antique/test" in error.expected


DATASETS = {
    "msmarco-passage/trec-dl-2019/judged": ([5158, 1601, 1804, 697], 43, 43),
    "msmarco-passage/trec-dl-2019": ([5158, 1601, 1804, 697], 200, 43),
    "msmarco-passage/trec-dl-2020": ([7780, 1940, 1020, 646], 200, 54),
    "msmarco-document/trec-dl-2019": ([9661, 4607, 1149, 841], 200, 43),
}


@pytest.mark.real
def test_real_datasets_are_fetched_from_the_cache(real_data, tmp_path):
    code = (
        "import json, sys; from poolaudit.reading.catalogue import fetch\n"
        "for name in sys.argv[1:]:\n"
        "    fetched = fetch(name)\n"
        "    judged = sum(fetched.topics['judged'].to_pylist())\n"
        "    print(json.dumps([fetched.source, fetched.topics.num_rows, judged]))"
    )
    home = shutil.copytree(real_data / "irds_home", tmp_path / "home")
    done = subprocess.run(
        [sys.executable, "-c", code, *DATASETS],
        env={**os.environ, "PYTHONPATH": str(SCRIPTS), "IR_DATASETS_HOME": str(home)},
        check=True,
        capture_output=True,
        text=True,
    )
    for expected, line in zip(DATASETS.values(), done.stdout.splitlines(), strict=True):
        source, topics, judged = json.loads(line)
        assert (list(source["grades"].values()), topics, judged) == expected
        assert source["files"][0]["verified"]
        assert source["files"][0]["path"].endswith("/qrels")
        assert source["meanings"].keys() == {"0", "1", "2", "3"}
        assert source["official_measures"][0] == "nDCG@10"


@pytest.mark.real
def test_the_judgments_of_trec_8_are_read(real_data):
    loaded = from_files(real_data / "trec8/qrels.txt", real_data / "trec8/topics.trec")
    assert loaded.source["grades"] == {"0": 82102, "1": 4728}
    assert rows(loaded.topics)[0] == ("401", "foreign minorities, Germany", True)
    assert loaded.topics.num_rows == 50


def test_a_table_may_say_by_which_route_a_pair_came_in(tmp_path):
    path = tmp_path / "folded.tsv"
    path.write_text("query_id\tdoc_id\trelevance\troute\nq1\ta\t1\tpool\nq1\tb\t0\tsample\n")
    assert read_judgments(path)["route"].to_pylist() == ["pool", "sample"]
