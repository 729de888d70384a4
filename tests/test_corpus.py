"""Made-up topics and documents: what their settings promise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import snowballstemmer
import yaml

from poolaudit.campaign import corpus
from poolaudit.campaign.corpus import CampaignSettings, settings_from
from poolaudit.errors import AuditError

ROOT = Path(__file__).resolve().parents[1]
SMALL = CampaignSettings(
    seed=7, documents=300, vocabulary=400, common=20, topics=3, topical_words=10, relevant=20,
    decoys=10,
)  # fmt: skip


def draw(settings: CampaignSettings):
    rng = np.random.default_rng(0)
    topics, roles = corpus.draw_topics(settings, rng), corpus.draw_roles(settings, rng)
    tokens, starts = corpus.draw_tokens(settings, topics, roles, rng)
    counts = corpus.count_words(tokens, starts, settings.vocabulary).toarray()
    return topics, roles, counts


def test_words_are_distinct_and_pass_a_stemmer_unchanged():
    words = corpus.made_up_words(4_000, np.random.default_rng(1)).tolist()
    assert len(set(words)) == 4_000
    assert snowballstemmer.stemmer("english").stemWords(words) == words


def test_grades_and_titles_come_in_the_shares_that_were_set():
    _, roles, _ = draw(SMALL)
    topic, grade, titled = (column[: SMALL.documents] for column in roles)
    for number in range(SMALL.topics):
        mine = topic == number
        assert np.bincount(grade[mine]).tolist() == [10, 10, 6, 4]
        assert titled[mine & (grade > 0)].sum() == 14
        assert titled[mine & (grade == 0)].all()
    assert (grade[topic < 0] == 0).all()
    assert not titled[topic < 0].any()


def test_examples_follow_the_documents_topic_by_topic():
    _, roles, counts = draw(SMALL)
    assert len(counts) == SMALL.documents + 3 * SMALL.examples
    assert roles.topic[SMALL.documents :].tolist() == [0] * 5 + [1] * 5 + [2] * 5
    assert (roles.grade[SMALL.documents :] > 0).all()


def test_topics_share_no_title_word_and_use_none_of_the_most_frequent_words():
    topics, _, _ = draw(SMALL)
    assert len(np.unique(topics.titles)) == topics.titles.size
    assert not np.intersect1d(topics.titles, topics.related).size
    assert min(topics.titles.min(), topics.related.min()) >= SMALL.common


def test_every_titled_document_holds_a_word_of_its_title():
    topics, roles, counts = draw(SMALL)
    for document in np.nonzero(roles.titled)[0]:
        assert counts[document, topics.titles[roles.topic[document]]].sum() > 0


def test_without_background_words_each_kind_of_document_holds_its_own_words():
    """Half title words, half topical words: nothing is left for words drawn from Zipf's law."""
    halves = {"title_shares": (0.5,) * 4, "topical_shares": (0.5,) * 3}
    settings = CampaignSettings(**{**vars(SMALL), **halves})
    topics, roles, counts = draw(settings)
    for document in np.nonzero(roles.grade)[0]:
        topic = roles.topic[document]
        title = counts[document, topics.titles[topic]].sum()
        assert title + counts[document, topics.related[topic]].sum() == counts[document].sum()
        assert (title > 0) == roles.titled[document]


def test_frequent_words_follow_zipf():
    _, _, counts = draw(CampaignSettings(documents=4_000, topics=1))
    totals = counts.sum(axis=0)
    assert totals[0] / totals[9] == pytest.approx(10, rel=0.1)


def test_lengths_stay_within_bounds():
    _, _, counts = draw(SMALL)
    lengths = counts.sum(axis=1)
    assert lengths.min() >= SMALL.shortest
    assert lengths.max() <= SMALL.longest


def test_the_configuration_states_the_defaults():
    content = yaml.safe_load((ROOT / "config" / "campaign.yaml").read_text(encoding="utf-8"))
    assert list(content) == list(vars(CampaignSettings()))
    assert settings_from(content, "campaign.yaml") == CampaignSettings()


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ({"sed": 1}, "sed did you mean seed?"),
        ({"seed": -1}, "seed: -1 is not a whole number of at least 0"),
        ({"topics": 2.5}, "topics: 2.5 is not a whole number of at least 1"),
        ({"titled": 1.5}, "titled: 1.5 is not 1 share(s) between 0 and 1"),
        ({"grades": [0.5, 0.5]}, "grades: (0.5, 0.5) is not 3 share(s) between 0 and 1"),
        ({"grades": [0.5, 0.3, 0.3]}, "grades: the shares add up to 1.1 and not to 1"),
        ({"shortest": 50, "longest": 40}, "shortest: 50 is more than longest (40)"),
        ({"vocabulary": 300_000}, "vocabulary: 300000 is more than the 205800 words"),
        ({"topics": 700}, "title_words: 700 topics of 3 need more than the 1800 words"),
        ({"topical_words": 3_651}, "topical_words: 3651 is more than the words that are left"),
        ({"documents": 9_999}, "documents: 9999 is less than 50 topics times 200"),
        ({"topical_shares": [0.1, 0.2, 0.95]}, "title_shares: with topical_shares"),
    ],
)
def test_settings_that_make_no_campaign_are_refused(content, found):
    with pytest.raises(AuditError) as refusal:
        settings_from(content, "mine.yaml")
    assert found in refusal.value.found
    assert refusal.value.where == "mine.yaml"


def test_all_bad_settings_are_named_at_once():
    with pytest.raises(AuditError) as refusal:
        CampaignSettings(seed="x", titled=2)
    assert "seed" in refusal.value.found
    assert "titled" in refusal.value.found
