"""What every stage may leave unread: its numbers are the same to the last bit.

A stage gets the tables down to the rank that it looks to, or one batch of queries after the other.
Each test computes something from whole tables and from these, and wants equal numbers.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow.compute as pc
import pytest

import literal
from poolaudit.pairs import Contributor, build, join, near
from poolaudit.pools import depth_pools
from poolaudit.pools.routes import pool_routes, routes_of_judgments
from poolaudit.removal.leave_out import leave_out_uniques
from poolaudit.scores.bounds import bounds, join_bounds
from poolaudit.scores.lists import judged_lists
from poolaudit.scores.policies import POLICIES, coverage, evaluate_policies
from poolaudit.scores.ties import join_ties, tie_sensitivity
from poolaudit.sharing.probing import looks_to, probe
from poolaudit.tail import calibration, sampling
from poolaudit.verdicts import ranges
from poolaudit.verdicts.comparisons import choose, compare
from poolaudit.verdicts.flips import flips
from poolaudit.verdicts.reading_order import read_first

MEASURES = ["nDCG@3", "nDCG", "AP", "AP(rel=2)", "RR", "P@5", "R@10", "RBP(rel=1)", "Bpref"]
QUERIES = [f"q{number}" for number in range(6)]
DEPTH = 4


def campaign(seed: int):
    """Five runs of up to 140 documents, the pool of three of them judged, and a few more."""
    rng = np.random.default_rng(seed)
    docs = [f"d{number:03}" for number in range(160)]
    lists = {
        (run, query): rng.permutation(docs)[: rng.integers(1, 141)]
        for run in "ABCDE"
        for query in QUERIES
        if rng.random() < 0.9
    }
    texts = {
        run: "\n".join(
            f"{query}: " + " ".join(d + "~" * int(rng.random() < 0.3) for d in lists[run, query])
            for query in QUERIES
            if (run, query) in lists
        )
        for run in "ABCDE"
    }
    judged = []
    for query in QUERIES:
        pool = {d for run in "ABC" for d in lists.get((run, query), ())[:DEPTH]}
        pool |= set(rng.permutation(docs)[:3])
        judged.append(f"{query}: " + " ".join(f"{d}={rng.integers(-1, 3)}" for d in sorted(pool)))
        judged[-1] += " zz=2"
    return "\n".join(judged), texts


CONTRIBUTORS = [
    Contributor(run, run in "ABC", group, family)
    for run, group, family in zip("ABCDE", "xyyzz", "llmmm", strict=True)
]


def tables_of(judgments, texts):
    return build(judgments, [(c, literal.run(texts[c.run])) for c in CONTRIBUTORS])


@pytest.fixture(scope="module", params=[1, 2, 3])
def tables(request):
    qrels, texts = campaign(request.param)
    return tables_of(literal.judgments(qrels), texts)


@pytest.fixture(scope="module")
def batches(request):
    """The tables of the first two queries, and of the others."""
    qrels, texts = campaign(1)
    judgments = literal.judgments(qrels)
    first = pc.less(judgments["query_id"], "q2")
    return [
        tables_of(judgments.filter(mask), texts) for mask in (first, pc.invert(first))
    ], tables_of(judgments, texts)


def same(found, expected) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        if isinstance(one, pd.DataFrame):
            pd.testing.assert_frame_equal(one, other, check_exact=True)
        else:
            np.testing.assert_array_equal(one, other)


def test_batches_join_to_the_whole(batches):
    parts, whole = batches
    literal.assert_equal(join(parts), whole)


def test_bounds_need_one_query_at_a_time(batches):
    parts, whole = batches
    found = join_bounds([bounds(*part, MEASURES, depth=6, top_grade=2) for part in parts])
    expected = bounds(*whole, MEASURES, depth=6)
    assert found.query_ids == expected.query_ids
    ends = ("low", "high", "own_low", "own_high")
    same([getattr(found, end) for end in ends], [getattr(expected, end) for end in ends])


def test_ties_need_one_query_at_a_time(batches):
    parts, whole = batches
    found, expected = (
        join_ties([tie_sensitivity(*part, MEASURES) for part in parts]),
        tie_sensitivity(*whole, MEASURES),
    )
    assert found.query_ids == expected.query_ids
    same(
        [found.low, found.high, found.crossed],
        [expected.low, expected.high, expected.crossed],
    )


def test_scores_and_coverage_need_judged_documents_alone(tables):
    def numbers(pairs, rankings):
        lists = judged_lists(pairs, rankings)
        found = []
        for depth in (2, DEPTH, None):
            grades = pairs.grades(depth)
            evaluations = evaluate_policies(lists, grades, MEASURES, POLICIES)
            found += [e.values for e in evaluations] + [e.effective_depth for e in evaluations[2:]]
            found += coverage(lists, grades, [1, 3, 20])
        return found

    same(numbers(*near(*tables, to=0)), numbers(*tables))


def test_removal_needs_judged_documents_alone(tables):
    def numbers(pairs, rankings):
        return leave_out_uniques(
            *(pairs, rankings, CONTRIBUTORS, MEASURES, POLICIES, [2, DEPTH]),
            nominal=DEPTH,
            routes=pool_routes(pairs, rankings, CONTRIBUTORS, DEPTH),
        )

    same(numbers(*near(*tables, to=0)), numbers(*tables))


def test_reach_needs_judged_documents_alone(tables):
    def numbers(pairs, rankings):
        return depth_pools.reach(pairs, rankings, CONTRIBUTORS, DEPTH)

    same(numbers(*near(*tables, to=0)), numbers(*tables))


def test_pools_need_documents_down_to_the_deepest(tables):
    def numbers(pairs, rankings):
        return [
            depth_pools.contributions(pairs, rankings, CONTRIBUTORS, [2, DEPTH], [1, 2]),
            depth_pools.found_by_depth(pairs, 2 * DEPTH, 1),
            depth_pools.unjudged(pairs, DEPTH),
            *(
                routes_of_judgments(
                    pairs, pool_routes(pairs, rankings, CONTRIBUTORS, DEPTH, kind), kind
                )
                for kind in ("run", "group")
            ),
        ]

    same(numbers(*near(*tables, to=2 * DEPTH)), numbers(*tables))


def test_sharing_needs_documents_down_to_where_it_says_that_it_looks(tables):
    def numbers(pairs, rankings):
        return probe(
            *(pairs, rankings, CONTRIBUTORS),
            measures=MEASURES,
            primary=("nDCG@3", "nonrelevant"),
            depth=DEPTH,
            depths=[2],
            draws=2,
        )

    to = looks_to("nDCG@3", DEPTH, [2])
    assert to == 100  # as far as overlap
    (found, summary), (expected, whole) = numbers(*near(*tables, to=to)), numbers(*tables)
    same([found], [expected])
    assert summary == whole


def test_the_tail_and_its_calibration_need_little(tables):
    def losses(pairs, rankings):
        return [calibration.losses(pairs, rankings, 2, MEASURES, 1)]

    def sample(pairs, rankings):
        rows = sampling.population(pairs, pairs.relevance, 6)
        frame = sampling.stratify(pairs, rows, 10)
        return sampling.draw(pairs, frame, 7, {}, None)

    same(losses(*near(*tables, to=0)), losses(*tables))
    same(sample(*near(*tables, to=6)), sample(*tables))


@pytest.mark.parametrize("measure", ["nDCG@3", "P@5", "AP", "nDCG"])
def test_comparisons_need_open_documents(tables, measure):
    def numbers(pairs, rankings):
        lists = judged_lists(pairs, rankings)
        evaluations = evaluate_policies(lists, pairs.relevance, [measure], POLICIES[:3])
        chosen = choose(evaluations[0], measure)
        compared = compare(
            *(pairs, rankings, evaluations, chosen),
            measure=measure,
            policy="nonrelevant",
            depth=6,
        )
        turned = flips(pairs, rankings, compared, depth=6, draws=50)
        pairs_of_runs = [(c.run, c.other) for c in compared]
        found = read_first(pairs, rankings, measure, pairs_of_runs, depth=6, most=10)
        return [compared, turned, found.record()], [found.documents, found.by_lead]

    looked_at = ranges.looks_to(measure, 6)
    (found, documents), (expected, of_whole) = (
        numbers(*near(*tables, **looked_at)),
        numbers(*tables),
    )
    assert found == expected
    same(documents, of_whole)
