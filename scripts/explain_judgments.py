"""Find the pool depth, the tie rule and the runs that explain the judgments best."""

import pyarrow.parquet as pq

from job import job
from poolaudit.files import write_json
from poolaudit.joining import Runs
from poolaudit.pools import explanation

COLUMNS = ["query_id", "doc_id", "rank", "score", "given_rank", "line"]

with job(snakemake) as log:
    params, made = snakemake.params, snakemake.input
    runs = Runs(pq.read_table(made.judgments), made.runs).batches(COLUMNS, params.rows)
    batches = ((batch.judgments, batch.tables) for batch in runs)
    sheet = params.pooled if params.sheet_says_pooled else None
    settled = "rank" if params.ranking["order"] == "rank" else params.ranking["ties"]
    found = explanation.explain(batches, list(params.pooled), sheet, settled)
    write_json(snakemake.output.explanation, found)
    log.info("depth %s, tie rule %s", found["depth"], found["tie_rule"] or "not decided")
