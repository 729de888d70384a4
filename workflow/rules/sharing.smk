# Looks for what the contributors of the pool share, which removal cannot see.
# Takes pairs.parquet, rankings.parquet, topics.parquet, explanation.json and the documents' text
# where it is at hand; gives sharing.parquet and sharing.json.


rule probe_sharing:
    input:
        pairs="results/{collection}/pairs.parquet",
        rankings="results/{collection}/rankings.parquet",
        topics="results/{collection}/topics.parquet",
        explanation=explanation_where_needed(),
        documents=documents_file(),
    output:
        figures="results/{collection}/sharing.parquet",
        summary=report(
            "results/{collection}/sharing.json",
            caption="../report/captions/sharing.rst",
            category="The pool",
        ),
        trace="results/{collection}/trace/probe_sharing.json",
    log:
        "results/{collection}/logs/probe_sharing.log",
    benchmark:
        "results/{collection}/benchmarks/probe_sharing.tsv"
    # The longest of what waits for the two tables alone.
    priority: 1
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory(250, 18, of_batch=1000),
        runtime=minutes,
    params:
        sha256=[digest_of(path) for path in documents_file()],
        store=document_store(),
        contributors=contributors(),
        measures=SETTINGS["measures"],
        policies=SETTINGS["policies"],
        primary=SETTINGS["primary"],
        depths=DEPTHS,
        nominal=SETTINGS["pool"].get("depth"),
        seed=SETTINGS["sharing"]["seed"],
        code=code_of("probe_sharing"),
    script:
        "../../scripts/probe_sharing.py"
