"""The two tables: what each cell says, on rankings that anyone can check by hand."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from literal import assert_equal
from poolaudit.errors import AuditError
from poolaudit.pairs import NEVER, UNJUDGED, Contributor, build, join, near


def judgments(*rows: tuple[str, str, int]) -> pa.Table:
    queries, docs, grades = zip(*rows, strict=True)
    return pa.table(
        {"query_id": queries, "doc_id": docs, "relevance": pa.array(grades, pa.int16())}
    )


def ranking(**docs_of_query: str) -> pa.Table:
    rows = [
        (query, doc, rank, -float(rank))
        for query in sorted(docs_of_query)
        for rank, doc in enumerate(docs_of_query[query].split(), start=1)
    ]
    columns = zip(*rows, strict=True) if rows else ([], [], [], [])
    types = (pa.string(), pa.string(), pa.int32(), pa.float64())
    arrays = [pa.array(c, t) for c, t in zip(columns, types, strict=True)]
    return pa.table(arrays, names=["query_id", "doc_id", "rank", "score"])


# Two pooled runs of one group, one pooled run of another, and a later run outside the pool.
RUNS = [
    (Contributor("bm25", True, "ash"), ranking(q1="a b c", q2="x y")),
    (Contributor("tfidf", True, "ash"), ranking(q1="b a d", q2="x z")),
    (Contributor("dense", True, "oak"), ranking(q1="e b", q2="z")),
    (Contributor("later", False, "elm"), ranking(q1="f a", q9="x")),
]
JUDGED = judgments(("q1", "a", 1), ("q1", "b", 0), ("q1", "e", 2), ("q2", "x", 1), ("q2", "w", 1))


@pytest.fixture(scope="module")
def tables():
    return build(JUDGED, RUNS)


def column(pairs, values) -> dict[str, int]:
    names = [
        pairs.query_ids[q] + d for q, d in zip(pairs.query, pairs.doc_id.to_pylist(), strict=True)
    ]
    return dict(zip(names, np.asarray(values).tolist(), strict=True))


def test_pairs_are_all_that_was_returned_or_judged_for_a_judged_query(tables):
    pairs, _ = tables
    assert list(column(pairs, pairs.query)) == [
        *("q1a", "q1b", "q1c", "q1d", "q1e", "q1f"),
        *("q2w", "q2x", "q2y", "q2z"),
    ]


def test_relevance_is_the_grade_or_unjudged(tables):
    pairs, _ = tables
    grades = column(pairs, pairs.relevance)
    assert {k: v for k, v in grades.items() if v != UNJUDGED} == {
        "q1a": 1, "q1b": 0, "q1e": 2, "q2w": 1, "q2x": 1,
    }  # fmt: skip


def test_best_rank_counts_the_pooled_runs_only(tables):
    pairs, _ = tables
    best = column(pairs, pairs.best_rank)
    assert best["q1a"] == 1 and best["q1c"] == 3 and best["q2z"] == 1
    assert best["q1f"] == NEVER and best["q2w"] == NEVER


def test_any_best_rank_and_returned_by_count_every_audited_run(tables):
    pairs, _ = tables
    assert column(pairs, pairs.any_best_rank)["q1f"] == 1
    assert column(pairs, pairs.returned_by)["q1a"] == 3
    assert column(pairs, pairs.returned_by)["q2w"] == 0


def test_a_pool_of_depth_one(tables):
    pairs, _ = tables
    pooled = column(pairs, pairs.in_pool(1))
    assert [name for name, inside in pooled.items() if inside] == [
        "q1a",
        "q1b",
        "q1e",
        "q2x",
        "q2z",
    ]


def test_judgments_of_a_shallower_campaign(tables):
    pairs, _ = tables
    shallow = column(pairs, pairs.grades(depth=1))
    assert shallow["q1e"] == 2
    assert shallow["q2z"] == UNJUDGED, "pooled at depth 1, but no assessor saw it"
    assert shallow["q2w"] == UNJUDGED, "judged, but no pool run returned it"
    assert column(pairs, pairs.grades())["q2w"] == 1


def test_unique_to_a_run_is_what_no_other_run_put_into_the_pool(tables):
    pairs, _ = tables
    unique = column(pairs, pairs.unique_to("run", "tfidf", depth=3))
    assert [name for name, mine in unique.items() if mine] == ["q1d"]


def test_unique_to_a_group_counts_what_its_runs_share(tables):
    pairs, _ = tables
    by_run = column(pairs, pairs.unique_to("run", "bm25", depth=2))
    by_group = column(pairs, pairs.unique_to("group", "ash", depth=2))
    assert [name for name, mine in by_run.items() if mine] == ["q2y"]
    assert [name for name, mine in by_group.items() if mine] == ["q1a", "q2x", "q2y"]


def test_a_kind_that_no_pooled_run_names_is_not_there(tables):
    pairs, _ = tables
    assert set(pairs.holders) == {"run", "group"}
    assert pairs.holders["group"].names == ("ash", "oak"), "elm has no pooled run"


def test_rows_of_given_pairs(tables):
    pairs, _ = tables
    wanted = pa.table({"q": ["q2", "q1", "q1", "q9", "q1"], "d": ["z", "a", "z", "a", "f"]})
    assert pairs.rows_of(wanted["q"], wanted["d"]).tolist() == [9, 0, -1, -1, 5]


def test_grades_of_other_judgments(tables):
    pairs, _ = tables
    other = judgments(("q1", "f", 3), ("q2", "z", 2), ("q1", "unknown", 1))
    grades = column(pairs, pairs.grades_of(other, default=0))
    assert {name: grade for name, grade in grades.items() if grade} == {"q1f": 3, "q2z": 2}


def test_rankings_are_in_the_order_of_query_run_and_rank(tables):
    pairs, rankings = tables
    lists = [
        (
            rankings.query_ids[rankings.list_query[i]],
            rankings.runs[rankings.list_run[i]],
            " ".join(pairs.doc_id.take(pa.array(rankings.pair[a:b])).to_pylist()),
        )
        for i, (a, b) in enumerate(zip(rankings.offsets, rankings.offsets[1:], strict=False))
    ]
    assert lists == [
        ("q1", "bm25", "a b c"),
        ("q1", "dense", "e b"),
        ("q1", "later", "f a"),
        ("q1", "tfidf", "b a d"),
        ("q2", "bm25", "x y"),
        ("q2", "dense", "z"),
        ("q2", "tfidf", "x z"),
    ]


def test_a_query_of_which_nothing_was_judged_is_left_out():
    pairs, rankings = build(
        judgments(("q1", "a", 1), ("q1", "b", -1), ("q9", "x", -1)),
        [(Contributor("bm25", True), ranking(q1="a b", q9="x"))],
    )
    assert pairs.query_ids == ("q1",)
    assert column(pairs, pairs.relevance) == {"q1a": 1, "q1b": -1}
    assert len(rankings) == 2


def test_judgments_that_judge_nothing_are_refused():
    with pytest.raises(AuditError, match="No document was judged"):
        build(judgments(("q1", "a", -1)), [(Contributor("bm25", True), ranking(q1="a"))])


def test_no_pooled_runs_means_no_pool():
    pairs, rankings = build(JUDGED, [RUNS[3]])
    assert not pairs.in_pool(1000).any() and pairs.holders == {}
    assert len(rankings) == 2


def test_a_run_without_a_judged_query_still_counts_as_a_run():
    _, rankings = build(JUDGED, [RUNS[0], (Contributor("off", False), ranking(q9="a"))])
    assert rankings.runs == ("bm25", "off") and set(rankings.list_run) == {0}


def test_the_tables_of_batches_of_queries_join_to_those_of_all(tables):
    parts = [
        build(JUDGED.filter(pc.equal(JUDGED["query_id"], query)), RUNS) for query in ("q1", "q2")
    ]
    assert_equal(join(parts), tables)


def test_near_tables_hold_what_was_judged_or_stands_high(tables):
    pairs, rankings = near(*tables, to=1)
    # Left out: c and d, third in their lists; y and z, judged by nobody. z is first for `dense`.
    assert list(column(pairs, pairs.query)) == ["q1a", "q1b", "q1e", "q1f", "q2w", "q2x", "q2z"]
    docs = pairs.doc_id.take(pa.array(rankings.pair)).to_pylist()
    assert list(zip(docs, rankings.rank.tolist(), strict=True)) == [
        *(("a", 1), ("b", 2)),  # bm25 on q1
        *(("e", 1), ("b", 2)),  # dense
        *(("f", 1), ("a", 2)),  # later
        *(("b", 1), ("a", 2)),  # tfidf
        ("x", 1),  # bm25 on q2
        ("z", 1),  # dense
        ("x", 1),  # tfidf; z stands second here
    ]
    assert rankings.offsets.tolist() == [0, 2, 4, 6, 8, 9, 10, 11]


def test_what_stands_high_in_one_list_can_stay_in_the_others(tables):
    pairs, rankings = near(*tables, to=1, in_all_lists=True)
    assert pairs.doc_id.to_pylist() == near(*tables, to=1)[0].doc_id.to_pylist()
    z = pairs.doc_id.to_pylist().index("z")
    assert rankings.rank[rankings.pair == z].tolist() == [1, 2]  # `dense` and tfidf on q2


def test_near_tables_still_count_what_was_returned(tables):
    _, rankings = near(*tables, to=0)
    assert rankings.length.tolist() == tables[1].length.tolist() == [3, 2, 2, 3, 2, 1, 2]


docs = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=6).map(" ".join)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["ash", "oak", "elm"]), docs), min_size=1, max_size=6))
def test_holders_agree_with_a_loop_over_the_contributors(groups_and_docs):
    runs = [
        (Contributor(f"r{i}", True, group), ranking(q1=docs))
        for i, (group, docs) in enumerate(groups_and_docs)
    ]
    pairs, _ = build(judgments(("q1", "a", 1)), runs)
    for row, doc in enumerate(pairs.doc_id.to_pylist()):
        ranks: dict[str, int] = {}
        for group, docs_of_run in groups_and_docs:
            if doc in docs_of_run.split():
                rank = docs_of_run.split().index(doc) + 1
                ranks[group] = min(rank, ranks.get(group, NEVER))
        holders = pairs.holders["group"]
        best, second, *_ = [*sorted(ranks.values()), NEVER, NEVER]
        assert pairs.best_rank[row] == best
        assert holders.next_best[row] == second
        if ranks:
            assert ranks[holders.names[holders.best[row]]] == best
        else:
            assert holders.best[row] == -1
