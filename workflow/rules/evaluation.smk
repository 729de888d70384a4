# Scores every run under every policy, at every pool depth and on all the judgments.
# Takes pairs.parquet and rankings.parquet; gives evaluation/<policy>.parquet, coverage.parquet
# and bounds.parquet; ties.parquet, what the order of tied documents can do to a score; the ledgers of
# labels and queries, labels.json and queries.parquet, and means.parquet, the means over all queries
# and over answered ones. Where the truth is known (a simulation), also truth.parquet.


rule evaluate_policy:
    input:
        pairs="results/{collection}/pairs.parquet",
        rankings="results/{collection}/rankings.parquet",
    output:
        evaluation="results/{collection}/evaluation/{policy}.parquet",
        trace="results/{collection}/trace/evaluate_policy/{policy}.json",
    log:
        "results/{collection}/logs/evaluate_policy/{policy}.log",
    benchmark:
        "results/{collection}/benchmarks/evaluate_policy/{policy}.tsv"
    conda:
        "../../environment.yml"
    params:
        measures=SETTINGS["measures"],
        depths=DEPTHS,
        code=code_of("evaluate_policy"),
    script:
        "../../scripts/evaluate_policy.py"


rule measure_coverage:
    input:
        pairs="results/{collection}/pairs.parquet",
        rankings="results/{collection}/rankings.parquet",
        explanation="results/{collection}/explanation.json",
    output:
        coverage="results/{collection}/coverage.parquet",
        bands="results/{collection}/coverage-bands.parquet",
        judged_to="results/{collection}/judged-to.parquet",
        trace="results/{collection}/trace/measure_coverage.json",
    log:
        "results/{collection}/logs/measure_coverage.log",
    benchmark:
        "results/{collection}/benchmarks/measure_coverage.tsv"
    conda:
        "../../environment.yml"
    params:
        contributors=contributors(),
        cutoffs=cutoffs(),
        nominal=SETTINGS["pool"].get("depth"),
        depths=DEPTHS,
        code=code_of("measure_coverage"),
    script:
        "../../scripts/measure_coverage.py"


rule bound_scores:
    input:
        pairs="results/{collection}/pairs.parquet",
        rankings="results/{collection}/rankings.parquet",
    output:
        bounds="results/{collection}/bounds.parquet",
        trace="results/{collection}/trace/bound_scores.json",
    log:
        "results/{collection}/logs/bound_scores.log",
    benchmark:
        "results/{collection}/benchmarks/bound_scores.tsv"
    conda:
        "../../environment.yml"
    params:
        measures=SETTINGS["measures"],
        depth=SETTINGS["bounds"]["depth"],
        code=code_of("bound_scores"),
    script:
        "../../scripts/bound_scores.py"


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
    params:
        sha256=[digest_of(path) for path in truth_file()],
        contributors=contributors(),
        measures=SETTINGS["measures"],
        code=code_of("evaluate_truth"),
    script:
        "../../scripts/evaluate_truth.py"


rule bound_ties:
    input:
        pairs="results/{collection}/pairs.parquet",
        rankings="results/{collection}/rankings.parquet",
    output:
        ties="results/{collection}/ties.parquet",
        crossed="results/{collection}/ties-crossed.parquet",
        trace="results/{collection}/trace/bound_ties.json",
    log:
        "results/{collection}/logs/bound_ties.log",
    benchmark:
        "results/{collection}/benchmarks/bound_ties.tsv"
    conda:
        "../../environment.yml"
    params:
        measures=SETTINGS["measures"],
        code=code_of("bound_ties"),
    script:
        "../../scripts/bound_ties.py"


rule keep_ledgers:
    input:
        pairs="results/{collection}/pairs.parquet",
        rankings="results/{collection}/rankings.parquet",
        source="results/{collection}/judgments.json",
        topics="results/{collection}/topics.parquet",
    output:
        labels="results/{collection}/labels.json",
        queries="results/{collection}/queries.parquet",
        means="results/{collection}/means.parquet",
        trace="results/{collection}/trace/keep_ledgers.json",
    log:
        "results/{collection}/logs/keep_ledgers.log",
    benchmark:
        "results/{collection}/benchmarks/keep_ledgers.tsv"
    conda:
        "../../environment.yml"
    params:
        measures=SETTINGS["measures"],
        policies=SETTINGS["policies"],
        primary=SETTINGS["primary"],
        code=code_of("keep_ledgers"),
    script:
        "../../scripts/keep_ledgers.py"


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
    params:
        sha256=[digest_of(path) for path in sparse_labels_file()],
        code=code_of("evaluate_sparse_labels"),
    script:
        "../../scripts/evaluate_sparse_labels.py"
