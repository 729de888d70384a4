"""Join the traces of all jobs: for each artifact its digest, rule, inputs, settings and code."""

from pathlib import Path

from job import job
from poolaudit import provenance
from poolaudit.files import write_json

with job(snakemake) as log:
    artifacts = provenance.collect(map(Path, snakemake.input.traces))
    rules = sorted({artifact["rule"] for artifact in artifacts.values()})
    code = {rule: provenance.code_of(Path(__file__).with_name(f"{rule}.py")) for rule in rules}
    record = {
        "collection": snakemake.params.collection,
        "settings": snakemake.params.settings,
        "artifacts": artifacts,
        "code": code,
    }
    write_json(snakemake.output.provenance, record)
    log.info("%d artifacts by %d rules", len(artifacts), len(rules))
