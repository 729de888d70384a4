"""The demo's systems on documents small enough to score by hand."""

from __future__ import annotations

from math import log, log2

import numpy as np
import pytest
from scipy import sparse

from poolaudit.campaign import retrieval
from poolaudit.campaign.retrieval import Index, Task, top_documents

# Words:          a  b  c  d
COUNTS = np.array(
    [
        [2, 0, 1, 1],  # length 4
        [1, 1, 0, 0],  # length 2
        [0, 0, 3, 3],  # length 6: holds no word of the title
    ]
)
TITLE = np.array([[1.0, 1.0, 0.0, 0.0]])  # a b
LENGTHS, MEAN = (4, 2, 6), 4
IDF = {"a": log(1 + 1.5 / 2.5), "b": log(1 + 2.5 / 1.5)}


@pytest.fixture
def task() -> Task:
    examples = np.array([[[1.0, 0, 0, 3], [4, 0, 0, 0]]])
    related = np.array([[0.0, 0, 1, 0]])
    return Task(Index(sparse.csr_array(COUNTS.astype(float))), TITLE, related, examples, seed=1)


def returned(scores: np.ndarray) -> list[float]:
    """Scores of the first two documents; the third holds no title word and is not returned."""
    assert scores.shape == (1, 3)
    assert scores[0, 2] == -np.inf
    return scores[0, :2].tolist()


def test_bm25(task):
    first = IDF["a"] * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 4 / MEAN))
    second = (IDF["a"] + IDF["b"]) * 1 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / MEAN))
    assert returned(retrieval.bm25(task, k1=1.2, b=0.75)) == pytest.approx([first, second])


def test_pivoted_tfidf(task):
    first = IDF["a"] * (1 + log(1 + log(2))) / (0.8 + 0.2 * 4 / MEAN)
    second = (IDF["a"] + IDF["b"]) / (0.8 + 0.2 * 2 / MEAN)
    assert returned(retrieval.pivoted(task, slope=0.2)) == pytest.approx([first, second])


def test_inl2(task):
    first_tf, second_tf = 2 * log2(1 + MEAN / 4), log2(1 + MEAN / 2)
    first = log2(4 / 2.5) * first_tf / (first_tf + 1)
    second = (log2(4 / 2.5) + log2(4 / 1.5)) * second_tf / (second_tf + 1)
    assert returned(retrieval.inl2(task, c=1)) == pytest.approx([first, second])


@pytest.mark.parametrize(
    ("system", "smooth"),
    [
        (retrieval.dirichlet, lambda tf, length, p: (tf + 10 * p) / (length + 10)),
        (retrieval.jelinek_mercer, lambda tf, length, p: 0.7 * tf / length + 0.3 * p),
    ],
)
def test_query_likelihood_up_to_a_constant(task, system, smooth):
    """Scores differ by what the log likelihoods of the query "a b" differ by."""
    p = COUNTS.sum(axis=0) / COUNTS.sum()
    likelihood = [
        sum(log(smooth(COUNTS[doc, word], LENGTHS[doc], p[word])) for word in (0, 1))
        for doc in (0, 1)
    ]
    parameter = {"mu": 10} if system is retrieval.dirichlet else {"smoothing": 0.3}
    first, second = returned(system(task, **parameter))
    assert first - second == pytest.approx(likelihood[0] - likelihood[1])


def test_feedback_learns_words_that_stand_out(task):
    """In the first example, "d" makes up 3/4 against 4/12 of the collection, "a" 1/4 against 3/12.

    So "d" is learned and "a" is not, and the document that lacks "d" is not returned.
    """
    scores = retrieval.feedback(task, words=1, title=1, examples=1)
    assert scores[0, 1] == -np.inf
    assert scores[0, 2] > scores[0, 0] > 0


def test_feedback_without_the_title_words(task):
    """With both examples "a" makes up 5/8 and is learned; weighted 0, it finds nothing."""
    assert np.isfinite(retrieval.feedback(task, words=1, title=1, examples=2)[0, :2]).all()
    assert (retrieval.feedback(task, words=1, title=0, examples=2) == -np.inf).all()


def test_dense_finds_related_words_without_the_title(task):
    """A document of nothing but "c", which belongs to the topic, beats one of nothing but "d"."""
    counts = np.array([[0, 0, 5, 0], [0, 0, 0, 5]] * 2, dtype=float)
    other = Task(Index(sparse.csr_array(counts)), TITLE, task.related, task.examples, seed=1)
    scores = retrieval.dense(other, encoder=1, closeness=5)[0]
    assert scores[0] > scores[1]
    assert scores[0] == scores[2]


def test_dense_encoders_differ_and_repeat(task):
    one, again, two = (retrieval.dense(task, encoder=n, closeness=0.5) for n in (1, 1, 2))
    assert np.array_equal(one, again)
    assert not np.allclose(one, two)


def test_ties_are_broken_by_document_descending_also_at_the_cut():
    scores = np.array([[1, 3, 3, 3, 2], [5, -np.inf, -np.inf, 7, -np.inf]])
    ranking = top_documents(scores, depth=2)
    assert ranking.topic.tolist() == [0, 0, 1, 1]
    assert ranking.document.tolist() == [3, 2, 3, 0]
    assert ranking.score.tolist() == [3, 3, 7, 5]
    assert ranking.rank.tolist() == [1, 2, 1, 2]


def test_fewer_documents_than_the_depth():
    ranking = top_documents(np.array([[0.5, -np.inf]]), depth=10)
    assert ranking.document.tolist() == [0]
