"""The queries that runs answered, beside those of the collection."""

import pyarrow as pa
import pytest

from poolaudit.errors import AuditError
from poolaudit.reading.answers import compare_topics, likely_cause, refuse_strangers


def answered(queries: str) -> pa.ChunkedArray:
    return pa.chunked_array([queries.split()], pa.string())


def topics(judged: list[str], others: tuple[str, ...] = ()) -> pa.Table:
    flags = [True] * len(judged) + [False] * len(others)
    queries = [*judged, *others]
    return pa.table({"query_id": queries, "text": queries, "judged": flags})


def test_queries_are_compared_with_the_topics():
    run = answered("1 1 2 5")
    found = {n["kind"]: n for n in compare_topics(run, topics(["1", "3"], ("2",)), depth=3)}
    assert {kind: note["queries"] for kind, note in found.items()} == {
        "missing_queries": ["3"],
        "unjudged_queries": ["2"],
        "unknown_queries": ["5"],
        "shallow": ["1"],
    }
    assert (
        found["missing_queries"]["text"] == "judged queries without an answer, which score 0: 1 (3)"
    )
    assert compare_topics(run, topics(["1"], ("2", "5")), depth=2)[1:] == []


def test_runs_that_share_no_query_with_the_judgments_are_refused_together():
    runs = {"right": answered("401"), "wrong": answered("q401 q402"), "other": answered("7")}
    with pytest.raises(AuditError) as error:
        refuse_strangers(runs, ["401", "402"])
    assert error.value.what == "no query of 2 runs is judged"
    assert error.value.where == "run wrong, other"
    assert error.value.found == (
        "wrong: queries q401, q402; the run may write 'q' before each query id\nother: queries 7"
    )
    assert error.value.expected == "judged queries: 401, 402"


def test_a_run_that_answers_one_judged_query_is_no_stranger():
    refuse_strangers({"run": answered("7 401")}, ["401", "402"])


@pytest.mark.parametrize(
    ("unknown", "missing", "cause"),
    [
        (["51", "52"], ["051", "052", "053"], "zero padding differs (51 for 051)"),
        (["051"], ["51"], "zero padding differs (051 for 51)"),
        (["MB1", "MB2"], ["1", "2", "3"], "the run may write 'MB' before each query id"),
        (["1"], ["MB1", "MB2"], ""),
        (["1", "2"], ["MB1", "MB2"], "the judgments may write 'MB' before each query id"),
        (["7"], ["401"], ""),
        ([], ["1"], ""),
    ],
)
def test_the_likely_cause_of_unknown_queries_is_named(unknown, missing, cause):
    assert likely_cause(unknown, missing) == cause
