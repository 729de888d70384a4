"""Fold what assessors read into a new version of the judgments."""

import pandas as pd
import pyarrow.parquet as pq

from job import job
from poolaudit.files import read_json, write_table, write_text
from poolaudit.tail import assessments, sheets

with job(snakemake) as log:
    made, output = snakemake.input, snakemake.output
    folded = pq.read_table(made.judgments)
    grades = sheets.scale(read_json(made.source))
    for path in made.filled_in:
        sample = sheets.read_sheet(path, pd.read_parquet(made.sample), grades)
        folded = assessments.fold_assessments(folded, sample, "sample")
    for path in made.targeted:
        known = pd.read_parquet(made.pairs, columns=["query_id", "doc_id"]).astype(str)
        read = sheets.read_sheet(path, known, grades, whole=False)
        folded = assessments.fold_assessments(folded, read, "targeted")
    write_table(output.judgments, folded)
    write_text(output.qrels, assessments.trec_format(folded))
    log.info("%s", assessments.routes(folded))
