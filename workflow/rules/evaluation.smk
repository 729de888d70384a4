# Scores every run under every policy, at every pool depth and on all the judgments.
# Takes pairs.parquet and rankings.parquet; gives evaluation/<policy>.parquet, coverage.parquet
# and bounds.parquet. Where the truth is known (a simulation), also truth.parquet.


rule evaluate_policy:
    input:
        pairs="results/{collection}/pairs.parquet",
        rankings="results/{collection}/rankings.parquet",
    output:
        evaluation="results/{collection}/evaluation/{policy}.parquet",
        trace="results/{collection}/trace/evaluate_policy/{policy}.json",
    log:
        "results/{collection}/logs/evaluate_policy/{policy}.log",
    benchmark:
        "results/{collection}/benchmarks/evaluate_policy/{policy}.tsv"
    params:
        measures=SETTINGS["measures"],
        depths=DEPTHS,
        code=code_of("evaluate_policy"),
    script:
        "../../scripts/evaluate_policy.py"


rule measure_coverage:
    input:
        pairs="results/{collection}/pairs.parquet",
        rankings="results/{collection}/rankings.parquet",
    output:
        coverage="results/{collection}/coverage.parquet",
        trace="results/{collection}/trace/measure_coverage.json",
    log:
        "results/{collection}/logs/measure_coverage.log",
    benchmark:
        "results/{collection}/benchmarks/measure_coverage.tsv"
    params:
        measures=SETTINGS["measures"],
        depths=DEPTHS,
        code=code_of("measure_coverage"),
    script:
        "../../scripts/measure_coverage.py"


rule bound_scores:
    input:
        pairs="results/{collection}/pairs.parquet",
        rankings="results/{collection}/rankings.parquet",
    output:
        bounds="results/{collection}/bounds.parquet",
        trace="results/{collection}/trace/bound_scores.json",
    log:
        "results/{collection}/logs/bound_scores.log",
    benchmark:
        "results/{collection}/benchmarks/bound_scores.tsv"
    params:
        measures=SETTINGS["measures"],
        depth=SETTINGS["bounds"]["depth"],
        code=code_of("bound_scores"),
    script:
        "../../scripts/bound_scores.py"


rule evaluate_truth:
    input:
        truth=truth_file(),
        runs=expand("results/{{collection}}/runs/{run}.parquet", run=RUNS),
        topics="results/{collection}/topics.parquet",
    output:
        truth="results/{collection}/truth.parquet",
        trace="results/{collection}/trace/evaluate_truth.json",
    log:
        "results/{collection}/logs/evaluate_truth.log",
    benchmark:
        "results/{collection}/benchmarks/evaluate_truth.tsv"
    params:
        sha256=[digest_of(path) for path in truth_file()],
        contributors=contributors(),
        measures=SETTINGS["measures"],
        code=code_of("evaluate_truth"),
    script:
        "../../scripts/evaluate_truth.py"
