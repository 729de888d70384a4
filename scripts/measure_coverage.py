"""Count the judged documents above each cutoff, by band of rank, and down to the first gap."""

import numpy as np
import pyarrow as pa

from job import job
from poolaudit import pairs
from poolaudit.cells import cells
from poolaudit.files import read_json, write_table
from poolaudit.pools.depth_pools import nominal_depth, reach
from poolaudit.scores.lists import judged_lists
from poolaudit.scores.policies import coverage

with job(snakemake) as log:
    params = snakemake.params
    all_pairs, rankings = pairs.read(snakemake.input.pairs, snakemake.input.rankings)
    lists = judged_lists(all_pairs, rankings)
    depths = [*params.depths, None]
    at_depth = [coverage(lists, all_pairs.grades(depth), params.cutoffs) for depth in depths]
    axes = {
        "depth": depths,
        "cutoff": params.cutoffs,
        "run": lists.runs,
        "query_id": lists.query_ids,
    }
    counts = zip(("retrieved", "judged", "unjudged"), zip(*at_depth, strict=True), strict=True)
    table = cells(axes, {name: np.stack(arrays) for name, arrays in counts})
    write_table(snakemake.output.coverage, table)

    contributors = [pairs.Contributor(**row) for row in params.contributors]
    pooled = any(contributor.pooled for contributor in contributors)
    explanation = read_json(snakemake.input.explanation)
    pool = nominal_depth(params.nominal, explanation) if pooled else 0
    bands, judged_to = reach(all_pairs, rankings, contributors, pool)
    write_table(snakemake.output.bands, pa.Table.from_pandas(bands, preserve_index=False))
    write_table(snakemake.output.judged_to, pa.Table.from_pandas(judged_to, preserve_index=False))
    log.info("%d cutoffs, %d pool depths", len(params.cutoffs), len(depths) - 1)
