"""Bound each score over all ways of judging the unjudged documents."""

from job import job
from poolaudit import pairs
from poolaudit.cells import cells
from poolaudit.files import write_table
from poolaudit.scores.bounds import bounds

with job(snakemake) as log:
    params = snakemake.params
    all_pairs, rankings = pairs.read(snakemake.input.pairs, snakemake.input.rankings)
    found = bounds(all_pairs, rankings, params.measures, depth=params.depth)
    axes = {"measure": found.measures, "run": found.runs, "query_id": found.query_ids}
    ends = ("low", "high", "own_low", "own_high")
    write_table(snakemake.output.bounds, cells(axes, {end: getattr(found, end) for end in ends}))
    depths = [f"{d} for {m}" for m, d in zip(found.measures, found.depths, strict=True)]
    log.info("unjudged documents counted to depth %s", ", ".join(depths))
