"""Render everything that was found as one page, as Markdown and as data."""

from job import job
from poolaudit.files import write_json, write_text
from poolaudit.report import artifacts, charts, page
from poolaudit.report.subject import Subject
from poolaudit.report.summary import summarise

with job(snakemake) as log:
    params, output = snakemake.params, snakemake.output
    made = artifacts.read(dict(snakemake.input.items()), params.settings["primary"])
    subject = Subject(params.collection, params.title, params.settings, params.contributors, made)
    audit = summarise(subject)
    drawings = charts.charts(audit)
    write_json(output.audit, audit)
    write_text(output.markdown, page.markdown(audit, drawings))
    write_text(output.report, page.html(audit, drawings, charts.javascript()))
    log.info("the report is in %s", snakemake.output.report)
