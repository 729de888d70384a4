"""Draw a sample of the tail, and write it as a judging sheet and as a form."""

import pyarrow as pa
import pyarrow.parquet as pq

from job import job
from poolaudit import stored
from poolaudit.files import read_json, write_table
from poolaudit.reading.documents import open_documents
from poolaudit.tail import sampling, sheets
from poolaudit.tail.judging_form import write_form

with job(snakemake) as log:
    output = snakemake.output
    settings = sampling.TailSettings(**snakemake.params.settings)
    all_pairs = stored.read_pairs(snakemake.input.pairs, settings.depth)
    topics = pq.read_table(snakemake.input.topics).to_pydict()
    queries = dict(zip(topics["query_id"], topics["text"], strict=True))
    rows = sampling.population(all_pairs, all_pairs.relevance, settings.depth)
    documents = open_documents(list(snakemake.input.documents), snakemake.params.store)
    frame = sampling.stratify(all_pairs, rows, settings.documents, settings.design)
    sample, strata = sampling.draw(all_pairs, frame, settings.seed, queries, documents)
    sheets.write_sheet(output.sheet, sample)
    write_form(output.form, sample, sheets.scale(read_json(snakemake.input.source)))
    write_table(output.sample, pa.Table.from_pandas(sample, preserve_index=False))
    write_table(output.strata, pa.Table.from_pandas(strata, preserve_index=False))
    log.info("%d of %d unjudged documents, %d strata", len(sample), len(rows), len(strata))
