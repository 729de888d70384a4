"""Build the pool at each depth: what it cost, what it found, what is still to be judged."""

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from job import job
from poolaudit import pairs, stored
from poolaudit.files import read_json, write_table, write_text
from poolaudit.pools import depth_pools
from poolaudit.pools.routes import pool_routes, read_named_routes, routes_of_judgments

with job(snakemake) as log:
    params, made, output = snakemake.params, snakemake.input, snakemake.output
    nominal = depth_pools.nominal_depth(params.nominal, *map(read_json, made.explanation))
    # A step behind the nominal depth says what a deeper pool would cost.
    deepest = max(*params.depths, 2 * nominal)
    all_pairs, rankings = stored.read(made.pairs, made.rankings, to=deepest)
    contributors = [pairs.Contributor(**row) for row in params.contributors]
    topics = pq.read_table(made.topics).to_pydict()
    texts = dict(zip(topics["query_id"], topics["text"], strict=True))

    table = depth_pools.contributions(
        all_pairs, rankings, contributors, params.depths, params.levels
    )
    write_table(output.contributions, pa.Table.from_pandas(table, preserve_index=False))
    steps = [
        depth_pools.found_by_depth(all_pairs, deepest, level).assign(level=level)
        for level in params.levels
    ]
    write_table(output.growth, pa.Table.from_pandas(pd.concat(steps), preserve_index=False))

    routes = {
        kind: pool_routes(all_pairs, rankings, contributors, nominal, kind)
        for kind in all_pairs.holders
    }
    for path in made.routes:
        routes["route"] = read_named_routes(all_pairs, path)
    tables = [routes_of_judgments(all_pairs, found, kind) for kind, found in routes.items()]
    table = pd.concat(tables, ignore_index=True)
    write_table(output.routes, pa.Table.from_pandas(table, preserve_index=False))
    log.info("routes by %s to depth %d", ", ".join(routes), nominal)

    for i, depth in enumerate(params.depths):
        write_text(output.judgments[i], depth_pools.depth_judgments(all_pairs, depth))
        unjudged = depth_pools.unjudged(all_pairs, depth, texts)
        write_text(output.unjudged[i], unjudged.to_csv(sep="\t", index=False))
        log.info("depth %d: %d pairs in the pool", depth, all_pairs.in_pool(depth).sum())
