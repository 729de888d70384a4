"""Retrieval for the demo campaign: small, real systems over an index of word counts.

Every system takes a `Task` and gives scores, an array (topics, documents), where -inf means "not
returned". They are textbook forms. `top_documents` puts scores in order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from scipy import sparse


@dataclass(frozen=True)
class Index:
    """Word counts of a collection: a CSR matrix (documents, vocabulary) of floats above zero."""

    counts: sparse.csr_array

    @property
    def frequencies(self) -> np.ndarray:
        """Frequency of the word in the document, one value a stored count."""
        return self.counts.data

    @cached_property
    def lengths(self) -> np.ndarray:
        """Words in each document."""
        return np.asarray(self.counts.sum(axis=1), dtype=float)

    @cached_property
    def stored_lengths(self) -> np.ndarray:
        """Length of the document, one value a stored count."""
        return np.repeat(self.lengths, np.diff(self.counts.indptr))

    @cached_property
    def document_frequency(self) -> np.ndarray:
        """Documents that hold each word."""
        return np.bincount(self.counts.indices, minlength=self.counts.shape[1])

    @cached_property
    def probability(self) -> np.ndarray:
        """Share of each word among all words of the collection."""
        totals = np.bincount(
            self.counts.indices, weights=self.frequencies, minlength=self.counts.shape[1]
        )
        return totals / totals.sum()

    @cached_property
    def idf(self) -> np.ndarray:
        """log(1 + (N - df + 1/2) / (df + 1/2)) of each word, never below zero."""
        df = self.document_frequency
        return np.log1p((len(self.lengths) - df + 0.5) / (df + 0.5))

    def weighted(self, weights: np.ndarray) -> sparse.csr_array:
        """The index with `weights`, one a stored count, in place of the counts."""
        from scipy import sparse

        parts = (weights, self.counts.indices, self.counts.indptr)
        return sparse.csr_array(parts, shape=self.counts.shape)


@dataclass(frozen=True)
class Task:
    """What a system may see.

    Args:
        index: the documents to search.
        titles: title words, a 0/1 array (topics, vocabulary).
        related: words that belong to a topic without standing in its title, 0/1, same shape. Only
            dense systems see it, through the blur of their word vectors.
        examples: counts (topics, examples, vocabulary) of relevant documents of an
            earlier collection on the same topics. Only feedback systems see them.
        seed: of the campaign.
    """

    index: Index
    titles: np.ndarray
    related: np.ndarray
    examples: np.ndarray
    seed: int


def _match(
    index: Index, queries: np.ndarray, weights: np.ndarray, rest: float | np.ndarray = 0.0
) -> np.ndarray:
    """Sum the weights of matching words (all positive); add `rest` to documents that match."""
    from scipy import sparse

    sums = (sparse.csr_array(queries) @ index.weighted(weights).T).toarray()
    return np.where(sums > 0, sums + rest, -np.inf)


def _bm25(index: Index, queries: np.ndarray, k1: float, b: float) -> np.ndarray:
    tf = index.frequencies
    norm = k1 * (1 - b + b * index.stored_lengths / index.lengths.mean())
    return _match(index, queries, index.idf[index.counts.indices] * tf * (k1 + 1) / (tf + norm))


def bm25(task: Task, k1: float, b: float) -> np.ndarray:
    """BM25 of the title words (Robertson, Walker and others, 1994)."""
    return _bm25(task.index, task.titles, k1, b)


def pivoted(task: Task, slope: float) -> np.ndarray:
    """TF-IDF, (1 + log(1 + log tf)) idf, with pivoted length normalisation (Singhal, 1996)."""
    index = task.index
    tf = 1 + np.log1p(np.log(index.frequencies))
    norm = 1 - slope + slope * index.stored_lengths / index.lengths.mean()
    return _match(index, task.titles, tf * index.idf[index.counts.indices] / norm)


def inl2(task: Task, c: float) -> np.ndarray:
    """Divergence from randomness, the model InL2 (Amati and van Rijsbergen, 2002)."""
    index = task.index
    tf = index.frequencies * np.log2(1 + c * index.lengths.mean() / index.stored_lengths)
    information = np.log2((len(index.lengths) + 1) / (index.document_frequency + 0.5))
    return _match(index, task.titles, information[index.counts.indices] * tf / (tf + 1))


def dirichlet(task: Task, mu: float) -> np.ndarray:
    """Query likelihood with Dirichlet smoothing (Zhai and Lafferty, 2001).

    Up to a constant of the query: sum of log(1 + tf / (mu p)) + |q| log(mu / (length + mu)).
    """
    index = task.index
    weights = np.log1p(index.frequencies / (mu * index.probability[index.counts.indices]))
    rest = task.titles.sum(axis=1)[:, None] * np.log(mu / (index.lengths + mu))
    return _match(index, task.titles, weights, rest)


def jelinek_mercer(task: Task, smoothing: float) -> np.ndarray:
    """Query likelihood with linear smoothing (Zhai and Lafferty, 2001), up to a constant."""
    index = task.index
    ratio = index.frequencies / index.stored_lengths / index.probability[index.counts.indices]
    return _match(index, task.titles, np.log1p((1 - smoothing) / smoothing * ratio))


def dense(
    task: Task,
    encoder: int,
    closeness: float,
    noise: float = 0.5,
    shared: float = 0.75,
    dimensions: int = 64,
) -> np.ndarray:
    """Inner product of a query vector with the tf-idf mean of a document's word vectors.

    Word vectors are random, those of a topic's words drawn towards the topic's direction by a
    random amount of at most `closeness`: the encoder knows, more or less, what goes together.
    The query vector is that direction plus `noise`. So relevance is latent and blurred, and words
    of the title count no more than others.

    Args:
        encoder: number of the encoder, from 1; it and the campaign's seed fix the random parts.
        shared: share of variance common to all encoders, as if trained on the same text.
    """
    index, (topics, vocabulary) = task.index, task.titles.shape
    common, own = (np.random.default_rng([task.seed, 1, number]) for number in (0, encoder))
    shape = (vocabulary + 2 * topics, dimensions)
    drawn = np.sqrt(shared) * common.standard_normal(shape)
    drawn += np.sqrt(1 - shared) * own.standard_normal(shape)
    words, directions, errors = np.split(drawn, [vocabulary, vocabulary + topics])
    known = (task.titles + task.related) * common.random((topics, vocabulary))
    # einsum and not a matrix product: the sums must not depend on the machine's BLAS and threads.
    words += closeness * np.einsum("tv,td->vd", known, directions)
    affinity = np.einsum("td,vd->vt", directions + noise * errors, words) / dimensions
    tfidf = (1 + np.log(index.frequencies)) * index.idf[index.counts.indices]
    return (index.weighted(tfidf / index.stored_lengths) @ affinity).T


def feedback(task: Task, words: int, title: float, examples: int) -> np.ndarray:
    """BM25 of the words learned from the first `examples` relevant documents of each topic.

    A word's weight is its part in the divergence of these documents from the collection,
    share times log(share / collection's share) (Carpineto and others, 2001); the best `words` are
    kept. Title words are learned like others; their weight is multiplied by `title`, so that a
    value below one makes a searcher who leans on other words.
    """
    counts = task.examples[:, :examples].sum(axis=1)
    share = counts / counts.sum(axis=1, keepdims=True)
    known = (share > 0) & (task.index.probability > 0)
    ratio = np.divide(share, task.index.probability, out=np.ones_like(share), where=known)
    gain = np.maximum(share * np.log(ratio), 0)
    least = np.partition(gain, -words, axis=1)[:, [-words]]
    queries = np.where(gain >= least, gain, 0) * np.where(task.titles > 0, title, 1)
    return _bm25(task.index, queries, k1=1.2, b=0.75)


class Ranking(NamedTuple):
    """Returned documents of all topics, topic by topic, best first: three arrays of one length."""

    topic: np.ndarray
    document: np.ndarray
    score: np.ndarray

    @property
    def rank(self) -> np.ndarray:
        """Rank from 1 within the topic."""
        return np.arange(len(self.topic)) - np.searchsorted(self.topic, self.topic) + 1


def top_documents(scores: np.ndarray, depth: int) -> Ranking:
    """The first `depth` documents of each topic by score descending, ties by document descending.

    With documents numbered in byte order of their ids this is trec_eval's rule.

    Args:
        scores: array (topics, documents); -inf means "not returned".
        depth: most documents a topic.
    """
    depth = min(depth, scores.shape[1])
    least = -np.partition(-scores, depth - 1, axis=1)[:, [depth - 1]]
    topic, document = np.nonzero((scores >= least) & (scores > -np.inf))
    order = np.lexsort((-document, -scores[topic, document], topic))
    topic, document = topic[order], document[order]
    ranking = Ranking(topic, document, scores[topic, document])
    kept = ranking.rank <= depth
    return Ranking(*(column[kept] for column in ranking))
