"""Get the judgments and topics of the collection, and say where they came from."""

from job import job
from poolaudit.files import write_json, write_table
from poolaudit.reading import qrels

with job(snakemake) as log:
    found = qrels.load(snakemake.params.settings | dict(snakemake.input.items()))
    write_table(snakemake.output.judgments, found.judgments)
    write_table(snakemake.output.topics, found.topics)
    write_json(snakemake.output.source, found.source)
    log.info("%d judgments", found.judgments.num_rows)
