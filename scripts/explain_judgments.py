"""Find the pool depth, the tie rule and the runs that explain the judgments best."""

import pyarrow.parquet as pq

from job import job
from poolaudit.files import write_json
from poolaudit.pools import explanation

with job(snakemake) as log:
    params = snakemake.params
    judgments = pq.read_table(snakemake.input.judgments)
    runs = zip(params.pooled, map(pq.read_table, snakemake.input.runs), strict=True)
    sheet = params.pooled if params.sheet_says_pooled else None
    settled = "rank" if params.ranking["order"] == "rank" else params.ranking["ties"]
    found = explanation.explain(judgments, runs, sheet, settled)
    write_json(snakemake.output.explanation, found)
    log.info("depth %s, tie rule %s", found["depth"], found["tie_rule"] or "not decided")
