# Decides which numbers and orders are ok, need a caveat or are unsafe, says why, and what to read
# first to settle the orders.
# Takes the two tables, evaluation/, coverage.parquet, bounds.parquet, explanation.json and, where
# runs were pooled, removal.parquet; gives verdicts.json, tail/read-first*, and check.json when the
# numbers that a paper declares stand.


rule decide_verdicts:
    input:
        pairs="results/{collection}/pairs.parquet",
        rankings="results/{collection}/rankings.parquet",
        evaluations=expand(
            "results/{{collection}}/evaluation/{policy}.parquet", policy=SETTINGS["policies"]
        ),
        coverage="results/{collection}/coverage.parquet",
        bounds="results/{collection}/bounds.parquet",
        explanation=explanation_where_needed(),
        removal=["results/{collection}/removal.parquet"] if POOLED else [],
    output:
        verdicts=report(
            "results/{collection}/verdicts.json",
            caption="../report/captions/verdicts.rst",
            category="The audit",
        ),
        trace="results/{collection}/trace/decide_verdicts.json",
    log:
        "results/{collection}/logs/decide_verdicts.log",
    benchmark:
        "results/{collection}/benchmarks/decide_verdicts.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory(250, 15, of_batch=1000),
        runtime=minutes,
    params:
        contributors=contributors(),
        measures=SETTINGS["measures"],
        policies=SETTINGS["policies"],
        primary=SETTINGS["primary"],
        baseline=SETTINGS.get("baseline"),
        nominal=SETTINGS["pool"].get("depth"),
        bounds_depth=SETTINGS["bounds"]["depth"],
        assessors=assessors,
        thresholds=SETTINGS["verdicts"]["thresholds"],
        seed=SETTINGS["verdicts"]["seed"],
        code=code_of("decide_verdicts"),
    script:
        "../../scripts/decide_verdicts.py"


rule check_declared:
    input:
        verdicts="results/{collection}/verdicts.json",
        declared=declared_file(),
    output:
        check="results/{collection}/check.json",
        trace="results/{collection}/trace/check_declared.json",
    log:
        "results/{collection}/logs/check_declared.log",
    benchmark:
        "results/{collection}/benchmarks/check_declared.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory(150, 5),
        runtime=minutes,
    params:
        sha256=[digest_of(path) for path in declared_file()],
        allow=SETTINGS["check"]["allow"],
        code=code_of("check_declared"),
    script:
        "../../scripts/check_declared.py"


rule read_first:
    input:
        pairs="results/{collection}/pairs.parquet",
        rankings="results/{collection}/rankings.parquet",
        verdicts="results/{collection}/verdicts.json",
        topics="results/{collection}/topics.parquet",
        source="results/{collection}/judgments.json",
        documents=documents_file(),
    output:
        sheet="results/{collection}/tail/read-first.tsv",
        form="results/{collection}/tail/read-first.html",
        documents="results/{collection}/tail/read-first.parquet",
        by_lead="results/{collection}/tail/read-first-pairs.parquet",
        leads="results/{collection}/tail/read-first.json",
        trace="results/{collection}/trace/read_first.json",
    log:
        "results/{collection}/logs/read_first.log",
    benchmark:
        "results/{collection}/benchmarks/read_first.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory(250, 15, of_batch=1000),
        runtime=minutes,
    params:
        sha256=[digest_of(path) for path in documents_file()],
        store=document_store(),
        measure=SETTINGS["primary"]["measure"],
        bounds_depth=SETTINGS["bounds"]["depth"],
        most=SETTINGS["tail"]["read_first"],
        code=code_of("read_first"),
    script:
        "../../scripts/read_first.py"
