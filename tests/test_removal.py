"""Removal: what leaving a contributor out does, by hand and against judging anew."""

from functools import cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from literal import tables
from poolaudit.errors import AuditError
from poolaudit.pairs import UNJUDGED, Contributor
from poolaudit.removal import leave_out
from poolaudit.scores.lists import judged_lists
from poolaudit.scores.measure_names import parse_measure
from poolaudit.scores.policies import POLICIES, evaluate, means
from submitted import dl19, trec8

GROUPS = {"ash1": "ash", "ash2": "ash", "oak1": "oak", "late": "oak"}


def contributors(names, unpooled=(), groups=GROUPS):
    return [Contributor(name, name not in unpooled, groups.get(name)) for name in names]


def removed(qrels, runs, measures, depths, unpooled=(), groups=GROUPS, **settings):
    built = tables(qrels, runs, unpooled=unpooled, groups=groups)
    audited = contributors(runs, unpooled, groups)
    return leave_out.leave_out_uniques(*built, audited, measures, depths=depths, **settings)


def one(table, **where):
    for column, value in where.items():
        table = table[table[column].isna() if value is None else table[column] == value]
    assert len(table) == 1, table
    return next(table.itertuples())


# Depth 2. The pool is a b c d. `a` comes from both groups, `b` from both runs of ash, `c` from ash2
# alone and `d` from oak1 alone; `e` at rank 3 is judged and not in the pool.
QRELS = "q1: a=1 b=1 c=0 d=1 e=1"
RUNS = {"ash1": "q1: a b e", "ash2": "q1: b c", "oak1": "q1: d a", "late": "q1: d x a"}


@pytest.fixture(scope="module")
def depth_2():
    return removed(QRELS, RUNS, ["P@2", "AP", "Bpref"], [2], unpooled=["late"])


def test_a_run_that_others_cover_loses_nothing(depth_2):
    row = one(depth_2[0], kind="run", left_out="ash1", measure="AP")
    assert (row.unique, row.change, row.relative_change, row.queries_changed) == (0, 0, 0, 0)
    assert (row.tau, row.tau_ap) == (1, 1) and row.rank == row.rank_without


def test_without_its_own_document_a_run_loses_the_rank_it_had_for_it(depth_2):
    # Of a b d relevant, oak1 has d at rank 1 and a at rank 2; without d only a is left, and R is 2.
    row = one(depth_2[0], kind="run", left_out="oak1", measure="P@2")
    assert (row.score, row.score_without) == (1.0, 0.5)
    assert (row.unique, row.unique_relevant) == (1, 1)
    row = one(depth_2[0], kind="run", left_out="oak1", measure="AP")
    assert row.score == pytest.approx((1 + 1) / 3)
    assert row.score_without == pytest.approx((1 / 2) / 2)
    assert row.relative_change == pytest.approx(1 - (1 / 4) / (2 / 3))


def test_a_group_loses_what_its_runs_share(depth_2):
    # Without ash neither b nor c is judged: P@2 of ash1 falls to a alone, of ash2 to nothing.
    table, _ = depth_2
    assert one(table, kind="group", left_out="ash", run="ash1", measure="P@2").score_without == 0.5
    row = one(table, kind="group", left_out="ash", run="ash2", measure="P@2")
    assert (row.score, row.score_without, row.unique, row.unique_relevant) == (0.5, 0, 2, 1)


def test_unpooled_runs_of_a_group_are_scored_and_marked(depth_2):
    row = one(depth_2[0], kind="group", left_out="oak", run="late", measure="P@2")
    assert not row.pooled and (row.score, row.score_without) == (0.5, 0)


def test_ranks_are_those_among_all_runs_under_the_reduced_judgments(depth_2):
    # P@2 with all: ash1 1, oak1 1, ash2 .5, late .5. Without oak (d): ash1 1, ash2 .5, oak1 .5,
    # late 0.
    row = one(depth_2[0], kind="group", left_out="oak", run="oak1", measure="P@2")
    assert (row.rank, row.rank_without) == (1, 2)
    row = one(depth_2[0], kind="group", left_out="oak", run="late", measure="P@2")
    assert (row.rank, row.rank_without) == (3, 4)
    # Four of the six pairs are not tied in the first order, five in the second; all of the three
    # that are tied in neither agree.
    assert row.tau == pytest.approx(3 / np.sqrt(4 * 5))


def test_by_query_only_what_changed(depth_2):
    _, cells = depth_2
    assert cells[(cells.kind == "run") & (cells.left_out == "ash1")].empty
    cell = one(cells, kind="run", left_out="oak1", measure="P@2")
    assert (cell.query_id, cell.score, cell.score_without, cell.unique) == ("q1", 1.0, 0.5, 1)


def test_all_judgments_are_reduced_by_what_is_unique_in_the_nominal_pool():
    # `e` came by another route and stays: AP of ash1 without oak counts a, b and e.
    table, _ = removed(QRELS, RUNS, ["AP"], [], unpooled=["late"], nominal=2, kinds=["group"])
    row = one(table, left_out="ash", run="ash1", depth=None)
    assert row.score == pytest.approx((1 + 1 + 1) / 4)
    # Without b (and c): a at 1, e at 3, of a d e.
    assert row.score_without == pytest.approx((1 + 2 / 3) / 3)


def test_the_variants_differ_where_nonrelevant_documents_count():
    # q1 has the nonrelevant n only through oak1. Bpref of oak1 (n, a): without n nothing judged
    # stands above a.
    qrels, runs = "q1: a=1 n=0 b=1", {"ash1": "q1: a b", "oak1": "q1: n a"}
    for variant, expected in (("all", 1 / 2), ("relevant", 0.0)):
        table, _ = removed(qrels, runs, ["Bpref", "AP"], [2], kinds=["run"], variant=variant)
        row = one(table, left_out="oak1", measure="Bpref")
        assert row.score == 0.0 and row.score_without == expected and row.variant == variant
        assert one(table, left_out="oak1", measure="AP").change == 0


def test_relevant_means_at_the_level_of_a_binary_measure():
    # oak1 alone brought x (grade 1), nonrelevant at level 2.
    qrels, runs = "q1: a=2 x=1", {"ash1": "q1: a", "oak1": "q1: x a"}
    table, _ = removed(
        qrels, runs, ["Bpref(rel=2)", "nDCG@2"], [2], kinds=["run"], variant="relevant"
    )
    assert one(table, left_out="oak1", measure="Bpref(rel=2)").change == 0
    row = one(table, left_out="oak1", measure="nDCG@2")
    assert row.change > 0 and row.unique_relevant == 1


def test_one_contributor_is_refused_with_what_removal_cannot_see():
    only = {"ash1": "q1: a", "ash2": "q1: b"}
    built = tables("q1: a=1", only, groups={"ash1": "ash", "ash2": "ash"})
    assert leave_out.kinds_to_leave_out(built[0])[0] == ["run"]
    assert leave_out.CANNOT_SEE in leave_out.kinds_to_leave_out(built[0])[1]["group"]
    with pytest.raises(AuditError, match="cannot see what all contributors share"):
        removed("q1: a=1", only, ["AP"], [1], kinds=["group"])


@pytest.mark.parametrize(
    ("settings", "hint"),
    [
        ({"policies": ["condens"]}, "did you mean condense"),
        ({"variant": "relevants"}, "did you mean relevant"),
        ({"kinds": ["groups"]}, "did you mean group"),
    ],
)
def test_names_that_are_not_known_are_refused_with_the_nearest(settings, hint):
    with pytest.raises(AuditError, match=hint):
        removed(QRELS, RUNS, ["AP"], [2], **settings)


def test_with_nobody_to_leave_out_the_tables_have_their_columns_and_no_rows(depth_2):
    only = {"ash1": "q1: a b"}
    for depths, nominal in (([1], None), ([], None), ([1, 2], 1)):
        empty = removed("q1: a=1", only, ["AP", "Bpref"], depths, groups={}, nominal=nominal)
        for table, full in zip(empty, depth_2, strict=True):
            assert table.empty and table.dtypes.to_dict() == full.dtypes.to_dict()
        assert list(leave_out.summarise(empty[0])) == list(leave_out.summarise(depth_2[0]))


def test_what_removal_cannot_see_stands_in_every_row(depth_2):
    assert set(depth_2[0]["cannot_see"]) == {leave_out.CANNOT_SEE}


def test_intervals_only_where_enough_queries_changed():
    def collection(n):
        qrels = "\n".join(f"q{i:02}: a=1 d=1" for i in range(12))
        late = "\n".join(f"q{i:02}: {'d' if i < n else 'a'} a2" for i in range(12))
        return qrels, {"ash1": "\n".join(f"q{i:02}: a" for i in range(12)), "oak1": late}

    few, _ = removed(*collection(leave_out.FEWEST_CHANGED - 1), ["P@1"], [1], kinds=["run"])
    many, _ = removed(*collection(leave_out.FEWEST_CHANGED), ["P@1"], [1], kinds=["run"])
    assert np.isnan(one(few, left_out="oak1").change_low)
    row = one(many, left_out="oak1")
    assert row.queries_changed == leave_out.FEWEST_CHANGED
    assert row.change_low <= row.change <= row.change_high and row.change_low > 0


@pytest.mark.parametrize("share", [0.3, 0.5, 0.8])
def test_intervals_cover_skewed_changes_of_which_many_are_zero(share):
    # 50 queries, of which a share change, by amounts of exponential size: the true mean is the
    # share. 600 draws at a nominal 95%; three standard errors of .93 are .031.
    rng = np.random.default_rng(7)
    drawn = rng.exponential(size=(600, 50)) * (rng.random((600, 50)) < share)
    changed = (drawn > 0).sum(axis=1)
    weights = leave_out.bootstrap_weights(50, seed=1)
    low, high = leave_out.change_intervals(drawn, changed, weights)
    told = changed >= leave_out.FEWEST_CHANGED
    assert np.isnan(low[~told]).all() and told.mean() > 0.9
    assert np.mean((low <= share)[told] & (share <= high)[told]) > 0.93 - 0.031


def test_a_summary_says_which_mean_it_is():
    # P@1 without their own: ash1 falls from 1 to 1/2, oak1 from 1/2 to 1/2, both of two queries.
    qrels, runs = "q1: a=1 b=0\nq2: c=1", {"ash1": "q1: a\nq2: c", "oak1": "q1: b\nq2: c"}
    table, _ = removed(qrels, runs, ["P@1"], [1], kinds=["run"])
    (row,) = leave_out.summarise(table).itertuples()
    assert (row.runs, row.mean_relative, row.mean_absolute) == (2, 0.25, 0.25)
    assert row.ratio_of_sums == pytest.approx(0.5 / 1.5)
    assert (row.largest, row.largest_run, row.largest_left_out) == (0.5, "ash1", "ash1")
    assert row.cannot_see == leave_out.CANNOT_SEE


def test_deep_queries_are_the_ten_with_the_most_relevant_documents():
    # Eleven queries; the last has one relevant document, the others two. Its loss does not count.
    qrels = "\n".join(f"q{i:02}: a=1 b=1" for i in range(10)) + "\nq10: c=1"
    ash = "\n".join(f"q{i:02}: a b" for i in range(10))
    table, _ = removed(qrels, {"ash1": ash, "oak1": "q10: c"}, ["P@1"], [2], kinds=["run"])
    row = one(table, left_out="oak1")
    assert row.change == pytest.approx(1 / 11) and row.deep_change == 0


# Against judging anew: pools made of sets of names, and every reduced judgment set scored whole.
MEASURES = [
    *("nDCG@3", "AP(rel=2)", "RR", "R@2", "Bpref", "infAP", "Judged@3"),
    "P(judged_only=True)@2",
]
documents = st.permutations("abcdefgh")
ranked = st.tuples(documents, st.integers(1, 8)).map(lambda drawn: " ".join(drawn[0][: drawn[1]]))
judged = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-1, 2), min_size=1).filter(
    lambda drawn: max(drawn.values()) >= 0
)


def judge_anew(pairs, grades, tops, level):
    """The judgments of a pool of these runs; with a level, what they lack is kept if below it."""
    docs = pairs.doc_id.to_pylist()
    pooled = [any(d in top[q] for top in tops) for q, d in zip(pairs.query, docs, strict=True)]
    kept = np.array(pooled) if level is None else np.array(pooled) | (grades < level)
    return np.where(kept, grades, np.int16(UNJUDGED))


@settings(max_examples=15, deadline=None)
@example(
    lists=["a", "a", "a b", "b", "b", "a", "a", "a"],
    drawn=[{"a": 0, "b": 0}, {"a": 0}],
    depth=2,
    variant="all",
    ranks=False,
)
@given(
    lists=st.lists(ranked, min_size=8, max_size=8),
    drawn=st.lists(judged, min_size=2, max_size=2),
    depth=st.integers(1, 4),
    variant=st.sampled_from(leave_out.VARIANTS),
    ranks=st.booleans(),
)
def test_the_same_as_judging_anew_without_each_contributor(lists, drawn, depth, variant, ranks):
    runs = {name: f"q1: {lists[i]}\nq2: {lists[i + 4]}" for i, name in enumerate(GROUPS)}
    tops = {n: [set(x.split()[:depth]) for x in lists[i::4]] for i, n in enumerate(GROUPS)}
    qrels = "\n".join(
        f"q{i}: " + " ".join(f"{d}={g}" for d, g in of.items()) for i, of in enumerate(drawn, 1)
    )
    settings = {"policies": POLICIES, "variant": variant, "ranks": ranks}
    table, _ = removed(qrels, runs, MEASURES, [depth], ["late"], **settings)
    pairs, rankings = tables(qrels, runs, unpooled=["late"], groups=GROUPS)
    whole = judged_lists(pairs, rankings)

    @cache
    def after(kind, left_out, level, policy):
        owner_of = GROUPS if kind == "group" else {name: name for name in GROUPS}
        others = [tops[n] for n in GROUPS if n != "late" and owner_of[n] != left_out]
        reduced = judge_anew(pairs, pairs.grades(depth), others, level)
        scores = means(evaluate(whole, reduced, MEASURES, policy))
        return dict(zip(MEASURES, scores, strict=True))

    for row in table.itertuples():
        level = None if variant == "all" else parse_measure(row.measure).rel or 1
        scores = after(row.kind, row.left_out, level, row.policy)[row.measure]
        expected = scores[rankings.runs.index(row.run)]
        assert row.score_without == pytest.approx(expected, abs=1e-12, nan_ok=True)
        if ranks and not np.isnan(expected):
            assert row.rank_without == 1 + (scores > expected + 1e-12).sum()
    assert len(table) == len(MEASURES) * len(POLICIES) * (3 + 4)


# Real collections.
MEANS = ["mean_relative", "mean_absolute", "ratio_of_sums", "largest"]


def percent(row, names=MEANS) -> list[float]:
    return [round(100 * getattr(row, name), 2) for name in names]


@pytest.fixture(scope="module")
def trec8_removal(real_data):
    collection = trec8(real_data)
    pairs, rankings = collection.tables
    table, _ = leave_out.leave_out_uniques(
        pairs, rankings, collection.contributors, ["AP", "nDCG@10", "Bpref"], depths=[100]
    )
    return collection, table


@pytest.mark.real
def test_trec8_by_group_run_and_type(trec8_removal):
    # Published for groups: mean .78, largest 9.9 (Voorhees 2001).
    summary = leave_out.summarise(trec8_removal[1])
    group = one(summary, kind="group", measure="AP")
    assert group.runs == 71 and group.largest_run == "READWARE2"
    assert percent(group) == [0.76, 0.77, 0.79, 9.93]
    assert percent(group, ["deep_mean", "deep_largest"]) == [3.31, 33.88]
    assert percent(one(summary, kind="run", measure="AP")) == [0.57, 0.57, 0.47, 5.63]
    assert percent(one(summary, kind="type", measure="AP")) == [0.41, 1.93, 0.15, 13.46]
    assert (round(group.tau, 4), round(group.tau_ap, 4)) == (0.9906, 0.9639)


@pytest.mark.real
def test_trec8_the_automatic_runs_alone(trec8_removal):
    summary = leave_out.summarise(trec8_removal[1], by=["type"])
    automatic = one(summary, kind="group", measure="AP", type="automatic")
    assert automatic.runs == 62 and percent(automatic) == [0.34, 0.35, 0.14, 3.31]
    assert percent(one(summary, kind="group", measure="AP", type="manual"))[-1] == 9.93


@pytest.mark.real
def test_trec8_reduced_judgments_scored_by_pytrec_eval_say_the_same(trec8_removal):
    import pytrec_eval

    collection, table = trec8_removal
    pairs, rankings = collection.tables
    docs = pairs.doc_id.to_pylist()
    names = {"AP": "map", "nDCG@10": "ndcg_cut_10", "Bpref": "bpref"}
    for kind, left_out in (("run", "Dm8Nbn"), ("group", "miti"), ("type", "manual")):
        holders = pairs.holders[kind]
        unique = pairs.unique_to(kind, left_out, 100)
        assert holders.best[unique].tolist() == [holders.names.index(left_out)] * unique.sum()
        qrels = {query: {} for query in pairs.query_ids}
        for pair in np.flatnonzero((pairs.relevance != UNJUDGED) & ~unique):
            qrels[pairs.query_ids[pairs.query[pair]]][docs[pair]] = int(pairs.relevance[pair])
        evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(names.values()))
        own = table[(table.kind == kind) & (table.left_out == left_out)]
        for run in sorted(set(own.run))[:3]:
            scores = evaluator.evaluate(ranking(pairs, rankings, docs, run))
            for measure, peer in names.items():
                row = one(own, run=run, measure=measure)
                expected = sum(scores[query][peer] for query in scores) / len(pairs.query_ids)
                assert row.score_without == pytest.approx(expected, abs=1e-9)


def ranking(pairs, rankings, docs, run) -> dict[str, dict[str, float]]:
    """A run as pytrec_eval takes it, with scores that fall with the rank."""
    found = {}
    for i in np.flatnonzero(rankings.list_run == rankings.runs.index(run)):
        rows = slice(rankings.offsets[i], rankings.offsets[i + 1])
        names = [docs[pair] for pair in rankings.pair[rows]]
        query = rankings.query_ids[rankings.list_query[i]]
        found[query] = {name: float(-place) for place, name in enumerate(names)}
    return found


@pytest.mark.real
def test_dl19_by_group(real_data):
    collection = dl19(real_data)
    table, _ = leave_out.leave_out_uniques(
        *collection.tables, collection.contributors, ["nDCG@10", "AP(rel=2)"], nominal=10
    )
    groups = table[table.kind == "group"]
    assert groups.left_out.nunique() == 12
    summary = leave_out.summarise(groups)
    ndcg, ap = (one(summary, measure=measure) for measure in ("nDCG@10", "AP(rel=2)"))
    assert percent(ndcg) == [3.90, 3.90, 3.78, 13.77]
    assert percent(ap) == [2.05, 2.05, 1.91, 7.73]
    # The run that depends most on what its own group brought, and that falls furthest.
    assert ndcg.largest_run == ap.largest_run == "ICT-CKNRM_B50"
    row = one(groups, run="ICT-CKNRM_B50", measure="nDCG@10")
    assert (row.left_out, row.unique, row.unique_relevant) == ("ICTNET", 197, 88)
    assert (round(row.score, 4), round(row.score_without, 4)) == (0.6014, 0.5186)
    assert (row.rank, row.rank_without, row.queries_changed) == (30, 39, 28)
