"""Simulate a campaign with known truth and write its documents, topics, judgments and runs."""

from pathlib import Path

from job import job
from poolaudit.campaign import corpus, simulation

with job(snakemake) as log:
    settings = corpus.settings_from(snakemake.params.settings, where="config/campaign.yaml")
    simulated = simulation.simulate(settings)
    simulation.write(simulated, Path(snakemake.output.topics).parent)
    log.info("%d runs of %d topics", len(snakemake.output.runs), settings.topics)
