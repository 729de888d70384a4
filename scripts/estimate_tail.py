"""Estimate what the tail holds from a sample with grades.

`assessed`: the sample as assessors filled it in. Where every grade is known the same is done beside
the truth: for the judged documents outside a shallower pool (`calibration`), and in a simulated
campaign for the documents that were never judged (`truth`).
"""

import pandas as pd
import pyarrow as pa

from job import job
from poolaudit import pairs
from poolaudit.files import write_table
from poolaudit.reading import qrels
from poolaudit.tail import sampling, sheets
from poolaudit.tail.calibration import held_back
from poolaudit.tail.rehearsal import rehearse

with job(snakemake) as log:
    params = snakemake.params
    settings = sampling.TailSettings(**params.settings)
    all_pairs = pairs.read_pairs(snakemake.input.pairs)
    levels, judged = params.levels, all_pairs.relevance
    cases = {}
    if params.pooled:
        rows, cut = held_back(all_pairs, settings.beyond), all_pairs.grades(settings.beyond)
        cases["calibration"] = (rows, cut, judged)
    for path in snakemake.input.truth:
        rows = sampling.population(all_pairs, judged, settings.depth)
        cases["truth"] = (rows, judged, all_pairs.grades_of(qrels.read_judgments(path), default=0))
    tables = [
        rehearse(all_pairs, *case, levels, settings).assign(tail=name)
        for name, case in cases.items()
    ]
    for path in snakemake.input.filled_in:
        drawn = pd.read_parquet(snakemake.input.sample)
        sample = sheets.read_sheet(path, drawn, range(max(1, int(judged.max())) + 1))
        strata = pd.read_parquet(snakemake.input.strata)
        known = sampling.judged_relevant(all_pairs, judged, levels)
        tables.append(sampling.estimate(sample, strata, known).assign(tail="assessed"))
        for sentence in sampling.skipped(sample, strata):
            log.warning(sentence)
    table = pd.concat(tables)
    write_table(snakemake.output.estimate, pa.Table.from_pandas(table, preserve_index=False))
    for row in table[table["scope"] == "total"].itertuples():
        log.info(
            "%s, level %d: %.0f (%d to %d), truth %s",
            *(row.tail, row.level, row.estimate, row.low, row.high, row.truth),
        )
