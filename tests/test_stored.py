"""The two tables in files, and runs joined in batches of queries."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import literal
from poolaudit import stored
from poolaudit.errors import AuditError
from poolaudit.joining import Runs
from poolaudit.pairs import Contributor, build, near

QRELS = "q1: a=1 b=0\nq2: x=2 w=-1\nq3: k=0\nq4: m=1"
TEXTS = {
    "bm25": "q1: a b c\nq2: x y\nq4: n m",
    "dense": "q1: e b\nq2: z\nq3: k l\nq9: x",
    "later": "q1: f a\nq3: l k",
}
JUDGED = literal.judgments(QRELS)
CONTRIBUTORS = [
    Contributor("bm25", True, "ash"),
    Contributor("dense", True, "oak"),
    Contributor("later", False, "elm"),
]
COLUMNS = ["query_id", "doc_id", "rank", "score"]


@pytest.fixture(scope="module")
def whole():
    return build(JUDGED, [(c, literal.run(TEXTS[c.run])) for c in CONTRIBUTORS])


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The runs in files, in row groups of two rows."""
    folder = tmp_path_factory.mktemp("runs")
    for name, text in TEXTS.items():
        pq.write_table(literal.run(text), folder / name, row_group_size=2)
    return Runs(JUDGED, [folder / name for name in TEXTS])


def written(runs, folder, most):
    paths = folder / f"pairs-{most}", folder / f"rankings-{most}"
    with stored.Writer(*paths, runs.query_ids) as tables:
        for batch in runs.batches(COLUMNS, most):
            tables.add(*build(batch.judgments, zip(CONTRIBUTORS, batch.tables, strict=True)))
    return paths


def test_batches_hold_as_many_queries_as_have_so_many_rows(runs):
    def queries(most):
        return [batch.query_ids for batch in runs.batches(COLUMNS, most)]

    assert queries(100) == [("q1", "q2", "q3", "q4")]
    assert queries(10) == [("q1", "q2"), ("q3", "q4")]  # seven and three rows, four and two
    assert queries(1) == [("q1",), ("q2",), ("q3",), ("q4",)]  # none is divided


def test_a_batch_has_the_judgments_and_rows_of_its_queries(runs):
    batch = list(runs.batches(COLUMNS, 10))[1]
    assert batch.judgments["doc_id"].to_pylist() == ["k", "m"]
    assert [table["doc_id"].to_pylist() for table in batch.tables] == [
        ["n", "m"],
        ["k", "l"],
        ["l", "k"],
    ]


def test_the_answered_queries_of_a_run_are_also_those_that_nobody_judged(runs):
    assert runs.answered[1].to_pylist() == ["q1", "q2", "q3", "q9"]


@pytest.mark.parametrize("most", [100, 10, 1])
def test_what_is_read_is_the_same_in_any_batches(runs, whole, tmp_path, most):
    paths = written(runs, tmp_path, most)
    literal.assert_equal(stored.read(*paths), whole)
    assert stored.highest_grade(paths[0]) == 2


@settings(max_examples=20, deadline=None)
@given(most=st.integers(1, 12), to=st.integers(0, 3))
def test_tables_can_be_read_down_to_a_rank(runs, whole, tmp_path_factory, most, to):
    paths = written(runs, tmp_path_factory.mktemp("near"), most)
    literal.assert_equal(stored.read(*paths, to=to), near(*whole, to=to))
    alone = stored.read_pairs(paths[0], to)
    assert alone.doc_id.to_pylist() == near(*whole, to=to)[0].doc_id.to_pylist()


def test_a_batch_reads_as_if_there_were_no_other_queries(runs, tmp_path):
    (_, second) = stored.batches(*written(runs, tmp_path, 10))
    judged = JUDGED.filter(pc.is_in(JUDGED["query_id"], value_set=pa.array(["q3", "q4"])))
    alone = build(judged, [(c, literal.run(TEXTS[c.run])) for c in CONTRIBUTORS])
    literal.assert_equal(second, alone)


def test_the_order_of_the_sheet_does_not_matter(tmp_path):
    for folder, order in (("a", 1), ("b", -1)):
        (tmp_path / folder).mkdir()
        tables = build(JUDGED, [(c, literal.run(TEXTS[c.run])) for c in CONTRIBUTORS[::order]])
        stored.write(*tables, tmp_path / folder / "pairs", tmp_path / folder / "rankings")
    for name in ("pairs", "rankings"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_tables_that_could_not_be_finished_leave_no_file(runs, tmp_path):
    paths = tmp_path / "pairs", tmp_path / "rankings"
    batch = next(runs.batches(COLUMNS, 100))
    joined = build(batch.judgments, zip(CONTRIBUTORS, batch.tables, strict=True))
    with (
        pytest.raises(ValueError, match="in between"),
        stored.Writer(*paths, runs.query_ids) as tables,
    ):
        tables.add(*joined)
        raise ValueError("in between")
    assert list(tmp_path.iterdir()) == []


def test_unjudged_and_unpooled_pairs_are_null_in_the_file(whole, tmp_path):
    stored.write(*whole, tmp_path / "pairs", tmp_path / "rankings")
    table = pq.read_table(tmp_path / "pairs")
    judged = np.array([grade is not None for grade in table["relevance"].to_pylist()])
    assert table.filter(pa.array(~judged))["doc_id"].to_pylist() == list("cefyzln")
    assert table["best_rank"].to_pylist()[4:6] == [None, None]


def test_tables_whose_batches_do_not_match_are_refused(whole, tmp_path):
    stored.write(*whole, tmp_path / "pairs", tmp_path / "rankings")
    pq.write_table(pq.read_table(tmp_path / "rankings"), tmp_path / "rankings", row_group_size=5)
    with pytest.raises(AuditError, match="do not belong together"):
        stored.read(tmp_path / "pairs", tmp_path / "rankings")


def test_a_batch_that_would_be_divided_is_refused(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "MOST_ROWS", 10)
    with pytest.raises(AuditError, match="more documents than a batch can hold"):
        stored.write(*whole, tmp_path / "pairs", tmp_path / "rankings")
    assert list(tmp_path.iterdir()) == []
