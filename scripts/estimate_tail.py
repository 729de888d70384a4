"""Estimate what a sample of the tail would find, where its grades are known.

Two tails have known grades: the judged documents outside a shallower pool (`calibration`), and in a
simulated campaign the documents that were never judged (`truth`).
"""

import pandas as pd
import pyarrow as pa

from job import job
from poolaudit import pairs, qrels, tail
from poolaudit.calibration import held_back
from poolaudit.files import write_table
from poolaudit.measure_names import levels_of
from poolaudit.rehearsal import rehearse

with job(snakemake) as log:
    params = snakemake.params
    settings = tail.TailSettings(**params.settings)
    all_pairs = pairs.read_pairs(snakemake.input.pairs)
    levels, judged = levels_of(params.measures), all_pairs.relevance
    cases = {}
    if params.pooled:
        rows, cut = held_back(all_pairs, settings.beyond), all_pairs.grades(settings.beyond)
        cases["calibration"] = (rows, cut, judged)
    for path in snakemake.input.truth:
        rows = tail.population(all_pairs, judged, settings.depth)
        cases["truth"] = (rows, judged, all_pairs.grades_of(qrels.read_judgments(path), default=0))
    tables = [
        rehearse(all_pairs, *case, levels, settings).assign(tail=name)
        for name, case in cases.items()
    ]
    table = pd.concat(tables)
    write_table(snakemake.output.estimate, pa.Table.from_pandas(table, preserve_index=False))
    for row in table[table["scope"] == "total"].itertuples():
        log.info(
            "%s, level %d: %.0f (%d to %d) of %d",
            *(row.tail, row.level, row.estimate, row.low, row.high, row.truth),
        )
