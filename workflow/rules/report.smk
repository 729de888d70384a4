# Joins the traces of all jobs, and renders everything as one page.
# Takes all artifacts; gives provenance.json, report.html, report.md and audit.json.


rule record_provenance:
    input:
        traces=traces,
    output:
        provenance="results/{collection}/provenance.json",
    log:
        "results/{collection}/logs/record_provenance.log",
    benchmark:
        "results/{collection}/benchmarks/record_provenance.tsv"
    conda:
        "../../environment.yml"
    params:
        collection=AUDIT.name,
        settings=SETTINGS,
        code=code_of("record_provenance"),
    script:
        "../../scripts/record_provenance.py"


rule render_report:
    input:
        unpack(artifacts),
        provenance="results/{collection}/provenance.json",
    output:
        report="results/{collection}/report.html",
        markdown="results/{collection}/report.md",
        audit="results/{collection}/audit.json",
        trace="results/{collection}/trace/render_report.json",
    log:
        "results/{collection}/logs/render_report.log",
    benchmark:
        "results/{collection}/benchmarks/render_report.tsv"
    conda:
        "../../environment.yml"
    params:
        collection=AUDIT.name,
        title=SETTINGS.get("title", AUDIT.name),
        settings=SETTINGS,
        contributors=contributors(),
        form=form_digests(),
        code=code_of("render_report"),
    script:
        "../../scripts/render_report.py"
