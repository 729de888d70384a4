"""Join all runs with the judgments into the two tables that every number comes from."""

import pyarrow.parquet as pq

from job import job
from poolaudit import pairs

with job(snakemake) as log:
    contributors = [pairs.Contributor(**row) for row in snakemake.params.contributors]
    columns = ["query_id", "doc_id", "rank", "score"]
    tables = [pq.read_table(path, columns=columns) for path in snakemake.input.runs]
    judgments = pq.read_table(snakemake.input.judgments)
    all_pairs, rankings = pairs.build(judgments, zip(contributors, tables, strict=True))
    pairs.write(all_pairs, rankings, snakemake.output.pairs, snakemake.output.rankings)
    log.info("%d runs, %d rows, %d pairs", len(tables), len(rankings), len(all_pairs))
