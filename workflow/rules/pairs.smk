# Joins all runs with the judgments: the two tables that every number comes from.
# Takes judgments.parquet and runs/*.parquet; gives pairs.parquet and rankings.parquet.


rule build_pairs:
    input:
        judgments="results/{collection}/judgments.parquet",
        runs=expand("results/{{collection}}/runs/{run}.parquet", run=RUNS),
    output:
        pairs="results/{collection}/pairs.parquet",
        rankings="results/{collection}/rankings.parquet",
        trace="results/{collection}/trace/build_pairs.json",
    log:
        "results/{collection}/logs/build_pairs.log",
    benchmark:
        "results/{collection}/benchmarks/build_pairs.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory(250, 10, of_batch=2000, kept=0),
        runtime=minutes,
    params:
        contributors=contributors(),
        rows=SETTINGS["batches"]["rows"],
        code=code_of("build_pairs"),
    script:
        "../../scripts/build_pairs.py"
