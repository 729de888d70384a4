"""Read the runs of a batch, put their documents in order, and note what was found in the files."""

from job import job
from poolaudit.errors import AuditError, joined
from poolaudit.files import write_json, write_table
from poolaudit.reading import runs

# So that some of the queries can be read without the others.
ROWS_A_GROUP = 2**17

with job(snakemake) as log:
    params, output = snakemake.params, snakemake.output
    refused = []
    for i, name in enumerate(params.runs):
        path, format = snakemake.input.batch[i], params.formats[i]
        try:
            run = runs.read_run(path, format=format, name=name, **params.ranking, **params.reading)
        except AuditError as error:
            refused.append(error)
            continue
        write_table(output.runs[i], run.table, row_group_size=ROWS_A_GROUP)
        write_json(output.notes[i], run.notes)
        counts = run.notes["counts"]
        log.info("%s: %d rows of %d queries", name, run.table.num_rows, counts["queries"])
        for note in run.notes["found"]:
            log.debug("note on %s: %s", name, note["text"])
    if refused:
        raise joined(refused)
