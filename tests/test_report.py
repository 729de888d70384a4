"""What the report says, against runs and judgments whose numbers anyone can check.

Two runs make a pool of depth 2, `late` came afterwards:

    q1: d1=2 d2=0 d3=1      alpha: d1 d2 d3     beta: d3 d2 x1     late: d1 x2 d3
    q2: e1=1 e2=0           alpha: e1 e2        beta: e2 e1        late: x3 e1

so P@1 is 1, .5 and .5, and one of the two first documents of `late` is unjudged.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from markupsafe import escape

import audited
from poolaudit.config import PROJECT, SCHEMAS
from poolaudit.report import charts, page
from poolaudit.report.answers import FINDINGS, answers, reasons
from poolaudit.report.summary import summarise
from poolaudit.verdicts import numbers, orders

TRUTH = """
    q1: d1=2 d2=0 d3=1 x1=0 x2=0
    q2: e1=1 e2=0 x3=1
"""


@pytest.fixture(scope="module")
def audit():
    return summarise(audited.subject())


def of(audit, run):
    return next(entry for entry in audit["runs"] if entry["run"] == run)


def test_runs_are_listed_best_first_with_shared_ranks(audit):
    assert [(run["run"], run["rank"]) for run in audit["runs"]] == [
        ("alpha", 1),
        ("beta", 2),
        ("late", 2),
    ]


def test_every_policy_stands_side_by_side(audit):
    late = {
        policy: {
            k: v for k, v in of(audit, "late")["values"][policy]["P@1"].items() if v is not None
        }
        for policy in ("nonrelevant", "condense", "restrict")
    }
    assert late == {
        "nonrelevant": {"mean": 0.5, "queries": 2, "mean_over_answered": 0.5, "answered": 2},
        "condense": {"mean": 1.0, "queries": 2, "mean_over_answered": 1.0, "answered": 2},
        # q2 begins with an unjudged document and has no value.
        "restrict": {"mean": 1.0, "queries": 1, "mean_over_answered": 1.0, "answered": 1},
    }


def test_rbp_stands_with_what_it_leaves_open():
    audit = summarise(audited.subject(measures=["RBP(p=0.5,rel=1)"]))
    value = of(audit, "late")["values"]["nonrelevant"]["RBP(p=0.5,rel=1)"]
    # d1 x2 d3 and x3 e1: 1/2 + 1/8 and 1/4; open the unjudged ones and the tails.
    assert value["mean"] == (5 / 8 + 1 / 4) / 2
    assert value["residual"] == ((1 / 4 + 1 / 8) + (1 / 2 + 1 / 4)) / 2


def test_the_unjudged_share_counts_what_was_returned(audit):
    assert of(audit, "late")["unjudged"] == {"1": 1 / 2, "2": 2 / 4}
    assert of(audit, "alpha")["unjudged"] == {"1": 0.0, "2": 0.0}


def test_a_query_not_answered_is_counted_and_not_taken_for_judged():
    runs = {**audited.RUNS, "late": "q1: d1 x2 d3"}
    late = of(summarise(audited.subject(runs=runs)), "late")
    assert late["unanswered"] == 1
    assert late["unjudged"]["1"] == 0 / 1
    assert late["value"] == 0.5
    p1 = late["values"]["nonrelevant"]["P@1"]
    assert (p1["mean_over_answered"], p1["answered"]) == (1.0, 1)


def test_bounds_are_means_over_queries(audit):
    # x3 may be relevant or not; d1 is known.
    assert of(audit, "late")["bounds"]["P@1"] == {
        "low": 0.5,
        "high": 1.0,
        "own_low": 0.5,
        "own_high": 1.0,
    }


def test_leaving_a_run_out_takes_what_it_alone_brought(audit):
    # Only alpha has d1 among its first two, only beta has d3.
    assert of(audit, "alpha")["removal"]["run"] == {
        "change": 0.5,
        "relative": 0.5,
        "unique_relevant": 1,
    }
    assert of(audit, "beta")["removal"]["run"]["relative"] == 1.0
    assert of(audit, "late")["removal"] is None


def test_removal_is_summed_up_over_pooled_runs(audit):
    by_run = next(k for k in audit["removal"]["kinds"] if k["measure"] == "P@1")
    assert by_run["kind"] == "run"
    assert by_run["mean_relative"] == by_run["mean_absolute"] == 0.75
    assert (by_run["largest"], by_run["largest_run"]) == (1.0, "beta")


def test_each_depth_has_its_cost_and_its_find(audit):
    steps = audit["depth"]["steps"]
    costs = [(s["pooled"], s["judged"], s["relevant"]) for s in steps]
    assert costs == [(4, 4, 3), (5, 5, 3), (6, 5, 3), (6, 5, 3)]
    assert [(s["new_pairs"], s["new_relevant"]) for s in steps[:2]] == [(4, 3), (1, 0)]
    # Twice the depth would add beta's third document for q1, x1, which nobody judged.
    assert audit["depth"]["to_judge_for_twice_the_depth"] == 1


def test_the_reach_of_the_judgments_stands_by_band_and_place(audit):
    (outside, inside) = audit["reach"]["bands"]
    # Of ten documents of alpha and beta x1 is unjudged; d1 is alpha's own, d3 is beta's.
    assert (inside["share"], inside["share_without"]) == (9 / 10, 7 / 10)
    assert (outside["pooled"], outside["share"]) == (False, 3 / 5)
    # late: d1, then x2; x3 first.
    assert of(audit, "late")["fully_judged_to"] == 1 / 2


def test_judged_shares_stand_by_cutoff_depth_and_place(audit):
    rows = {(r["pooled"], r["cutoff"], r["depth"]): r["judged"] for r in audit["depth"]["coverage"]}
    assert rows[True, 2, 2] == 1.0
    # At depth 1 nobody reads d2; beta's e2 and alpha's e1 are both read.
    assert rows[True, 2, 1] == 6 / 8
    assert rows[False, 1, None] == 1 / 2


def test_ties_across_the_cutoff_are_bounded():
    runs = {**audited.RUNS, "late": "q1: d1 d2~ d3 \n q2: e2 e1"}
    late = of(summarise(audited.subject(runs=runs)), "late")
    # d1 and d2 are tied, one relevant and one not; only one of them stands first.
    assert late["ties"] == {"low": 0.0, "high": 0.5, "crossed": 1}


def test_queries_name_the_run_that_they_would_lose(audit):
    first = audit["queries"][0]
    assert (first["query_id"], first["judged"], first["relevant"]) == ("q1", 3, 2)
    assert first["largest_loss"] == {"run": "alpha", "change": 1.0}
    assert audit["queries"][1]["largest_loss"] is None


def test_the_pool_that_explains_the_judgments_is_named(audit):
    found = audit["judgments"]["explanation"]
    assert (found["depth"], found["pooled_not_judged"], found["judged_not_pooled"]) == (2, 0, 0)


def test_an_assessed_sample_says_how_complete_the_judgments_are():
    audit = summarise(audited.subject(truth=TRUTH))
    [found] = [row for row in audit["tail"]["estimates"] if row["tail"] == "truth"]
    # Of x1, x2 and x3, which nobody judged, all are in the sample and x3 is relevant; 3 were known.
    assert (found["population"], found["relevant"], found["truth"]) == (3, 1, 1)
    assert found["completeness"] == 3 / 4
    found["tail"] = "assessed"
    [missing] = [a["answer"] for a in answers(audit) if a["question"] == "What is missing?"]
    assert "an estimated 1 are relevant (1 to 1)" in missing
    assert "the judgments hold 75.0% of what these runs reach" in missing
    assert "never judged, the sample assessed" in rendered(audit)


def test_what_to_read_first_stands_beside_the_pairs(audit):
    # By P@1 alpha has 1, beta 1/2, late 1/2: its x3, unjudged, could give it 1.
    [late] = [lead for lead in audit["reading"]["leads"] if lead["other"] == "late"]
    assert (late["leader"], late["settling"], late["smallest"]) == ("alpha", 1, True)
    assert [row["doc_id"] for row in audit["reading"]["documents"]] == ["x3"]
    pairs = section(rendered(audit), "pairs")
    assert "What to read first" in pairs and "<td>x3</td>" in pairs
    assert "<small>smallest found" not in pairs


def test_what_the_tail_means_for_each_run():
    audit = summarise(audited.subject(truth=TRUTH))
    late = {row["tail"]: row for row in audit["tail"]["by_run"] if row["run"] == "late"}
    # Of the four relevant documents late returns d1, d3, e1 and x3; x3 is not judged.
    assert late["truth"]["recall"] == 1
    assert late["truth"]["recall_estimated"] == late["truth"]["recall_true"] == 1
    beta = {row["tail"]: row for row in audit["tail"]["by_run"] if row["run"] == "beta"}["truth"]
    assert (beta["recall"], beta["recall_estimated"]) == (2 / 3, 2 / 4)
    assert "AP and nDCG can be estimated only from a sample drawn by query" in rendered(audit)


def test_versions_of_the_judgments_stand_side_by_side():
    after = audited.QRELS + "q2: x3=1"
    audit = summarise(audited.subject(versions={"other": after}, measures=["P@1"]))
    [version] = audit["versions"]["versions"]
    assert (version["pairs"]["added"], version["queries_compared"]) == (1, 2)
    late = next(row for row in version["runs"] if row["run"] == "late")
    assert (late["change"], late["own"], late["base"]) == (0.5, 0.5, 0)
    page = section(rendered(audit), "versions")
    assert "1 added, 0 removed" in " ".join(page.split())
    assert "+0.5000" in page


def test_routes_are_counted(audit):
    [by_run] = audit["judgments"]["routes"]
    # d1 by alpha alone, d3 by beta alone; d2, e1 and e2 by both.
    assert (by_run["by_none"], by_run["by_one"], by_run["relevant_by_one"]) == (0, 2, 2)


def test_true_scores_stand_beside_measured_ones_by_family():
    families = {"alpha": "old", "beta": "old", "late": "new"}
    audit = summarise(audited.subject(truth=TRUTH, families=families))
    new, old = audit["truth"]["families"]
    assert (new["family"], new["measured"], new["true"], new["lowest"]) == ("new", 0.5, 1.0, -0.5)
    assert (old["family"], old["measured"], old["true"]) == ("old", 0.75, 0.75)


def test_a_level_that_is_not_the_official_one_is_said():
    audit = summarise(audited.subject(official=["AP(rel=2)", "nDCG@10"]))
    assert any(s.startswith("AP counts grades from 1 on") for s in audit["judgments"]["warnings"])
    assert "grades from 1 on as relevant" in rendered(audit)
    audit = summarise(audited.subject(official=["AP", "RR(rel=2)"]))
    assert audit["judgments"]["warnings"] == []


def rendered(audit):
    return page.html(audit, charts.charts(audit), "")


def section(html, name):
    return html.split(f'<section id="{name}"')[1].split("</section>")[0]


@pytest.fixture(scope="module")
def html(audit):
    return rendered(audit)


def test_the_page_asks_for_nothing_and_runs_only_its_own_scripts(html):
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', html)[1]
    assert policy.startswith("default-src &#39;none&#39;;")
    assert "unsafe" not in policy
    assert re.findall(r'(?:src|href)="(?!#)([^"]*)', html) == ["../../docs/methods.md"]
    assert " style=" not in html


def test_every_link_leads_to_a_section_and_no_identifier_stands_twice(html):
    identifiers = re.findall(r' id="([^"]+)"', html)
    assert len(identifiers) == len(set(identifiers))
    assert set(re.findall(r'href="#([^"]+)"', html)) <= set(identifiers)


def test_the_same_audit_gives_the_same_bytes(audit, html):
    again = summarise(audited.subject())
    assert json.dumps(again, sort_keys=True) == json.dumps(audit, sort_keys=True)
    assert rendered(again) == html


def test_the_answer_comes_first_and_every_caveat_is_a_sentence(audit, html):
    assert html.index(audit["verdicts"]["sentence"]) < html.index("Is a run")
    late = next(
        n for n in audit["verdicts"]["numbers"] if (n["run"], n["measure"]) == ("late", "P@1")
    )
    assert late["verdict"] == "unsafe"
    assert late["reason"] in html
    assert of(audit, "late")["verdict"] == "unsafe"


def test_reasons_count_what_made_the_verdicts(audit):
    # alpha and beta are carried by d1 and d3, which nobody else brought.
    assert reasons(audit)["P@1"] == "few contributors (2), carried by its own contribution (2)"


def test_every_finding_has_a_name_in_the_table():
    sources = [Path(module.__file__).read_text() for module in (numbers, orders)]
    named = {name for source in sources for name in re.findall(r'Finding\(\s*"(\w+)"', source)}
    assert named <= set(FINDINGS)


def test_every_section_is_explained_under_the_same_heading(html):
    headings = [*re.findall(r'<h2 id="[^"]+">([^<]+)</h2>', html), "What the truth says"]
    explained = re.findall(r"(?m)^## (.+)$", (PROJECT / "docs" / "methods.md").read_text())
    assert set(headings) <= set(explained)


def test_text_from_files_is_escaped():
    evil = "</script><img src=x onerror=alert(1)>|`*"
    audit = summarise(
        audited.subject(
            title=evil,
            texts={"q1": evil},
            meanings={"1": evil},
            families={"alpha": evil, "beta": evil, "late": evil},
            truth=TRUTH,
        )
    )
    html = rendered(audit)
    assert "<img" not in html
    assert "&lt;/script&gt;&lt;img" in html
    markdown = page.markdown(audit, charts.charts(audit))
    assert "<img" not in markdown.replace("\\<", "")
    assert r"\</script\>\<img" in markdown


def test_charts_say_what_they_show_in_figures(audit):
    titles = {name: chart.title for name, chart in charts.charts(audit).items()}
    assert titles["found"].startswith(
        "At rank 2 of the pool, 0% of the newly judged documents (0 of 1)"
    )
    assert titles["removal"].startswith(
        "beta loses 100.0% of its P@1 when the run beta is left out"
    )


def answer(audit, question):
    (found,) = (a["answer"] for a in answers(audit) if a["question"] == question)
    return found


def test_a_tie_that_judging_can_break_is_no_order_that_turns_around(audit):
    """Of beta and late, at .5 both, only `late` can rise: its first document of q2 is unjudged."""
    (tie,) = (p for p in audit["verdicts"]["pairs"] if (p["run"], p["other"]) == ("beta", "late"))
    assert tie["figures"]["can_turn"] is None
    assert "so some of them put one above the other" in tie["reason"]
    better = answer(audit, "Does one run beat another?")
    assert better.endswith("no order turns around.")


@pytest.mark.parametrize(
    ("qrels", "plain"),
    [
        ("q1: d1=2 d2=0 d3=1\nq2: e1=1 e2=0", "Yes, as far as the pooled runs can tell: rank 2"),
        ("q1: d1=2 d2=1 d3=1\nq2: e1=1 e2=0", "No, there was more to find: rank 2"),
    ],
)
def test_whether_the_pool_was_deep_enough_is_said_first(qrels, plain):
    found = answer(summarise(audited.subject(qrels)), "Was the pool deep enough?")
    assert found.startswith(plain)
    assert "with grade 1 or above among" in found


def test_a_sheet_that_names_fewer_documents_than_it_takes_says_so(audit):
    reading = {"documents": [{}] * 2, "settling": 5}
    pairs = [
        {**p, "figures": {**p["figures"], "can_turn": True}} for p in audit["verdicts"]["pairs"]
    ]
    turning = {**audit, "reading": reading, "verdicts": {**audit["verdicts"], "pairs": pairs}}
    found = answer(turning, "Does one run beat another?")
    assert "tail/read-first.tsv, which names 2 of them (tail.read_first in the settings)." in found


def test_without_pooled_runs_the_page_says_what_it_cannot_say():
    audit = summarise(audited.subject(unpooled=audited.RUNS))
    assert audit["depth"] is None and audit["removal"] is None
    html = rendered(audit)
    assert html.count("No run of the sheet is marked as pooled") == 3
    assert "What the truth says" not in html
    assert answer(audit, "Was the pool deep enough?").startswith("No run of the sheet was pooled")
    origin = answer(audit, "Where do the judgments come from?")
    assert origin.endswith("No run of the sheet was pooled, so how they were chosen is not known.")


def test_with_one_contributor_the_page_says_why_nothing_is_left_out():
    audit = summarise(audited.subject(unpooled=["beta", "late"]))
    assert audit["removal"]["kinds"] == []
    assert "no two contributors" in rendered(audit)


@pytest.mark.parametrize(
    "made",
    [
        {},
        {"truth": TRUTH, "families": {"alpha": "old", "beta": "old", "late": "new"}},
        {"unpooled": audited.RUNS},
        {"unpooled": ["beta", "late"]},
        {"measures": ["AP", "Judged@2"]},
    ],
    ids=["plain", "truth", "no pooled run", "one pooled run", "without a cutoff"],
)
def test_the_data_fits_its_published_schema(made):
    schema = json.loads((SCHEMAS / "audit.schema.json").read_text())
    audit = json.loads(json.dumps(summarise(audited.subject(**made)), allow_nan=False))
    assert [e.message for e in Draft202012Validator(schema).iter_errors(audit)] == []


def test_markdown_holds_the_same_tables(audit):
    markdown = page.markdown(audit, charts.charts(audit))
    assert "as nonrelevant | taken out | cut at the first | interval | lowest" in markdown
    shown = "| 2 | late | unsafe | outside | 50.0% | 0.5000 | 1.0000 | 1.0000 "
    assert shown + "| 0.0000 to 1.0000 | 0.5000 | 1.0000 | – |" in markdown
    assert "| unjudged | 0.01 | 0.1 | 0.5 |" in markdown
    assert "| 2 | 5 | 5 | 3 | 1.000 | 1.000 | 0 | 0.0000 |" in markdown
    assert "* unsafe: P@1 of late, 0.5000" in markdown


def test_what_was_noted_of_scores_that_are_ok_can_be_read_too(audit):
    numbers = [{**n, "verdict": "ok"} for n in audit["verdicts"]["numbers"]]
    fine = {**audit, "verdicts": {**audit["verdicts"], "numbers": numbers}}
    (reason,) = (n["reason"] for n in numbers if (n["run"], n["measure"]) == ("late", "P@1"))
    assert f"* {reason}" in page.markdown(fine, charts.charts(fine))
    assert str(escape(reason)) in rendered(fine)


def test_true_scores_stand_in_the_text_too():
    audit = summarise(audited.subject(truth=TRUTH))
    markdown = page.markdown(audit, charts.charts(audit))
    (late,) = (run["true"] for run in audit["truth"]["runs"] if run["run"] == "late")
    assert f"| – | {late:.4f} |" in markdown
