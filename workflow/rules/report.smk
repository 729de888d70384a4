# Joins the traces of all jobs, and renders everything as one page.
# Takes all artifacts; gives provenance.json and report.html.


rule record_provenance:
    input:
        traces=traces,
    output:
        provenance="results/{collection}/provenance.json",
    params:
        collection=AUDIT.name,
        settings=SETTINGS,
        code=code_of("record_provenance"),
    log:
        "results/{collection}/logs/record_provenance.log",
    benchmark:
        "results/{collection}/benchmarks/record_provenance.tsv"
    script:
        "../../scripts/record_provenance.py"
