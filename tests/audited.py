"""A whole audit from text that fits in a test: the artifacts of a report, made by the library."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import literal
from poolaudit.cells import cells
from poolaudit.pairs import Contributor, Pairs, Rankings, build
from poolaudit.pools.depth_pools import contributions, found_by_depth, reach
from poolaudit.pools.explanation import explain
from poolaudit.pools.routes import pool_routes, routes_of_judgments
from poolaudit.removal.leave_out import leave_out_uniques
from poolaudit.report.artifacts import Artifacts, taken
from poolaudit.report.subject import Subject
from poolaudit.scores import ledgers
from poolaudit.scores.bounds import bounds, residuals_of
from poolaudit.scores.lists import judged_lists
from poolaudit.scores.measure_names import levels_of, parse_measures
from poolaudit.scores.policies import coverage, evaluate, evaluate_policies
from poolaudit.scores.ties import tie_sensitivity
from poolaudit.sharing.probing import probe
from poolaudit.tail import assessments, calibration, sampling
from poolaudit.tail.rehearsal import rehearse
from poolaudit.verdicts.comparisons import read_evaluation
from poolaudit.verdicts.decisions import compare_and_decide
from poolaudit.verdicts.numbers import Evidence
from poolaudit.verdicts.reading_order import can_be_asked, read_first

QRELS = """
    q1: d1=2 d2=0 d3=1
    q2: e1=1 e2=0
"""
RUNS = {
    "alpha": "q1: d1 d2 d3 \n q2: e1 e2",
    "beta": "q1: d3 d2 x1 \n q2: e2 e1",
    "late": "q1: d1 x2 d3 \n q2: x3 e1",
}


def subject(
    qrels: str = QRELS,
    runs: Mapping[str, str] = RUNS,
    *,
    unpooled: Collection[str] = ("late",),
    groups: Mapping[str, str] | None = None,
    families: Mapping[str, str] | None = None,
    truth: str | None = None,
    texts: Mapping[str, str] | None = None,
    meanings: Mapping[str, str] | None = None,
    title: str = "A small collection",
    measures: Sequence[str] = ("P@1", "AP"),
    policies: Sequence[str] = ("nonrelevant", "condense", "restrict"),
    depths: Sequence[int] = (1, 2),
    official: Sequence[str] = (),
    versions: Mapping[str, str] | None = None,
) -> Subject:
    """What the report is made from; all runs are pooled to depth 2 unless said otherwise."""
    contributors = [
        Contributor(
            name,
            name not in unpooled,
            (groups or {}).get(name),
            (families or {}).get(name),
        )
        for name in sorted(runs)
    ]
    judged = literal.judgments(qrels)
    tables = {name: literal.run(text) for name, text in runs.items()}
    pairs, rankings = build(judged, [(c, tables[c.run]) for c in contributors])
    pooled = any(c.pooled for c in contributors)
    found = explain(
        [(judged, [_as_read(table) for table in tables.values()])],
        list(tables),
        {c.run: c.pooled for c in contributors},
    )
    grades = judged["relevance"].to_pandas().value_counts()
    scores = _scores(pairs, rankings, measures, policies, depths if pooled else ())
    pools = _pools(pairs, rankings, contributors, measures, policies, depths) if pooled else {}
    bands, judged_to = reach(pairs, rankings, contributors, 2)
    removal = pools["removal"] if pooled and len(pools["removal"]) else None
    made = Artifacts(
        source={
            "files": [{"name": "small.qrels", "sha256": "0" * 64}],
            "rows": judged.num_rows,
            "queries": len(pairs.query_ids),
            "grades": {str(grade): int(count) for grade, count in grades.items()},
            "meanings": dict(meanings or {}),
            "official_measures": list(official),
            "found": [],
        },
        topics=pd.DataFrame(
            {
                "query_id": pairs.query_ids,
                "text": [(texts or {}).get(query) for query in pairs.query_ids],
            }
        ),
        notes={name: _notes(name) for name in runs},
        answered={name: [] for name in runs},
        pairs=_taken(
            "pairs",
            pd.DataFrame(
                {
                    "query_id": np.array(pairs.query_ids, object)[pairs.query],
                    "relevance": pd.Series(pairs.relevance).where(pairs.relevance > -(2**15)),
                }
            ),
            (measures[0], policies[0]),
        ),
        explanation=found,
        provenance={
            "artifacts": {
                "results/small/pairs.parquet": {
                    "rule": "build_pairs",
                    "sha256": "1" * 64,
                    "inputs": {"results/small/judgments.parquet": "3" * 64},
                }
            },
            "code": {"build_pairs": {"digest": "2" * 64, "packages": {"numpy": "2.0"}}},
        },
        **_verdicts(pairs, rankings, contributors, measures, policies, scores, removal),
        **_compared(judged, versions, contributors, tables, measures),
        **scores,
        bands=bands,
        judged_to=judged_to,
        **pools,
        **_ledgers(pairs, rankings, measures, policies, official),
        **_tail(pairs, rankings, measures, truth, pooled),
        truth=_true_scores(truth, contributors, tables, measures) if truth else None,
    )
    settings = {
        "measures": list(measures),
        "policies": list(policies),
        "primary": {"measure": measures[0], "policy": policies[0]},
        "pool": {"depth": 2, "depths": list(depths)},
        "bounds": {"depth": 2},
        "removal": {"variant": "all"},
        "tail": {"beyond": 1, "depth": 3, "design": "total", "read_first": 50},
        "assessors": "not stated",
    }
    rows = [asdict(c) for c in contributors]
    return Subject("small", title, settings, rows, made)


def _as_read(table: Any) -> Any:
    """With the columns that reading a file adds."""
    rank = table["rank"].cast("int64")
    return table.append_column("given_rank", rank).append_column("line", rank)


def _notes(name: str) -> dict[str, Any]:
    return {"found": [], "digests": {"ranking": name, "top": name}}


def _scores(
    pairs: Pairs,
    rankings: Rankings,
    measures: Sequence[str],
    policies: Sequence[str],
    depths: Sequence[int],
) -> dict[str, Any]:
    lists, depths = judged_lists(pairs, rankings), [*depths, None]
    evaluations = {}
    for policy in policies:
        scored = [evaluate(lists, pairs.grades(depth), measures, policy) for depth in depths]
        axes = {
            "depth": depths,
            "measure": scored[0].measures,
            "run": lists.runs,
            "query_id": lists.query_ids,
        }
        left_open = [residuals_of(lists, pairs.grades(d), measures, policy) for d in depths]
        values = {
            "value": np.stack([evaluation.values for evaluation in scored]),
            "residual": np.stack(left_open),
        }
        evaluations[policy] = cells(axes, values).to_pandas()
    cutoffs = sorted({1, 2} | {m.cutoff for m in parse_measures(measures) if m.cutoff})
    counted = zip(*(coverage(lists, pairs.grades(depth), cutoffs) for depth in depths), strict=True)
    axes = {"depth": depths, "cutoff": cutoffs, "run": lists.runs, "query_id": lists.query_ids}
    counts = dict(zip(("retrieved", "judged", "unjudged"), map(np.stack, counted), strict=True))
    ends = bounds(pairs, rankings, measures, depth=2)
    axes_of_ends = {"measure": ends.measures, "run": ends.runs, "query_id": ends.query_ids}
    names = ("low", "high", "own_low", "own_high")
    return {
        "evaluations": evaluations,
        "coverage": cells(axes, counts).to_pandas(),
        "bounds": cells(axes_of_ends, {n: getattr(ends, n) for n in names}).to_pandas(),
    }


def _ledgers(
    pairs: Pairs,
    rankings: Rankings,
    measures: Sequence[str],
    policies: Sequence[str],
    official: Sequence[str],
) -> dict[str, Any]:
    lists, grades = judged_lists(pairs, rankings), pairs.relevance
    evaluations = evaluate_policies(lists, grades, measures, policies)
    means = [
        ledgers.both_means(each, lists).to_pandas().assign(policy=each.policy)
        for each in evaluations
    ]
    tied = tie_sensitivity(pairs, rankings, measures)
    axes = {"measure": tied.measures, "run": tied.runs, "query_id": tied.query_ids}
    crossed = {"cutoff": tied.cutoffs, "run": tied.runs}
    return {
        "labels": {
            "measures": ledgers.label_ledger(lists, grades, measures, official),
            "warnings": ledgers.label_warnings(lists, grades, measures, official),
        },
        "queries": ledgers.topic_ledger(lists, grades, pairs.query_ids).to_pandas(),
        "means": pd.concat(means),
        "ties": cells(axes, {"low": tied.low, "high": tied.high}).to_pandas(),
        "ties_crossed": cells(crossed, {"queries": tied.crossed}).to_pandas(),
    }


def _pools(
    pairs: Pairs,
    rankings: Rankings,
    contributors: Sequence[Contributor],
    measures: Sequence[str],
    policies: Sequence[str],
    depths: Sequence[int],
) -> dict[str, pd.DataFrame]:
    levels, primary = levels_of(measures), (measures[0], policies[0])
    removal, by_query = leave_out_uniques(
        pairs, rankings, contributors, measures, policies, depths, nominal=2
    )
    growth = [found_by_depth(pairs, max(*depths, 4), level).assign(level=level) for level in levels]
    figures, summary = probe(
        *(pairs, rankings, contributors),
        measures=measures,
        policies=policies,
        primary=primary,
        depth=2,
        depths=depths,
        draws=2,
    )
    kinds = [
        routes_of_judgments(pairs, pool_routes(pairs, rankings, contributors, 2, kind), kind)
        for kind in pairs.holders
    ]
    return {
        "routes": pd.concat(kinds),
        "sharing": summary,
        "sharing_figures": figures,
        "contributions": contributions(pairs, rankings, contributors, depths, levels),
        "growth": pd.concat(growth),
        "removal": removal,
        "removal_queries": _taken("removal_queries", by_query, primary),
    }


def _taken(key: str, table: pd.DataFrame, primary: tuple[str, str]) -> pd.DataFrame:
    """What the report takes of a table, as if it were read from its file."""
    columns, rows = taken(dict(zip(("measure", "policy"), primary, strict=True)))[key]
    return (
        pa.Table.from_pandas(table, preserve_index=False).filter(rows).select(columns).to_pandas()
    )


def _verdicts(
    pairs: Pairs,
    rankings: Rankings,
    contributors: Sequence[Contributor],
    measures: Sequence[str],
    policies: Sequence[str],
    scores: Mapping[str, Any],
    removal: pd.DataFrame | None,
) -> dict[str, Any]:
    """The verdicts, and what to read first."""
    evidence = Evidence(
        evaluations=[read_evaluation(scores["evaluations"][policy], policy) for policy in policies],
        policy=policies[0],
        coverage=scores["coverage"],
        bounds=scores["bounds"],
        removal=removal,
        relevant=sampling.judged_relevant(pairs, pairs.relevance, levels_of(measures)),
        contributors=contributors,
        pool_depth=2,
        bounds_depth=2,
    )
    verdicts = compare_and_decide(pairs, rankings, evidence, measure=measures[0])
    askable = can_be_asked(measures[0])
    compared = [(pair["run"], pair["other"]) for pair in verdicts["pairs"] if askable]
    order = read_first(pairs, rankings, measures[0], compared, depth=2)
    return {
        "verdicts": verdicts,
        "read_first": order.record(),
        "read_first_documents": order.documents,
    }


def _compared(
    judged: pa.Table,
    versions: Mapping[str, str] | None,
    contributors: Sequence[Contributor],
    tables: Mapping[str, Any],
    measures: Sequence[str],
) -> dict[str, Any]:
    """The judgments beside other versions of them, given as text."""
    found, runs = {}, []
    for name, text in (versions or {}).items():
        after = literal.judgments(text)
        both = assessments.union(judged, after)
        pairs, rankings = build(both, [(c, tables[c.run]) for c in contributors])
        grades = pairs.grades_of(judged), pairs.grades_of(after)
        compared = assessments.compare_judgments(pairs, rankings, *grades, measures)
        found[name] = compared.record() | {"routes": {}}
        runs.append(compared.runs.assign(version=name))
    if not found:
        return {}
    return {
        "versions": {"policy": "nonrelevant", "versions": found},
        "compared": pd.concat(runs),
    }


def _tail(
    pairs: Pairs, rankings: Rankings, measures: Sequence[str], truth: str | None, pooled: bool
) -> dict[str, pd.DataFrame]:
    """Samples of everything, so that estimates are exact."""
    levels, settings = (
        levels_of(measures),
        sampling.TailSettings(beyond=1, depth=3, size=99, draws=2),
    )
    judged = pairs.relevance
    frame = sampling.stratify(pairs, sampling.population(pairs, judged, 3), settings.size)
    made = {"strata": sampling.draw(pairs, frame)[1]}
    cases = {}
    if pooled:
        rows = calibration.held_back(pairs, 1)
        cases["calibration"] = (rows, pairs.grades(1), judged)
        held = sampling.stratify(pairs, rows, settings.size)
        relevant = held.count(judged, levels)
        made["calibration"] = calibration.calibrate(held, relevant, levels, draws=2)
        made["losses"] = calibration.losses(pairs, rankings, 1, measures)
    if truth:
        known = literal.grades(pairs, truth)
        cases["truth"] = (sampling.population(pairs, judged, 3), judged, np.maximum(known, 0))
    found = [
        [table.assign(tail=name) for table in rehearse(pairs, rankings, *case, levels, settings)]
        for name, case in cases.items()
    ]
    names = ("estimate", "by_run")
    return made | {n: pd.concat(t) for n, t in zip(names, zip(*found, strict=True), strict=False)}


def _true_scores(
    truth: str,
    contributors: Sequence[Contributor],
    tables: Mapping[str, Any],
    measures: Sequence[str],
) -> pd.DataFrame:
    pairs, rankings = build(literal.judgments(truth), [(c, tables[c.run]) for c in contributors])
    scored = evaluate(judged_lists(pairs, rankings), pairs.grades(), measures)
    axes = {"measure": scored.measures, "run": scored.runs, "query_id": scored.query_ids}
    return cells(axes, {"value": scored.values}).to_pandas()
