"""Score every run on the truth, which only a simulated campaign knows."""

import numpy as np
import pyarrow.parquet as pq

from job import job
from poolaudit import pairs
from poolaudit.cells import cells
from poolaudit.files import write_table
from poolaudit.reading import qrels
from poolaudit.scores.lists import judged_lists
from poolaudit.scores.policies import evaluate

with job(snakemake) as log:
    params = snakemake.params
    contributors = [pairs.Contributor(**row) for row in params.contributors]
    tables = map(pq.read_table, snakemake.input.runs)
    judgments = pq.read_table(snakemake.input.judgments)
    truth = qrels.truth_of(judgments, qrels.read_judgments(snakemake.input.truth[0]))
    all_pairs, rankings = pairs.build(truth, zip(contributors, tables, strict=True))
    # The truth lists the relevant documents; every other document is known to be nonrelevant.
    known = np.maximum(all_pairs.relevance, 0)
    evaluation = evaluate(judged_lists(all_pairs, rankings, known), known, params.measures)
    axes = {
        "measure": evaluation.measures,
        "run": evaluation.runs,
        "query_id": evaluation.query_ids,
    }
    write_table(snakemake.output.truth, cells(axes, {"value": evaluation.values}))
    log.info("%d relevant documents", int((known > 0).sum()))
