"""Draw a sample of the tail for assessors to judge."""

import pyarrow as pa
import pyarrow.parquet as pq

from job import job
from poolaudit import pairs, tail
from poolaudit.files import write_table, write_text

with job(snakemake) as log:
    settings = tail.TailSettings(**snakemake.params.settings)
    all_pairs = pairs.read_pairs(snakemake.input.pairs)
    topics = pq.read_table(snakemake.input.topics).to_pydict()
    texts = dict(zip(topics["query_id"], topics["text"], strict=True))
    rows = tail.population(all_pairs, all_pairs.relevance, settings.depth)
    frame = tail.stratify(all_pairs, rows, settings.size, settings.design)
    sample, strata = tail.draw(all_pairs, frame, settings.seed, texts)
    write_text(snakemake.output.sample, sample.to_csv(sep="\t", index=False))
    write_table(snakemake.output.strata, pa.Table.from_pandas(strata, preserve_index=False))
    log.info("%d of %d unjudged documents, %d strata", len(sample), len(rows), len(strata))
