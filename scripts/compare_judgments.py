"""Compare the judgments with other versions of them: what changed, and what it does to each run."""

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from job import job
from poolaudit import pairs
from poolaudit.files import write_json, write_table
from poolaudit.reading import qrels
from poolaudit.tail import assessments

with job(snakemake) as log:
    params, made = snakemake.params, snakemake.input
    columns = ["query_id", "doc_id", "rank", "score"]
    contributors = [pairs.Contributor(**row) for row in params.contributors]
    runs = [pq.read_table(path, columns=columns) for path in made.runs]
    before = pq.read_table(made.judgments)
    versions = [("folded", pq.read_table(path)) for path in made.folded]
    for path in made.other:
        versions.append(("other", qrels.read_judgments(path, negatives=params.negatives)))
    tables, records = [], {}
    for name, after in versions:
        both = assessments.union(before, after)
        all_pairs, rankings = pairs.build(both, zip(contributors, runs, strict=True))
        grades = all_pairs.grades_of(before), all_pairs.grades_of(after)
        found = assessments.compare_judgments(
            all_pairs, rankings, *grades, params.measures, params.policy
        )
        tables.append(found.runs.assign(version=name))
        records[name] = found.record() | {"routes": assessments.routes(after)}
        log.info("%s: %s", name, records[name]["pairs"])
    table = pd.concat(tables, ignore_index=True)
    write_table(snakemake.output.runs, pa.Table.from_pandas(table, preserve_index=False))
    write_json(snakemake.output.versions, {"policy": params.policy, "versions": records})
