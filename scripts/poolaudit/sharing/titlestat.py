"""titlestat: how much a set of documents is made of the words of the query's title.

Pools that are shallow for the size of their collection hold relevant documents that say the title's
words and lack those that use others (Buckley, Dimmick, Soboroff and Voorhees 2007). titlestat shows
it: 1 when every document of a set holds every title word, as far as there are documents enough that
do. Its level depends on the collection and its topics; only differences on the same queries are
evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from poolaudit.errors import AuditError
from poolaudit.pairs import Pairs, Rankings

# Words of English grammar, which name no subject: articles, conjunctions, prepositions, pronouns,
# auxiliary verbs, question words and the like.
STOP_WORDS = frozenset(
    """
    a an the this that these those some any each every no not nor such
    and or but if then than because so as while though although unless until
    of in on at by for from to into onto with without within about against between among
    through during before after above below over under up down out off per via
    i me my mine we us our ours you your yours he him his she her hers it its they them their theirs
    who whom whose which what when where why how
    am is are was were be been being do does did doing have has had having
    can could may might must shall should will would
    there here also only very too own same other more most both all few again further once
    """.split()  # noqa: SIM905
)
LANGUAGE = "english"
NOT_IN_WORDS = r"[^\p{L}\p{N}]+"


class Analyser:
    """From text to terms: words in lower case, without function words, stemmed (Porter 2001).

    A word is a row of letters and digits. The English stemmer of Snowball is used on all words,
    whatever the language of the text.
    """

    def __init__(self) -> None:
        import snowballstemmer

        self._stem = snowballstemmer.stemmer(LANGUAGE).stemWord
        self._known: dict[str, str | None] = {}

    def words(self, texts: pa.Array) -> pa.ListArray:
        """The words of each text, in lower case; a null text has none."""
        lower = pc.utf8_lower(pc.fill_null(texts, ""))
        return pc.split_pattern_regex(lower, NOT_IN_WORDS)

    def term(self, word: str) -> str | None:
        """The stem of a word; None for a function word and for no word at all."""
        if word not in self._known:
            dropped = not word or word in STOP_WORDS
            self._known[word] = None if dropped else self._stem(word)
        return self._known[word]

    def terms(self, text: str) -> list[str]:
        """The distinct terms of a text, in order of first use."""
        found = map(self.term, self.words(pa.array([text]))[0].as_py())
        return list(dict.fromkeys(term for term in found if term is not None))

    @property
    def described(self) -> dict[str, Any]:
        """What was chosen, for the record."""
        return {
            "words": "rows of letters and digits, in lower case",
            "stop_words": f"{len(STOP_WORDS)} English function words of this project",
            "stemmer": f"Snowball {LANGUAGE}, snowballstemmer {version('snowballstemmer')}",
        }


@dataclass(frozen=True)
class TitleWords:
    """Which pairs' documents hold which title terms.

    Attributes:
        terms: for each query its title terms, stopped and stemmed.
        frequency: int64[queries, most terms], the number of documents of the corpus that hold each
            term; 0 for a term of no document and past a title's end.
        holds: bool[pairs, most terms], whether the pair's document holds the term of its query.
        documents: the number of documents in the corpus.
    """

    terms: tuple[tuple[str, ...], ...]
    frequency: np.ndarray
    holds: np.ndarray
    documents: int

    @cached_property
    def counted(self) -> np.ndarray:
        """int64[queries], |T|: the title terms that any document of the corpus holds."""
        return np.count_nonzero(self.frequency, axis=1)


def find_title_words(
    pairs: Pairs, titles: Mapping[str, str], documents: pa.Table | Iterable[pa.RecordBatch]
) -> TitleWords:
    """Read the whole corpus once, and note where title words stand.

    Args:
        pairs: the pairs.
        titles: the title of each query by its id; a query that it lacks has no terms.
        documents: doc_id, text of every document of the collection, in any order: a table, or
            batches for a corpus larger than memory. Frequencies from a part of it make another
            statistic, so a document that the pairs name has to be there.

    Raises:
        AuditError: documents of the pairs are missing, or an id stands twice.
    """
    analyser = Analyser()
    terms = tuple(tuple(analyser.terms(titles.get(query, ""))) for query in pairs.query_ids)
    vocabulary = {term: i for i, term in enumerate(sorted({t for title in terms for t in title}))}
    corpus = _scan(analyser, vocabulary, pairs.doc_id.unique(), documents)

    most = max(map(len, terms), default=0)
    code = np.full((len(terms), most), -1)
    for query, title in enumerate(terms):
        code[query, : len(title)] = [vocabulary[term] for term in title]
    document = pc.index_in(pairs.doc_id, value_set=corpus.wanted).to_numpy()
    return TitleWords(
        terms=terms,
        frequency=np.where(code >= 0, corpus.frequency[code], 0),
        holds=corpus.holds[document[:, None], code[pairs.query]] & (code >= 0)[pairs.query],
        documents=corpus.documents,
    )


@dataclass
class _Corpus:
    """What a scan finds; the last place of each row of terms stands for no term.

    Attributes:
        wanted: the ids of the pairs' documents.
        frequency: int64[vocabulary + 1], the documents that hold each term.
        holds: bool[wanted, vocabulary + 1].
        documents: how many were read.
    """

    wanted: pa.Array
    frequency: np.ndarray
    holds: np.ndarray
    documents: int


def _scan(
    analyser: Analyser,
    vocabulary: Mapping[str, int],
    wanted: pa.Array,
    documents: pa.Table | Iterable[pa.RecordBatch],
) -> _Corpus:
    corpus = _Corpus(
        wanted,
        np.zeros(len(vocabulary) + 1, np.int64),
        np.zeros((len(wanted), len(vocabulary) + 1), bool),
        0,
    )
    times = np.zeros(len(wanted), np.int64)
    batches = documents.to_batches(10_000) if isinstance(documents, pa.Table) else documents
    for batch in batches:
        row, term = _find_terms(analyser, vocabulary, batch["text"].cast(pa.string()))
        found = pc.index_in(batch["doc_id"].cast(pa.string()), value_set=wanted)
        document = pc.fill_null(found, -1).to_numpy()
        known = document[row] >= 0
        corpus.frequency += np.bincount(term, minlength=len(corpus.frequency))
        corpus.holds[document[row][known], term[known]] = True
        corpus.documents += batch.num_rows
        times += np.bincount(document[document >= 0], minlength=len(wanted))
    _check_documents(wanted, times)
    return corpus


def _find_terms(
    analyser: Analyser, vocabulary: Mapping[str, int], texts: pa.Array
) -> tuple[np.ndarray, np.ndarray]:
    """The rows and the vocabulary's terms that stand in them, each pair of them once."""
    words = analyser.words(texts)
    row = pc.list_parent_indices(words).to_numpy()
    # A word is stemmed once, however often it stands in the text.
    encoded = pc.list_flatten(words).dictionary_encode()
    codes = [vocabulary.get(analyser.term(word), -1) for word in encoded.dictionary.to_pylist()]
    term = np.array(codes, np.int64)[encoded.indices.to_numpy()]
    found = term >= 0
    key = np.unique(row[found] * len(vocabulary) + term[found])
    return np.divmod(key, max(1, len(vocabulary)))


def _check_documents(wanted: pa.Array, times: np.ndarray) -> None:
    part = "give the whole collection; from a part of it titlestat is another statistic"
    for wrong, what, todo in (
        (times == 0, "lack", part),
        (times > 1, "have more than once", "keep one text of each document"),
    ):
        if wrong.any():
            ids = wanted.filter(pa.array(wrong)).slice(0, 5).to_pylist()
            raise AuditError(
                f"The documents {what} {wrong.sum()} of the {len(wanted)} judged or returned ones.",
                found=", ".join(ids) + (", ..." if wrong.sum() > 5 else ""),
                expected="doc_id and text of every document of the collection, once each",
                todo=todo,
            )


def titlestat(
    words: TitleWords, pairs: Pairs, rows: np.ndarray, of: np.ndarray, n_sets: int
) -> np.ndarray:
    """titlestat of sets of documents: (1 / |T|) sum over t of |C_t| / min(|C|, df_t).

    T are the title's terms that any document of the corpus holds, C a set of documents, C_t those
    of them that hold t, df_t the documents of the corpus that do.

    Args:
        words: where title words stand.
        pairs: the pairs.
        rows: int[entries], pairs that belong to sets; each at most once in each set.
        of: int[entries], the set of each, from 0; a set has one C in each query.
        n_sets: the number of sets.

    Returns:
        float64[sets, queries]; NaN where C is empty or T is.
    """
    n_queries, most = words.frequency.shape
    cell = of * n_queries + pairs.query[rows]
    size = np.bincount(cell, minlength=n_sets * n_queries).reshape(n_sets, n_queries)
    total = np.zeros((n_sets, n_queries))
    for t in range(most):
        holding = cell[words.holds[rows, t]]
        holding = np.bincount(holding, minlength=n_sets * n_queries).reshape(n_sets, n_queries)
        possible = np.minimum(size, words.frequency[:, t])
        total += np.divide(holding, possible, out=np.zeros_like(total), where=possible > 0)
    answered = (size > 0) & (words.counted > 0)
    return np.divide(total, words.counted, out=np.full_like(total, np.nan), where=answered)


def of_relevant(words: TitleWords, pairs: Pairs, level: int = 1) -> np.ndarray:
    """float64[queries]: titlestat of the judged documents with grade `level` or above."""
    rows = np.flatnonzero(pairs.relevance >= level)
    return titlestat(words, pairs, rows, np.zeros(len(rows), int), 1)[0]


def of_runs(words: TitleWords, pairs: Pairs, rankings: Rankings, depth: int) -> np.ndarray:
    """float64[runs, queries]: titlestat of each run's first `depth` documents."""
    top = np.flatnonzero(rankings.rank <= depth)
    run = rankings.list_run[rankings.list_of[top]]
    return titlestat(words, pairs, rankings.pair[top], run, len(rankings.runs))


def of_best_ranks(
    words: TitleWords, pairs: Pairs, bands: Iterable[int], level: int | None = None
) -> np.ndarray:
    """titlestat of the pool by the rank at which it first reached a document.

    Args:
        words, pairs: where title words stand, and the pairs.
        bands: the last rank of each band, ascending; the first band starts at rank 1.
        level: count the relevant documents only: grade `level` or above. None: all.

    Returns:
        float64[bands, queries].
    """
    bands = list(bands)
    band = np.searchsorted(bands, pairs.best_rank)
    chosen = (band < len(bands)) & (True if level is None else pairs.relevance >= level)
    rows = np.flatnonzero(chosen)
    return titlestat(words, pairs, rows, band[rows], len(bands))


def mean_difference(one: np.ndarray, other: np.ndarray) -> tuple[float, int]:
    """Mean of one - other over the queries where both have a value, and how many these are."""
    both = np.isfinite(one) & np.isfinite(other)
    return (float((one - other)[both].mean()) if both.any() else float("nan")), int(both.sum())
