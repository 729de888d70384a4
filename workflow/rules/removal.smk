# Leaves out what each contributor alone put into the pool, and scores again.
# Takes pairs.parquet and rankings.parquet; gives removal.parquet and removal-queries.parquet.


rule estimate_removal:
    input:
        pairs="results/{collection}/pairs.parquet",
        rankings="results/{collection}/rankings.parquet",
    output:
        removal="results/{collection}/removal.parquet",
        queries="results/{collection}/removal-queries.parquet",
        trace="results/{collection}/trace/estimate_removal.json",
    params:
        contributors=contributors(),
        measures=SETTINGS["measures"],
        policies=SETTINGS["policies"],
        primary=SETTINGS["primary"],
        depths=DEPTHS,
        variant=SETTINGS["removal"]["variant"],
        code=code_of("estimate_removal"),
    log:
        "results/{collection}/logs/estimate_removal.log",
    benchmark:
        "results/{collection}/benchmarks/estimate_removal.tsv"
    script:
        "../../scripts/estimate_removal.py"
