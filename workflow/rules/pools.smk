# Builds the pools and finds out which pool explains the judgments.
# Takes pairs.parquet, rankings.parquet, runs/*.parquet and the routes of a key made by hand; gives
# pools.parquet, pools/, routes.parquet, the routes to each judged document, and explanation.json.


rule build_pools:
    input:
        pairs="results/{collection}/pairs.parquet",
        rankings="results/{collection}/rankings.parquet",
        topics="results/{collection}/topics.parquet",
        explanation=explanation_where_needed(),
        routes=routes_file(),
    output:
        contributions=report(
            "results/{collection}/pools.parquet",
            caption="../report/captions/pools.rst",
            category="The pool",
        ),
        growth="results/{collection}/pools/growth.parquet",
        routes="results/{collection}/routes.parquet",
        judgments=expand("results/{{collection}}/pools/depth-{depth}.qrels", depth=DEPTHS),
        unjudged=expand("results/{{collection}}/pools/unjudged-{depth}.tsv", depth=DEPTHS),
        trace="results/{collection}/trace/build_pools.json",
    log:
        "results/{collection}/logs/build_pools.log",
    benchmark:
        "results/{collection}/benchmarks/build_pools.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory(200, 15, of_batch=900),
        runtime=minutes,
    params:
        sha256=[digest_of(path) for path in routes_file()],
        contributors=contributors(),
        depths=DEPTHS,
        nominal=SETTINGS["pool"].get("depth"),
        levels=levels_of(SETTINGS["measures"]),
        code=code_of("build_pools"),
    script:
        "../../scripts/build_pools.py"


rule explain_judgments:
    input:
        judgments="results/{collection}/judgments.parquet",
        runs=expand("results/{{collection}}/runs/{run}.parquet", run=RUNS),
    output:
        explanation="results/{collection}/explanation.json",
        trace="results/{collection}/trace/explain_judgments.json",
    log:
        "results/{collection}/logs/explain_judgments.log",
    benchmark:
        "results/{collection}/benchmarks/explain_judgments.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory(250, 8, of_batch=1500, kept=1),
        runtime=minutes,
    params:
        pooled={run: row.pooled for run, row in RUNS.items()},
        sheet_says_pooled=AUDIT.sheet_says_pooled,
        ranking=SETTINGS["ranking"],
        rows=SETTINGS["batches"]["rows"],
        code=code_of("explain_judgments"),
    script:
        "../../scripts/explain_judgments.py"
