"""The crate: an audit described as a Workflow Run RO-Crate.

Profiles: Process Run Crate and Workflow Run Crate 0.5 (Leo et al., 2024), Workflow RO-Crate 1.0, on
RO-Crate 1.1. All addresses in it are names; nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from poolaudit.escapes import markdown_text

_README = """\
# {title}

The audit `{collection}` by poolaudit, as one research object. `report.html` is the report;
`ro-crate-metadata.json` describes every file with its SHA-256, `provenance.json` says which rule
made it from what. `code/` holds the workflow, `inputs/` the settings{inputs}.

`code/scripts/verify.py` checks an archive of this: every digest, and that the numbers come out
again.
"""
WORKFLOW = "code/workflow/Snakefile"
_PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}
_BIOSCHEMAS = "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"
_PRONOM = "https://www.nationalarchives.gov.uk/PRONOM/"
# Media type, address and name of the format of each kind of file.
_FORMATS = {
    ".css": ("text/css", _PRONOM + "x-fmt/224", "Cascading Style Sheet"),
    ".gz": ("application/gzip", _PRONOM + "x-fmt/266", "GZIP Format"),
    ".html": ("text/html", _PRONOM + "fmt/471", "Hypertext Markup Language 5"),
    ".js": ("text/javascript", _PRONOM + "x-fmt/423", "JavaScript file"),
    ".json": ("application/json", _PRONOM + "fmt/817", "JSON Data Interchange Format"),
    ".md": ("text/markdown", _PRONOM + "fmt/1149", "Markdown"),
    ".parquet": (
        *("application/vnd.apache.parquet", "https://parquet.apache.org/docs/file-format/"),
        "Apache Parquet",
    ),
    ".py": ("text/x-python", _PRONOM + "fmt/938", "Python Source Code File"),
    ".toml": ("application/toml", "https://toml.io/", "TOML"),
    ".tsv": ("text/tab-separated-values", _PRONOM + "x-fmt/13", "Tab-separated Values"),
    ".yaml": ("application/yaml", _PRONOM + "fmt/818", "YAML"),
    ".yml": ("application/yaml", _PRONOM + "fmt/818", "YAML"),
}
_TEXT = ("text/plain", _PRONOM + "x-fmt/111", "Plain Text File")


@dataclass(frozen=True)
class Facts:
    """What the crate says besides naming files.

    Attributes:
        collection, title: the collection's name, and what it is called in headings.
        published: an ISO 8601 date. It stands for the end of the run too, because nothing that has
            a digest may hold the time of a clock.
        authors: name and, where given, id, affiliation, affiliation_url of each.
        publisher: name and url of an organization, or nothing.
        licence: an address, or nothing.
        version: the project's version.
        commit, clean: the state of its repository, where it is one.
        settings: the name of the collection file below the crate.
        engine: the version of Snakemake.
    """

    collection: str
    title: str
    published: str
    authors: Sequence[Mapping[str, str]]
    publisher: Mapping[str, str]
    licence: str | None
    version: str
    commit: str | None
    clean: bool | None
    settings: str
    engine: str


def describe(
    files: Mapping[str, tuple[str, int]], inputs: Mapping[str, str], facts: Facts
) -> dict[str, Any]:
    """The crate's metadata as JSON-LD.

    Args:
        files: SHA-256 and size of each file, by its name below the crate.
        inputs: SHA-256 of each file that was read and is not in the crate, by its path.
        facts: the rest.
    """
    from rocrate.rocrate import ROCrate

    crate = ROCrate(version="1.1")
    # The context of RO-Crate 1.1 is older than this term.
    crate.metadata.extra_terms["sha256"] = "https://w3id.org/ro/terms/workflow-run#sha256"
    entities = [*_formats(files), *_files(files, facts), *_inputs(inputs), *_contexts(facts)]
    entities.append(_run(files, inputs, facts))
    for entity in entities:
        crate.add_jsonld(entity)
    metadata = crate.metadata.generate()
    graph = {entity["@id"]: entity for entity in metadata["@graph"]}
    graph["ro-crate-metadata.json"]["conformsTo"] = _refs(
        ["https://w3id.org/ro/crate/1.1", "https://w3id.org/workflowhub/workflow-ro-crate/1.0"]
    )
    graph["./"] |= _root(files, facts)
    return metadata | {"@graph": [graph[key] for key in sorted(graph)]}


def _refs(ids: Sequence[str]) -> Any:
    refs = [{"@id": key} for key in ids]
    return refs[0] if len(refs) == 1 else refs


def _root(files: Mapping[str, Any], facts: Facts) -> dict[str, Any]:
    root: dict[str, Any] = {
        "name": facts.title,
        "description": f"Audit of the relevance judgments of {facts.collection}: how far each "
        "score can be trusted that was measured on them, with the code that made it.",
        "datePublished": facts.published,
        "license": {"@id": _licence(facts)},
        "conformsTo": _refs(list(_PROFILES)),
        "hasPart": _refs(sorted(files)),
        "mainEntity": {"@id": WORKFLOW},
        "mentions": {"@id": "#run"},
    }
    if facts.authors:
        root["author"] = _refs([_author_id(author) for author in facts.authors])
    if facts.publisher:
        root["publisher"] = {"@id": facts.publisher["url"]}
    return root


def _files(files: Mapping[str, tuple[str, int]], facts: Facts) -> list[dict[str, Any]]:
    entities = []
    for name, (digest, size) in files.items():
        media, address, _ = _format(name)
        entity = {
            "@id": name,
            "@type": "File",
            "name": name,
            "sha256": digest,
            "contentSize": str(size),
            "encodingFormat": [media, {"@id": address}],
        }
        if name == WORKFLOW:
            entity |= _workflow(facts)
        elif name == facts.settings:
            entity["exampleOfWork"] = {"@id": "#collection"}
        elif name == "report.html":
            entity["exampleOfWork"] = {"@id": "#report"}
        elif name == "README.md":
            entity["about"] = {"@id": "./"}
        entities.append(entity)
    return entities


def _workflow(facts: Facts) -> dict[str, Any]:
    tree = {True: ", tree clean", False: ", tree not clean", None: ""}[facts.clean]
    commit = f" (commit {facts.commit}{tree})" if facts.commit else ""
    return {
        "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
        "name": "poolaudit",
        "description": "Snakemake workflow that audits pooled relevance judgments",
        "version": facts.version + commit,
        "url": WORKFLOW,
        "programmingLanguage": {"@id": "#snakemake"},
        "license": {"@id": "https://spdx.org/licenses/MIT"},
        "conformsTo": {"@id": _BIOSCHEMAS},
        "input": {"@id": "#collection"},
        "output": {"@id": "#report"},
    }


def _inputs(inputs: Mapping[str, str]) -> list[dict[str, Any]]:
    """Files that were read and are not in the crate; their digests tell which they were."""
    names: dict[str, list[str]] = {}
    for path, digest in sorted(inputs.items()):
        names.setdefault(digest, []).append(path)
    return [
        {
            "@id": f"#input-{digest}",
            "@type": "CreativeWork",
            "name": ", ".join(paths),
            "sha256": digest,
        }
        for digest, paths in names.items()
    ]


def _run(files: Mapping[str, Any], inputs: Mapping[str, str], facts: Facts) -> dict[str, Any]:
    read = sorted({f"#input-{digest}" for digest in inputs.values()})
    made = [name for name in sorted(files) if not name.startswith(("code/", "inputs/"))]
    given = [name for name in sorted(files) if name.startswith("inputs/")]
    run = {
        "@id": "#run",
        "@type": "CreateAction",
        "name": f"Audit of {facts.collection}",
        "description": f"snakemake report --config collection={facts.collection}",
        "instrument": {"@id": WORKFLOW},
        "endTime": facts.published,
        "actionStatus": "http://schema.org/CompletedActionStatus",
        "object": _refs([*given, *read]),
        "result": _refs(made),
    }
    if facts.authors:
        run["agent"] = {"@id": _author_id(facts.authors[0])}
    return run


def _contexts(facts: Facts) -> list[dict[str, Any]]:
    entities: list[dict[str, Any]] = [
        {"@id": key, "@type": "CreativeWork", "name": name, "version": version}
        for key, (name, version) in _PROFILES.items()
    ]
    entities += [
        {
            "@id": _BIOSCHEMAS,
            "@type": "CreativeWork",
            "name": "Bioschemas ComputationalWorkflow",
            "version": "1.0-RELEASE",
        },
        {
            "@id": "#snakemake",
            "@type": "ComputerLanguage",
            "name": "Snakemake",
            "identifier": {"@id": "https://snakemake.github.io"},
            "url": {"@id": "https://snakemake.github.io"},
            "version": facts.engine,
        },
        {
            "@id": "https://spdx.org/licenses/MIT",
            "@type": "CreativeWork",
            "name": "MIT License",
        },
        _parameter("#collection", "the collection file", facts.settings),
        _parameter("#report", "the report", "report.html"),
    ]
    if _licence(facts) != "https://spdx.org/licenses/MIT":
        name = facts.licence or "No licence is stated"
        entities.append({"@id": _licence(facts), "@type": "CreativeWork", "name": name})
    for author in facts.authors:
        entities += _author(author)
    if facts.publisher:
        entities.append(_organization(facts.publisher["name"], facts.publisher["url"]))
    return list({entity["@id"]: entity for entity in entities}.values())


def _parameter(key: str, name: str, file: str) -> dict[str, Any]:
    return {
        "@id": key,
        "@type": "FormalParameter",
        "additionalType": "File",
        "name": name,
        "workExample": {"@id": file},
    }


def _licence(facts: Facts) -> str:
    return facts.licence or "#no-licence"


def _author_id(author: Mapping[str, str]) -> str:
    return author.get("id", "#author-" + author["name"].replace(" ", "-"))


def _author(author: Mapping[str, str]) -> list[dict[str, Any]]:
    person: dict[str, Any] = {
        "@id": _author_id(author),
        "@type": "Person",
        "name": author["name"],
    }
    if "affiliation" not in author:
        return [person]
    place = _organization(author["affiliation"], author.get("affiliation_url"))
    return [person | {"affiliation": {"@id": place["@id"]}}, place]


def _organization(name: str, url: str | None) -> dict[str, Any]:
    place = {"@id": url or "#" + name.replace(" ", "-"), "@type": "Organization", "name": name}
    return place | ({"url": url} if url else {})


def _format(name: str) -> tuple[str, str, str]:
    return _FORMATS.get(PurePosixPath(name).suffix, _TEXT)


def _formats(files: Mapping[str, Any]) -> list[dict[str, Any]]:
    known = {_format(name)[1]: _format(name)[2] for name in files}
    return [{"@id": address, "@type": "WebSite", "name": name} for address, name in known.items()]


def readme(title: str, collection: str, archived: bool) -> str:
    """The page that greets who opens the crate, as Markdown.

    Args:
        title: of the audit.
        collection: its name.
        archived: whether the runs and the judgments themselves are in the crate.
    """
    whose = ", the runs and the judgments" if archived else ""
    return _README.format(title=markdown_text(title), collection=collection, inputs=whose)
