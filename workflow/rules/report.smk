# Joins the traces of all jobs, and renders everything as one page.
# Takes all artifacts; gives provenance.json, which covers what was made before the report, and
# report.html, report.md and audit.json, which show its digest.


rule record_provenance:
    input:
        traces=traces,
    output:
        provenance=report(
            "results/{collection}/provenance.json",
            caption="../report/captions/provenance.rst",
            category="Provenance",
        ),
        trace="results/{collection}/trace/record_provenance.json",
    log:
        "results/{collection}/logs/record_provenance.log",
    benchmark:
        "results/{collection}/benchmarks/record_provenance.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory(100, 1),
        runtime=minutes,
    params:
        collection=AUDIT.name,
        settings=audit_settings(),
        code=code_of("record_provenance"),
    script:
        "../../scripts/record_provenance.py"


rule render_report:
    input:
        unpack(artifacts),
        provenance="results/{collection}/provenance.json",
    output:
        report=report(
            "results/{collection}/report.html",
            caption="../report/captions/report.rst",
            category="The audit",
        ),
        markdown=report(
            "results/{collection}/report.md",
            caption="../report/captions/markdown.rst",
            category="The audit",
        ),
        audit=report(
            "results/{collection}/audit.json",
            caption="../report/captions/audit.rst",
            category="The audit",
        ),
        trace="results/{collection}/trace/render_report.json",
    log:
        "results/{collection}/logs/render_report.log",
    benchmark:
        "results/{collection}/benchmarks/render_report.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory(500, 15),
        runtime=minutes,
    params:
        collection=AUDIT.name,
        title=title,
        settings=audit_settings(),
        contributors=contributors(),
        form=form_digests(),
        code=code_of("render_report"),
    script:
        "../../scripts/render_report.py"
