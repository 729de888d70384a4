"""Tell what changed since another audit."""

from job import job
from poolaudit.archive import changes, page
from poolaudit.files import write_json, write_text

with job(snakemake) as log:
    made = snakemake.input
    before = changes.read_audit(made.get("against"))
    after = changes.read_audit([made.audit, made.provenance])
    found = changes.compare(before, after)
    write_json(snakemake.output.changes, found)
    write_text(snakemake.output.page, page.html(found))
    for sentence in changes.summary(found):
        log.info("%s", sentence)
