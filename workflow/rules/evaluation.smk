# Scores every run under every policy, at every pool depth and on all the judgments: one job, because
# reading the two tables costs as much as any of its parts.
# Takes pairs.parquet and rankings.parquet, explanation.json, judgments.json and topics.parquet; gives
# evaluation/<policy>.parquet and means.parquet, the means over all queries and over answered ones;
# bounds.parquet; ties.parquet, what the order of tied documents can do to a score; coverage.parquet;
# the ledgers of labels and queries, labels.json and queries.parquet. Where the truth is known (a
# simulation), also truth.parquet; with a second set of labels, sparse-labels.parquet.


rule evaluate_runs:
    input:
        pairs="results/{collection}/pairs.parquet",
        rankings="results/{collection}/rankings.parquet",
        explanation=explanation_where_needed(),
        source="results/{collection}/judgments.json",
        topics="results/{collection}/topics.parquet",
    output:
        evaluations=expand(
            "results/{{collection}}/evaluation/{policy}.parquet", policy=SETTINGS["policies"]
        ),
        means="results/{collection}/means.parquet",
        bounds="results/{collection}/bounds.parquet",
        ties="results/{collection}/ties.parquet",
        crossed="results/{collection}/ties-crossed.parquet",
        coverage="results/{collection}/coverage.parquet",
        bands="results/{collection}/coverage-bands.parquet",
        judged_to="results/{collection}/judged-to.parquet",
        labels="results/{collection}/labels.json",
        queries="results/{collection}/queries.parquet",
        trace="results/{collection}/trace/evaluate_runs.json",
    log:
        "results/{collection}/logs/evaluate_runs.log",
    benchmark:
        "results/{collection}/benchmarks/evaluate_runs.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory(250, 15, of_batch=2400, kept=1),
        runtime=minutes,
    params:
        contributors=contributors(),
        measures=SETTINGS["measures"],
        policies=SETTINGS["policies"],
        primary=SETTINGS["primary"],
        cutoffs=cutoffs(),
        nominal=SETTINGS["pool"].get("depth"),
        depths=DEPTHS,
        bounds_depth=SETTINGS["bounds"]["depth"],
        by_score=SETTINGS["ranking"]["order"] == "score",
        code=code_of("evaluate_runs"),
    script:
        "../../scripts/evaluate_runs.py"


rule evaluate_truth:
    input:
        truth=truth_file(),
        runs=expand("results/{{collection}}/runs/{run}.parquet", run=RUNS),
        judgments="results/{collection}/judgments.parquet",
    output:
        truth="results/{collection}/truth.parquet",
        trace="results/{collection}/trace/evaluate_truth.json",
    log:
        "results/{collection}/logs/evaluate_truth.log",
    benchmark:
        "results/{collection}/benchmarks/evaluate_truth.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory(250, 10),
        runtime=minutes,
    params:
        sha256=[digest_of(path) for path in truth_file()],
        contributors=contributors(),
        measures=SETTINGS["measures"],
        code=code_of("evaluate_truth"),
    script:
        "../../scripts/evaluate_truth.py"


rule evaluate_sparse_labels:
    input:
        pairs="results/{collection}/pairs.parquet",
        rankings="results/{collection}/rankings.parquet",
        labels=sparse_labels_file(),
    output:
        scores="results/{collection}/sparse-labels.parquet",
        trace="results/{collection}/trace/evaluate_sparse_labels.json",
    log:
        "results/{collection}/logs/evaluate_sparse_labels.log",
    benchmark:
        "results/{collection}/benchmarks/evaluate_sparse_labels.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory(250, 15),
        runtime=minutes,
    params:
        sha256=[digest_of(path) for path in sparse_labels_file()],
        code=code_of("evaluate_sparse_labels"),
    script:
        "../../scripts/evaluate_sparse_labels.py"
