# Reads each run once and puts its documents in order, a batch of runs a job; compares the queries of
# all runs with the topics.
# Takes the run files of the sheet and topics.parquet; gives runs/<run>.parquet, runs/<run>.json and
# answered.json. A batch is read from its files alone, so that nothing else makes it be read again.

for number, batch in BATCHES.items():

    rule:
        name:
            f"normalize_runs_{number}"
        input:
            batch=run_files(batch),
        output:
            runs=expand("results/{{collection}}/runs/{run}.parquet", run=batch),
            notes=expand("results/{{collection}}/runs/{run}.json", run=batch),
            trace=f"results/{{collection}}/trace/normalize_runs/{number}.json",
        log:
            f"results/{{collection}}/logs/normalize_runs/{number}.log",
        benchmark:
            f"results/{{collection}}/benchmarks/normalize_runs/{number}.tsv"
        conda:
            "../../environment.yml"
        resources:
            mem_mb=memory(200, 15),
            runtime=minutes,
        params:
            runs=batch,
            sha256=run_digests(batch),
            formats=run_formats(batch),
            ranking=SETTINGS["ranking"],
            reading=SETTINGS["reading"],
            code=code_of("normalize_runs"),
        script:
            "../../scripts/normalize_runs.py"


rule compare_topics:
    input:
        topics="results/{collection}/topics.parquet",
        runs=expand("results/{{collection}}/runs/{run}.parquet", run=RUNS),
    output:
        answered="results/{collection}/answered.json",
        trace="results/{collection}/trace/compare_topics.json",
    log:
        "results/{collection}/logs/compare_topics.log",
    benchmark:
        "results/{collection}/benchmarks/compare_topics.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory(150, 2),
        runtime=minutes,
    params:
        runs=list(RUNS),
        deepest=max(DEPTHS, default=None),
        code=code_of("compare_topics"),
    script:
        "../../scripts/compare_topics.py"
