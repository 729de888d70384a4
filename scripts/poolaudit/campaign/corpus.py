"""Made-up topics and documents, and what each document is to each topic.

Documents are bags of made-up words. Relevant documents of a topic share *topical* words. Most hold
words of the title too; the others say the same in topical words alone. *Decoys* hold words of the
title and are not relevant. So systems that match titles find one kind of relevant document, crowd
out the other, and a pool of nothing else cannot show what it lacks. Buckley, Dimmick, Soboroff and
Voorhees (2007) describe the effect in a real campaign.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from poolaudit.errors import AuditError, nearest

if TYPE_CHECKING:
    from scipy import sparse

_CONSONANTS, _VOWELS, _ENDINGS = "bdfgklmnprstvz", "aeiou", "aou"
_WORDS = (len(_CONSONANTS) * len(_VOWELS)) ** 2 * len(_CONSONANTS) * len(_ENDINGS)


@dataclass(frozen=True)
class CampaignSettings:
    """Sizes and shares of the campaign; config/campaign.yaml explains each.

    Raises:
        AuditError: the settings make no campaign; it names every bad key.
    """

    seed: int = 2005
    documents: int = 20_000
    shortest: int = 30
    longest: int = 120
    vocabulary: int = 4_000
    common: int = 200
    topics: int = 50
    title_words: int = 3
    topical_words: int = 40
    relevant: int = 100
    grades: tuple[float, ...] = (0.5, 0.3, 0.2)
    titled: float = 0.7
    decoys: int = 100
    title_shares: tuple[float, ...] = (0.05, 0.05, 0.06, 0.07)
    topical_shares: tuple[float, ...] = (0.03, 0.05, 0.07)
    examples: int = 5
    run_depth: int = 200
    pool_depth: int = 20

    def __post_init__(self) -> None:
        for field in fields(self):
            # YAML and JSON have lists; a tuple can be compared and hashed.
            if isinstance(value := getattr(self, field.name), list):
                object.__setattr__(self, field.name, tuple(value))
        problems = list(_wrong_values(self)) or list(_wrong_sizes(self))
        if problems:
            raise AuditError(
                "these settings make no campaign",
                found="; ".join(problems),
                todo="mend these keys, or leave them out to use the defaults",
            )


def _wrong_values(settings: CampaignSettings) -> Iterator[str]:
    """Say what is wrong with single values."""
    lengths = {"grades": 3, "title_shares": 4, "topical_shares": 3}
    for field in fields(settings):
        name, value = field.name, getattr(settings, field.name)
        if field.type == "int":
            least = {"seed": 0, "common": 0, "decoys": 0, "vocabulary": 100}.get(name, 1)
            if type(value) is not int or value < least:
                yield f"{name}: {value!r} is not a whole number of at least {least}"
            continue
        shares = value if isinstance(value, tuple) else (value,)
        numbers = all(type(share) in (int, float) and 0 <= share <= 1 for share in shares)
        if not numbers or len(shares) != lengths.get(name, 1):
            yield f"{name}: {value!r} is not {lengths.get(name, 1)} share(s) between 0 and 1"


def _wrong_sizes(settings: CampaignSettings) -> Iterator[str]:
    """Say which values do not fit together."""
    s = settings
    if s.shortest > s.longest:
        yield f"shortest: {s.shortest} is more than longest ({s.longest})"
    if s.vocabulary > _WORDS:
        yield f"vocabulary: {s.vocabulary} is more than the {_WORDS} words that can be made up"
    if s.topics * s.title_words > s.vocabulary // 2 - s.common:
        yield (
            f"title_words: {s.topics} topics of {s.title_words} need more than the "
            f"{max(s.vocabulary // 2 - s.common, 0)} words of middle frequency"
        )
    elif s.topical_words > s.vocabulary - s.common - s.topics * s.title_words:
        yield f"topical_words: {s.topical_words} is more than the words that are left"
    if s.topics * (s.relevant + s.decoys) > s.documents:
        yield (
            f"documents: {s.documents} is less than {s.topics} topics times "
            f"{s.relevant + s.decoys} relevant documents and decoys"
        )
    if not np.isclose(sum(s.grades), 1):
        yield f"grades: the shares add up to {sum(s.grades):g} and not to 1"
    if max(s.title_shares) + max(s.topical_shares) > 1:
        yield "title_shares: with topical_shares they can exceed 1"


def settings_from(content: Mapping[str, Any], where: str) -> CampaignSettings:
    """Settings from the content of a file; keys left out keep their defaults.

    Args:
        content: keys and values, as read from YAML.
        where: the file, for messages.

    Raises:
        AuditError: unknown keys, or values that make no campaign.
    """
    known = [field.name for field in fields(CampaignSettings)]
    if unknown := [str(key) for key in content if key not in known]:
        raise AuditError(
            "the simulated campaign has no such settings",
            where=where,
            found="; ".join(f"{key} {nearest(key, known)}".rstrip() for key in unknown),
            expected=", ".join(known),
            todo="correct these keys",
        )
    try:
        return CampaignSettings(**content)
    except AuditError as error:
        raise AuditError(error.what, where=where, found=error.found, todo=error.todo) from None


class Topics(NamedTuple):
    """Word numbers of each topic: arrays (topics, title_words) and (topics, topical_words)."""

    titles: np.ndarray
    related: np.ndarray


class Roles(NamedTuple):
    """What each document is: its topic (-1: none), its grade, and whether it holds title words."""

    topic: np.ndarray
    grade: np.ndarray
    titled: np.ndarray


def made_up_words(size: int, rng: np.random.Generator) -> np.ndarray:
    """Distinct words of three open syllables; their endings are none that a stemmer cuts off."""
    number = rng.choice(_WORDS, size, replace=False)
    word = np.full(size, "")
    for letters in (_ENDINGS, _CONSONANTS, _VOWELS, _CONSONANTS, _VOWELS, _CONSONANTS):
        number, letter = np.divmod(number, len(letters))
        word = np.char.add(np.array(list(letters))[letter], word)
    return word


def draw_topics(settings: CampaignSettings, rng: np.random.Generator) -> Topics:
    """Title words of middle frequency, of one topic each; topical words may serve several topics.

    Words are numbered by falling frequency; the first `common` of them belong to no topic.
    """
    middle = np.arange(settings.common, settings.vocabulary // 2)
    titles = rng.choice(middle, (settings.topics, settings.title_words), replace=False)
    others = np.setdiff1d(np.arange(settings.common, settings.vocabulary), titles)
    related = [
        rng.choice(others, settings.topical_words, replace=False) for _ in range(settings.topics)
    ]
    return Topics(titles, np.stack(related))


def draw_roles(settings: CampaignSettings, rng: np.random.Generator) -> Roles:
    """Shuffled roles of the documents; the feedback systems' examples follow, topic by topic."""
    s, shares = settings, np.array(settings.grades) / sum(settings.grades)
    bounds = np.rint(s.relevant * np.cumsum(np.append(0, shares))).astype(int)
    relevant = np.repeat([1, 2, 3], np.diff(bounds))
    titled = np.arange(s.relevant) < round(s.titled * s.relevant)
    size = s.topics * (s.relevant + s.decoys)
    topic = np.full(s.documents, -1)
    grade, holds = np.zeros(s.documents, int), np.zeros(s.documents, bool)
    topic[:size] = np.repeat(np.arange(s.topics), s.relevant + s.decoys)
    grade[:size] = np.tile(np.append(relevant, np.zeros(s.decoys, int)), s.topics)
    holds[:size] = True
    holds[np.nonzero(grade)[0]] = rng.permuted(np.tile(titled, (s.topics, 1)), axis=1).ravel()
    order = rng.permutation(s.documents)
    examples = s.topics * s.examples
    return Roles(
        np.append(topic[order], np.repeat(np.arange(s.topics), s.examples)),
        np.append(grade[order], rng.choice([1, 2, 3], examples, p=shares)),
        np.append(holds[order], rng.random(examples) < s.titled),
    )


def draw_tokens(
    settings: CampaignSettings, topics: Topics, roles: Roles, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Word numbers of all documents one after the other, and where each begins (and the end).

    Words are drawn from Zipf's law, but for shares of title and topical words that rise with the
    grade. A relevant document without title words has topical words in their place.
    """
    s, documents = settings, len(roles.topic)
    lengths = rng.integers(s.shortest, s.longest, documents, endpoint=True)
    starts = np.append(0, np.cumsum(lengths))
    document = np.repeat(np.arange(documents), lengths)
    size = len(document)

    law = np.cumsum(1 / np.arange(1, s.vocabulary + 1))
    background = np.searchsorted(law, law[-1] * rng.random(size))
    topic = roles.topic[document]
    title = topics.titles[topic, rng.integers(0, s.title_words, size)]
    topical = topics.related[topic, rng.integers(0, s.topical_words, size)]

    relevant = roles.grade > 0
    share = np.array(s.title_shares)[roles.grade]
    named = np.where(roles.titled, share, 0)
    other = np.append(0, s.topical_shares)[roles.grade]
    other += np.where(relevant & ~roles.titled, share, 0)
    drawn = rng.random(size)
    is_title = drawn < named[document]
    # The first word stands for the headline: no titled document is without a title word.
    is_title[starts[:-1][roles.titled]] = True
    is_topical = drawn < (named + other)[document]
    return np.where(is_title, title, np.where(is_topical, topical, background)), starts


def count_words(tokens: np.ndarray, starts: np.ndarray, vocabulary: int) -> sparse.csr_array:
    """Word counts, a CSR matrix (documents, vocabulary)."""
    from scipy import sparse

    parts = (np.ones(len(tokens)), tokens, starts)
    # A copy, because counting sorts and shortens these arrays in place.
    counts = sparse.csr_array(parts, shape=(len(starts) - 1, vocabulary), copy=True)
    counts.sum_duplicates()
    return counts
