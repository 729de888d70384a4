"""Decide which numbers and which orders are ok, need a caveat or are unsafe."""

import pandas as pd
import pyarrow.compute as pc

from job import job
from poolaudit import pairs, stored
from poolaudit.files import read_json, write_json
from poolaudit.pools.depth_pools import depth_if_known
from poolaudit.scores.measure_names import levels_of
from poolaudit.tail import sampling
from poolaudit.verdicts import decisions
from poolaudit.verdicts.comparisons import read_evaluation
from poolaudit.verdicts.findings import Thresholds
from poolaudit.verdicts.numbers import Evidence
from poolaudit.verdicts.ranges import looks_to

with job(snakemake) as log:
    params, made = snakemake.params, snakemake.input
    looked_at = looks_to(params.primary["measure"], params.bounds_depth)
    all_pairs, rankings = stored.read(made.pairs, made.rankings, **looked_at)
    on_all = [
        pd.read_parquet(path, filters=pc.field("depth").is_null()) for path in made.evaluations
    ]
    scores = zip(on_all, params.policies, strict=True)
    evidence = Evidence(
        evaluations=[read_evaluation(*each) for each in scores],
        policy=params.primary["policy"],
        coverage=pd.read_parquet(made.coverage),
        bounds=pd.read_parquet(made.bounds),
        removal=pd.read_parquet(made.removal[0]) if made.removal else None,
        relevant=sampling.judged_relevant(
            all_pairs, all_pairs.relevance, levels_of(params.measures)
        ),
        contributors=[pairs.Contributor(**row) for row in params.contributors],
        pool_depth=depth_if_known(params.nominal, *map(read_json, made.explanation)),
        bounds_depth=params.bounds_depth,
        assessors=params.assessors,
    )
    found = decisions.compare_and_decide(
        all_pairs,
        rankings,
        evidence,
        measure=params.primary["measure"],
        baseline=params.baseline,
        thresholds=Thresholds(**params.thresholds),
        seed=params.seed,
    )
    write_json(snakemake.output.verdicts, found)
    log.info("%s", found["sentence"])
