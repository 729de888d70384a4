"""Order the unjudged documents by what reading them does for the compared pairs, as a sheet too."""

import pyarrow as pa
import pyarrow.parquet as pq

from job import job
from poolaudit import stored
from poolaudit.files import read_json, write_json, write_table
from poolaudit.reading.documents import open_documents
from poolaudit.tail import sheets
from poolaudit.tail.judging_form import write_form
from poolaudit.verdicts import reading_order
from poolaudit.verdicts.ranges import looks_to

with job(snakemake) as log:
    params, made, output = snakemake.params, snakemake.input, snakemake.output
    looked_at = looks_to(params.measure, params.bounds_depth)
    all_pairs, rankings = stored.read(made.pairs, made.rankings, **looked_at)
    compared = [(pair["run"], pair["other"]) for pair in read_json(made.verdicts)["pairs"]]
    if not reading_order.can_be_asked(params.measure):
        log.warning("%s has no bounds, and so no reading order", params.measure)
        compared = []
    found = reading_order.read_first(
        all_pairs,
        rankings,
        params.measure,
        compared,
        depth=params.bounds_depth,
        most=params.most,
    )
    topics = pq.read_table(made.topics).to_pydict()
    queries = dict(zip(topics["query_id"], topics["text"], strict=True))
    sheet = found.sheet(queries, open_documents(list(made.documents), params.store))
    sheets.write_sheet(output.sheet, sheet)
    scale = sheets.scale(read_json(made.source))
    write_form(output.form, sheet, scale, "What to read first", "read-first.tsv")
    write_table(output.documents, pa.Table.from_pandas(found.documents, preserve_index=False))
    write_table(output.by_lead, pa.Table.from_pandas(found.by_lead, preserve_index=False))
    write_json(output.leads, found.record())
    log.info("%d leads, %d documents settle them all", len(found.leads), found.settling)
