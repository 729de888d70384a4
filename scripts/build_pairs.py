"""Join all runs with the judgments into the two tables that every number comes from."""

import pyarrow.parquet as pq

from job import job
from poolaudit import pairs, stored
from poolaudit.joining import Runs
from poolaudit.reading.answers import refuse_strangers

with job(snakemake) as log:
    params, made, output = snakemake.params, snakemake.input, snakemake.output
    contributors = [pairs.Contributor(**row) for row in params.contributors]
    runs = Runs(pq.read_table(made.judgments), made.runs)
    names = [contributor.run for contributor in contributors]
    refuse_strangers(dict(zip(names, runs.answered, strict=True)), runs.query_ids)
    rows = n_pairs = 0
    with stored.Writer(output.pairs, output.rankings, runs.query_ids) as tables:
        for batch in runs.batches(["query_id", "doc_id", "rank", "score"], params.rows):
            joined = pairs.build(batch.judgments, zip(contributors, batch.tables, strict=True))
            tables.add(*joined)
            n_pairs, rows = n_pairs + len(joined[0]), rows + len(joined[1])
    log.info("%d runs, %d rows, %d pairs", len(contributors), rows, n_pairs)
