"""Hold the numbers that a paper declares against their verdicts; fail when one does not stand."""

from job import job
from poolaudit.errors import AuditError
from poolaudit.files import read_json, write_json
from poolaudit.verdicts.declared import check, failures, read_declared

with job(snakemake) as log:
    declared = [one for path in snakemake.input.declared for one in read_declared(path)]
    verdicts = read_json(snakemake.input.verdicts)
    found = check(verdicts, declared, snakemake.params.allow)
    wrong = failures(found)
    if wrong:
        raise AuditError(
            f"{len(wrong)} of {len(found)} declared numbers do not stand.",
            where=", ".join(snakemake.input.declared) or "every run by the primary measure",
            found="\n            ".join(wrong),
            expected=f"the declared values, and verdicts no worse than {snakemake.params.allow}",
            todo="say what the report says of them, or judge more documents",
        )
    write_json(snakemake.output.check, found)
    log.info("%d declared numbers stand", len(found))
