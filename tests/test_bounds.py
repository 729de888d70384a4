"""Bounds against brute force: every judging of small lists, with every grade."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from literal import tables
from poolaudit.pairs import Contributor, Pairs, Rankings, build
from poolaudit.reading.runs import read_run
from poolaudit.scores.bounds import bounds, residuals, residuals_of
from poolaudit.scores.lists import judged_lists
from poolaudit.scores.policies import evaluate
from real import read_qrels


def ends(measure: str, qrels: str, runs: dict[str, str], depth: int = 100) -> tuple:
    """low, high, own_low, own_high of the first run on the one query."""
    pairs, rankings = tables(f"q: {qrels}", {name: f"q: {text}" for name, text in runs.items()})
    found = bounds(pairs, rankings, [measure], depth=depth)
    return tuple(
        float(values[0, 0, 0]) for values in (found.low, found.high, found.own_low, found.own_high)
    )


# By hand


def test_precision_is_lowest_with_none_and_highest_with_all_relevant():
    assert ends("P@4", "a=1 b=0", {"A": "a x b y"}) == (1 / 4, 3 / 4, 1 / 4, 3 / 4)


def test_rr_is_highest_at_the_first_unjudged_document():
    assert ends("RR", "a=1", {"A": "x a"}) == (1 / 2, 1, 1 / 2, 1)


def test_rbp_goes_up_by_the_weight_of_the_unjudged_documents():
    low, high, *_ = ends("RBP(p=0.5,rel=1)", "a=1", {"A": "a x y"})
    assert (low, high) == (0.5, 0.5 + 0.25 + 0.125)


def test_all_relevant_is_not_the_highest_ap():
    # x relevant: (1 + 1) / 2 = 1. x and y: (1 + 1 + 3/5) / 3. a alone: 1.
    assert ends("AP", "a=1 b=0 c=0", {"A": "a x b c y"})[1] == 1


def test_none_relevant_is_not_the_lowest_ap():
    # y relevant: (1 + 2/4) / 2, below 1 with none, and below both (1 + 2/3 + 3/4) / 3.
    assert ends("AP", "a=1 b=0", {"A": "a b x y"})[0] == (1 + 2 / 4) / 2


def test_documents_of_other_runs_lower_what_a_run_can_have_at_worst():
    low, high, own_low, own_high = ends("R@2", "a=1", {"A": "a b", "B": "x y"})
    assert (low, high) == (1 / 3, 1)  # x and y are relevant and b is not; neither of them is
    assert (own_low, own_high) == (1, 1)


def test_the_ideal_moves_with_the_judging():
    # x, which only B returned, at the top grade 2: the ideal is two documents of grade 2.
    low, high, own_low, _ = ends("nDCG@2", "a=1 z=2", {"A": "b a", "B": "x"})
    assert low == pytest.approx((1 / math.log2(3)) / (2 + 2 / math.log2(3)))
    assert own_low < high


def test_an_intermediate_grade_can_be_the_best():
    # Grades go up to 3. At 1, x makes a gain of 1 + 1/log2 3 and an ideal of that and 1/2 for z.
    # Above 1 it lifts the ideal as much as the gain, and better placed.
    pairs, rankings = tables("q: a=1 z=1\np: top=3", {"A": "q: a x"})
    high = bounds(pairs, rankings, ["nDCG@3"]).high[0, 0, pairs.query_ids.index("q")]
    gain = 1 + 1 / math.log2(3)
    assert high == pytest.approx(gain / (gain + 1 / 2))


def test_documents_below_the_depth_stay_nonrelevant():
    rbp = "RBP(p=0.5,rel=1)"
    assert ends(rbp, "a=1", {"A": "a x y"}, depth=2)[1] == 1 / 2 + 1 / 4
    assert ends(rbp, "a=1", {"A": "a x y", "B": "y"}, depth=2)[1:] == (7 / 8, 1 / 2, 3 / 4)


def test_the_depth_is_the_cutoff_or_the_setting():
    pairs, rankings = tables("q: a=1", {"A": "q: a"})
    assert bounds(pairs, rankings, ["P@5", "AP"]).depths == (5, 100)
    assert bounds(pairs, rankings, ["P@5", "AP"], depth=20).depths == (5, 20)


def test_a_measure_without_a_rule_has_no_bounds_for_unanswered_queries_either():
    pairs, rankings = tables("q1: a=1\nq2: b=1", {"A": "q1: a"})
    found = bounds(pairs, rankings, ["infAP"])
    assert np.isnan([found.low, found.high, found.own_low, found.own_high]).all()


def test_an_unanswered_query_has_nothing_to_bound():
    pairs, rankings = tables("q: a=1\np: b=1", {"A": "q: a", "B": "p: x b"})
    found = bounds(pairs, rankings, ["AP", "Bpref", "nDCG@5"])
    assert found.low[:, 0, 0].tolist() == found.high[:, 0, 0].tolist() == [0, 0, 0]


def test_runs_that_answered_nothing_have_nothing_to_bound():
    pairs, rankings = tables("q: a=1", {"A": "p: a"})
    found = bounds(pairs, rankings, MEASURES)
    assert not np.any([found.low, found.high, found.own_low, found.own_high])


@pytest.mark.parametrize("measure", ["infAP", "Judged@3", "AP(judged_only=True)", "Rprec"])
def test_measures_without_a_rule_have_no_bounds(measure):
    assert all(math.isnan(end) for end in ends(measure, "a=1", {"A": "a x"}))


def test_a_level_that_no_grade_reaches_cannot_be_found():
    assert ends("AP(rel=2)", "a=1", {"A": "a x"}) == (0, 0, 0, 0)


# All judgings of small lists

MEASURES = [
    "P@3",
    "P(rel=2)@3",
    "R@3",
    "Success@2",
    "RR",
    "RR(rel=2)@2",
    "RBP(p=0.5,rel=1)",
    "AP",
    "AP(rel=2)@3",
    "nDCG@3",
    "nDCG",
    "NCG@3",
    "Bpref",
    "Bpref(rel=2)",
]
DOCS = "abcdefg"


@st.composite
def campaigns(draw) -> tuple[Pairs, Rankings]:
    """One query, one to three runs, at most five unjudged documents, grades up to 2 or 3."""
    top = draw(st.sampled_from([2, 3]))
    judged = draw(
        st.dictionaries(st.sampled_from(DOCS), st.integers(0, top), min_size=len(DOCS) - 4)
    )
    rankings = draw(
        st.lists(
            st.permutations(DOCS).flatmap(
                lambda docs: st.integers(1, len(docs)).map(lambda n: docs[:n])
            ),
            min_size=1,
            max_size=3,
        )
    )
    qrels = " ".join(f"{doc}={grade}" for doc, grade in {**judged, "top": top}.items())
    return tables(
        f"q: {qrels}", {f"run{i}": "q: " + " ".join(docs) for i, docs in enumerate(rankings)}
    )


def brute_force(pairs: Pairs, rankings: Rankings, measure: str, depth: int) -> np.ndarray:
    """[4, runs]: low, high, own_low, own_high over all judgings."""
    judgeable = np.flatnonzero((pairs.relevance < 0) & (pairs.any_best_rank <= depth))
    grades = range(pairs.relevance.max() + 1)
    lists = judged_lists(pairs, rankings, np.zeros(len(pairs), np.int16))
    within = rankings.rank <= depth
    own = [
        np.isin(judgeable, rankings.pair[within & (rankings.list_of == i)])
        for i in range(len(rankings.runs))
    ]
    values, own_values = [], [[] for _ in own]
    for judging in itertools.product(grades, repeat=len(judgeable)):
        judgments = pairs.relevance.copy()
        judgments[judgeable] = judging
        value = evaluate(lists, judgments, [measure]).values[0, :, 0]
        values.append(value)
        for run, mine in enumerate(own):
            if not np.array(judging)[~mine].any():
                own_values[run].append(value[run])
    return np.array(
        [
            np.min(values, axis=0),
            np.max(values, axis=0),
            [min(found) for found in own_values],
            [max(found) for found in own_values],
        ]
    )


@pytest.mark.parametrize("measure", MEASURES)
@settings(max_examples=5, deadline=None)
@given(campaign=campaigns(), depth=st.sampled_from([1, 2, 3, 100]))
def test_bounds_are_the_extremes_over_all_judgings(measure, campaign, depth):
    found = bounds(*campaign, [measure], depth=depth)
    ours = np.array([found.low, found.high, found.own_low, found.own_high])[:, 0, :, 0]
    expected = brute_force(*campaign, measure, found.depths[0])
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(campaign=campaigns(), depth=st.sampled_from([2, 100]))
def test_wider_choices_give_wider_bounds(campaign, depth):
    pairs, rankings = campaign
    found = bounds(pairs, rankings, MEASURES, depth=depth)
    # Bounds are exact to 1e-12, as the comparison with brute force says: sums differ in rounding.
    assert (found.low <= found.own_low + 1e-12).all()
    assert (found.own_high <= found.high + 1e-12).all()
    scores = evaluate(judged_lists(pairs, rankings), pairs.grades(), MEASURES).values
    inside = (found.own_low <= scores + 1e-12) & (scores <= found.own_high + 1e-12)
    assert inside[: MEASURES.index("Bpref")].all()


def test_bpref_now_need_not_lie_in_its_bounds():
    # x is skipped now: 1. Judged, x is nonrelevant above a (0), or relevant (1).
    pairs, rankings = tables("q: a=1", {"A": "q: x y a"})
    now = evaluate(judged_lists(pairs, rankings), pairs.grades(), ["Bpref"]).values.item()
    low, high, *_ = ends("Bpref", "a=1", {"A": "x y a"})
    assert (now, low, high) == (1, 0, 1)


# What RBP leaves open


def residual(measure: str, qrels: str, ranking: str, policy: str = "nonrelevant") -> float:
    pairs, rankings = tables(f"q: {qrels}", {"A": f"q: {ranking}"})
    return residuals(judged_lists(pairs, rankings), pairs.grades(), measure, policy).item()


def test_the_residual_is_the_tail_and_the_weight_of_the_unjudged_documents():
    assert residual("RBP(p=0.5,rel=1)", "a=1 b=0", "a b") == 0.5**2
    assert residual("RBP(p=0.5,rel=1)", "a=1 b=0", "a x b") == 0.5**3 + 0.5 * 0.5


def test_only_rbp_has_a_residual():
    pairs, rankings = tables("q: a=1 b=0", {"A": "q: a b"})
    lists, measures = judged_lists(pairs, rankings), ["AP", "RBP(p=0.5,rel=1)"]
    found = residuals_of(lists, pairs.grades(), measures, "nonrelevant")
    assert np.isnan(found[0]).all() and found[1].tolist() == [[0.25]]


def test_a_restricted_list_leaves_all_below_the_restriction_open():
    assert residual("RBP(p=0.5,rel=1)", "a=1 b=0", "a x b", "restrict") == 0.5


def test_a_condensed_list_leaves_its_tail_open():
    assert residual("RBP(p=0.5,rel=1)", "a=1 b=0", "a x b", "condense") == 0.5**2


def test_an_unanswered_query_leaves_all_open():
    pairs, rankings = tables("q: a=1\np: b=1", {"A": "q: a"})
    found = residuals(judged_lists(pairs, rankings), pairs.grades(), "RBP(p=0.5,rel=1)")
    assert found[0].tolist() == [1, 0.5]


@pytest.mark.parametrize(
    ("p", "low", "high"),
    [(0.5, "0.7661", "0.7663"), (0.8, "0.447", "0.489"), (0.95, "0.17", "0.60")],
)
def test_the_residual_of_the_worked_case(p, low, high):
    marks = "$$---$----$-??--?---"
    docs = [f"d{rank}" for rank in range(len(marks))]
    known = [f"{d}={int(m == '$')}" for d, m in zip(docs, marks, strict=True) if m != "?"]
    measure, qrels, ranking = f"RBP(p={p},rel=1)", " ".join(known), " ".join(docs)
    pairs, rankings = tables(f"q: {qrels}", {"A": f"q: {ranking}"})
    value = evaluate(judged_lists(pairs, rankings), pairs.grades(), [measure]).values.item()
    digits = len(low) - 2
    assert f"{value:.{digits}f}" == low
    assert f"{value + residual(measure, qrels, ranking):.{digits}f}" == high


@pytest.mark.real
@pytest.mark.parametrize("spec", ["1", "2", "3", "4", "10"])
def test_residuals_are_those_expected_of_rbp_eval(real_data, spec):
    # The cases with whole grades and without ties, which that tool averages over.
    folder = real_data / "odd/rbp_eval"
    lines = (folder / f"{spec}.spec").read_text().splitlines()
    options = next(line for line in lines if line.startswith("-")).split()
    qrels, run = (folder / name for name in options[-2:])
    table = read_run(run).table
    pairs, rankings = build(read_qrels(qrels), [(Contributor("run", True), table)])
    lists = judged_lists(pairs, rankings)
    numbers = [line.split() for line in lines if line and line[0].isdigit()]
    wanted = iter([[float(x) for x in words] for words in numbers])
    for query in range(len(pairs.query_ids)):
        assert len(next(wanted)) == len(next(wanted)) == 1  # num_rel, num_ret
        for depth in (2, 5, 10):
            next(wanted)  # num_rel_ret
            for p in (0.5, 0.8, 0.95):
                measure = f"RBP(p={p},rel=1)@{depth}"
                value = evaluate(lists, pairs.grades(), [measure]).values[0, 0, query]
                left_open = residuals(lists, pairs.grades(), measure)[0, query]
                assert [value, left_open] == pytest.approx(next(wanted), abs=5.1e-5)


@pytest.mark.real
def test_rbp_is_that_of_ir_measures(real_data):
    pytest.importorskip("cwl", reason="cwl-eval, which computes RBP for ir_measures, is not here")
    import ir_measures

    folder = real_data / "odd/trec_eval"
    table = read_run(folder / "results.test").table
    pairs, rankings = build(read_qrels(folder / "qrels.test"), [(Contributor("run", True), table)])
    name = "RBP(p=0.8,rel=1)"
    ours = evaluate(judged_lists(pairs, rankings), pairs.grades(), [name]).values[0, 0]
    qrels = ir_measures.read_trec_qrels(str(folder / "qrels.test"))
    columns = (table[c].to_pylist() for c in ("query_id", "doc_id", "rank"))
    run = [ir_measures.ScoredDoc(q, d, -rank) for q, d, rank in zip(*columns, strict=True)]
    theirs = ir_measures.iter_calc([ir_measures.parse_measure(name)], qrels, run)
    values = {metric.query_id: metric.value for metric in theirs}
    np.testing.assert_allclose(ours, [values[q] for q in pairs.query_ids], rtol=0, atol=1e-12)
