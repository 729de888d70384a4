"""Random thinning and structured cuts: what is kept, and a cut that chance would not make."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from literal import grades, tables
from poolaudit.pairs import UNJUDGED
from poolaudit.sharing import thinning
from real import trec8

# Two lexical runs and a dense one that is best: it returns three relevant documents that nobody
# else returns. Twelve nonrelevant documents are judged too.
JUDGED = "a=1 b=1 x=1 y=1 z=1 " + " ".join(f"n{i}=0" for i in range(12))
RUNS = {
    "dense": "x y z n0",
    "lexical1": "a b n1 n2 n3 n4",
    "lexical2": "n5 a n6 n7 n8 n9 n10 n11",
}
FAMILIES = {"dense": "dense", "lexical1": "lexical", "lexical2": "lexical"}


@pytest.fixture(scope="module")
def campaign():
    queries = ("q1", "q2", "q3", "q4")
    qrels = "\n".join(f"{q}: {JUDGED}" for q in queries)
    runs = {name: "\n".join(f"{q}: {docs}" for q in queries) for name, docs in RUNS.items()}
    return tables(qrels, runs, families=FAMILIES)


def order(campaign, measures=("P@3",), policies=("nonrelevant",), **kwargs):
    return thinning.order_under_thinning(*campaign, measures, policies, **kwargs)


def test_thinning_keeps_the_number_asked_for_in_each_query():
    pairs, _ = tables("q1: a=2 b=0 c=1 d=-1\nq2: a=1 b=0", {"r": "q1: e"})
    kept = thinning.thin(pairs.relevance, pairs.query, np.array([2, 1]), np.random.default_rng(1))
    assert thinning.n_judged(pairs, kept).tolist() == [2, 1]
    still = kept >= 0
    assert np.array_equal(kept[still], pairs.relevance[still]), "grades stay what they were"


def test_what_is_thrown_out_is_known_to_be_in_the_pool():
    pairs, _ = tables("q1: a=2 b=0", {"r": "q1: a e"})
    kept = thinning.thin(pairs.relevance, pairs.query, np.array([0]), np.random.default_rng(1))
    assert kept.tolist() == [-1, -1, UNJUDGED]


def test_every_judged_pair_is_as_likely_to_stay():
    pairs, _ = tables("q1: a=1 b=0 c=0", {"r": "q1: a"})
    rng = np.random.default_rng(3)
    kept = Counter(
        tuple(thinning.thin(pairs.relevance, pairs.query, np.array([2]), rng) >= 0)
        for _ in range(3000)
    )
    assert len(kept) == 3 and min(kept.values()) > 900


def test_keeping_everything_keeps_the_order(campaign):
    table = order(
        campaign, ("P@3", "AP", "Bpref"), ("nonrelevant", "condense"), rates=(1.0,), draws=2
    )
    assert table["tau"].tolist() == [1.0] * 6 and table["share"].tolist() == [1.0] * 6


def test_cuts_are_shallower_pools_and_families_left_out(campaign):
    pairs, _ = campaign
    cuts = list(thinning.structured_cuts(pairs, 8, [1, 2, 8, 50]))
    assert [(cut.kind, cut.name) for cut in cuts] == [
        ("depth", "1"),
        ("depth", "2"),
        ("family", "dense"),
        ("family", "lexical"),
    ], "a pool of depth 8 throws out nothing"
    shallow = grades(pairs, "\n".join(f"q{i}: a=1 b=1 x=1 y=1 n5=0" for i in range(1, 5)))
    assert np.array_equal(cuts[1].grades, shallow)


def test_a_pool_of_one_family_cannot_be_stripped_of_it(campaign):
    pairs, _ = tables(f"q1: {JUDGED}", {"r": "q1: a b"}, families={"r": "lexical"})
    assert list(thinning.structured_cuts(pairs, 2, [], ["family"])) == []


def test_structure_breaks_an_order_that_chance_leaves(campaign):
    pairs, _ = campaign
    (without_dense,) = (
        cut for cut in thinning.structured_cuts(pairs, 8, []) if cut.name == "dense"
    )
    table = order(campaign, cuts=[without_dense], rates=(), draws=30, seed=5)
    (row,) = table.to_dict("records")
    # P@3 in full: 3/3, 2/3, 1/3. Without what the dense family alone brought: 0, 2/3, 1/3, so two
    # of three pairs of runs turn round.
    assert row["tau"] == pytest.approx(-1 / 3)
    assert row["judged"] == 4 * (5 - 3 + 12 - 1)
    assert row["low"] > row["tau"] and row["beyond"] == "below"


def test_a_cut_within_the_band_is_no_structure(campaign):
    pairs, _ = campaign
    (shallow,) = thinning.structured_cuts(pairs, 8, [2], [])
    (row,) = order(campaign, cuts=[shallow], rates=(), draws=30).to_dict("records")
    # The third relevant document of the dense run is gone; it ties with the first lexical one, and
    # tau-b counts two pairs over the root of 3 x 2.
    assert row["tau"] == pytest.approx(2 / 6**0.5) and row["beyond"] == "within"


def test_rates_have_a_band_and_are_never_beyond(campaign):
    table = order(campaign, rates=(0.5,), draws=20)
    (row,) = table.to_dict("records")
    assert row["cut"] == "50%" and row["judged"] == 4 * 8
    assert row["low"] <= row["tau"] <= row["high"] and row["beyond"] is None
    assert row["low"] < row["high"], "the draws differ"


def test_a_policy_without_scores_has_no_tau(campaign):
    table = order(campaign, ("Bpref",), ("restrict",), rates=(0.5,), draws=2)
    assert table["tau"].isna().all() and table["beyond"].isna().all()


def test_the_draws_of_one_cut_do_not_depend_on_the_others(campaign):
    pairs, _ = campaign
    cuts = list(thinning.structured_cuts(pairs, 8, [2]))
    every = order(campaign, cuts=cuts, rates=(0.5, 0.25), draws=5, seed=7)
    fewer = order(campaign, cuts=cuts[:2], rates=(0.25,), draws=5, seed=7)
    both = every.merge(fewer, on=list(fewer.columns))
    assert len(both) == len(fewer)


@pytest.mark.real
def test_trec8_orders_hold_with_half_of_the_judgments(real_data):
    collection = trec8(real_data)
    table = thinning.order_under_thinning(
        collection.pairs,
        collection.rankings,
        ["Bpref", "AP"],
        ("nonrelevant", "condense"),
        rates=(0.5,),
        draws=5,
    ).set_index(["policy", "measure"])
    assert table["tau"]["condense", "AP"] > 0.9
    assert table["tau"]["nonrelevant", "Bpref"] > 0.9
