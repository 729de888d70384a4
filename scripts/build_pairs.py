"""Join all runs with the judgments into the two tables that every number comes from."""

import pyarrow.parquet as pq

from job import job
from poolaudit import pairs
from poolaudit.reading.answers import refuse_strangers

with job(snakemake) as log:
    contributors = [pairs.Contributor(**row) for row in snakemake.params.contributors]
    columns = ["query_id", "doc_id", "rank", "score"]
    tables = [pq.read_table(path, columns=columns) for path in snakemake.input.runs]
    judgments = pq.read_table(snakemake.input.judgments)
    named = list(zip(contributors, tables, strict=True))
    all_pairs, rankings = pairs.build(judgments, named)
    refuse_strangers({c.run: table["query_id"] for c, table in named}, all_pairs.query_ids)
    pairs.write(all_pairs, rankings, snakemake.output.pairs, snakemake.output.rankings)
    log.info("%d runs, %d rows, %d pairs", len(tables), len(rankings), len(all_pairs))
