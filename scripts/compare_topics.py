"""Compare the queries that each run answered with those of the collection."""

import pyarrow.parquet as pq

from job import job
from poolaudit.errors import printable
from poolaudit.files import write_json
from poolaudit.reading.answers import compare_topics, warning_of

with job(snakemake) as log:
    params = snakemake.params
    # read_table would import pandas, which costs more than comparing.
    topics = pq.ParquetFile(snakemake.input.topics).read()
    notes = {}
    for run, path in zip(params.runs, snakemake.input.runs, strict=True):
        answered = pq.ParquetFile(path).read(columns=["query_id"])["query_id"]
        notes[run] = compare_topics(answered, topics, depth=params.deepest)
        for note in notes[run]:
            log.debug("%s: %s", run, note["text"])
        if warning := warning_of(notes[run]):
            log.warning("warning: run %s: %s", run, printable(warning))
    write_json(snakemake.output.answered, notes)
    log.info("%d notes on %d runs", sum(map(len, notes.values())), len(notes))
