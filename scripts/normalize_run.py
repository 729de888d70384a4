"""Read one run, put its documents in order, and note what was found in the file."""

import pyarrow.parquet as pq

from job import job
from poolaudit.files import write_json, write_table
from poolaudit.reading import runs

with job(snakemake) as log:
    params, output = snakemake.params, snakemake.output
    run = runs.read_run(
        snakemake.input.run,
        format=params.format,
        name=snakemake.wildcards.run,
        **params.ranking,
        **params.reading,
    )
    # read_table would import pandas, which costs more than reading the run.
    topics = pq.ParquetFile(snakemake.input.topics).read()
    compared = runs.compare_topics(run, topics, depth=params.deepest)
    write_table(output.run, run.table)
    write_json(output.notes, run.notes | {"topics": compared})
    log.info("%d rows of %d queries", run.table.num_rows, run.notes["counts"]["queries"])
    for note in run.notes["found"] + compared:
        log.debug("note: %s", note["text"])
