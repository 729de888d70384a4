"""Verdicts on hand-made collections, from rankings and judgments to the sentence."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

from literal import tables
from poolaudit.cells import cells
from poolaudit.pairs import Contributor, Pairs, Rankings
from poolaudit.removal.leave_out import leave_out_uniques
from poolaudit.scores.bounds import bounds
from poolaudit.scores.lists import judged_lists
from poolaudit.scores.measure_names import levels_of
from poolaudit.scores.policies import coverage, evaluate_policies
from poolaudit.tail.sampling import judged_relevant
from poolaudit.verdicts.comparisons import choose, compare
from poolaudit.verdicts.decisions import Evidence, decide
from poolaudit.verdicts.findings import Thresholds
from poolaudit.verdicts.flips import flips
from poolaudit.verdicts.numbers import built_by_assessors
from poolaudit.verdicts.orders import subtask_label
from real import dl19_passage

QUERIES = 7
PLAIN = Thresholds(fewest_relevant=1, fewest_contributors=1)
"""Hand-made queries have few relevant documents and few runs; these are not what is tested."""


def every_query(line: str) -> str:
    """The same line for each of seven queries, the fewest at which two comparisons can be told
    apart: if all queries agree, p is 2 / 2^7, and 0.03125 after Holm's correction."""
    return "\n".join(f"q{number}: {line}" for number in range(1, QUERIES + 1))


def audit(
    qrels: str,
    runs: dict[str, str],
    *,
    measure: str = "P@5",
    measures: tuple[str, ...] = (),
    policy: str = "nonrelevant",
    baseline: str | None = None,
    unpooled: tuple[str, ...] = (),
    groups: dict[str, str] | None = None,
    pool_depth: int | None = 5,
    assessors: str = "not stated",
    thresholds: Thresholds = PLAIN,
) -> dict:
    """Everything from the text of judgments and runs to the verdicts, under three policies."""
    pairs, rankings = tables(qrels, runs, unpooled=unpooled, groups=groups)
    contributors = [
        Contributor(run, run not in unpooled, (groups or {}).get(run)) for run in sorted(runs)
    ]
    return judge(
        *(pairs, rankings, contributors, (measure, *measures)),
        policy=policy,
        baseline=baseline,
        pool_depth=pool_depth,
        assessors=assessors,
        thresholds=thresholds,
    )


def judge(
    pairs: Pairs,
    rankings: Rankings,
    contributors: list[Contributor],
    measures: tuple[str, ...],
    *,
    policy: str,
    baseline: str | None,
    pool_depth: int | None,
    assessors: str,
    thresholds: Thresholds,
) -> dict:
    lists = judged_lists(pairs, rankings)
    policies = ("nonrelevant", "condense", "restrict")
    found = evaluate_policies(lists, pairs.relevance, measures, policies)
    cutoffs = [1, 5, 10, 100]
    counted = coverage(lists, pairs.relevance, cutoffs)
    counts = dict(zip(("retrieved", "judged", "unjudged"), counted, strict=True))
    axes = {"run": lists.runs, "query_id": lists.query_ids}
    limits = bounds(pairs, rankings, measures)
    bounded = {name: getattr(limits, name) for name in ("low", "high", "own_low", "own_high")}
    removal = None
    if sum(c.pooled for c in contributors) > 1:
        removal, _ = leave_out_uniques(
            pairs, rankings, contributors, measures, (policy,), nominal=pool_depth, ranks=False
        )
    evidence = Evidence(
        evaluations=found,
        policy=policy,
        coverage=cells({"cutoff": cutoffs, **axes}, counts).to_pandas().assign(depth=np.nan),
        bounds=cells({"measure": limits.measures, **axes}, bounded).to_pandas(),
        removal=removal,
        relevant=judged_relevant(pairs, pairs.relevance, levels_of(measures)),
        contributors=contributors,
        pool_depth=pool_depth,
        assessors=assessors,
    )
    measure = measures[0]
    chosen = choose(next(e for e in found if e.policy == policy), measure, baseline)
    compared = compare(pairs, rankings, found, chosen, measure=measure, policy=policy)
    drawn = flips(pairs, rankings, compared, draws=200)
    return decide(evidence, measure, chosen, compared, drawn, thresholds)


def number(found: dict, run: str, measure: str = "P@5") -> dict:
    (one,) = (n for n in found["numbers"] if (n["run"], n["measure"]) == (run, measure))
    return one


def pair(found: dict, run: str, other: str) -> dict:
    (one,) = (p for p in found["pairs"] if {p["run"], p["other"]} == {run, other})
    return one


# r, s, t are relevant, n, m, o, p are not; x, y, z are unjudged. A has three relevant of five, C
# the same ones, B two.
QRELS = every_query("r=1 s=1 t=1 n=0 m=0 o=0 p=0")
POOLED = {
    "A": every_query("r s t n m"),
    "B": every_query("r s n o p"),
    "C": every_query("t s r m n"),
}


class TestOk:
    """Everything is judged, and no run brought a relevant document that no other did."""

    found = audit(QRELS, POOLED, baseline="B")

    def test_numbers(self):
        assert self.found["counts"]["numbers"]["P@5"] == {"ok": 3, "caveat": 0, "unsafe": 0}
        assert number(self.found, "A")["reason"] == (
            "P@5 of A, 0.6000 (unjudged documents count as nonrelevant), stands as it is: "
            "none of its first 5 documents is unjudged."
        )

    def test_order(self):
        order = pair(self.found, "A", "B")
        assert (order["verdict"], order["claimed"]) == ("ok", True)
        assert order["reason"] == (
            "The order of A above B by P@5, 0.6000 to 0.4000 (unjudged documents count as "
            "nonrelevant; p = 0.016, p = 0.031 corrected for 2 comparisons), stands as it is: no "
            "unjudged document can move the difference."
        )

    def test_answer(self):
        assert self.found["sentence"] == (
            "Of 3 scores by P@5 (unjudged documents count as nonrelevant) 3 are ok, none needs a "
            "caveat and none is unsafe; of 2 orders against B 2 are ok, none needs a caveat and "
            "none is unsafe."
        )


class TestCaveat:
    """D came later: one of its five documents is unjudged, a fifth."""

    found = audit(QRELS, {**POOLED, "D": every_query("r s t x n")}, baseline="B", unpooled=("D",))

    def test_number(self):
        """P@5 is 3/5, or 4/5 with x relevant; condensed it is 3/5 too (r s t n)."""
        verdict = number(self.found, "D")
        assert verdict["verdict"] == "caveat"
        assert verdict["reason"] == (
            "P@5 of D, 0.6000 (unjudged documents count as nonrelevant), needs a caveat: 20.0% of "
            "its first 5 documents are unjudged; it lies between 0.6000 and 0.8000 if its own "
            "unjudged documents are judged, and between 0.6000 and 0.8000 if all that the audited "
            "runs have in their first 5 are; it did not contribute to the pool; pooled runs "
            "changed by 0.0% on average and 0.0% at most when their run was left out of the pool."
        )
        assert verdict["figures"]["unjudged_share"] == pytest.approx(0.2)

    def test_the_others_are_not_touched(self):
        assert {number(self.found, run)["verdict"] for run in "ABC"} == {"ok"}

    def test_order_that_holds_although_a_number_needs_a_caveat(self):
        """D is above B by 1/5, or by 2/5 with x relevant."""
        order = pair(self.found, "D", "B")
        assert (order["figures"]["low"], order["figures"]["high"]) == pytest.approx((0.2, 0.4))
        assert "between +0.2000 and +0.4000 however" in order["reason"]

    def test_order_that_the_queries_do_not_tell(self):
        """A and D tie; x would put D ahead."""
        found = audit(QRELS, {"A": POOLED["A"], "D": every_query("r s t x n")}, unpooled=("D",))
        order = pair(found, "A", "D")
        assert order["verdict"] == "caveat"
        assert order["reason"].startswith(
            "The tie of A and D by P@5, at 0.6000 (unjudged documents count as nonrelevant), "
            "needs a caveat:"
        )
        assert "these queries do not tell the two apart" in order["reason"]


class TestUnsafe:
    """D and E came later. Three of D's five documents are unjudged; of E's two, and its claimed
    place behind A turns around if they are relevant: 2/5 becomes 4/5, above A's 3/5."""

    found = audit(
        QRELS,
        {**POOLED, "D": every_query("r x y z n"), "E": every_query("r s x y n")},
        baseline="A",
        unpooled=("D", "E"),
        thresholds=replace(PLAIN, significance=0.1),
    )

    def test_half_or_more_unjudged(self):
        verdict = number(self.found, "D")
        assert verdict["verdict"] == "unsafe"
        assert (
            "is not safe to use: 60.0% of its first 5 documents are unjudged" in verdict["reason"]
        )

    def test_an_order_that_a_bound_proves_can_turn_around(self):
        """A above E by 1/5; with x and y relevant E is above A by 1/5."""
        order = pair(self.found, "A", "E")
        assert (order["verdict"], order["claimed"]) == ("unsafe", True)
        assert (order["figures"]["low"], order["figures"]["high"]) == pytest.approx((-0.2, 0.2))
        assert "so some of them turn it around" in order["reason"]

    def test_makes_the_number_unsafe_whose_documents_do_it(self):
        """40% of E's documents are unjudged, which alone would be a caveat; A has none."""
        verdict = number(self.found, "E")
        assert verdict["verdict"] == "unsafe"
        assert "its claimed order with A (difference 0.2000) turns around" in verdict["reason"]
        assert number(self.found, "A")["verdict"] == "ok"

    def test_an_order_with_no_named_baseline_is_no_reason(self):
        """What else is audited says nothing of E: its own unjudged documents need a caveat."""
        two = {"A": POOLED["A"], "E": every_query("r s x y n")}
        settings = {"unpooled": ("E",), "thresholds": replace(PLAIN, significance=0.1)}
        named, unnamed = (audit(QRELS, two, baseline=b, **settings) for b in ("A", None))
        assert pair(named, "E", "A")["verdict"] == pair(unnamed, "A", "E")["verdict"] == "unsafe"
        assert number(named, "E")["verdict"] == "unsafe"
        assert number(unnamed, "E")["verdict"] == "caveat"

    def test_an_order_that_can_turn_around_but_hardly_will_needs_a_caveat(self):
        """A bound proves what is possible, the draws say how likely it is."""
        two = {"A": POOLED["A"], "E": every_query("r s x y n")}
        for rare, expected in ((0.0, "unsafe"), (1.0, "caveat")):
            limits = replace(PLAIN, significance=0.1, flip=(rare, 1.0))
            order = pair(audit(QRELS, two, unpooled=("E",), thresholds=limits), "A", "E")
            assert 0 < order["figures"]["flip"]["chance"] < 1
            assert order["verdict"] == expected
            assert "so some of them turn it around" in order["reason"]

    def test_an_order_that_these_queries_do_not_tell_is_no_reason(self):
        runs = {"A": POOLED["A"], "E": every_query("r s x y n")}
        few = {name: text.splitlines()[0] for name, text in runs.items()}
        found = audit(QRELS.splitlines()[0], few, unpooled=("E",))
        assert number(found, "E")["verdict"] == "caveat"
        assert pair(found, "A", "E")["verdict"] == "caveat"


class TestOtherReasons:
    def test_a_run_that_depends_on_its_own_documents(self):
        """Only A brought t: without it A has two relevant of five, a third less."""
        found = audit(QRELS, {"A": POOLED["A"], "B": POOLED["B"]})
        verdict = number(found, "A")
        assert verdict["verdict"] == "caveat"
        assert "it would be 33.3% lower without the documents that only it put" in verdict["reason"]
        assert f"{QUERIES} of them relevant" in verdict["reason"]

    def test_a_group_that_depends_on_its_own_documents(self):
        """A and C share t, so neither loses it alone; their group does."""
        groups = {"A": "first", "C": "first", "B": "second"}
        verdict = number(audit(QRELS, POOLED, groups=groups), "C")
        assert "only its group, first, put into the pool" in verdict["reason"]
        assert verdict["figures"]["removal"]["kind"] == "group"

    def test_a_cutoff_deeper_than_the_pool(self):
        """With all judged it is worth a note, with an unjudged document a caveat."""
        deep = number(audit(QRELS, POOLED, pool_depth=2), "A")
        assert (deep["verdict"], deep["level"]) == ("ok", "note")
        assert "rank 5, deeper than the pool (depth 2)" in deep["reason"]
        runs = {**POOLED, "D": every_query("r s t x n")}
        deep = number(audit(QRELS, runs, unpooled=("D",), pool_depth=2), "D")
        names = {finding["name"]: finding["level"] for finding in deep["findings"]}
        assert names["depth"] == "caveat"

    def test_policies_that_disagree(self):
        """Condensed, D's list is n r s: P@5 stays 2/5. RR is 1/3, condensed 1/2."""
        runs = {**POOLED, "D": every_query("n x r s")}
        found = audit(QRELS, runs, measures=("RR",), unpooled=("D",))
        verdict = number(found, "D", "RR")
        assert verdict["figures"]["spread"] == pytest.approx(0.5)
        assert "it is 0.5000 under condense" in verdict["reason"]
        assert number(found, "D")["figures"]["spread"] == 0

    def test_reciprocal_rank_is_judged_by_what_could_change_it(self):
        """The unjudged documents stand below the first relevant one: they cannot move RR."""
        runs = {**POOLED, "D": every_query("r x y z n")}
        found = audit(QRELS, runs, measures=("RR",), unpooled=("D",))
        assert number(found, "D")["verdict"] == "unsafe"
        assert number(found, "D", "RR")["verdict"] == "ok"

    def test_queries_with_few_relevant_documents(self):
        verdict = number(audit(QRELS, POOLED, thresholds=Thresholds(fewest_contributors=1)), "A")
        assert "7 of 7 queries have fewer than 5 relevant documents" in verdict["reason"]

    def test_few_contributors(self):
        few = replace(PLAIN, fewest_contributors=3)
        groups = {"A": "first", "C": "first", "B": "second"}
        verdict = number(audit(QRELS, POOLED, groups=groups, thresholds=few), "B")
        assert "only 2 groups contributed to the pool" in verdict["reason"]

    def test_queries_not_answered(self):
        runs = {**POOLED, "D": "q1: r s t n m"}
        verdict = number(audit(QRELS, runs, unpooled=("D",)), "D")
        assert verdict["verdict"] == "unsafe"
        assert "it did not answer 6 of 7 queries, which count as 0" in verdict["reason"]

    def test_a_run_that_returned_nothing(self):
        found = audit(QRELS, {**POOLED, "D": ""}, unpooled=("D",))
        assert "it returned nothing" in number(found, "D")["reason"]
        assert number(found, "D")["figures"]["unjudged_share"] is None

    def test_a_mean_over_some_of_the_queries(self):
        """Restricted, D has no value for q1, where its first document is unjudged."""
        lines = ["r s t n m"] * QUERIES
        lines[0] = "x r s t n"
        text = "\n".join(f"q{i}: {line}" for i, line in enumerate(lines, start=1))
        found = audit(QRELS, {**POOLED, "D": text}, unpooled=("D",), policy="restrict")
        assert "a mean over the 6 of 7 queries that have a value" in number(found, "D")["reason"]

    def test_no_value_at_all(self):
        """Bpref has none under restrict."""
        found = audit(QRELS, POOLED, measures=("Bpref",), policy="restrict")
        verdict = number(found, "A", "Bpref")
        assert (verdict["value"], verdict["verdict"]) == (None, "unsafe")
        assert verdict["reason"].startswith("Bpref of A has no value (a measure that reads judged")

    def test_the_range_of_other_measures_is_not_known_without_bounds(self):
        """infAP has no bounds; nothing is unjudged, so that is nothing to worry about."""
        found = audit(QRELS, POOLED, measure="infAP", baseline="B")
        order = pair(found, "A", "B")
        assert "is not known" in order["reason"]
        assert order["verdict"] == "ok"


class TestAssessors:
    def test_shown_with_the_verdicts(self):
        found = audit(QRELS, POOLED, assessors="independent")
        assert found["assessors"] == {"stated": "independent", "built": []}

    def test_those_who_built_a_run(self):
        found = audit(QRELS, POOLED, baseline="B", assessors="the builders of A")
        assert found["assessors"]["built"] == ["A"]
        assert "(assessors: the builders of A)" in number(found, "A")["reason"]
        assert number(found, "A")["verdict"] == pair(found, "A", "B")["verdict"] == "caveat"
        assert number(found, "C")["verdict"] == pair(found, "C", "B")["verdict"] == "ok"

    @pytest.mark.parametrize(
        ("assessors", "built"),
        [
            ("independent", []),
            ("a model", []),
            ("not stated", []),
            ("the builders of bm25-a", ["bm25-a"]),
            ("Glasgow", ["bm25", "bm25-a"]),
            ("people who built a run", ["bm25", "bm25-a", "dense"]),
        ],
    )
    def test_which_runs_are_meant(self, assessors, built):
        """A group stands for all its runs; builders of no run that is named, for all runs."""
        runs = [
            Contributor("bm25", True, "glasgow"),
            Contributor("bm25-a", True, "glasgow"),
            Contributor("dense", False, "delft"),
        ]
        assert [c.run for c in runs if built_by_assessors(c, runs, assessors)] == built


class TestShapes:
    def test_no_run_was_pooled(self):
        """A researcher's runs on an old pool: r, s and n were judged, whoever found them."""
        runs = {"D": every_query("r s n x y"), "E": every_query("r n x s z")}
        found = audit(QRELS, runs, unpooled=("D", "E"), pool_depth=None, thresholds=PLAIN)
        verdict = number(found, "D")
        assert verdict["verdict"] == "caveat"
        assert "no audited run is known to have contributed to the pool" in verdict["reason"]
        assert verdict["figures"]["removal_of_pooled_runs"] is None

    def test_one_run(self):
        found = audit(QRELS, {"A": POOLED["A"]}, pool_depth=None)
        assert found["pairs"] == found["warnings"] == []
        assert found["sentence"] == (
            "Of 1 score by P@5 (unjudged documents count as nonrelevant) 1 is ok, none needs a "
            "caveat and none is unsafe; there is nothing to compare."
        )

    def test_without_a_baseline_the_reader_is_warned(self):
        (warning,) = audit(QRELS, POOLED)["warnings"]
        assert "chosen after the fact" in warning

    def test_plain_json(self):
        found = audit(QRELS, {**POOLED, "D": every_query("r x y z n")}, measures=("infAP", "AP"))
        text = json.dumps(found, sort_keys=True, allow_nan=False)
        again = audit(QRELS, {**POOLED, "D": every_query("r x y z n")}, measures=("infAP", "AP"))
        assert json.dumps(again, sort_keys=True) == text
        assert json.loads(text)["thresholds"]["unjudged"] == [0.01, 0.1, 0.5]


@pytest.mark.real
def test_later_runs_on_the_pool_of_dl_2019(real_data):
    """By nDCG@10, two of the ten later runs have a tenth or more of their first ten documents
    unjudged, and the other eight less. Six orders against the baseline are significant, and hold
    however the unjudged documents are judged."""
    collection = dl19_passage(real_data)
    contributors = []
    for sheet in ("runs.tsv", "new-runs.tsv"):
        with (real_data / "dl19-passage" / sheet).open() as lines:
            for row in csv.DictReader(lines, delimiter="\t"):
                pooled = row["pooled"] == "yes"
                contributors.append(Contributor(row["run"], pooled, row["group"]))
    found = judge(
        *(collection.pairs, collection.rankings, contributors, ("nDCG@10",)),
        policy="nonrelevant",
        baseline="bm25base_p",
        pool_depth=10,
        assessors="independent",
        thresholds=Thresholds(),
    )
    later = {c.run for c in contributors if not c.pooled}
    verdicts = {n["run"]: n["verdict"] for n in found["numbers"] if n["run"] in later}
    assert {run for run, verdict in verdicts.items() if verdict == "caveat"} == {
        "ance",
        "colbert-e2e",
    }
    assert len(verdicts) == 10
    assert set(verdicts.values()) == {"ok", "caveat"}
    orders = {p["run"]: p for p in found["pairs"] if p["run"] in later}
    assert {run for run, order in orders.items() if order["verdict"] == "ok"} == {
        "colbert-e2e",
        "monobert",
        "monot5",
        "splade",
        "tct-colbert-hnp",
        "tct-colbert-hnp-fp16",
    }
    assert not any(order["verdict"] == "unsafe" for order in orders.values())


def test_comparisons_of_reranking_and_full_ranking_are_labelled():
    tasks = {"A": "rerank", "B": "fullrank", "C": "rerank", "D": None}
    assert subtask_label(tasks, "A", "C") == "within rerank"
    assert subtask_label(tasks, "A", "B") == "across fullrank and rerank"
    assert subtask_label(tasks, "A", "D") == "subtask not stated"
    assert subtask_label(tasks, "A", "E") == "subtask not stated"
