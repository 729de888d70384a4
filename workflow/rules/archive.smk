# Describes everything as a crate, packs it, and tells what changed since another audit.
# Takes all artifacts and the report; gives ro-crate-metadata.json with the code and the inputs that
# it describes; on request archive.zip; and from another audit compare.html and compare.json.


rule describe_crate:
    input:
        unpack(artifacts),
        traces=traces,
        provenance="results/{collection}/provenance.json",
        report="results/{collection}/report.html",
        markdown="results/{collection}/report.md",
        audit="results/{collection}/audit.json",
        kept=[ancient(path) for path in kept_inputs().values()],
    output:
        crate="results/{collection}/ro-crate-metadata.json",
        readme="results/{collection}/README.md",
        code=directory("results/{collection}/code"),
        inputs=directory("results/{collection}/inputs"),
        trace="results/{collection}/trace/describe_crate.json",
    log:
        "results/{collection}/logs/describe_crate.log",
    benchmark:
        "results/{collection}/benchmarks/describe_crate.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory(200, 3),
        runtime=minutes,
    params:
        title=title,
        archive=archive_settings,
        sha256={name: files.sha256(path) for name, path in kept_inputs().items()},
        project=project_digest(),
        repository=provenance.repository(SCRIPTS.parent),
        code=code_of("describe_crate"),
    script:
        "../../scripts/describe_crate.py"


rule pack_archive:
    input:
        crate="results/{collection}/ro-crate-metadata.json",
    output:
        archive="results/{collection}/archive.zip",
    log:
        "results/{collection}/logs/pack_archive.log",
    benchmark:
        "results/{collection}/benchmarks/pack_archive.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory(200, 3),
        runtime=minutes,
    params:
        paths=user_files()
        | {key: SETTINGS[key] for key in ("runs", "runs_root") if key in SETTINGS},
        code=code_of("pack_archive"),
    script:
        "../../scripts/pack_archive.py"


rule compare_audits:
    input:
        audit="results/{collection}/audit.json",
        provenance="results/{collection}/provenance.json",
        against=against,
    output:
        page="results/{collection}/compare.html",
        changes="results/{collection}/compare.json",
    log:
        "results/{collection}/logs/compare_audits.log",
    benchmark:
        "results/{collection}/benchmarks/compare_audits.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=memory(200, 10),
        runtime=minutes,
    params:
        sha256=against_digests,
        form=form_digests(),
        code=code_of("compare_audits"),
    script:
        "../../scripts/compare_audits.py"
