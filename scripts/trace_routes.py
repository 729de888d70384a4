"""Write down the routes to each judged document: runs and groups of the pool, or a key's own."""

import pandas as pd
import pyarrow as pa

from job import job
from poolaudit import pairs
from poolaudit.files import read_json, write_table
from poolaudit.pools.depth_pools import nominal_depth
from poolaudit.pools.routes import pool_routes, read_named_routes, routes_of_judgments

with job(snakemake) as log:
    params = snakemake.params
    all_pairs, rankings = pairs.read(snakemake.input.pairs, snakemake.input.rankings)
    contributors = [pairs.Contributor(**row) for row in params.contributors]
    depth = nominal_depth(params.nominal, read_json(snakemake.input.explanation))
    routes = {
        kind: pool_routes(all_pairs, rankings, contributors, depth, kind)
        for kind in all_pairs.holders
    }
    for path in snakemake.input.routes:
        routes["route"] = read_named_routes(all_pairs, path)
    tables = [routes_of_judgments(all_pairs, found, kind) for kind, found in routes.items()]
    table = pd.concat(tables, ignore_index=True)
    write_table(snakemake.output.routes, pa.Table.from_pandas(table, preserve_index=False))
    log.info("routes by %s to depth %d", ", ".join(routes), depth)
