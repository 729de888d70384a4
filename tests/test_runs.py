"""Runs: one order for every query, and notes on what was found."""

from __future__ import annotations

import csv
import gzip
import math
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poolaudit.errors import AuditError
from poolaudit.files import sha256
from poolaudit.reading.answers import compare_topics
from poolaudit.reading.qrels import from_files, read_judgments
from poolaudit.reading.runs import ranking_digests, read_run, same_rankings

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"
ALL_RUNS = os.environ.get("POOLAUDIT_ALL_RUNS")


@pytest.fixture
def write(tmp_path):
    def write_file(*rows: str, name: str = "run"):
        path = tmp_path / name
        path.write_text("".join(row + "\n" for row in rows))
        return path

    return write_file


def order(path, **settings) -> list[str]:
    return read_run(path, **settings).table["doc_id"].to_pylist()


def notes(found: list[dict]) -> dict[str, dict]:
    return {note["kind"]: note for note in found}


def refusal(path, **settings) -> AuditError:
    with pytest.raises(AuditError) as error:
        read_run(path, **settings)
    return error.value


@pytest.mark.parametrize(
    "rows", [["q a 1", "q b 0x10"], ["q\ta\t1", "q\tb\t0X10"], ["q a 1", " q  b  0x10"]]
)
def test_a_hexadecimal_rank_is_no_whole_number(write, rows):
    # pyarrow would read 0x10 as 16.
    error = refusal(write(*rows))
    assert "line 2: the rank is missing or no whole number" in error.found


def test_an_id_that_begins_with_0x_is_an_id(write):
    assert order(write("q Q0 0x2 1 2.0 t", "q Q0 0x10 2 1.0 t")) == ["0x2", "0x10"]


# The order


def test_documents_are_ordered_by_query_then_score_then_descending_id(write):
    table = read_run(
        write(
            "q2 Q0 d1 1 3.0 t",
            "q2 Q0 d2 2 2.0 t",
            "q10 Q0 d1 9 5.0 t",
            "q10 Q0 d3 8 1.0 t",
            "q10 Q0 d4 7 1.0 t",
        )
    ).table
    assert table.to_pydict() == {
        "query_id": ["q10", "q10", "q10", "q2", "q2"],
        "doc_id": ["d1", "d4", "d3", "d1", "d2"],
        "rank": [1, 2, 3, 1, 2],
        "score": [5.0, 1.0, 1.0, 3.0, 2.0],
        "given_rank": [9, 7, 8, 1, 2],
        "line": [3, 5, 4, 1, 2],
    }
    assert [str(field.type) for field in table.schema] == [
        *("string", "string", "int32", "double", "int64", "int64")
    ]


@pytest.mark.parametrize(
    ("ties", "expected"),
    [
        ("docid_desc", ["é", "b", "a", "Z", "10", "1"]),
        ("docid_asc", ["1", "10", "Z", "a", "b", "é"]),
        ("file", ["b", "10", "é", "1", "Z", "a"]),
    ],
)
def test_ties_are_broken_by_bytes_or_by_the_file(write, ties, expected):
    path = write(*(f"q Q0 {document} 1 7 t" for document in ("b", "10", "é", "1", "Z", "a")))
    assert order(path, ties=ties) == expected


def test_zero_and_minus_zero_are_tied(write):
    path = write("q Q0 a 1 0.0 t", "q Q0 b 2 -0.0 t")
    assert order(path) == ["b", "a"]
    assert notes(read_run(path).notes["found"])["ties"]["count"] == 2


def test_scores_that_differ_only_as_doubles_are_tied_in_float32(write):
    path = write("q Q0 a 1 1.00000002 t", "q Q0 b 2 1.00000001 t")
    assert order(path) == ["a", "b"]
    run = read_run(path, precision="float32")
    assert run.table["doc_id"].to_pylist() == ["b", "a"]
    assert run.table["score"].to_pylist() == [1.0, 1.0]


def test_order_rank_trusts_the_rank_column(write):
    path = write("q Q0 a 3 9 t", "q Q0 b 1 8 t", "q Q0 c 0 7 t", "q Q0 d 1 6 t")
    assert order(path) == ["a", "b", "c", "d"]
    assert order(path, order="rank") == ["c", "d", "b", "a"]
    assert order(path, order="rank", ties="docid_asc") == ["c", "b", "d", "a"]


def test_order_rank_needs_every_rank(write):
    error = refusal(write("q Q0 a 1 9 t", "q Q0 b - 8 t"), order="rank")
    assert "line 2: the rank is missing or no whole number: q Q0 b - 8 t" in error.found
    assert "or set order: score" in error.todo


def test_a_table_without_scores_and_ranks_is_refused(write):
    error = refusal(write("qid,docno", "q,a"))
    assert error.what == "the rank column cannot be used, and there are no scores"


@settings(max_examples=50, deadline=None)
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from(["1", "10", "2"]),
            st.text("aéZ1", min_size=1, max_size=3),
            st.sampled_from([-1.5, 0.0, -0.0, 2.0, 2.0000001]),
        ),
        min_size=1,
        max_size=30,
        unique_by=lambda row: row[:2],
    ),
    ties=st.sampled_from(["docid_desc", "docid_asc"]),
)
def test_any_run_is_in_the_order_that_sorting_in_plain_python_gives(tmp_path_factory, rows, ties):
    path = tmp_path_factory.mktemp("runs") / "run"
    path.write_text("".join(f"{q} Q0 {d} 1 {s!r} t\n" for q, d, s in rows))
    expected = sorted(rows, key=lambda row: row[1].encode(), reverse=ties == "docid_desc")
    expected = sorted(expected, key=lambda row: (row[0].encode(), -row[2]))
    table = read_run(path, ties=ties).table
    found = zip(table["query_id"].to_pylist(), table["doc_id"].to_pylist(), strict=True)
    assert list(found) == [row[:2] for row in expected]


# Duplicates and scores that are not finite


def test_a_document_twice_in_a_query_is_refused_with_both_lines(write):
    error = refusal(write("q1 Q0 d1 1 2 t", "q2 Q0 d1 1 2 t", "q1 Q0 d1 2 1 t"))
    assert error.what == "documents returned more than once for a query"
    assert "line 3: document d1 of query q1, as in line 1: q1 Q0 d1 2 1 t" in error.found
    assert error.where.endswith(":3")


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"duplicates": "first"}, [("b", 2), ("a", 1)]),
        ({"duplicates": "best"}, [("a", 3), ("b", 2)]),
        ({"duplicates": "best", "order": "rank"}, [("a", 1), ("b", 2)]),
    ],
)
def test_duplicates_may_be_mended_and_are_noted(write, settings, expected):
    run = read_run(write("q Q0 a 1 1 t", "q Q0 b 2 5 t", "q Q0 a 3 9 t"), **settings)
    kept = zip(run.table["doc_id"].to_pylist(), run.table["line"].to_pylist(), strict=True)
    assert list(kept) == expected
    assert notes(run.notes["found"])["duplicates"]["count"] == 1
    assert run.table["rank"].to_pylist() == [1, 2]


def test_scores_that_are_not_finite_are_refused_or_ranked_last(write):
    path = write("q Q0 a 1 nan t", "q Q0 b 2 -5 t", "q Q0 c 3 inf t", "q Q0 d 4 -1e999 t")
    error = refusal(path)
    assert error.what == "scores that are not finite in float64"
    for reason in (
        "line 1: the score is nan",
        "line 3: the score is inf",
        "line 4: the score is -inf",
    ):
        assert reason in error.found
    run = read_run(path, nonfinite="last")
    assert run.table["doc_id"].to_pylist() == ["b", "d", "c", "a"]
    assert run.table["score"].to_pylist() == [-5.0, -math.inf, -math.inf, -math.inf]
    assert notes(run.notes["found"])["nonfinite"]["count"] == 3
    assert notes(run.notes["found"])["ties"]["count"] == 3


def test_a_score_beyond_float32_is_refused_in_float32(write):
    path = write("q Q0 a 1 1e39 t")
    assert order(path) == ["a"]
    assert refusal(path, precision="float32").what == "scores that are not finite in float32"


@pytest.mark.parametrize("setting", ["order", "ties", "precision", "duplicates", "nonfinite"])
def test_an_unknown_setting_is_refused(write, setting):
    error = refusal(write("q Q0 a 1 1 t"), **{setting: "refused"})
    assert error.what == f"the setting {setting} cannot be 'refused'"


# Notes on one run


def test_a_clean_run_has_nothing_to_note(write):
    path = write("q Q0 a 1 9 me", "q Q0 b 2 8 me")
    run = read_run(path, name="me")
    assert run.notes["found"] == []
    assert run.notes["tags"] == ["me"]
    assert run.notes["counts"] == {
        "documents": 2,
        "queries": 1,
        "fewest_documents": 2,
        "most_documents": 2,
    }
    assert run.notes["file"]["name"] == "run"
    assert run.notes["file"]["sha256"] == sha256(path)


def test_tied_documents_are_counted(write):
    run = read_run(
        write("q1 Q0 a 1 2 t", "q1 Q0 b 2 2 t", "q1 Q0 c 3 1 t", "q2 Q0 a 1 1 t", "q2 Q0 b 2 1 t")
    )
    assert notes(run.notes["found"])["ties"] == {
        "kind": "ties",
        "text": "documents tied with another: 4 (queries: 2)",
        "count": 4,
        "queries": 2,
    }


def test_ranks_that_disagree_with_scores_are_counted_but_not_among_ties(write):
    run = read_run(write("q Q0 a 2 9 t", "q Q0 b 1 8 t", "q Q0 c 4 7 t", "q Q0 d 3 7 t"))
    assert notes(run.notes["found"])["rank_disagrees"]["count"] == 1
    tied = read_run(write("q Q0 a 1 9 t", "q Q0 c 3 7 t", "q Q0 d 2 7 t"))
    assert "rank_disagrees" not in notes(tied.notes["found"])


def test_tags_are_compared_with_each_other_and_with_the_name(write):
    run = read_run(write("q Q0 a 1 9 one", "q Q0 b 2 8 two"), name="three")
    assert run.notes["tags"] == ["one", "two"]
    found = notes(run.notes["found"])
    assert found["several_tags"]["text"] == "different tags: 2 (one, two)"
    assert found["tag_differs"]["text"] == "the tag is one, two, the name of the run three"


def test_what_was_skipped_in_the_file_is_noted(write):
    run = read_run(
        write("\ufeffq Q0 a 1 9 t and more", "", "# said", "q Q0 b x 8 t", "q Q0 c 3 7 t")
    )
    texts = {note["kind"]: note["text"] for note in run.notes["found"]}
    assert texts == {
        "ranks_unreadable": "ranks missing or no whole numbers: 1",
        "blank": "blank lines, skipped: 1",
        "comment": "lines that begin with #, skipped as comments: 1",
        "trailing": "lines with text after the tag, ignored: 1",
        "byte_order_mark": "the byte-order mark is not part of the first query id",
    }


# Notes on a run beside other runs


def test_runs_with_the_same_ranking_or_the_same_top_are_named(write):
    ranks = range(1, 13)
    scores = {"a": 0.0, "b": 1000.0, "c": 0.0, "d": 0.0}
    found = {}
    for name, more in scores.items():
        rows = [f"q Q0 d{r:02} {r} {more - r} {name}" for r in ranks if (name, r) != ("c", 12)]
        rows = [row.replace("d01", "d99") for row in rows] if name == "d" else rows
        found[name] = read_run(write(*rows)).notes
    assert same_rankings(found) == [
        {
            "kind": "same_ranking",
            "text": "a and b return the same documents in the same order",
            "runs": ["a", "b"],
        },
        {
            "kind": "same_top",
            "text": "a, b and c return the same first 10 documents for every query",
            "runs": ["a", "b", "c"],
        },
    ]


def test_the_digest_of_a_ranking_tells_ids_apart_that_join_to_the_same_text(write):
    one = read_run(write("q Q0 ab 1 2 t", "q Q0 c 2 1 t")).table
    other = read_run(write("q Q0 a 1 2 t", "q Q0 bc 2 1 t")).table
    assert ranking_digests(one) != ranking_digests(other)
    assert ranking_digests(one) == ranking_digests(
        pa.concat_tables([one.slice(0, 1), one.slice(1)])
    )


def test_reading_a_run_does_not_import_pandas(write):
    path = write("q Q0 a 1 9 t", "q Q0 b 2 9 t", "q Q0 c 3 1 u")
    code = (
        "import sys; from poolaudit.reading.runs import read_run; "
        "run = read_run(sys.argv[1], name='t'); "
        "assert run.notes['found'] and 'pandas' not in sys.modules"
    )
    environment = {**os.environ, "PYTHONPATH": str(SCRIPTS)}
    subprocess.run([sys.executable, "-c", code, path], check=True, env=environment)


# Real runs


SHEETS = {
    "dl19": ("dl19-passage/runs.tsv", "irds_home/msmarco-passage/trec-dl-2019/qrels"),
    "dl19 later": ("dl19-passage/new-runs.tsv", "irds_home/msmarco-passage/trec-dl-2019/qrels"),
    "trec8": ("trec8/runs.tsv", "trec8/qrels.txt"),
}


def sheet(folder: Path, name: str) -> dict[str, Path]:
    path = folder / SHEETS[name][0]
    with path.open(newline="") as file:
        return {r["run"]: path.parent / r["path"] for r in csv.DictReader(file, delimiter="\t")}


@pytest.mark.real
@pytest.mark.parametrize(
    ("name", "runs", "kinds"),
    [
        ("dl19", 37, {"ties": 33, "shallow": 17}),
        (
            "dl19 later",
            10,
            {"ties": 10, "tag_differs": 9, "shallow": 4, "rank_disagrees": 1, "unknown_queries": 1},
        ),
        (
            "trec8",
            129,
            {"ties": 121, "shallow": 15, "rank_disagrees": 8, "same_ranking": 2, "same_top": 1},
        ),
    ],
)
def test_every_real_run_is_read_and_noted(real_data, name, runs, kinds):
    known = from_files(real_data / SHEETS[name][1]).topics
    found = {}
    for run, path in sheet(real_data, name).items():
        read = read_run(path, name=run, precision="float32")
        read.notes["found"] += compare_topics(read.table["query_id"], known, depth=100)
        found[run] = read.notes
    assert len(found) == runs
    every = [note for run in found.values() for note in run["found"]] + same_rankings(found)
    assert Counter(note["kind"] for note in every) == kinds


def order_in_trec_eval(run: dict[str, dict[str, float]]) -> dict[str, list[str]]:
    """The order in which trec_eval evaluates a run, through pytrec_eval.

    Number the documents of a query. Judge those relevant whose number has its first bit set: P at
    every cutoff then tells which ranks hold such documents. So with the other bits.
    """
    import pytrec_eval

    documents = {query: sorted(scores) for query, scores in run.items()}
    depth = max(map(len, documents.values()))
    cutoffs = "P." + ",".join(map(str, range(1, depth + 1)))
    number = {query: np.zeros(len(found), int) for query, found in documents.items()}
    for bit in range(depth.bit_length()):
        qrels = {
            query: {document: i >> bit & 1 for i, document in enumerate(found)}
            for query, found in documents.items()
        }
        for query, values in pytrec_eval.RelevanceEvaluator(qrels, {cutoffs}).evaluate(run).items():
            length = len(documents[query])
            counts = [round(values[f"P_{k}"] * k) for k in range(1, length + 1)]
            number[query] += np.diff(counts, prepend=0) << bit
    return {query: [documents[query][i] for i in number[query]] for query in documents}


def lines_of(path: Path) -> list[list[str]]:
    content = path.read_bytes()
    text = gzip.decompress(content) if path.suffix == ".gz" else content
    return [line.split() for line in text.decode().splitlines()]


@pytest.mark.real
@pytest.mark.parametrize("name", SHEETS)
def test_queries_with_ties_are_in_the_order_of_trec_eval(real_data, name):
    """One query of each run (each eighth of TREC-8), or with POOLAUDIT_ALL_RUNS all of them."""
    paths = sorted(sheet(real_data, name).values())
    for path in paths[:: 8 if name == "trec8" and not ALL_RUNS else 1]:
        frame = read_run(path, precision="float32").table.to_pandas()
        tied = frame.loc[frame.duplicated(["query_id", "score"]), "query_id"].unique()
        tied = tied if ALL_RUNS else tied[len(tied) // 2 :][:1]
        ours = frame[frame["query_id"].isin(tied)].groupby("query_id")["doc_id"].apply(list)
        run: dict[str, dict[str, float]] = {query: {} for query in tied}
        for query, _, document, _, score, *_ in lines_of(path):
            if query in run:
                run[query][document] = float(score)
        if run:
            assert ours.to_dict() == order_in_trec_eval(run)


@pytest.mark.real
@pytest.mark.parametrize(
    ("results", "qrels", "expected", "level"),
    [
        ("results.test", "qrels.test", "out.test.aq", 1),
        ("results.test", "qrels.test.with-comments", "out.test.aq", 1),
        ("results.trunc", "qrels.test", "out.test.aqc", 1),
        ("results.test", "qrels.rel_level", "out.test.aql", 2),
    ],
)
def test_trec_evals_own_files_are_read_as_it_reads_them(real_data, results, qrels, expected, level):
    folder = real_data / "odd" / "trec_eval"
    run = read_run(folder / results, precision="float32").table.to_pylist()
    judged = read_judgments(folder / qrels).to_pylist()
    wanted = {(measure, query): value for measure, query, value in lines_of(folder / expected)}
    for query in sorted({row["query_id"] for row in judged}):
        grades = {row["doc_id"]: row["relevance"] for row in judged if row["query_id"] == query}
        relevant = {document for document, grade in grades.items() if grade >= level}
        found = [row["doc_id"] for row in run if row["query_id"] == query]
        hits = [rank for rank, document in enumerate(found, 1) if document in relevant]
        precision = sum((i + 1) / rank for i, rank in enumerate(hits))
        values = {
            "num_ret": len(found),
            "num_rel": len(relevant),
            "num_rel_ret": len(hits),
            "map": precision / len(relevant),
            "recip_rank": 1 / hits[0] if hits else 0,
            "P_10": sum(rank <= 10 for rank in hits) / 10,
            "P_200": sum(rank <= 200 for rank in hits) / 200,
        }
        for name, value in values.items():
            assert round(value, 4) == float(wanted[name, query])
        shown = next(wanted[key] for key in wanted if key[0].startswith("rels") and key[1] == query)
        shown = shown.strip("'")
        marks = [str(grades.get(document, "-")).replace("-1", ".") for document in found]
        assert shown == "".join(marks)[: len(shown)]
