# Samples the tail that nobody judged, estimates what it holds, tests the estimate, and folds what
# was read into the judgments.
# Takes pairs.parquet, rankings.parquet, topics.parquet, judgments.json and the sheets that assessors
# filled in; gives tail/sample.tsv and its strata, tail/estimate.parquet, tail/by-run.parquet,
# tail/calibration.parquet, tail/losses.parquet and judgments-folded.*.


rule draw_sample:
    input:
        pairs="results/{collection}/pairs.parquet",
        topics="results/{collection}/topics.parquet",
        source="results/{collection}/judgments.json",
        documents=documents_file(),
    output:
        sheet=report(
            "results/{collection}/tail/sample.tsv",
            caption="../report/captions/sample.rst",
            category="The tail",
        ),
        form="results/{collection}/tail/sample.html",
        sample="results/{collection}/tail/sample.parquet",
        strata="results/{collection}/tail/strata.parquet",
        trace="results/{collection}/trace/draw_sample.json",
    log:
        "results/{collection}/logs/draw_sample.log",
    benchmark:
        "results/{collection}/benchmarks/draw_sample.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory(200, 30, of_batch=400, kept=11),
        runtime=minutes,
    params:
        sha256=[digest_of(path) for path in documents_file()],
        store=document_store(),
        settings=tail_settings(),
        code=code_of("draw_sample"),
    script:
        "../../scripts/draw_sample.py"


rule estimate_tail:
    input:
        pairs="results/{collection}/pairs.parquet",
        rankings="results/{collection}/rankings.parquet",
        source="results/{collection}/judgments.json",
        truth=truth_file(),
        sample="results/{collection}/tail/sample.parquet",
        strata="results/{collection}/tail/strata.parquet",
        filled_in=filled_in_sheet(),
    output:
        estimate="results/{collection}/tail/estimate.parquet",
        by_run="results/{collection}/tail/by-run.parquet",
        trace="results/{collection}/trace/estimate_tail.json",
    log:
        "results/{collection}/logs/estimate_tail.log",
    benchmark:
        "results/{collection}/benchmarks/estimate_tail.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory(300, 20, of_batch=1000),
        runtime=minutes,
    params:
        sha256=[digest_of(path) for path in truth_file() + filled_in_sheet()],
        pooled=bool(POOLED),
        settings=tail_settings(),
        levels=levels_of(SETTINGS["measures"]),
        code=code_of("estimate_tail"),
    script:
        "../../scripts/estimate_tail.py"


rule calibrate_tail:
    input:
        pairs="results/{collection}/pairs.parquet",
        rankings="results/{collection}/rankings.parquet",
    output:
        calibration="results/{collection}/tail/calibration.parquet",
        losses="results/{collection}/tail/losses.parquet",
        trace="results/{collection}/trace/calibrate_tail.json",
    log:
        "results/{collection}/logs/calibrate_tail.log",
    benchmark:
        "results/{collection}/benchmarks/calibrate_tail.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory(250, 10, of_batch=1000),
        runtime=minutes,
    params:
        settings=tail_settings(),
        measures=SETTINGS["measures"],
        code=code_of("calibrate_tail"),
    script:
        "../../scripts/calibrate_tail.py"


rule fold_assessments:
    input:
        judgments="results/{collection}/judgments.parquet",
        source="results/{collection}/judgments.json",
        pairs="results/{collection}/pairs.parquet",
        sample="results/{collection}/tail/sample.parquet",
        filled_in=filled_in_sheet(),
        targeted=targeted_sheet(),
    output:
        judgments="results/{collection}/judgments-folded.parquet",
        qrels="results/{collection}/judgments-folded.qrels",
        trace="results/{collection}/trace/fold_assessments.json",
    log:
        "results/{collection}/logs/fold_assessments.log",
    benchmark:
        "results/{collection}/benchmarks/fold_assessments.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory(250, 20),
        runtime=minutes,
    params:
        sha256=[digest_of(path) for path in filled_in_sheet() + targeted_sheet()],
        code=code_of("fold_assessments"),
    script:
        "../../scripts/fold_assessments.py"
