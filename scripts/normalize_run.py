"""Read one run, put its documents in order, and note what was found in the file."""

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
    write_table(output.run, run.table)
    write_json(output.notes, run.notes)
    log.info("%d rows of %d queries", run.table.num_rows, run.notes["counts"]["queries"])
    for note in run.notes["found"]:
        log.debug("note: %s", note["text"])
