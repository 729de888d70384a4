# Leaves out what each contributor alone put into the pool, and scores again.
# Takes pairs.parquet, rankings.parquet, explanation.json and the routes of a key made by hand; gives
# removal.parquet and removal-queries.parquet.


rule estimate_removal:
    input:
        pairs="results/{collection}/pairs.parquet",
        rankings="results/{collection}/rankings.parquet",
        explanation=explanation_where_needed(),
        routes=routes_file(),
    output:
        removal=report(
            "results/{collection}/removal.parquet",
            caption="../report/captions/removal.rst",
            category="The pool",
        ),
        queries="results/{collection}/removal-queries.parquet",
        trace="results/{collection}/trace/estimate_removal.json",
    log:
        "results/{collection}/logs/estimate_removal.log",
    benchmark:
        "results/{collection}/benchmarks/estimate_removal.tsv"
    # The longest of what waits for the two tables alone.
    priority: 1
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory(250, 25, of_batch=1000),
        runtime=minutes,
    params:
        sha256=[digest_of(path) for path in routes_file()],
        contributors=contributors(),
        measures=SETTINGS["measures"],
        policies=SETTINGS["policies"],
        depths=DEPTHS,
        nominal=SETTINGS["pool"].get("depth"),
        variant=SETTINGS["removal"]["variant"],
        code=code_of("estimate_removal"),
    script:
        "../../scripts/estimate_removal.py"
