# Decides which numbers and orders are ok, need a caveat or are unsafe, and says why.
# Takes the two tables, evaluation/, coverage.parquet, bounds.parquet, explanation.json and, where
# runs were pooled, removal.parquet; gives verdicts.json.


rule decide_verdicts:
    input:
        pairs="results/{collection}/pairs.parquet",
        rankings="results/{collection}/rankings.parquet",
        evaluations=expand(
            "results/{{collection}}/evaluation/{policy}.parquet", policy=SETTINGS["policies"]
        ),
        coverage="results/{collection}/coverage.parquet",
        bounds="results/{collection}/bounds.parquet",
        explanation="results/{collection}/explanation.json",
        removal=["results/{collection}/removal.parquet"] if POOLED else [],
    output:
        verdicts="results/{collection}/verdicts.json",
        trace="results/{collection}/trace/decide_verdicts.json",
    log:
        "results/{collection}/logs/decide_verdicts.log",
    benchmark:
        "results/{collection}/benchmarks/decide_verdicts.tsv"
    conda:
        "../../environment.yml"
    params:
        contributors=contributors(),
        measures=SETTINGS["measures"],
        policies=SETTINGS["policies"],
        primary=SETTINGS["primary"],
        baseline=SETTINGS.get("baseline"),
        nominal=SETTINGS["pool"].get("depth"),
        bounds_depth=SETTINGS["bounds"]["depth"],
        assessors=SETTINGS["assessors"],
        thresholds=SETTINGS["verdicts"]["thresholds"],
        seed=SETTINGS["verdicts"]["seed"],
        code=code_of("decide_verdicts"),
    script:
        "../../scripts/decide_verdicts.py"
