"""Read one run, put its documents in order, and note what was found in the file."""

import pyarrow.parquet as pq

from job import job
from poolaudit import runs
from poolaudit.files import write_json, write_table

with job(snakemake) as log:
    run = runs.read_run(
        snakemake.input.run,
        format=snakemake.params.format,
        **snakemake.params.ranking,
        **snakemake.params.reading,
    )
    topics = pq.read_table(snakemake.input.topics)
    notes = run.notes | {"topics": runs.compare_topics(run, topics)}
    write_table(snakemake.output.run, run.table)
    write_json(snakemake.output.notes, notes)
    log.info("read %d rows of %s", run.table.num_rows, snakemake.input.run)
