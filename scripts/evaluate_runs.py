"""Score every run under every policy and at every depth, and say what the scores leave open."""

import pyarrow as pa
import pyarrow.parquet as pq

from job import job
from poolaudit import pairs, stored
from poolaudit.files import read_json, write_json, write_table
from poolaudit.pools.depth_pools import nominal_depth, reach
from poolaudit.scores import ledgers, tables
from poolaudit.scores.bounds import bounds, join_bounds
from poolaudit.scores.lists import judged_lists
from poolaudit.scores.measure_names import parse_measure
from poolaudit.scores.policies import evaluate_policies
from poolaudit.scores.ties import join_ties, tie_sensitivity

with job(snakemake) as log:
    params, made, output = snakemake.params, snakemake.input, snakemake.output
    top, judged, bounded, tied = stored.highest_grade(made.pairs), [], [], []
    ends = {"depth": params.bounds_depth, "top_grade": max(1, top)}
    for batch in stored.batches(made.pairs, made.rankings):
        judged.append(pairs.near(*batch, to=0))
        bounded.append(bounds(*batch, params.measures, **ends))
        tied.append(tie_sensitivity(*batch, params.measures, by_score=params.by_score))
    all_pairs, rankings = pairs.join(judged)
    lists = judged_lists(all_pairs, rankings)

    grades = {depth: all_pairs.grades(depth) for depth in [*params.depths, None]}
    scores = {
        depth: evaluate_policies(lists, judged, params.measures, params.policies)
        for depth, judged in grades.items()
    }
    for i, path in enumerate(output.evaluations):
        under_policy = {depth: evaluations[i] for depth, evaluations in scores.items()}
        write_table(path, tables.evaluation_table(lists, grades, under_policy))
    means = [ledgers.both_means(evaluation, lists) for evaluation in scores[None]]
    write_table(output.means, pa.concat_tables(means))
    counts = len(lists.runs), len(lists.query_ids), len(params.measures), len(params.depths)
    log.info("%d runs, %d queries, %d measures, %d pool depths", *counts)

    write_table(output.bounds, tables.bounds_table(join_bounds(bounded)))
    ties = join_ties(tied)
    for path, table in zip((output.ties, output.crossed), tables.ties_tables(ties), strict=True):
        write_table(path, table)
    log.info("queries with ties across a cutoff: %d", ties.crossed.sum())

    coverage = tables.coverage_table(lists, grades, params.cutoffs)
    write_table(output.coverage, coverage)
    contributors = [pairs.Contributor(**row) for row in params.contributors]
    pooled = any(contributor.pooled for contributor in contributors)
    pool = nominal_depth(params.nominal, *map(read_json, made.explanation)) if pooled else 0
    bands, judged_to = reach(all_pairs, rankings, contributors, pool)
    write_table(output.bands, pa.Table.from_pandas(bands, preserve_index=False))
    write_table(output.judged_to, pa.Table.from_pandas(judged_to, preserve_index=False))

    source, judged = read_json(made.source), grades[None]
    official = source["official_measures"]
    levels = ledgers.label_ledger(lists, judged, params.measures, official)
    warnings = ledgers.label_warnings(lists, judged, params.measures, official, source["meanings"])
    write_json(output.labels, {"measures": levels, "warnings": warnings, "official": official})
    topics = pq.read_table(made.topics)["query_id"].to_pylist()
    level = parse_measure(params.primary["measure"]).rel or 1
    write_table(output.queries, ledgers.topic_ledger(lists, judged, topics, rel=level))
    for warning in warnings:
        log.warning("%s", warning["text"])
