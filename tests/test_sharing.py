"""What the probe says of pools whose truth is known, and of real ones."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from literal import tables
from poolaudit.campaign.corpus import CampaignSettings
from poolaudit.campaign.simulation import RUNS, Campaign, simulate
from poolaudit.config import read_sheet
from poolaudit.errors import AuditError
from poolaudit.files import write_json
from poolaudit.pairs import Contributor, build
from poolaudit.reading.runs import read_run
from poolaudit.sharing import probing
from poolaudit.sharing.figures import COLUMNS, hold_by_family
from real import read_qrels

PRIMARY = ("nDCG@10", "nonrelevant")
SHEETS = Path(__file__).resolve().parents[1] / "config" / "runs"


def build_campaign(campaign: Campaign, collection: str | None, depth: int, *, others: bool = True):
    """The tables of a simulated campaign whose pool is judged from the truth to `depth`.

    `collection` None: every run is in the pool. Without `others` the pool's runs alone are audited.
    """
    query_ids, doc_ids = np.array(campaign.query_ids), np.array(campaign.doc_ids)
    judged = np.zeros(campaign.grades.shape, bool)
    runs = []
    for run in RUNS:
        pooled = collection is None or collection in run.pools
        if not (pooled or others):
            continue
        ranking = campaign.rankings[run.name]
        top = ranking.rank <= depth
        judged[ranking.topic[top], ranking.document[top]] |= pooled
        table = pa.table(
            {
                "query_id": query_ids[ranking.topic],
                "doc_id": doc_ids[ranking.document],
                "rank": ranking.rank.astype(np.int32),
                "score": ranking.score.astype(float),
            }
        )
        runs.append((Contributor(run.name, pooled, run.group, run.family, run.type), table))
    topic, document = np.nonzero(judged)
    judgments = pa.table(
        {
            "query_id": query_ids[topic],
            "doc_id": doc_ids[document],
            "relevance": campaign.grades[judged].astype(np.int16),
        }
    )
    return *build(judgments, runs), [contributor for contributor, _ in runs]


def probe_campaign(
    campaign: Campaign, collection: str | None, depth: int, *, texts: bool = True, **kwargs
):
    documents = pa.table({"doc_id": campaign.doc_ids, "text": campaign.texts})
    return probing.probe(
        *build_campaign(campaign, collection, depth, **kwargs),
        measures=["nDCG@10"],
        policies=["nonrelevant"],
        primary=PRIMARY,
        depth=depth,
        titles=dict(zip(campaign.query_ids, campaign.titles, strict=True)) if texts else None,
        documents=documents if texts else None,
        rates=(0.5,),
        draws=3,
    )


@pytest.fixture(scope="module")
def demo():
    return simulate(CampaignSettings())


@pytest.fixture(scope="module")
def lexical(demo):
    return probe_campaign(demo, "demo-lexical", 20)


@pytest.fixture(scope="module")
def every_family(demo):
    return probe_campaign(demo, "demo", 20)


def figures(table, section, statistic, **conditions):
    chosen = table[(table["section"] == section) & (table["statistic"] == statistic)]
    for column, value in conditions.items():
        chosen = chosen[chosen[column] == value]
    return chosen.set_index("subject")["value"]


def sign(summary, name):
    return next(sign for sign in summary["signs"] if sign["name"] == name)


def test_a_lexical_pool_passes_removal_and_not_the_probe(lexical):
    table, summary = lexical
    for kind in ("run", "group"):
        assert figures(table, "removal", "relative_change", kind=kind).abs().max() < 0.02
    assert summary["verdict"] == "likely"
    assert sign(summary, "unjudged")["figure"] > 0.5
    assert any("one family (lexical)" in reason for reason in summary["reasons"])
    assert summary["outsider"] is None


def test_without_runs_that_looked_elsewhere_it_cannot_be_told(demo):
    _, summary = probe_campaign(demo, "demo-lexical", 20, texts=False, others=False)
    assert summary["verdict"] == "cannot be told"
    assert "one family (lexical)" in summary["sentence"]


def test_the_one_run_of_its_kind_loses_a_fifth_and_is_the_outsider(every_family):
    table, summary = every_family
    assert figures(table, "removal", "relative_change", kind="run")["spruce-routing"] >= 0.2
    assert summary["outsider"]["run"] == "spruce-routing"
    assert summary["outsider"]["unique_relevant"] > 5 * summary["outsider"]["mean_of_others"]
    assert summary["verdict"] == "likely"


def test_the_step_from_group_to_family_is_what_the_family_shares(every_family):
    table, _ = every_family
    by_group = figures(table, "steps", "without_group")
    by_family = figures(table, "steps", "without_family")
    assert by_group["dense"] < 0.1 < 0.5 < by_family["dense"]
    assert by_group["feedback"] == by_family["feedback"], "one run: there is no step"


def test_relevant_documents_of_a_lexical_pool_are_made_of_title_words(lexical, every_family):
    (table, summary), (other, _) = lexical, every_family
    relevant = figures(table, "titlestat", "titlestat", kind="relevant")["relevant"]
    assert relevant == pytest.approx(1)
    assert figures(other, "titlestat", "titlestat", kind="relevant")["relevant"] < 0.8
    assert figures(table, "titlestat", "difference")["maple-base"] < -0.5
    assert summary["titlestat"]["documents"] == 20_000


@pytest.fixture(scope="module")
def complete():
    """A collection so small that three families read to depth 400 leave nothing relevant unread."""
    settings = CampaignSettings(
        documents=1500, topics=20, relevant=20, decoys=20, vocabulary=2000, common=100,
        run_depth=400, pool_depth=400,
    )  # fmt: skip
    return simulate(settings)


def test_a_complete_pool_is_found_unlikely_to_share_a_bias(complete):
    pairs, _, _ = build_campaign(complete, None, 400)
    assert np.count_nonzero(pairs.relevance >= 1) == np.count_nonzero(complete.grades)
    _, summary = probe_campaign(complete, None, 400, texts=False)
    assert summary["verdict"] == "unlikely", summary["reasons"]
    assert {sign["level"] for sign in summary["signs"]} == {"unlikely"}


def test_a_collection_judged_in_full_can_miss_nothing():
    pairs, rankings = tables("q1: a=1 b=0", {"r": "q1: a b"}, families={"r": "x"})
    _, summary = probing.probe(
        pairs,
        rankings,
        [Contributor("r", True, None, "x")],
        measures=["P@2"],
        primary=("P@2", "nonrelevant"),
        depth=2,
        titles={"q1": "word"},
        documents=pa.table({"doc_id": ["a", "b"], "text": ["word", "other"]}),
        rates=(),
    )
    assert (
        summary["verdict"] == "unlikely" and "every one of the 2 documents" in summary["sentence"]
    )


LITERAL = {
    "lex1": "q1: a b c",
    "lex2": "q1: a b d",
    "dense": "q1: e f g",
    "late": "q1: e f h",
}


@pytest.fixture(scope="module")
def literal():
    pairs, rankings = tables("q1: a=1 b=0 c=0 d=0 e=1 f=1 g=0", LITERAL, unpooled=["late"])
    contributors = [Contributor(name, name != "late") for name in LITERAL]
    return probing.probe(
        pairs,
        rankings,
        contributors,
        measures=["P@3"],
        policies=["nonrelevant"],
        primary=("P@3", "nonrelevant"),
        depth=3,
        depths=[1],
        rates=(0.5,),
        draws=2,
    )


def test_families_are_found_where_the_sheet_names_none(literal):
    table, summary = literal
    assert summary["families"]["from"] == "clusters"
    # lex1 and lex2 share two of four documents, dense and late two of four.
    assert summary["families"]["pooled_runs"] == {
        "like dense": ["dense"],
        "like lex1": ["lex1", "lex2"],
    }
    places = table[table["section"] == "families"].set_index("subject")
    assert places["other"]["late"] == "like dense" and places["n"]["late"] == 0


def test_relevant_shares_by_hand(literal):
    table, summary = literal
    relevant = table[table["section"] == "relevant"]
    shares = relevant[relevant["statistic"] == "share"].set_index("depth")["value"]
    # Depth 1: a and e, both relevant. Depth 3, and all: a, e, f of seven.
    assert shares[1] == 1 and shares[3] == pytest.approx(3 / 7)
    new = relevant[relevant["statistic"] == "new_share"].set_index("depth")["value"]
    assert new[3] == pytest.approx(1 / 5)
    assert summary["relevant_share"] == {"1": pytest.approx(3 / 7)}


def test_routes_by_hand(literal):
    table, summary = literal
    # a comes by two runs and one family, e and f by one run.
    assert summary["routes"]["run"]["by_one"] == 2 and summary["routes"]["family"]["by_one"] == 3
    unique = figures(table, "routes", "unique_relevant", kind="run")
    assert unique.to_dict() == {"dense": 2, "lex1": 0, "lex2": 0}


def test_unjudged_shares_by_hand(literal):
    table, _ = literal
    unjudged = figures(table, "outside", "unjudged")
    assert unjudged["late"] == pytest.approx(1 / 3) and unjudged["dense"] == 0
    without_own = figures(table, "outside", "unjudged_without_own")
    assert without_own["dense"] == 1 and without_own["lex1"] == pytest.approx(1 / 3)


def test_the_table_is_one_long_table_and_the_summary_can_be_written(literal, tmp_path):
    table, summary = literal
    assert {name: str(kind) for name, kind in table.dtypes.items()} == COLUMNS
    write_json(tmp_path / "sharing.json", summary)
    assert json.loads((tmp_path / "sharing.json").read_text())["verdict"] == summary["verdict"]
    assert summary["titlestat"] == {"computed": False, "why": "no titles and no texts at hand"}
    assert "It cannot see what all contributors share" in summary["cannot_see"]


def test_a_pool_without_contributors_is_refused():
    pairs, rankings = tables("q1: a=1", {"r": "q1: a"}, unpooled=["r"])
    with pytest.raises(AuditError, match="No run is marked as pooled"):
        probing.probe(
            pairs,
            rankings,
            [Contributor("r", False)],
            measures=["P@1"],
            primary=("P@1", "nonrelevant"),
            depth=1,
        )


def test_holders_of_families_are_those_of_the_data_model(demo):
    pairs, rankings, contributors = build_campaign(demo, "demo", 20)
    by_name = sorted(contributors, key=lambda c: c.run)
    found, expected = hold_by_family(pairs, rankings, by_name, 20), pairs.holders["family"]
    assert found.names == expected.names
    inside = pairs.in_pool(20)
    unique = inside & (expected.next_best > 20)
    assert np.array_equal(inside, found.best >= 0)
    assert np.array_equal(unique, inside & (found.next_best > 20))
    assert np.array_equal(found.best[unique], expected.best[unique])


@pytest.mark.real
def test_dl19_passages(real_data):
    rows, _ = read_sheet(SHEETS / "dl19-passage-submitted.tsv", real_data / "dl19-passage" / "runs")
    contributors = [Contributor(r.run, r.pooled, r.group, r.family) for r in rows]
    tables_of_runs = [read_run(r.path, precision="float32").table for r in rows]
    judgments = read_qrels(real_data / "irds_home/msmarco-passage/trec-dl-2019/qrels")
    table, summary = probing.probe(
        *build(judgments, zip(contributors, tables_of_runs, strict=True)),
        contributors,
        measures=["nDCG@10", "AP(rel=2)"],
        policies=["nonrelevant"],
        primary=PRIMARY,
        depth=10,
        rates=(0.5,),
        draws=5,
    )
    sizes = {name: len(runs) for name, runs in summary["families"]["pooled_runs"].items()}
    assert sizes == {"bert": 18, "lexical": 12, "neural": 7}
    assert summary["effective_number"]["run"] == pytest.approx(6.5, abs=0.05)
    assert summary["relevant_share"]["2"] == pytest.approx(0.27, abs=0.001)
    steps = {
        kind: figures(table, "steps", f"without_{kind}") for kind in ("run", "group", "family")
    }
    assert (steps["run"] < steps["group"]).all() and (steps["group"] < steps["family"]).all()
    assert summary["verdict"] == "possible"
