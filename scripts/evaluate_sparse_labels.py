"""Score every run by RR over a second, sparse set of labels."""

from job import job
from poolaudit import stored
from poolaudit.cells import cells
from poolaudit.files import write_table
from poolaudit.reading import qrels
from poolaudit.scores.ledgers import rr_over_sparse_labels

with job(snakemake) as log:
    all_pairs, rankings = stored.read(snakemake.input.pairs, snakemake.input.rankings)
    labels = qrels.read_judgments(snakemake.input.labels[0])
    found = rr_over_sparse_labels(all_pairs, rankings, labels)
    axes = {"measure": found.measures, "run": found.runs, "query_id": found.query_ids}
    write_table(snakemake.output.scores, cells(axes, {"value": found.values}))
    log.info("%d labels", labels.num_rows)
