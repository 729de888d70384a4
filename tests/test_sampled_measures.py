"""xinfAP and infNDCG: tables worked by hand, full judgments, and agreement on average."""

from __future__ import annotations

from math import log2

import numpy as np
import pyarrow as pa
import pytest

from literal import grades, tables
from poolaudit.errors import AuditError
from poolaudit.pairs import UNJUDGED
from poolaudit.scores.lists import judged_lists
from poolaudit.scores.policies import evaluate
from poolaudit.tail import calibration, sampling
from poolaudit.tail.sampled_measures import from_frame, infndcg, sampled_judgments, xinfap


def strata(pairs, **names):
    """A stratum number for the documents named in each; -1 elsewhere."""
    docs = pairs.doc_id.to_pylist()
    vector = np.full(len(pairs), -1, np.int32)
    for number, members in names.items():
        for doc in members.split():
            vector[docs.index(doc)] = int(number[1:])
    return vector


@pytest.fixture
def small():
    """Stratum 0 is judged in full: a, z. Of b, c, d, f in stratum 1, b and d were drawn."""
    pairs, rankings = tables("q1: a=2 z=1", {"A": "q1: a b c d e", "B": "q1: z f"})
    return sampled_judgments(
        pairs,
        rankings,
        strata(pairs, s0="a z", s1="b c d f"),
        grades(pairs, "q1: a=2 z=1 b=0 d=1"),
    )


class TestXinfAP:
    def test_by_hand(self, small):
        # R = 2 judged + 4 * 1/2 = 4. At a, rank 1, precision is 1. Above d, rank 4, stand a, which
        # is relevant, and two of stratum 1, of which one was drawn and is not: 1/4 + 1/4 + 0.
        # A: a, z (not retrieved) stand for 2 with mean 1/2; d stands for 2 with mean 1/2.
        assert xinfap(small)[0, 0] == pytest.approx((2 * (1 + 0) / 2 + 2 * 1 / 2) / 4, abs=1e-4)
        # B: z at rank 1 only.
        assert xinfap(small)[1, 0] == pytest.approx(2 * (1 + 0) / 2 / 4, abs=1e-4)

    def test_at_a_higher_level(self, small):
        # Only a has grade 2: R = 1.
        assert xinfap(small, level=2).tolist() == [[1], [0]]

    def test_half_of_what_nobody_sampled_above_is_taken_for_relevant(self):
        pairs, rankings = tables("q1: c=1", {"A": "q1: b c"})
        vector = grades(pairs, "q1: c=1")
        sample = sampled_judgments(pairs, rankings, strata(pairs, s0="b c"), vector)
        # R = 2 * 1/1. At c, rank 2: 1/2 + (1/2) * e / 2e.
        assert xinfap(sample)[0, 0] == pytest.approx(0.75)


class TestInfNDCG:
    def test_by_hand(self, small):
        # d stands for 4/2 documents. Ideal: one of grade 2; of grade 1 z and the two of d.
        ideal = 2 + 1 / log2(3) + 1 / log2(4) + 1 / log2(5)
        assert infndcg(small)[0, 0] == pytest.approx((2 + 2 / log2(5)) / ideal)
        assert infndcg(small)[1, 0] == pytest.approx(1 / ideal)

    def test_cut(self, small):
        ideal = 2 + 1 / log2(3) + 1 / log2(4)
        assert infndcg(small, cutoff=3)[0, 0] == pytest.approx(2 / ideal)

    def test_with_the_weights_of_sample_eval(self, small):
        # Three documents of stratum 1 are in the list, two of them sampled.
        ideal = 2 + 1 / log2(3) + 1 / log2(4) + 1 / log2(5)
        value = infndcg(small, weights="retrieved")[0, 0]
        assert value == pytest.approx((2 + 1.5 / log2(5)) / ideal)


@pytest.mark.parametrize("measure", [xinfap, infndcg])
class TestBoth:
    def test_unanswered_query_scores_0(self, measure):
        pairs, rankings = tables("q1: a=1\nq2: b=1", {"A": "q1: a\nq2: b", "B": "q1: a"})
        sample = sampled_judgments(pairs, rankings, strata(pairs, s0="a b"), pairs.relevance)
        assert measure(sample)[1, 1] == 0

    def test_query_without_relevant_documents_scores_0(self, measure):
        pairs, rankings = tables("q1: a=0", {"A": "q1: a"})
        sample = sampled_judgments(pairs, rankings, strata(pairs, s0="a"), pairs.relevance)
        assert measure(sample).tolist() == [[0]]

    def test_no_value_where_a_stratum_has_no_sample(self, measure):
        pairs, rankings = tables("q1: a=1\nq2: b=1", {"A": "q1: a x\nq2: b", "B": "q2: b"})
        sample = sampled_judgments(
            pairs, rankings, strata(pairs, s0="a b", s1="x"), pairs.relevance
        )
        assert np.isnan(measure(sample)).tolist() == [[True, False], [True, False]]


def synthetic():
    rng = np.random.default_rng(3)
    runs = {
        f"r{r}": "\n".join(
            f"q{q}: " + " ".join(f"d{d:02d}" for d in np.argsort(np.arange(80) + 25 * noise)[:60])
            for q, noise in enumerate(rng.normal(size=(2, 80)))
        )
        for r in range(5)
    }
    qrels = "\n".join(
        f"q{q}: " + " ".join(f"d{d:02d}={g}" for d, g in enumerate(row))
        for q, row in enumerate(rng.choice(3, (2, 80), p=[0.7, 0.2, 0.1]))
    )
    return tables(qrels, runs)


def test_everything_judged_gives_ap_and_ndcg():
    pairs, rankings = synthetic()
    sample = sampled_judgments(pairs, rankings, np.zeros(len(pairs), np.int32), pairs.relevance)
    lists = judged_lists(pairs, rankings)
    true = evaluate(lists, pairs.relevance, ["AP(rel=2)", "nDCG", "nDCG@10"]).values
    assert xinfap(sample, 2) == pytest.approx(true[0], abs=1e-3)
    assert infndcg(sample) == pytest.approx(true[1])
    assert infndcg(sample, 10) == pytest.approx(true[2])


def test_close_to_the_truth_over_many_samples():
    pairs, rankings = synthetic()
    judged = pairs.grades(5)
    held_back = np.setdiff1d(calibration.held_back(pairs, 5), np.flatnonzero(judged >= 0))
    everything = judged.copy()
    everything[held_back] = pairs.relevance[held_back]
    truth = evaluate(judged_lists(pairs, rankings), everything, ["AP", "nDCG"]).values
    frame = sampling.stratify(pairs, held_back, 40, "by-query")
    values = []
    for seed in range(100):
        drawn, _ = sampling.draw(pairs, frame, seed)
        found = np.full(len(pairs), UNJUDGED, np.int16)
        keys = (pa.array(drawn[name], pa.string()) for name in ("query_id", "doc_id"))
        rows = pairs.rows_of(*(pa.chunked_array([key]) for key in keys))
        found[rows] = pairs.relevance[rows]
        sample = from_frame(pairs, rankings, judged, frame, found)
        values.append([xinfap(sample), infndcg(sample)])
    mean = np.mean(values, axis=0)
    assert np.abs(mean - truth).max() < 0.05


def test_a_sample_over_all_queries_is_refused():
    pairs, rankings = synthetic()
    frame = sampling.stratify(pairs, calibration.held_back(pairs, 5), 20)
    with pytest.raises(AuditError, match="drawn within queries"):
        from_frame(pairs, rankings, pairs.grades(5), frame, pairs.relevance)
