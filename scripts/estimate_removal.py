"""Score every contributor's runs as if it had never been pooled."""

from functools import reduce

import pyarrow as pa

from job import job
from poolaudit import pairs, stored
from poolaudit.files import read_json, write_table
from poolaudit.pools.depth_pools import nominal_depth
from poolaudit.pools.routes import join, pool_routes, read_named_routes
from poolaudit.removal.leave_out import kinds_to_leave_out, leave_out_uniques

with job(snakemake) as log:
    params = snakemake.params
    all_pairs, rankings = stored.read(snakemake.input.pairs, snakemake.input.rankings, to=0)
    contributors = [pairs.Contributor(**row) for row in params.contributors]
    nominal = nominal_depth(params.nominal, *map(read_json, snakemake.input.explanation))
    found_by = [pool_routes(all_pairs, rankings, contributors, nominal)]
    written = [read_named_routes(all_pairs, path) for path in snakemake.input.routes]
    tables = leave_out_uniques(
        all_pairs,
        rankings,
        contributors,
        params.measures,
        params.policies,
        params.depths,
        nominal=nominal,
        routes=reduce(join, found_by + written) if written else None,
        variant=params.variant,
    )
    for path, table in zip(snakemake.output[:2], tables, strict=True):
        write_table(path, pa.Table.from_pandas(table, preserve_index=False))
    kinds, refused = kinds_to_leave_out(all_pairs)
    log.info("left out by %s; nominal depth %s", ", ".join(kinds), nominal)
    for sentence in refused.values():
        log.warning(sentence)
