# Reads each run once and puts its documents in order.
# Takes the run files of the sheet and topics.parquet; gives runs/<run>.parquet and runs/<run>.json.


rule normalize_run:
    input:
        run=run_file,
        topics="results/{collection}/topics.parquet",
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
        deepest=max(DEPTHS, default=None),
        code=code_of("normalize_run"),
    script:
        "../../scripts/normalize_run.py"
