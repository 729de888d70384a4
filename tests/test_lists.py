"""The judged rows of the rankings."""

from __future__ import annotations

import numpy as np
import pytest

from literal import grades, tables
from poolaudit.scores.lists import judged_lists
from poolaudit.scores.policies import coverage, evaluate

PAIRS, RANKINGS = tables(
    "q1: a=2 b=0 c=-1\nq2: d=1\nq3: e=0 f=1",
    {"A": "q1: x a c b\nq2: y z\nq3: f e", "B": "q1: b\nq3: x e f"},
)
LISTS = judged_lists(PAIRS, RANKINGS)


def test_only_judged_documents_have_a_row_and_keep_their_rank():
    names = [PAIRS.doc_id[pair].as_py() for pair in LISTS.pair]
    assert list(zip(names, LISTS.rank.tolist(), strict=True)) == [
        ("a", 2),
        ("c", 3),
        ("b", 4),  # A on q1; x is not judged
        ("b", 1),  # B on q1
        ("f", 1),
        ("e", 2),  # A on q3
        ("e", 2),
        ("f", 3),  # B on q3
    ]


def test_a_list_without_judged_documents_keeps_its_place_and_length():
    assert LISTS.length.tolist() == [4, 1, 2, 2, 3]
    assert LISTS.offsets.tolist() == [0, 3, 4, 4, 6, 8]


def test_every_row_knows_its_list():
    assert LISTS.list_of.tolist() == [0, 0, 0, 1, 3, 3, 4, 4]


def test_rows_are_unbroken_until_a_document_without_a_row():
    rows, pair, of_lists = LISTS.unbroken
    assert (pair == LISTS.pair[rows]).all()
    assert rows.tolist() == [3, 4, 5]
    assert of_lists.tolist() == [0, 1, 0, 2, 0]


def test_judged_pairs_include_those_that_no_run_returned():
    pairs, rankings = tables("q1: a=1 b=1", {"A": "q1: a"})
    assert judged_lists(pairs, rankings).judged_pair.tolist() == [0, 1]


def test_rows_can_be_limited_to_a_judgment_set():
    lists = judged_lists(PAIRS, RANKINGS, grades(PAIRS, "q1: a=2\nq3: f=1"))
    assert lists.rank.tolist() == [2, 1, 3]


def test_spread_puts_a_value_a_list_in_its_cell():
    table = LISTS.spread(np.array([1, 2, 3, 4, 5]), missing=-1)
    assert table.tolist() == [[1, 3, 4], [2, -1, 5]]


@pytest.mark.parametrize("queries", [[0], [1], [2], [0, 2], [0, 1, 2]])
@pytest.mark.parametrize("policy", ["nonrelevant", "condense", "restrict"])
def test_the_lists_of_some_queries_give_the_scores_of_these_queries(queries, policy):
    measures = ["nDCG@3", "AP", "RR", "Bpref"]
    whole = evaluate(LISTS, PAIRS.grades(), measures, policy)
    some = evaluate(LISTS.of_queries(np.array(queries)), PAIRS.grades(), measures, policy)
    assert some.query_ids == tuple(whole.query_ids[query] for query in queries)
    np.testing.assert_array_equal(some.values, whole.values[:, :, queries])


def test_coverage_of_some_queries_is_that_of_the_whole():
    whole = coverage(LISTS, PAIRS.grades(), [1, 3])
    some = coverage(LISTS.of_queries(np.array([2])), PAIRS.grades(), [1, 3])
    for all_counts, counts in zip(whole, some, strict=True):
        np.testing.assert_array_equal(counts, all_counts[:, :, [2]])


def test_judged_pairs_can_be_numbered_without_the_others_between_them():
    pairs, rankings = tables("q1: b=1 d=2", {"A": "q1: a b c d"})
    lists = judged_lists(pairs, rankings)
    compact = lists.of_judged()
    assert (lists.pair.tolist(), compact.pair.tolist()) == ([1, 3], [0, 1])
    whole = evaluate(lists, pairs.relevance, ["nDCG@10", "Bpref"])
    again = evaluate(compact, pairs.relevance[lists.judged_pair], ["nDCG@10", "Bpref"])
    assert again.values.tolist() == whole.values.tolist()
