# Gets the judgments and topics, from ir_datasets or from local files.
# Takes judgments: of the collection; gives judgments.parquet, topics.parquet, judgments.json.


rule fetch_judgments:
    input:
        **local_judgments(),
    output:
        judgments="results/{collection}/judgments.parquet",
        topics="results/{collection}/topics.parquet",
        source="results/{collection}/judgments.json",
        trace="results/{collection}/trace/fetch_judgments.json",
    log:
        "results/{collection}/logs/fetch_judgments.log",
    benchmark:
        "results/{collection}/benchmarks/fetch_judgments.tsv"
    conda:
        "../../environment.yml"
    params:
        settings=SETTINGS["judgments"],
        sha256=local_judgment_digests(),
        code=code_of("fetch_judgments"),
    script:
        "../../scripts/fetch_judgments.py"
