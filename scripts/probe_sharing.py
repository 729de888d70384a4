"""Look for what the contributors of the pool share."""

import pyarrow as pa
import pyarrow.parquet as pq

from job import job
from poolaudit import pairs, stored
from poolaudit.files import read_json, write_json, write_table
from poolaudit.pools.depth_pools import nominal_depth
from poolaudit.reading.documents import open_documents
from poolaudit.sharing.probing import looks_to, probe

with job(snakemake) as log:
    params = snakemake.params
    nominal = nominal_depth(params.nominal, *map(read_json, snakemake.input.explanation))
    # titlestat wants to see that the texts are those of all documents.
    cut = looks_to(params.primary["measure"], nominal, params.depths)
    documents = open_documents(list(snakemake.input.documents), params.store)
    to = None if documents else cut
    all_pairs, rankings = stored.read(snakemake.input.pairs, snakemake.input.rankings, to=to)
    topics = pq.read_table(snakemake.input.topics).to_pydict()
    titles = dict(zip(topics["query_id"], topics["text"], strict=True))
    figures, summary = probe(
        all_pairs,
        rankings,
        [pairs.Contributor(**row) for row in params.contributors],
        measures=params.measures,
        policies=params.policies,
        primary=(params.primary["measure"], params.primary["policy"]),
        depth=nominal,
        depths=params.depths,
        titles=titles,
        documents=documents.batches() if documents else None,
        seed=params.seed,
    )
    write_table(snakemake.output.figures, pa.Table.from_pandas(figures, preserve_index=False))
    write_json(snakemake.output.summary, summary)
    log.info("shared bias: %s", summary["verdict"])
