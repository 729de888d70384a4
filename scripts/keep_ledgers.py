"""Keep the ledgers: which labels each measure reads, and what became of each query."""

import pyarrow as pa
import pyarrow.parquet as pq

from job import job
from poolaudit import pairs
from poolaudit.files import read_json, write_json, write_table
from poolaudit.scores import ledgers
from poolaudit.scores.lists import judged_lists
from poolaudit.scores.measure_names import parse_measure
from poolaudit.scores.policies import evaluate_policies

with job(snakemake) as log:
    params, output = snakemake.params, snakemake.output
    all_pairs, rankings = pairs.read(snakemake.input.pairs, snakemake.input.rankings)
    lists, grades = judged_lists(all_pairs, rankings), all_pairs.relevance
    source = read_json(snakemake.input.source)
    official = source["official_measures"]
    levels = ledgers.label_ledger(lists, grades, params.measures, official)
    warnings = ledgers.label_warnings(lists, grades, params.measures, official, source["meanings"])
    write_json(output.labels, {"measures": levels, "warnings": warnings, "official": official})

    topics = pq.read_table(snakemake.input.topics)["query_id"].to_pylist()
    level = parse_measure(params.primary["measure"]).rel or 1
    write_table(output.queries, ledgers.topic_ledger(lists, grades, topics, rel=level))

    scores = evaluate_policies(lists, grades, params.measures, params.policies)
    means = [ledgers.both_means(each, lists) for each in scores]
    write_table(output.means, pa.concat_tables(means))
    for warning in warnings:
        log.warning("%s", warning["text"])
    log.info("%d queries, relevant from grade %d on", len(lists.query_ids), level)
