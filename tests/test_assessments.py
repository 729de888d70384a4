"""New assessments: folded in with their routes, and two versions side by side."""

from __future__ import annotations

from math import log2

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from literal import grades, judgments, run
from poolaudit.errors import AuditError
from poolaudit.pairs import Contributor, build
from poolaudit.scores.lists import judged_lists
from poolaudit.scores.policies import evaluate
from poolaudit.tail import assessments


def assessed(text, probability=0.1):
    table = judgments(text).to_pandas().astype({"relevance": "Int16"})
    return table.assign(inclusion_probability=probability)


def rows(table):
    return [tuple(row.values()) for row in table.to_pylist()]


class TestFolding:
    def test_a_sample_with_its_probabilities(self):
        folded = assessments.fold_assessments(
            judgments("q1: a=1 c=0"), assessed("q1: b=2\nq0: z=0"), "sample"
        )
        assert folded.column_names == [
            "query_id", "doc_id", "relevance", "route", "inclusion_probability",
        ]  # fmt: skip
        assert rows(folded) == [
            ("q0", "z", 0, "sample", 0.1),
            ("q1", "a", 1, "pool", None),
            ("q1", "b", 2, "sample", 0.1),
            ("q1", "c", 0, "pool", None),
        ]

    def test_routes_of_earlier_versions_stay(self):
        first = assessments.fold_assessments(judgments("q1: a=1"), assessed("q1: b=2"), "sample")
        second = assessments.fold_assessments(first, assessed("q1: c=0"), "targeted")
        assert rows(second) == [
            ("q1", "a", 1, "pool", None),
            ("q1", "b", 2, "sample", 0.1),
            ("q1", "c", 0, "targeted", None),
        ]
        assert rows(first) == rows(second)[:2]

    def test_rows_without_a_grade_are_left_out(self):
        sheet = assessed("q1: b=2 c=1")
        sheet.loc[1, "relevance"] = pd.NA
        folded = assessments.fold_assessments(judgments("q1: a=1"), sheet, "sample")
        assert folded["doc_id"].to_pylist() == ["a", "b"]

    def test_pooled_but_not_judged_documents_get_their_grade(self):
        folded = assessments.fold_assessments(
            judgments("q1: a=1 b=-1"), assessed("q1: b=2"), "targeted"
        )
        assert rows(folded) == [
            ("q1", "a", 1, "pool", None),
            ("q1", "b", 2, "targeted", None),
        ]

    def test_the_same_grade_again_changes_nothing(self):
        old = judgments("q1: a=1 b=0")
        folded = assessments.fold_assessments(old, assessed("q1: a=1"), "sample")
        assert folded["route"].to_pylist() == ["pool", "pool"]

    def test_another_grade_is_refused_and_named(self):
        with pytest.raises(AuditError, match="2 documents have another grade") as error:
            assessments.fold_assessments(
                judgments("q1: a=1 b=0 c=2"), assessed("q1: a=2 b=1 c=2"), "sample"
            )
        assert "q1 a: 1 before, 2 now" in str(error.value)
        assert "q1 c" not in str(error.value)

    def test_a_document_assessed_twice_is_refused(self):
        with pytest.raises(AuditError, match="assessed twice"):
            assessments.fold_assessments(judgments("q1: a=1"), assessed("q1: b=1 b=1"), "sample")

    def test_a_sample_without_probabilities_is_refused(self):
        sheet = assessed("q1: b=1").drop(columns="inclusion_probability")
        with pytest.raises(AuditError, match="fold the documents in as targeted"):
            assessments.fold_assessments(judgments("q1: a=1"), sheet, "sample")

    def test_an_unknown_route_is_refused(self):
        with pytest.raises(AuditError, match="sample or targeted"):
            assessments.fold_assessments(judgments("q1: a=1"), assessed("q1: b=1"), "guess")

    def test_in_the_format_of_trec_eval(self):
        old = judgments("q1: a=1 c=-1")
        folded = assessments.fold_assessments(old, assessed("q1: b=2"), "targeted")
        assert assessments.trec_format(folded) == "q1 0 a 1\nq1 0 b 2\nq1 0 c -1\n"
        assert assessments.routes(folded) == {"pool": 2, "targeted": 1}
        assert assessments.routes(old) == {}


def compared(before, after, runs, measures, policy="nonrelevant"):
    both = assessments.union(judgments(before), judgments(after))
    pairs, rankings = build(both, [(Contributor(n, True), run(text)) for n, text in runs.items()])
    versions = grades(pairs, before), grades(pairs, after)
    found = assessments.compare_judgments(pairs, rankings, *versions, measures, policy)
    return found, pairs, rankings, versions


class TestComparing:
    def test_pairs_added_removed_and_regraded(self):
        found, *_ = compared(
            "q1: a=1 b=0 c=2 d=-1\nq2: e=1", "q1: a=0 b=0 d=1 f=1\nq2: e=1", {"A": "q1: a"}, ["P@1"]
        )
        assert found.queries.to_dict("records") == [
            {
                "query_id": "q1",
                "judged_before": 3,
                "judged_after": 4,
                "added": 2,  # d, f
                "removed": 1,  # c
                "regraded": 1,  # a
                "relevant_before": 2,
                "relevant_after": 2,
            },
            {
                "query_id": "q2",
                "judged_before": 1,
                "judged_after": 1,
                "added": 0,
                "removed": 0,
                "regraded": 0,
                "relevant_before": 1,
                "relevant_after": 1,
            },
        ]

    def test_coverage_of_what_each_run_returned(self):
        runs = {"A": "q1: a b c d", "B": "q1: x a"}
        found, *_ = compared("q1: a=1", "q1: a=1 b=0 c=0", runs, ["P@2", "AP"])
        table = found.runs.set_index(["measure", "run"])
        assert table["judged_before"].tolist() == [1 / 2, 1 / 2, 1 / 4, 1 / 2]
        assert table["judged_after"].tolist() == [1, 1 / 2, 3 / 4, 1 / 2]

    def test_others_documents_move_only_the_base(self):
        # A finds a of one relevant document before; z, which it lacks, makes that one of two.
        found, *_ = compared("q1: a=1", "q1: a=1 z=1", {"A": "q1: a b"}, ["R@5", "AP"])
        assert found.runs[["change", "own", "base"]].values.tolist() == [[-0.5, 0, -0.5]] * 2

    def test_own_documents_and_the_base_by_hand(self):
        # Recall before 1 of 1, after 2 of 3. Own: from 1/1 to 2/1 under the old R, from 1/3 to 2/3
        # under the new: (1 + 1/3) / 2. The base has the rest of the change of -1/3.
        found, *_ = compared("q1: a=1", "q1: a=1 b=1 z=1", {"A": "q1: a b"}, ["R@5"])
        row = found.runs.iloc[0]
        assert row["change"] == pytest.approx(-1 / 3)
        assert row["own"] == pytest.approx(2 / 3)
        assert row["base"] == pytest.approx(-1)

    def test_ideal_ranking_of_ndcg(self):
        found, *_ = compared("q1: a=1", "q1: a=1 z=1", {"A": "q1: a"}, ["nDCG@10"])
        row = found.runs.iloc[0]
        assert row["own"] == 0
        assert row["base"] == pytest.approx(1 / (1 + 1 / log2(3)) - 1)

    def test_measures_without_a_base_change_by_own_documents_only(self):
        runs = {"A": "q1: a b", "B": "q1: c a"}
        measures = ["P@2", "RR", "RBP(p=0.5,rel=1)"]
        found, *_ = compared("q1: a=1", "q1: a=1 b=1 c=1 z=1", runs, measures)
        assert (found.runs["base"] == 0).all()
        assert (found.runs["own"] == found.runs["change"]).all()
        assert found.runs["change"].tolist() == [0.5, 0.5, 0, 0.5, 0.25, 0.5]

    def test_parts_add_up_for_every_measure_and_policy(self):
        runs = {"A": "q1: a b c d e\nq2: k l", "B": "q1: x d a\nq2: l m k"}
        before, after = "q1: a=2 b=0 d=1\nq2: k=0", "q1: a=1 b=0 c=3 e=0 z=2\nq2: k=0 l=2 m=1"
        measures = ["nDCG@10", "nDCG", "NCG@3", "AP", "AP(rel=2)", "R@3", "Bpref", "infAP", "P@3"]
        for policy in ("nonrelevant", "condense"):
            found, pairs, rankings, versions = compared(before, after, runs, measures, policy)
            table = found.runs
            parts = table[["own", "base"]].sum(axis=1).to_numpy()
            assert parts == pytest.approx(table["change"].to_numpy())
            for name, version in zip(("score_before", "score_after"), versions, strict=True):
                lists = judged_lists(pairs, rankings, version)
                values = evaluate(lists, version, measures, policy).values
                assert table[name].to_numpy() == pytest.approx(values.mean(axis=2).ravel())

    def test_measures_of_ir_measures_are_not_split(self):
        found, *_ = compared("q1: a=1", "q1: a=1 z=1", {"A": "q1: a"}, ["Rprec"])
        row = found.runs.iloc[0]
        assert row["change"] == -0.5
        assert np.isnan([row["own"], row["base"]]).all()

    def test_means_are_over_the_queries_that_both_versions_judged(self):
        runs = {"A": "q1: a\nq2: b\nq3: c"}
        found, *_ = compared("q1: a=1\nq2: b=1", "q1: a=0\nq3: c=1", runs, ["P@1"])
        row = found.runs.iloc[0]
        assert (row["score_before"], row["score_after"]) == (1, 0)
        assert (row["judged_before"], row["judged_after"]) == (1, 1)
        assert found.record()["queries_compared"] == 1
        assert found.record()["pairs"]["removed"] == found.record()["pairs"]["added"] == 1

    def test_versions_of_different_queries_are_refused(self):
        with pytest.raises(AuditError, match="no query was judged in both"):
            compared("q1: a=1", "q2: a=1", {"A": "q1: a"}, ["P@1"])

    def test_policies_that_change_the_queries_compared_are_refused(self):
        with pytest.raises(AuditError, match="nonrelevant or condense"):
            compared("q1: a=1", "q1: a=1", {"A": "q1: a b"}, ["AP"], "restrict")

    def test_the_same_version_twice(self):
        found, *_ = compared("q1: a=1", "q1: a=1", {"A": "q1: a b"}, ["AP"])
        assert found.runs[["change", "own", "base"]].values.tolist() == [[0, 0, 0]]
        assert found.queries[["added", "removed", "regraded"]].values.tolist() == [[0, 0, 0]]


def test_union_has_the_new_grade_where_there_is_one():
    both = assessments.union(judgments("q1: a=1 b=0"), judgments("q1: a=2 c=1"))
    assert rows(both) == [("q1", "a", 2), ("q1", "b", 0), ("q1", "c", 1)]
    assert both.schema.field("relevance").type == pa.int16()
