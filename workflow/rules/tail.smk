# Samples the tail that nobody judged, estimates what it holds, and tests the estimate.
# Takes pairs.parquet, rankings.parquet and topics.parquet; gives tail/sample.tsv and its strata,
# tail/estimate.parquet, tail/calibration.parquet and tail/losses.parquet.


rule draw_sample:
    input:
        pairs="results/{collection}/pairs.parquet",
        topics="results/{collection}/topics.parquet",
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
        truth=truth_file(),
        sample="results/{collection}/tail/sample.parquet",
        strata="results/{collection}/tail/strata.parquet",
        filled_in=filled_in_sheet(),
    output:
        estimate="results/{collection}/tail/estimate.parquet",
        trace="results/{collection}/trace/estimate_tail.json",
    log:
        "results/{collection}/logs/estimate_tail.log",
    benchmark:
        "results/{collection}/benchmarks/estimate_tail.tsv"
    conda:
        "../../environment.yml"
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
    params:
        settings=tail_settings(),
        measures=SETTINGS["measures"],
        code=code_of("calibrate_tail"),
    script:
        "../../scripts/calibrate_tail.py"
