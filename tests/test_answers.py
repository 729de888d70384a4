"""The queries that runs answered, beside those of the collection."""

import pyarrow as pa
import pytest

from poolaudit.errors import AuditError
from poolaudit.reading.answers import compare_topics, likely_cause, refuse_strangers, warning_of


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


@pytest.mark.parametrize(
    ("unknown", "told"),
    [
        ("Q12", "Q12 is not judged; q12 is: the case of letters differs"),
        ("q012", "q012 is not judged; q12 is: zero padding differs"),
        (" q12", "' q12' is not judged; q12 is: blanks differ"),
        ("q12\u200b", r"'q12\u200b' is not judged; q12 is: blanks differ"),
        ("Q 012", "'Q 012' is not judged; q12 is: only case, blanks and zeros differ"),
        ("q120", None),
        ("q1.02", None),
    ],
)
def test_a_misspelt_query_is_named_with_the_judged_one(unknown, told):
    run = pa.chunked_array([["q1", "q1.2", unknown]], pa.string())
    notes = compare_topics(run, topics(["q1", "q1.2", "q12"]))
    assert next((n["text"] for n in notes if n["kind"] == "misspelt_queries"), None) == told


def test_misspelt_queries_are_a_warning_with_what_they_cost():
    notes = compare_topics(answered("q1 Q2 Q3 7"), topics(["q1", "q2", "q3"]))
    assert warning_of(notes) == (
        "Q2 is not judged; q2 is: the case of letters differs; like it 1 more: Q3; "
        "judged queries without an answer, which score 0: 2 (q2, q3)"
    )


def test_a_query_that_is_answered_in_two_spellings_is_a_warning_too():
    notes = compare_topics(answered("q1 Q1"), topics(["q1"]))
    assert warning_of(notes) == "Q1 is not judged; q1 is: the case of letters differs"


def test_an_unknown_query_is_a_warning_where_a_judged_one_has_no_answer():
    notes = compare_topics(answered("1 2 77"), topics(["1", "2", "3"]))
    assert warning_of(notes) == (
        "judged queries without an answer, which score 0: 1 (3); "
        "answered queries that are not in the topics: 1 (77)"
    )


@pytest.mark.parametrize(
    ("run", "judged", "others"),
    [
        ("1 2 77 78", ["1", "2"], ()),
        ("1 2 77", ["1", "2"], ("77",)),
        ("1 77", ["1", "2"], ("77",)),
        ("1", ["1", "2"], ()),
        ("1 01", ["1", "01"], ()),
    ],
    ids=["more than are judged", "unjudged topics", "unjudged and fewer", "fewer", "two queries"],
)
def test_a_run_may_answer_more_queries_than_are_judged_or_fewer(run, judged, others):
    assert warning_of(compare_topics(answered(run), topics(judged, others))) == ""


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
        (["Q7", "Q8"], ["q7", "q8"], "the case of letters differs (Q7 for q7)"),
        ([" 7"], ["7"], "blanks differ (' 7' for 7)"),
        (["7"], ["401"], ""),
        ([], ["1"], ""),
    ],
)
def test_the_likely_cause_of_unknown_queries_is_named(unknown, missing, cause):
    assert likely_cause(unknown, missing) == cause
