"""A simulated campaign with known truth: who took part, what they returned, what was judged.

Systems of three families search the documents of `corpus`, and pools of two sets of runs are judged
from the truth. No document is relevant to two topics, and all that are not relevant have grade 0:
every score has a true value. It is a demonstration, and no model of a real collection's numbers.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from poolaudit.campaign import corpus, retrieval
from poolaudit.campaign.corpus import CampaignSettings
from poolaudit.campaign.retrieval import Index, Ranking, Task, top_documents
from poolaudit.files import write_bytes, write_text

_DECIMALS = 4  # of scores, so that float32 and float64 readers put a run file in the same order


class Run(NamedTuple):
    """One line of the run sheets, and the system behind it.

    `pools` names the collections whose pool the run is in. Feedback runs are manual: someone has
    marked the documents that they learn from.
    """

    name: str
    group: str
    family: str
    pools: tuple[str, ...]
    system: Callable[[Task], np.ndarray]

    @property
    def type(self) -> str:
        """`manual` or `automatic`."""
        return "manual" if self.family == "feedback" else "automatic"

    @property
    def path(self) -> str:
        """The run's file in the campaign's folder."""
        return f"runs/{self.name}.run.gz"


COLLECTIONS = ("demo", "demo-lexical")


def _lexical(name: str, group: str, system: Callable, **settings: float) -> Run:
    return Run(f"{group}-{name}", group, "lexical", COLLECTIONS, partial(system, **settings))


def _dense(name: str, group: str, **settings: float) -> Run:
    return Run(f"{group}-{name}", group, "dense", ("demo",), partial(retrieval.dense, **settings))


def _feedback(name: str, group: str, *pools: str, **settings: float) -> Run:
    return Run(f"{group}-{name}", group, "feedback", pools, partial(retrieval.feedback, **settings))


RUNS = (
    _lexical("bm25", "alder", retrieval.bm25, k1=0.9, b=0.4),
    _lexical("bm25-b75", "alder", retrieval.bm25, k1=1.2, b=0.75),
    _lexical("tfidf", "alder", retrieval.pivoted, slope=0.3),
    _lexical("dirichlet", "birch", retrieval.dirichlet, mu=100),
    _lexical("mercer", "birch", retrieval.jelinek_mercer, smoothing=0.7),
    _lexical("bm25", "birch", retrieval.bm25, k1=2, b=0.5),
    _lexical("inl2", "cedar", retrieval.inl2, c=1),
    _lexical("tfidf", "cedar", retrieval.pivoted, slope=0.2),
    _lexical("bm25", "cedar", retrieval.bm25, k1=1.6, b=0.9),
    _lexical("dirichlet", "elder", retrieval.dirichlet, mu=140),
    _lexical("mercer", "elder", retrieval.jelinek_mercer, smoothing=0.3),
    _lexical("inl2", "elder", retrieval.inl2, c=4),
    _dense("small", "maple", encoder=1, closeness=0.45),
    _dense("base", "maple", encoder=2, closeness=0.5),
    _dense("large", "maple", encoder=3, closeness=0.55),
    _dense("small", "poplar", encoder=4, closeness=0.45),
    _dense("base", "poplar", encoder=5, closeness=0.5),
    _dense("large", "poplar", encoder=6, closeness=0.55),
    _feedback("learn20", "rowan", words=20, title=1, examples=3),
    _feedback("learn40", "rowan", words=40, title=1, examples=3),
    _feedback("routing", "rowan", words=20, title=0.5, examples=3),
    _feedback("learn40", "spruce", words=40, title=0.75, examples=2),
    # The outsider: the one pooled run that uses other words. It learned from a single document.
    _feedback("routing", "spruce", "demo", words=20, title=1, examples=1),
    _feedback("learn12", "spruce", words=12, title=0.7, examples=2),
    # Later runs, of a group that took no part in the campaign.
    _lexical("bm25", "willow", retrieval.bm25, k1=1.0, b=0.6)._replace(pools=()),
    _dense("dense", "willow", encoder=7, closeness=0.7)._replace(pools=()),
    _feedback("routing", "willow", words=30, title=0.25, examples=5),
)


@dataclass(frozen=True)
class Campaign:
    """A simulated campaign.

    Args:
        settings: what it was made from.
        query_ids, titles: of the topics, in order.
        doc_ids, texts: of the documents, in byte order of the ids.
        grades: true grade of every document for every topic, an array (topics, documents).
        rankings: the ranking of each run, by name, in the order of `RUNS`.
    """

    settings: CampaignSettings
    query_ids: list[str]
    titles: list[str]
    doc_ids: list[str]
    texts: list[str]
    grades: np.ndarray
    rankings: dict[str, Ranking]

    def pool(self, collection: str) -> np.ndarray:
        """Whether a document is in the collection's pool, a boolean array (topics, documents)."""
        pooled = np.zeros(self.grades.shape, bool)
        for run in RUNS:
            if collection in run.pools:
                ranking = self.rankings[run.name]
                shallow = ranking.rank <= self.settings.pool_depth
                pooled[ranking.topic[shallow], ranking.document[shallow]] = True
        return pooled


def simulate(settings: CampaignSettings) -> Campaign:
    """Make documents and topics, and let every system of `RUNS` search them.

    All that is random comes from `settings.seed`; the same settings give the same campaign.
    """
    rng = np.random.default_rng([settings.seed, 0])
    words = corpus.made_up_words(settings.vocabulary, rng)
    topics = corpus.draw_topics(settings, rng)
    roles = corpus.draw_roles(settings, rng)
    tokens, starts = corpus.draw_tokens(settings, topics, roles, rng)
    counts = corpus.count_words(tokens, starts, settings.vocabulary)
    size = settings.documents
    examples = counts[size:].toarray().reshape(settings.topics, settings.examples, -1)
    task = Task(
        index=Index(counts[:size]),
        titles=_one_hot(topics.titles, settings.vocabulary),
        related=_one_hot(topics.related, settings.vocabulary),
        examples=examples,
        seed=settings.seed,
    )
    texts = [" ".join(text) for text in np.split(words[tokens[: starts[size]]], starts[1:size])]
    return Campaign(
        settings=settings,
        query_ids=_ids("", settings.topics, 101),
        titles=[" ".join(title) for title in words[topics.titles]],
        doc_ids=_ids("doc-", size, 1),
        texts=texts,
        grades=_truth(settings, roles),
        rankings={
            run.name: top_documents(np.round(run.system(task), _DECIMALS), settings.run_depth)
            for run in RUNS
        },
    )


def _ids(prefix: str, size: int, first: int) -> list[str]:
    """Numbered ids of equal width, so that their byte order is their number's."""
    width = len(str(first + size - 1))
    return [f"{prefix}{number:0{width}d}" for number in range(first, first + size)]


def _one_hot(words: np.ndarray, vocabulary: int) -> np.ndarray:
    """Word numbers (topics, words) as a 0/1 array (topics, vocabulary)."""
    table = np.zeros((len(words), vocabulary))
    np.put_along_axis(table, words, 1, axis=1)
    return table


def _truth(settings: CampaignSettings, roles: corpus.Roles) -> np.ndarray:
    """True grades, an array (topics, documents)."""
    grades = np.zeros((settings.topics, settings.documents), np.int8)
    relevant = np.nonzero(roles.grade[: settings.documents])[0]
    grades[roles.topic[relevant], relevant] = roles.grade[relevant]
    return grades


def write(campaign: Campaign, folder: Path | str) -> None:
    """Write the campaign's files; equal campaigns give equal bytes.

    * `topics.tsv`: query_id, title; `documents.tsv.gz`: doc_id, text; tabs between, no header.
    * `truth.qrels`: every relevant document with its grade, 1 to 3. All others have grade 0.
    * `judgments-<collection>.qrels`: every document of the collection's pool with its true grade.
    * `runs/<run>.run.gz`: the rankings in TREC format.
    """
    folder = Path(folder)
    write_text(folder / "topics.tsv", _lines(campaign.query_ids, campaign.titles))
    documents = _lines(campaign.doc_ids, campaign.texts)
    write_bytes(folder / "documents.tsv.gz", gzip.compress(documents.encode(), mtime=0))
    write_text(folder / "truth.qrels", _qrels(campaign, campaign.grades > 0))
    for collection in COLLECTIONS:
        judgments = _qrels(campaign, campaign.pool(collection))
        write_text(folder / f"judgments-{collection}.qrels", judgments)
    for run in RUNS:
        text = _trec_run(campaign, run)
        write_bytes(folder / run.path, gzip.compress(text.encode(), mtime=0))


def _lines(keys: list[str], values: list[str]) -> str:
    return "".join(f"{key}\t{value}\n" for key, value in zip(keys, values, strict=True))


def _qrels(campaign: Campaign, judged: np.ndarray) -> str:
    """The true grades of the documents where `judged` is true, in TREC format."""
    topics, documents = np.nonzero(judged)
    rows = zip(topics, documents, campaign.grades[judged], strict=True)
    return "".join(f"{campaign.query_ids[t]} 0 {campaign.doc_ids[d]} {g}\n" for t, d, g in rows)


def _trec_run(campaign: Campaign, run: Run) -> str:
    """A run in TREC format, its name as the tag."""
    ranking = campaign.rankings[run.name]
    columns = (*ranking, ranking.rank)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return "".join(
        f"{campaign.query_ids[t]} Q0 {campaign.doc_ids[d]} {r} {s:.{_DECIMALS}f} {run.name}\n"
        for t, d, s, r in rows
    )
