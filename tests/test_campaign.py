"""The demo campaign: its files, and what the field learned from real ones.

The scores here are nDCG@10 with unjudged documents as nonrelevant, by a few lines of code of their
own, so that the campaign is checked without the library that audits it.
"""

from __future__ import annotations

import csv
import gzip
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

from poolaudit.campaign.corpus import CampaignSettings
from poolaudit.campaign.retrieval import Ranking
from poolaudit.campaign.simulation import COLLECTIONS, RUNS, Campaign, Run, simulate, write

ROOT = Path(__file__).resolve().parents[1]
OUTSIDER = next(run for run in RUNS if run.family == "feedback" and run.pools)
LATER = "willow"
DISCOUNT = 1 / np.log2(np.arange(2, 12))
SMALL = CampaignSettings(
    documents=400, vocabulary=600, common=20, topics=4, relevant=20, decoys=20, run_depth=50,
    pool_depth=5,
)  # fmt: skip


@pytest.fixture(scope="session")
def campaign() -> Campaign:
    return simulate(CampaignSettings())


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("campaign")
    write(simulate(SMALL), folder)
    return folder


def lines(path: Path) -> list[list[str]]:
    content = path.read_bytes()
    text = gzip.decompress(content) if path.suffix == ".gz" else content
    return [line.split() for line in text.decode().splitlines()]


# --- who took part ---


def test_24_runs_by_8_groups_in_3_families_and_3_later_ones():
    runs = [run for run in RUNS if run.group != LATER]
    assert Counter(run.family for run in runs) == {"lexical": 12, "dense": 6, "feedback": 6}
    assert Counter(run.group for run in runs).most_common() == [
        (group, 3)
        for group in ("alder", "birch", "cedar", "elder", "maple", "poplar", "rowan", "spruce")
    ]
    assert len({run.name for run in RUNS}) == len(RUNS) == 27
    assert not any(run.pools for run in RUNS if run.group == LATER)


def test_pools():
    pooled = {name: Counter(r.family for r in RUNS if name in r.pools) for name in COLLECTIONS}
    assert pooled == {
        "demo": {"lexical": 12, "dense": 6, "feedback": 1},
        "demo-lexical": {"lexical": 12},
    }


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_the_run_sheet_is_that_of_the_simulation(collection, folder):
    with (ROOT / "config" / "runs" / f"{collection}.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert rows == [
        {
            "run": run.name,
            "path": run.path,
            "group": run.group,
            "family": run.family,
            "type": run.type,
            "pooled": "yes" if collection in run.pools else "no",
        }
        for run in RUNS
    ]
    assert all((folder / row["path"]).is_file() for row in rows)


# --- files ---


def test_the_same_settings_give_the_same_bytes_and_another_seed_others(folder, tmp_path):
    write(simulate(SMALL), tmp_path / "again")
    write(simulate(CampaignSettings(**{**vars(SMALL), "seed": 1})), tmp_path / "other")
    names = sorted(p.relative_to(folder) for p in folder.rglob("*") if p.is_file())
    assert len(names) == 5 + len(RUNS)
    for name in names:
        content = (folder / name).read_bytes()
        assert (tmp_path / "again" / name).read_bytes() == content
        assert (tmp_path / "other" / name).read_bytes() != content


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_run_files_stand_in_order_of_score_and_document_id(folder, precision):
    for run in RUNS:
        of_query = defaultdict(list)
        for query, _, doc, rank, score, tag in lines(folder / run.path):
            assert tag == run.name
            of_query[query].append((precision(score), doc.encode(), int(rank)))
        for entries in of_query.values():
            assert entries == sorted(entries, key=lambda e: e[:2], reverse=True)
            assert [rank for *_, rank in entries] == list(range(1, len(entries) + 1))
            assert len(entries) <= SMALL.run_depth


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_judgments_are_the_pool_with_true_grades(folder, collection):
    truth = {(q, doc): grade for q, _, doc, grade in lines(folder / "truth.qrels")}
    pool = {
        (query, doc)
        for run in RUNS
        if collection in run.pools
        for query, _, doc, rank, *_ in lines(folder / run.path)
        if int(rank) <= SMALL.pool_depth
    }
    judged = [
        (q, doc, grade) for q, _, doc, grade in lines(folder / f"judgments-{collection}.qrels")
    ]
    assert judged == [(*pair, truth.get(pair, "0")) for pair in sorted(pool)]


def test_truth_lists_every_relevant_document(folder):
    grades = Counter((query, grade) for query, _, _, grade in lines(folder / "truth.qrels"))
    assert grades == {
        (query, grade): count
        for query in ("101", "102", "103", "104")
        for grade, count in (("1", 10), ("2", 6), ("3", 4))
    }


def test_texts_and_titles_can_be_read(folder):
    documents, topics = lines(folder / "documents.tsv.gz"), lines(folder / "topics.tsv")
    assert [doc for doc, *_ in documents] == [f"doc-{number:03d}" for number in range(1, 401)]
    assert all(30 <= len(words) <= 120 for _, *words in documents)
    assert [len(words) for _, *words in topics] == [3, 3, 3, 3]


def test_texts_are_what_the_systems_searched():
    """BM25 of the first document returned, counted out from the texts."""
    campaign = simulate(SMALL)
    texts = [text.split() for text in campaign.texts]
    average = sum(map(len, texts)) / len(texts)
    title = campaign.titles[0].split()
    expected = 0.0
    best = campaign.rankings["alder-bm25"].document[0]
    for word in title:
        tf, df = texts[best].count(word), sum(word in text for text in texts)
        idf = np.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
        expected += idf * tf * 1.9 / (tf + 0.9 * (0.6 + 0.4 * len(texts[best]) / average))
    assert campaign.rankings["alder-bm25"].score[0] == pytest.approx(expected, abs=1e-4)


def test_lexical_runs_return_only_documents_that_hold_a_title_word(folder):
    texts = {doc: set(words) for doc, *words in lines(folder / "documents.tsv.gz")}
    titles = {query: set(words) for query, *words in lines(folder / "topics.tsv")}
    for query, _, doc, *_ in lines(folder / "runs" / "birch-dirichlet.run.gz"):
        assert texts[doc] & titles[query]


# --- what the field learned ---


def ideal(grades: np.ndarray) -> np.ndarray:
    best = -np.sort(-grades.astype(float), axis=1)[:, :10]
    return best @ DISCOUNT[: best.shape[1]]


def ndcg(ranking: Ranking, grades: np.ndarray) -> float:
    """Mean nDCG@10; a query without relevant documents scores 0."""
    gain = np.zeros(len(grades))
    top = ranking.rank <= 10
    topic, document = ranking.topic[top], ranking.document[top]
    np.add.at(gain, topic, grades[topic, document] * DISCOUNT[ranking.rank[top] - 1])
    best = ideal(grades)
    return float(np.mean(np.divide(gain, best, out=np.zeros_like(gain), where=best > 0)))


class Scores:
    """Scores of a campaign's runs under judgments of one collection."""

    def __init__(self, campaign: Campaign, collection: str) -> None:
        self.campaign = campaign
        self.pooled = [run for run in RUNS if collection in run.pools]
        self.measured = {run: self.score(run, self.pooled) for run in RUNS}

    def score(self, run: Run, pooled: list[Run]) -> float:
        judged = np.zeros(self.campaign.grades.shape, bool)
        for other in pooled:
            ranking = self.campaign.rankings[other.name]
            top = ranking.rank <= self.campaign.settings.pool_depth
            judged[ranking.topic[top], ranking.document[top]] = True
        return ndcg(self.campaign.rankings[run.name], self.campaign.grades * judged)

    def loss(self, run: Run, kind: str) -> float:
        """What the run loses, relatively, when its own contributor of that kind is left out."""
        others = [other for other in self.pooled if getattr(other, kind) != getattr(run, kind)]
        return 1 - self.score(run, others) / self.measured[run]

    def error(self, family: str) -> list[float]:
        """Measured against true scores of a family's runs in the campaign, relatively."""
        true = self.campaign.rankings
        return [
            self.measured[run] / ndcg(true[run.name], self.campaign.grades) - 1
            for run in RUNS
            if run.family == family and run.group != LATER
        ]


@pytest.fixture(scope="module")
def demo(campaign) -> Scores:
    return Scores(campaign, "demo")


@pytest.fixture(scope="module")
def lexical(campaign) -> Scores:
    return Scores(campaign, "demo-lexical")


def test_ndcg_by_hand():
    """Grades 3, unjudged, 1 of judged grades 3, 2, 1."""
    ranking = Ranking(np.zeros(3, int), np.array([0, 3, 2]), np.array([9.0, 8, 7]))
    expected = (3 + 1 / 2) / (3 + 2 / np.log2(3) + 1 / 2)
    assert ndcg(ranking, np.array([[3, 2, 1, 0]])) == pytest.approx(expected)


def test_relevant_documents_without_title_words_exist_and_lexical_runs_crowd_them_out(campaign):
    titles = [set(title.split()) for title in campaign.titles]
    texts = [set(text.split()) for text in campaign.texts]
    topic, document = np.nonzero(campaign.grades)
    silent = np.array([not titles[t] & texts[d] for t, d in zip(topic, document, strict=True)])
    assert 0.25 < silent.mean() <= 0.3
    judged = campaign.pool("demo-lexical")[topic, document]
    assert judged[~silent].mean() > 0.15
    assert judged[silent].mean() == 0
    assert campaign.pool("demo")[topic, document][silent].mean() > 0.25


def test_a_pool_of_lexical_runs_passes_removal_by_run_and_by_group(lexical):
    assert max(abs(lexical.loss(run, "name")) for run in lexical.pooled) < 0.01
    assert max(abs(lexical.loss(run, "group")) for run in lexical.pooled) < 0.02


def test_yet_it_overstates_lexical_runs_and_understates_all_others(lexical):
    assert min(lexical.error("lexical")) > 0.1
    assert max(lexical.error("dense")) < -0.6
    assert max(lexical.error("feedback")) < -0.15


def test_it_puts_the_families_in_the_wrong_order(campaign, lexical):
    best = max(RUNS, key=lambda run: ndcg(campaign.rankings[run.name], campaign.grades))
    assert best.family == "feedback"
    dense = [run for run in RUNS if run.family == "dense" and run.group != LATER]
    worst_lexical = min(lexical.measured[run] for run in lexical.pooled)
    assert max(lexical.measured[run] for run in dense) < worst_lexical


def test_the_outsider_loses_a_fifth_or_more_when_it_is_left_out(demo):
    """sab05ror1 lost 23% in 2005 (Buckley, Dimmick, Soboroff and Voorhees, 2007)."""
    assert demo.loss(OUTSIDER, "name") > 0.2
    lexical_runs = [run for run in demo.pooled if run.family == "lexical"]
    assert max(abs(demo.loss(run, "name")) for run in lexical_runs) < 0.01
    assert max(demo.loss(run, "name") for run in demo.pooled if run.family == "dense") < 0.1


def test_the_outsider_finds_much_alone_for_an_average_score(campaign, demo):
    scores = sorted(demo.measured[run] for run in demo.pooled)
    assert demo.measured[OUTSIDER] < scores[-1]
    unique = {}
    for run in demo.pooled:
        others = np.zeros(campaign.grades.shape, bool)
        for other in demo.pooled:
            ranking = campaign.rankings[other.name]
            top = ranking.rank <= campaign.settings.pool_depth
            if other is not run:
                others[ranking.topic[top], ranking.document[top]] = True
        unique[run] = int((campaign.grades[campaign.pool("demo") & ~others] > 0).sum())
    assert max(unique, key=unique.get) is OUTSIDER


def test_the_pool_of_all_families_measures_nearly_the_truth(demo):
    for family in ("lexical", "dense"):
        assert max(map(abs, demo.error(family))) < 0.05


def test_the_lessons_do_not_hang_on_the_seed():
    campaign = simulate(CampaignSettings(seed=1))
    lexical, demo = Scores(campaign, "demo-lexical"), Scores(campaign, "demo")
    assert max(abs(lexical.loss(run, "group")) for run in lexical.pooled) < 0.02
    assert min(lexical.error("lexical")) > 0.1
    assert max(lexical.error("dense") + lexical.error("feedback")) < -0.15
    assert demo.loss(OUTSIDER, "name") > 0.2
