"""Test the estimate of the tail on judgments cut to a shallower pool, many times."""

import pyarrow as pa

from job import job
from poolaudit import stored
from poolaudit.files import write_table
from poolaudit.scores.measure_names import levels_of
from poolaudit.tail import calibration, sampling

with job(snakemake) as log:
    params, output = snakemake.params, snakemake.output
    settings = sampling.TailSettings(**params.settings)
    all_pairs, rankings = stored.read(snakemake.input.pairs, snakemake.input.rankings, to=0)
    levels = levels_of(params.measures)
    rows = calibration.held_back(all_pairs, settings.beyond)
    frame = sampling.stratify(all_pairs, rows, settings.documents, settings.design)
    table = calibration.calibrate(
        frame,
        frame.count(all_pairs.relevance, levels),
        levels,
        draws=settings.draws,
        seed=settings.seed,
        alpha=settings.alpha,
    )
    write_table(output.calibration, pa.Table.from_pandas(table, preserve_index=False))
    lost = calibration.losses(all_pairs, rankings, settings.beyond, params.measures, levels[-1])
    write_table(output.losses, pa.Table.from_pandas(lost, preserve_index=False))
    for row in table.itertuples():
        held = f"{row.coverage:.1%} of {row.draws:,} intervals hold the truth"
        log.info("relevant from grade %d on: %s", row.level, held)
