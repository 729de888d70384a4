"""Estimate what the tail holds from a sample with grades, and what it means for each run.

`assessed`: the sample as assessors filled it in. Where every grade is known the same is done beside
the truth: for the judged documents outside a shallower pool (`calibration`), and in a simulated
campaign for the documents that were never judged (`truth`).
"""

import pandas as pd
import pyarrow as pa

from job import job
from poolaudit import stored
from poolaudit.files import read_json, write_table
from poolaudit.reading import qrels
from poolaudit.tail import sampling, sheets
from poolaudit.tail.by_run import by_run, grades_in
from poolaudit.tail.calibration import held_back
from poolaudit.tail.rehearsal import rehearse

with job(snakemake) as log:
    params, made = snakemake.params, snakemake.input
    settings = sampling.TailSettings(**params.settings)
    # Without grades for what is not judged, only judged documents are sampled.
    all_known = made.truth or made.filled_in
    all_pairs, rankings = stored.read(made.pairs, made.rankings, to=None if all_known else 0)
    levels, judged = params.levels, all_pairs.relevance
    missing = sampling.population(all_pairs, judged, settings.depth)
    known = {}
    if params.pooled:
        rows, cut = held_back(all_pairs, settings.beyond), all_pairs.grades(settings.beyond)
        known["calibration"] = (rows, cut, judged)
    for path in made.truth:
        truth = all_pairs.grades_of(qrels.read_judgments(path), default=0)
        known["truth"] = (missing, judged, truth)
    found = {
        name: rehearse(all_pairs, rankings, *case, levels, settings) for name, case in known.items()
    }
    for path in made.filled_in:
        drawn, strata = pd.read_parquet(made.sample), pd.read_parquet(made.strata)
        sample = sheets.read_sheet(path, drawn, sheets.scale(read_json(made.source)))
        relevant = sampling.judged_relevant(all_pairs, judged, levels)
        frame = sampling.stratify(all_pairs, missing, settings.documents, settings.design)
        found["assessed"] = (
            sampling.estimate(sample, strata, relevant, alpha=settings.alpha),
            by_run(all_pairs, rankings, judged, frame, grades_in(all_pairs, sample), levels),
        )
        for sentence in sampling.skipped(sample, strata):
            log.warning(sentence)
    outputs = (snakemake.output.estimate, snakemake.output.by_run)
    for path, tables in zip(outputs, zip(*found.values(), strict=True), strict=True):
        table = pd.concat(t.assign(tail=name) for name, t in zip(found, tables, strict=True))
        write_table(path, pa.Table.from_pandas(table, preserve_index=False))
    for name, (table, _) in found.items():
        for row in table[table["scope"] == "total"].itertuples():
            log.info(
                "%s, level %d: %.0f (%d to %d), truth %s",
                *(name, row.level, row.estimate, row.low, row.high, row.truth),
            )
