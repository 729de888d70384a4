# Reads each run once and puts its documents in order; compares its queries with the topics.
# Takes the run files of the sheet and topics.parquet; gives runs/<run>.parquet, runs/<run>.json and
# answered.json. A run is read from its file alone, so that nothing else makes it be read again.


rule normalize_run:
    input:
        run=run_file,
    output:
        run="results/{collection}/runs/{run}.parquet",
        notes="results/{collection}/runs/{run}.json",
        trace="results/{collection}/trace/normalize_run/{run}.json",
    log:
        "results/{collection}/logs/normalize_run/{run}.log",
    benchmark:
        "results/{collection}/benchmarks/normalize_run/{run}.tsv"
    conda:
        "../../environment.yml"
    params:
        sha256=run_digest,
        format=run_format,
        ranking=SETTINGS["ranking"],
        reading=SETTINGS["reading"],
        code=code_of("normalize_run"),
    script:
        "../../scripts/normalize_run.py"


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
    params:
        runs=list(RUNS),
        deepest=max(DEPTHS, default=None),
        code=code_of("compare_topics"),
    script:
        "../../scripts/compare_topics.py"
