"""What a judged sample of the tail means for each run."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from literal import grades, tables
from poolaudit.scores.lists import judged_lists
from poolaudit.scores.policies import evaluate
from poolaudit.tail import sampling
from poolaudit.tail.by_run import by_run, grades_in
from poolaudit.tail.sampled_measures import from_frame, infndcg, xinfap


@pytest.fixture
def small():
    """a and z are judged and relevant. A returns b and c of the tail, B returns c, d and e."""
    return tables("q1: a=1 z=2", {"A": "q1: a b c", "B": "q1: c d e"})


def frame(pairs, design="total", size=2):
    return sampling.stratify(pairs, sampling.population(pairs, pairs.relevance), size, design)


def test_grades_of_a_sheet(small):
    pairs, _ = small
    sheet = pd.DataFrame(
        {"query_id": "q1", "doc_id": ["c", "e"], "relevance": pd.array([1, None], "Int16")}
    )
    assert (grades_in(pairs, sheet) == grades(pairs, "q1: c=1")).all()


class TestRecall:
    @pytest.fixture
    def table(self, small):
        pairs, rankings = small
        one_stratum = frame(pairs, "by-query", size=1)
        assert len(one_stratum.strata) == 1
        found = grades(pairs, "q1: c=1 e=0")
        return by_run(pairs, rankings, pairs.relevance, one_stratum, found, [1, 2]).set_index(
            ["level", "run"]
        )

    def test_of_the_judgments_alone(self, table):
        assert table["returned"].tolist() == [1, 0, 0, 0]
        assert table["base"].tolist() == [2, 2, 1, 1]
        assert table["recall"].tolist() == [0.5, 0, 0, 0]

    def test_with_what_the_sample_stands_for(self, table):
        # c is one of two judged of four: it stands for two documents, and both runs returned it.
        assert table["sampled"].tolist() == [1, 1, 0, 0]
        assert table["returned_tail"].tolist() == [2, 2, 0, 0]
        assert table["base_tail"].tolist() == [2, 2, 0, 0]
        assert table["recall_estimated"].tolist() == [3 / 4, 2 / 4, 0, 0]


def test_scores_stand_beside_their_estimates_where_the_sample_is_by_query(small):
    pairs, rankings = small
    by_query, found = frame(pairs, "by-query", size=4), grades(pairs, "q1: b=0 c=1 d=2 e=0")
    table = by_run(pairs, rankings, pairs.relevance, by_query, found, [1])
    sample = from_frame(pairs, rankings, pairs.relevance, by_query, found)
    lists = judged_lists(pairs, rankings)
    expected = evaluate(lists, pairs.relevance, ["AP", "nDCG"]).values[:, :, 0]
    assert table[["ap", "ndcg"]].to_numpy() == pytest.approx(expected.T)
    assert table["xinfap"].tolist() == xinfap(sample)[:, 0].tolist()
    assert table["infndcg"].tolist() == infndcg(sample)[:, 0].tolist()


def test_no_estimated_scores_of_a_sample_over_all_queries(small):
    pairs, rankings = small
    table = by_run(pairs, rankings, pairs.relevance, frame(pairs), grades(pairs, "q1: c=1"), [1])
    assert table["ap"].tolist() == [1 / 2, 0]
    assert np.isnan(table[["xinfap", "infndcg", "ap_true", "recall_true"]].to_numpy()).all()


def test_the_truth_where_the_whole_tail_is_known(small):
    pairs, rankings = small
    known = grades(pairs, "q1: b=0 c=1 d=0 e=2")
    table = by_run(
        pairs, rankings, pairs.relevance, frame(pairs), grades(pairs, "q1: c=1"), [1], known
    )
    # Relevant are a and z of the judgments, c and e of the tail; A has a first and c third, B has
    # c first and e third.
    assert table["recall_true"].tolist() == [2 / 4, 2 / 4]
    assert table["ap_true"].tolist() == pytest.approx([(1 + 2 / 3) / 4] * 2)
