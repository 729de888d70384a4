"""Which labels a score used, and which queries."""

from __future__ import annotations

import numpy as np
import pytest

from literal import judgments, tables
from poolaudit.scores.ledgers import (
    both_means,
    label_ledger,
    label_warnings,
    rr_over_sparse_labels,
    topic_ledger,
)
from poolaudit.scores.lists import judged_lists
from poolaudit.scores.measure_names import at_level, parse_measure
from poolaudit.scores.policies import evaluate
from real import dl19_passage

# At level 1 A is better (a is relevant), at level 2 B is (b is).
PAIRS, RANKINGS = tables(
    "q1: a=1 b=2 c=0\nq2: d=3 e=0",
    {"A": "q1: a c b\nq2: e d", "B": "q1: c b a\nq2: d e"},
)
LISTS = judged_lists(PAIRS, RANKINGS)


def warnings(qrels: str, measures: list[str], official=(), meanings=()) -> list[dict]:
    pairs, rankings = tables(qrels, {"A": "q1: a"})
    lists = judged_lists(pairs, rankings)
    return label_warnings(lists, pairs.grades(), measures, official, meanings)


# Labels


@pytest.mark.parametrize(
    ("measure", "rel", "name"),
    [
        ("AP", 2, "AP(rel=2)"),
        ("AP(rel=2)@100", 1, "AP@100"),
        ("RBP(p=0.5,rel=2)", 1, "RBP(p=0.5,rel=1)"),
        ("Rprec", 2, "Rprec(rel=2)"),
    ],
)
def test_a_measure_can_be_taken_at_another_level(measure, rel, name):
    assert at_level(parse_measure(measure), rel) == parse_measure(name)


def test_the_official_level_is_that_of_the_same_measure():
    (row,) = label_ledger(LISTS, PAIRS.grades(), ["AP"], ["AP(rel=2)", "RR(rel=1)"])
    assert (row["rel"], row["official_rel"], row["agrees"]) == (1, 2, False)
    assert row["reference_rel"] == 2


def test_measures_without_an_official_one_follow_the_level_that_all_others_share():
    (row,) = label_ledger(LISTS, PAIRS.grades(), ["P(rel=2)@1"], ["AP(rel=2)", "RR(rel=2)"])
    assert (row["official_rel"], row["agrees"]) == (2, True)
    (row,) = label_ledger(LISTS, PAIRS.grades(), ["P(rel=2)@1"], ["AP(rel=2)", "RR"])
    assert (row["official_rel"], row["agrees"]) == (None, None)


def test_the_order_of_the_runs_at_other_levels_is_compared():
    (row,) = label_ledger(LISTS, PAIRS.grades(), ["P@1"], [])
    # P@1 at level 1: A 1/2 (a), B 1/2 (d). At 2 and 3: A 0, B 1/2. Ties have no tau.
    assert row["reference_rel"] == 1
    assert row["mean_at"] == {1: 1 / 2, 2: 1 / 4, 3: 1 / 4}
    (row,) = label_ledger(LISTS, PAIRS.grades(), ["P@1"], ["P(rel=2)@1"])
    assert row["tau_at"][1] is None
    assert row["tau_at"][3] == 1


def test_gains_have_no_level():
    (row,) = label_ledger(LISTS, PAIRS.grades(), ["nDCG@10"], ["AP(rel=2)"])
    assert (row["rel"], row["official_rel"], row["agrees"]) == (None, None, None)


def test_another_level_than_the_official_one_is_flagged():
    (note,) = warnings("q1: a=2 b=0", ["AP", "nDCG@10", "RR(rel=2)"], ["AP(rel=2)"])
    assert note["kind"] == "level"
    assert "AP counts grades from 1 on" in note["text"]


def test_official_measures_that_nothing_computes_are_passed_over():
    assert warnings("q1: a=2 b=0", ["AP(rel=2)"], ["alpha_nDCG@10", "AP(rel=2)"]) == []


@pytest.mark.parametrize(
    ("official", "meanings"), [(["nDCG@10", "AP(rel=2)"], []), ([], ["0", "1", "2", "3"])]
)
def test_gains_over_binarised_judgments_of_a_graded_collection_are_flagged(official, meanings):
    notes = warnings("q1: a=1 b=0", ["nDCG@10"], official, meanings)
    assert [note["kind"] for note in notes] == ["binarised"]


def test_binary_collections_and_binary_measures_are_not():
    assert warnings("q1: a=1 b=0", ["nDCG@10"], ["nDCG@10", "AP"], ["0", "1"]) == []
    assert warnings("q1: a=1 b=0", ["AP(rel=2)"], ["AP(rel=2)"], ["0", "1", "2"]) == []
    assert warnings("q1: a=2 b=0", ["nDCG@10"], [], ["0", "1", "2"]) == []


def test_sparse_labels_beside_judged_pools_are_flagged():
    notes = warnings("q1: a=2 b=0 c=1\nq2: d=1\nq3: e=1 f=1", ["nDCG@10"])
    assert [note["kind"] for note in notes] == ["mixed"]
    assert notes[0]["queries"] == ["q2", "q3"]


def test_one_kind_of_labels_is_not_mixed():
    assert warnings("q1: a=1\nq2: b=1", ["RR@10"]) == []
    assert warnings("q1: a=1 b=0\nq2: c=2 d=0", ["nDCG@10"]) == []


def test_rr_over_sparse_labels_is_a_measure_of_its_own():
    labels = judgments("q1: x=1\nq3: y=1")  # x was returned, and judged by no assessor
    pairs, rankings = tables("q1: a=2 b=0\nq2: c=1", {"A": "q1: a x b\nq2: c", "B": "q2: c"})
    scores = rr_over_sparse_labels(pairs, rankings, labels)
    assert scores.measures == ("RR@10 (sparse labels)",)
    np.testing.assert_array_equal(scores.values, [[[1 / 2, np.nan], [0, np.nan]]])


def test_rr_over_sparse_labels_stops_at_the_cutoff():
    pairs, rankings = tables("q: a=2", {"A": "q: a x"})
    scores = rr_over_sparse_labels(pairs, rankings, judgments("q: x=1"), cutoff=1)
    assert scores.values.item() == 0


# Topics


def test_every_query_is_accounted_for():
    pairs, rankings = tables("q1: a=1 b=0 c=-1\nq10: d=0", {"A": "q1: a", "B": "q1: a\nq10: x"})
    table = topic_ledger(judged_lists(pairs, rankings), pairs.grades(), ["q1", "q2"], few=1)
    assert table.to_pylist() == [
        {
            "query_id": "q1",
            "in_topics": True,
            "in_judgments": True,
            "judged": 2,
            "relevant": 1,
            "averaged": True,
            "few_relevant": False,
            "answered_by": 2,
            "not_answered_by": [],
        },
        {
            "query_id": "q10",
            "in_topics": False,
            "in_judgments": True,
            "judged": 1,
            "relevant": 0,
            "averaged": True,
            "few_relevant": True,
            "answered_by": 1,
            "not_answered_by": ["A"],
        },
        {
            "query_id": "q2",
            "in_topics": True,
            "in_judgments": False,
            "judged": 0,
            "relevant": 0,
            "averaged": False,
            "few_relevant": False,
            "answered_by": 0,
            "not_answered_by": [],
        },
    ]


def test_both_conventions_for_unanswered_queries_are_given():
    pairs, rankings = tables("q1: a=1\nq2: b=1", {"A": "q1: a", "B": "q1: a\nq2: b"})
    lists = judged_lists(pairs, rankings)
    table = both_means(evaluate(lists, pairs.grades(), ["RR"]), lists)
    assert table.to_pylist() == [
        {
            "policy": "nonrelevant",
            "measure": "RR",
            "run": "A",
            "mean_unanswered_as_0": 1 / 2,
            "queries": 2,
            "mean_over_answered": 1,
            "answered": 1,
        },
        {
            "policy": "nonrelevant",
            "measure": "RR",
            "run": "B",
            "mean_unanswered_as_0": 1,
            "queries": 2,
            "mean_over_answered": 1,
            "answered": 2,
        },
    ]


def test_a_run_without_answers_has_no_mean_over_answered_queries():
    pairs, rankings = tables("q1: a=1", {"A": "q2: a", "B": "q1: a"})
    lists = judged_lists(pairs, rankings)
    row = both_means(evaluate(lists, pairs.grades(), ["RR"]), lists).to_pylist()[0]
    assert (row["mean_unanswered_as_0"], row["mean_over_answered"]) == (0, None)


@pytest.mark.real
def test_the_labels_of_dl19(real_data):
    collection = dl19_passage(real_data)
    lists = judged_lists(collection.pairs, collection.rankings)
    official = ["nDCG@10", "RR(rel=2)", "AP(rel=2)"]
    grades = collection.pairs.grades()
    (row,) = label_ledger(lists, grades, ["AP"], official)
    assert (row["agrees"], row["official_rel"]) == (False, 2)
    assert 0.5 < row["tau_at"][1] < 1
    at = collection.rankings.runs.index("bm25base_p")
    levels = evaluate(lists, grades, ["AP", "AP(rel=2)"]).values[:, at].mean(axis=1)
    assert [f"{value:.4f}" for value in levels] == ["0.3773", "0.3013"]
    assert label_warnings(lists, grades, ["nDCG@10", "AP(rel=2)"], official, "0123") == []


def test_one_run_has_no_order_to_change():
    pairs, rankings = tables("q1: a=1 b=2", {"A": "q1: a b"})
    (row,) = label_ledger(judged_lists(pairs, rankings), pairs.grades(), ["AP"], [])
    assert row["tau_at"] == {2: None}
