"""Bound each score over the orders of tied documents."""

from job import job
from poolaudit import pairs
from poolaudit.cells import cells
from poolaudit.files import write_table
from poolaudit.scores.ties import tie_sensitivity

with job(snakemake) as log:
    all_pairs, rankings = pairs.read(snakemake.input.pairs, snakemake.input.rankings)
    found = tie_sensitivity(all_pairs, rankings, snakemake.params.measures)
    axes = {"measure": found.measures, "run": found.runs, "query_id": found.query_ids}
    write_table(snakemake.output.ties, cells(axes, {"low": found.low, "high": found.high}))
    crossed = cells({"cutoff": found.cutoffs, "run": found.runs}, {"queries": found.crossed})
    write_table(snakemake.output.crossed, crossed)
    log.info("queries with ties across a cutoff: %d", found.crossed.sum())
