"""titlestat by hand on ten documents, and what it refuses."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from literal import tables
from poolaudit.errors import AuditError
from poolaudit.sharing import titlestat

# df: storm 6 (d1 d2 d3 d4 d5 d9), damage 3 (d1 d2 d6); "the" and "of" are dropped as function
# words, "zeppelin" as a word of no document.
TEXTS = {
    "d1": "Storm damages",
    "d2": "the damage of storms",
    "d3": "storm",
    "d4": "STORM, storm!",
    "d5": "after the storm",
    "d6": "damaged roofs",
    "d7": "wind and rain",
    "d8": "gale",
    "d9": "stormed",
    "d10": "",
}
TITLES = {"q1": "The damage of storms; zeppelin"}


def corpus(texts=TEXTS) -> pa.Table:
    return pa.table({"doc_id": list(texts), "text": pa.array(texts.values(), pa.string())})


def words(qrels: str, runs: dict[str, str], **kwargs):
    pairs, rankings = tables(qrels, runs, **kwargs)
    return titlestat.find_title_words(pairs, TITLES, corpus()), pairs, rankings


def of_documents(documents: str) -> float:
    """titlestat of a set of documents."""
    found, pairs, _ = words(
        "q1: " + " ".join(f"{d}=1" for d in documents.split()), {"r": "q1: d10"}
    )
    return titlestat.of_relevant(found, pairs)[0]


def test_terms_are_stemmed_and_counted_over_the_whole_corpus():
    found, _, _ = words("q1: d1=1", {"r": "q1: d2"})
    assert found.terms == (("damag", "storm", "zeppelin"),)
    assert found.frequency.tolist() == [[3, 6, 0]]
    assert found.counted.tolist() == [2] and found.documents == 10


@pytest.mark.parametrize(
    ("documents", "value"),
    [
        ("d1 d2", (2 / 2 + 2 / 2) / 2),
        ("d7 d8", 0),
        ("d1 d3", (1 / 2 + 2 / 2) / 2),
        ("d6 d7", (1 / 2 + 0) / 2),
        # Four documents, of which three could hold "damage": 2 of min(4, 3).
        ("d1 d2 d3 d7", (2 / 3 + 3 / 4) / 2),
        # All ten: every document that could hold a term does.
        (" ".join(TEXTS), (3 / 3 + 6 / 6) / 2),
    ],
)
def test_titlestat_by_hand(documents, value):
    assert of_documents(documents) == pytest.approx(value)


def test_an_empty_set_has_no_value():
    found, pairs, _ = words("q1: d1=0", {"r": "q1: d2"})
    assert np.isnan(titlestat.of_relevant(found, pairs)[0])


def test_a_title_without_a_known_word_has_no_value():
    pairs, _ = tables("q1: d1=1\nq2: d1=1", {"r": "q1: d1"})
    found = titlestat.find_title_words(pairs, {"q1": "of the zeppelin"}, corpus())
    assert np.isnan(titlestat.of_relevant(found, pairs)).tolist() == [True, True]


def test_the_level_chooses_the_relevant_documents():
    found, pairs, _ = words("q1: d1=2 d7=1", {"r": "q1: d2"})
    assert titlestat.of_relevant(found, pairs, level=1)[0] == pytest.approx(0.5)
    assert titlestat.of_relevant(found, pairs, level=2)[0] == pytest.approx(1)


def test_titlestat_of_runs_takes_their_first_documents():
    runs = {"title": "q1: d1 d2 d7", "other": "q1: d7 d8 d1"}
    found, pairs, rankings = words("q1: d1=1", runs)
    assert titlestat.of_runs(found, pairs, rankings, 2)[:, 0].tolist() == [0, 1]  # other, title


def test_titlestat_by_rank_goes_by_the_best_rank_in_the_pool():
    runs = {"a": "q1: d1 d7", "b": "q1: d2 d1"}
    found, pairs, _ = words("q1: d1=1 d7=1", runs)
    assert titlestat.of_best_ranks(found, pairs, [1, 2])[:, 0].tolist() == [1, 0]
    relevant = titlestat.of_best_ranks(found, pairs, [1, 2], level=1)
    assert relevant[:, 0].tolist() == [1, 0]


def test_differences_are_taken_on_the_same_queries():
    one, other = np.array([0.5, np.nan, 0.9]), np.array([0.4, 0.1, np.nan])
    assert titlestat.mean_difference(one, other) == (pytest.approx(0.1), 1)


def test_a_part_of_the_corpus_is_refused_when_it_shows():
    pairs, _ = tables("q1: d1=1", {"r": "q1: d2 d3"})
    with pytest.raises(AuditError, match=r"lack 2 of the 3(.|\n)*d2, d3"):
        titlestat.find_title_words(pairs, TITLES, corpus({"d1": "storm"}))


def test_a_document_with_two_texts_is_refused():
    pairs, _ = tables("q1: d1=1", {"r": "q1: d2"})
    batch = corpus({"d1": "storm", "d2": "gale"}).to_batches()[0]
    with pytest.raises(AuditError, match="more than once"):
        titlestat.find_title_words(pairs, TITLES, [batch, batch])


def test_a_corpus_in_batches_is_the_corpus():
    pairs, _ = tables("q1: d1=1 d7=1", {"r": "q1: d2"})
    whole = titlestat.find_title_words(pairs, TITLES, corpus())
    parts = titlestat.find_title_words(pairs, TITLES, corpus().to_batches(3))
    assert np.array_equal(whole.holds, parts.holds)
    assert np.array_equal(whole.frequency, parts.frequency)


def test_the_choice_of_words_is_recorded():
    described = titlestat.Analyser().described
    assert "snowballstemmer" in described["stemmer"] and "function words" in described["stop_words"]
