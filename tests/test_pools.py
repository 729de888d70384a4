"""Pools on five documents that anyone can count, and on TREC-8."""

import numpy as np
import pyarrow as pa
import pytest

import literal
from poolaudit.errors import AuditError
from poolaudit.pairs import NEVER, UNJUDGED, Contributor, build
from poolaudit.pools import depth_pools
from poolaudit.pools.yield_fit import expect_yield
from submitted import dl19, trec8

# q1: the pooled runs bm25 and tfidf (group ash) and dense (oak); `later` came after the pool.
#   rank   bm25  tfidf  dense  later
#   1      a     b      e      f
#   2      b     a      b      a
#   3      c     d      -      -
CONTRIBUTORS = [
    Contributor("bm25", True, "ash", None, "automatic"),
    Contributor("tfidf", True, "ash", None, "automatic"),
    Contributor("dense", True, "oak", None, "manual"),
    Contributor("later", False, "elm", None, "automatic"),
]
LISTS = {"bm25": "a b c", "tfidf": "b a d", "dense": "e b", "later": "f a"}
GRADES = {"a": 1, "b": 0, "c": 2, "e": 2, "d": -1}


def ranking(docs: str) -> pa.Table:
    names = docs.split()
    ranks = np.arange(1, len(names) + 1, dtype=np.int32)
    columns = {"query_id": ["q1"] * len(names), "doc_id": names, "rank": ranks}
    return pa.table({**columns, "score": -ranks.astype(float)})


@pytest.fixture(scope="module")
def tables():
    judgments = pa.table(
        {
            "query_id": ["q1"] * len(GRADES),
            "doc_id": list(GRADES),
            "relevance": pa.array(GRADES.values(), pa.int16()),
        }
    )
    return build(judgments, [(c, ranking(LISTS[c.run])) for c in CONTRIBUTORS])


def counts(table, kind, contributor, depth, level=1) -> dict[str, int]:
    rows = table.query(
        f"kind == '{kind}' and contributor == '{contributor}' and depth == {depth}"
        f" and level == {level}"
    )
    names = ["pooled", "judged", "relevant", "unique", "unique_relevant", "first", "first_relevant"]
    return rows[names].sum().to_dict()


@pytest.fixture(scope="module")
def contributed(tables):
    return depth_pools.contributions(*tables, CONTRIBUTORS, depths=(1, 2, 3), levels=(1, 2))


def test_depth_1_pool_has_the_first_document_of_each_pooled_run(contributed):
    # a, b and e; a and e are relevant at level 1, only e at level 2.
    assert counts(contributed, "pool", "pool", 1)["pooled"] == 3
    assert counts(contributed, "pool", "pool", 1, level=1)["relevant"] == 2
    assert counts(contributed, "pool", "pool", 1, level=2)["relevant"] == 1


def test_a_document_in_the_pool_without_a_grade_is_pooled_and_not_judged(contributed):
    # Depth 3 adds c and d, and d has the grade -1.
    whole = counts(contributed, "pool", "pool", 3)
    assert (whole["pooled"], whole["judged"], whole["relevant"]) == (5, 4, 3)


def test_what_a_run_alone_returned_to_a_depth_is_unique_at_that_depth(contributed):
    # At depth 1 each run is alone with its first document; at depth 2 bm25 shares a and b.
    assert counts(contributed, "run", "bm25", 1)["unique"] == 1
    assert counts(contributed, "run", "bm25", 2)["unique"] == 0
    at_3 = counts(contributed, "run", "bm25", 3)
    assert (at_3["pooled"], at_3["unique"], at_3["unique_relevant"]) == (3, 1, 1)


def test_what_two_runs_of_a_group_share_is_unique_to_the_group(contributed):
    # a is returned by both runs of ash and by no pooled run of oak.
    at_2 = counts(contributed, "group", "ash", 2)
    assert (at_2["pooled"], at_2["unique"], at_2["unique_relevant"]) == (2, 1, 1)


def test_first_to_find_is_the_better_rank_and_a_tie_counts_for_both(contributed):
    # b: tfidf has it at rank 1. a: bm25 at 1. Both c and d are found first by who is alone.
    assert counts(contributed, "run", "tfidf", 3)["first"] == 2
    assert counts(contributed, "run", "bm25", 3)["first"] == 2
    # By type, b is at rank 1 for the automatic runs and at rank 2 for the manual one.
    assert counts(contributed, "type", "manual", 3)["first"] == 1


def test_runs_outside_the_pool_contribute_nothing(contributed):
    assert "later" not in set(contributed["contributor"])
    assert "elm" not in set(contributed["contributor"])


def test_judgments_of_a_campaign_are_the_judged_pairs_of_its_pool(tables):
    pairs, _ = tables
    assert depth_pools.depth_judgments(pairs, 1) == "q1 0 a 1\nq1 0 b 0\nq1 0 e 2\n"
    assert depth_pools.depth_judgments(pairs, None).splitlines()[-2:] == ["q1 0 d -1", "q1 0 e 2"]


def test_what_is_left_to_read_comes_with_its_rank_and_the_text_of_the_query(tables):
    pairs, _ = tables
    left = depth_pools.unjudged(pairs, 3, {"q1": "tabs\tand\nlines"})
    assert left.to_dict("records") == [
        {"query_id": "q1", "doc_id": "d", "best_rank": 3, "text": "tabs and lines"}
    ]
    assert depth_pools.unjudged(pairs, 2).empty


def test_no_cell_of_what_is_left_to_read_is_a_formula():
    pairs, _ = literal.tables("-q: a=1", {"A": "-q: a +d"})
    left = depth_pools.unjudged(pairs, 2, {"-q": "=1+1"})
    assert left.iloc[0].tolist() == ["'-q", "'+d", 2, "'=1+1"]


def test_the_trade_adds_up_what_each_depth_costs_and_finds(tables):
    pairs, _ = tables
    trade = depth_pools.found_by_depth(pairs, 3)
    assert trade["new_pairs"].tolist() == [3, 0, 2]
    assert trade["judged"].tolist() == [3, 3, 4]
    assert trade["relevant"].tolist() == [2, 2, 3]
    assert trade["share"].tolist()[0] == pytest.approx(2 / 3) and np.isnan(trade["share"][1])


def test_a_deeper_pool_costs_the_pairs_that_have_no_grade_yet(tables):
    pairs, _ = tables
    trade = depth_pools.found_by_depth(pairs, 4)
    # Depth 2 adds nothing; depth 4 adds c, judged already, and d.
    assert (trade["new_pairs"] - trade["new_judged"]).tolist() == [0, 0, 1, 0]


def test_coverage_of_a_new_run_beside_that_of_a_pooled_run_left_out(tables):
    table = depth_pools.coverage_by_band(*tables, CONTRIBUTORS, 3, "run", bands=(1, 3)).set_index(
        ["run", "last_rank"]
    )
    # later: f is unjudged, a is judged. Nothing in the pool is its own.
    assert table.loc[("later", 1), ["judged", "judged_without"]].tolist() == [0, 0]
    assert table.loc[("later", 3), "share"] == 1.0
    # bm25 at ranks 2 and 3: b and c, and c is judged only because bm25 returned it.
    assert table.loc[("bm25", 3), ["judged", "judged_without"]].tolist() == [2, 1]
    assert table.loc[("dense", 3), ["first_rank", "returned"]].tolist() == [2, 1]


def test_how_far_down_a_list_is_judged_without_a_gap(tables):
    table = depth_pools.fully_judged_to(*tables, CONTRIBUTORS, 3, "run").set_index("run")
    assert table["judged_to"].to_dict() == {"bm25": 3, "dense": 2, "later": 0, "tfidf": 2}
    assert table["judged_to_without"].to_dict() == {"bm25": 2, "dense": 0, "later": 0, "tfidf": 2}


@pytest.mark.real
def test_trec8_depth_100_is_all_that_was_judged(real_data):
    collection = trec8(real_data)
    pairs, rankings = collection.tables
    table = depth_pools.contributions(pairs, rankings, collection.contributors, depths=(10, 100))
    total = table.groupby(["kind", "contributor", "depth"])[["pooled", "relevant", "unique"]].sum()
    assert total.loc[("pool", "pool", 100)].tolist() == [86_830, 4_728, 86_830]
    assert total.loc[("pool", "pool", 10)].tolist() == [10_134, 1_746, 10_134]
    assert table[table["kind"] == "run"]["contributor"].nunique() == 71
    assert (
        depth_pools.unjudged(pairs, 100).empty and len(depth_pools.unjudged(pairs, 200)) == 77_874
    )
    deeper = depth_pools.found_by_depth(pairs, 200).query("depth > 100")
    assert (deeper["new_pairs"] - deeper["new_judged"]).sum() == 77_874


@pytest.mark.real
def test_trec8_yield_is_a_quarter_off_when_half_of_the_depths_are_held_out(real_data):
    pairs, _ = trec8(real_data).tables
    new_relevant = depth_pools.found_by_depth(pairs, 100)["new_relevant"]
    held_out = expect_yield(new_relevant)["held_out"]
    assert (round(held_out["predicted"]), held_out["observed"]) == (1_261, 1_010)
    assert not held_out["held"]
    at_50 = expect_yield(new_relevant[:50])["held_out"]
    assert (round(at_50["predicted"]), at_50["observed"], at_50["held"]) == (969, 1_003, True)


@pytest.mark.real
def test_dl19_judgments_of_depth_10_as_trec_eval_reads_them(real_data, tmp_path):
    import pytrec_eval

    collection = dl19(real_data)
    pairs, _ = collection.tables
    file = tmp_path / "depth-10.qrels"
    file.write_text(depth_pools.depth_judgments(pairs, 10))
    with file.open() as lines:
        qrels = pytrec_eval.parse_qrel(lines)
    assert len(qrels) == 43 and sum(map(len, qrels.values())) == 2_494
    assert pairs.in_pool(10).sum() == 2_495 and len(depth_pools.unjudged(pairs, 10)) == 1
    judged = pairs.relevance != UNJUDGED
    assert (judged & ~pairs.in_pool(10)).sum() == 6_766
    assert (judged & (pairs.best_rank == NEVER)).sum() == 1_804


@pytest.mark.real
def test_dl19_later_runs_are_judged_as_pooled_runs_left_out_would_be(real_data):
    # To rank 10: 92.0% of what later runs returned is judged. Pooled runs have 94.4% without what
    # only they brought, and 87.3% without what only their groups brought.
    collection = dl19(real_data)
    pairs, rankings = collection.tables

    def judged(kind: str, pooled: bool) -> list[int]:
        bands = depth_pools.coverage_by_band(pairs, rankings, collection.contributors, 10, kind)
        rows = bands[(bands["last_rank"] <= 10) & (bands["pooled"] == pooled)]
        return rows[["returned", "judged", "judged_without"]].sum().tolist()

    assert judged("run", False) == judged("group", False) == [4_280, 3_938, 3_938]
    assert judged("run", True) == [15_840, 15_839, 14_951]
    assert judged("group", True) == [15_840, 15_839, 13_828]


def test_the_nominal_depth_is_the_setting_else_the_explained_one():
    assert depth_pools.nominal_depth(7, {"depth": 10}) == 7
    assert depth_pools.nominal_depth(None, {"depth": 10}) == 10
    with pytest.raises(AuditError, match="not known"):
        depth_pools.nominal_depth(None, {"depth": None})
