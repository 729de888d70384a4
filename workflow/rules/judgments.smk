# Gets the judgments and topics, from ir_datasets or from local files, and compares versions of them.
# Takes judgments: of the collection, judgments-folded.parquet and runs/*.parquet; gives
# judgments.parquet, topics.parquet, judgments.json and judgments-compared.*.


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
    resources:
        mem_mb=memory(200, 30),
        runtime=minutes,
    params:
        settings=judgment_settings(),
        sha256=local_judgment_digests(),
        code=code_of("fetch_judgments"),
    script:
        "../../scripts/fetch_judgments.py"


rule compare_judgments:
    input:
        judgments="results/{collection}/judgments.parquet",
        runs=expand("results/{{collection}}/runs/{run}.parquet", run=RUNS),
        folded=folded_judgments(),
        other=other_judgments(),
    output:
        runs="results/{collection}/judgments-compared.parquet",
        versions="results/{collection}/judgments-compared.json",
        trace="results/{collection}/trace/compare_judgments.json",
    log:
        "results/{collection}/logs/compare_judgments.log",
    benchmark:
        "results/{collection}/benchmarks/compare_judgments.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory(300, 25),
        runtime=minutes,
    params:
        sha256=[digest_of(path) for path in other_judgments()],
        contributors=contributors(),
        measures=SETTINGS["measures"],
        policy=comparison_policy(),
        negatives=SETTINGS["judgments"]["negatives"],
        code=code_of("compare_judgments"),
    script:
        "../../scripts/compare_judgments.py"
