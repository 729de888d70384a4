"""Score every run under one policy, at every pool depth and on all the judgments."""

import numpy as np

from job import job
from poolaudit import pairs
from poolaudit.cells import cells
from poolaudit.files import write_table
from poolaudit.scores.bounds import residuals_of
from poolaudit.scores.lists import judged_lists
from poolaudit.scores.policies import evaluate

with job(snakemake) as log:
    params, policy = snakemake.params, snakemake.wildcards.policy
    all_pairs, rankings = pairs.read(snakemake.input.pairs, snakemake.input.rankings)
    lists = judged_lists(all_pairs, rankings)
    depths = [*params.depths, None]
    grades = [all_pairs.grades(depth) for depth in depths]
    at_depth = [evaluate(lists, judged, params.measures, policy) for judged in grades]
    first = at_depth[0]
    axes = {
        "depth": depths,
        "measure": first.measures,
        "run": first.runs,
        "query_id": first.query_ids,
    }
    values = {
        "value": np.stack([evaluation.values for evaluation in at_depth]),
        "residual": np.stack([residuals_of(lists, g, params.measures, policy) for g in grades]),
    }
    if first.effective_depth is not None:
        values["effective_depth"] = np.stack([e.effective_depth for e in at_depth])
    write_table(snakemake.output.evaluation, cells(axes, values))
    log.info(
        "%d runs, %d measures, %d pool depths",
        len(first.runs),
        len(first.measures),
        len(depths) - 1,
    )
