# Scores every run under every policy, at every pool depth and on all the judgments.
# Takes pairs.parquet and rankings.parquet; gives evaluation/<policy>.parquet, coverage.parquet
# and bounds.parquet.


rule evaluate_policy:
    input:
        pairs="results/{collection}/pairs.parquet",
        rankings="results/{collection}/rankings.parquet",
    output:
        evaluation="results/{collection}/evaluation/{policy}.parquet",
        trace="results/{collection}/trace/evaluate_policy/{policy}.json",
    params:
        measures=SETTINGS["measures"],
        depths=DEPTHS,
        code=code_of("evaluate_policy"),
    log:
        "results/{collection}/logs/evaluate_policy/{policy}.log",
    benchmark:
        "results/{collection}/benchmarks/evaluate_policy/{policy}.tsv"
    script:
        "../../scripts/evaluate_policy.py"


rule measure_coverage:
    input:
        pairs="results/{collection}/pairs.parquet",
        rankings="results/{collection}/rankings.parquet",
    output:
        coverage="results/{collection}/coverage.parquet",
        trace="results/{collection}/trace/measure_coverage.json",
    params:
        measures=SETTINGS["measures"],
        depths=DEPTHS,
        code=code_of("measure_coverage"),
    log:
        "results/{collection}/logs/measure_coverage.log",
    benchmark:
        "results/{collection}/benchmarks/measure_coverage.tsv"
    script:
        "../../scripts/measure_coverage.py"


rule bound_scores:
    input:
        pairs="results/{collection}/pairs.parquet",
        rankings="results/{collection}/rankings.parquet",
    output:
        bounds="results/{collection}/bounds.parquet",
        trace="results/{collection}/trace/bound_scores.json",
    params:
        measures=SETTINGS["measures"],
        depth=SETTINGS["bounds"]["depth"],
        code=code_of("bound_scores"),
    log:
        "results/{collection}/logs/bound_scores.log",
    benchmark:
        "results/{collection}/benchmarks/bound_scores.tsv"
    script:
        "../../scripts/bound_scores.py"
