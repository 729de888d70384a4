"""Describe the audit as a Workflow Run RO-Crate, beside copies of the code and the user's files."""

import shutil
import tomllib
from importlib.metadata import version
from pathlib import Path

from job import job
from poolaudit.archive import contents, crate
from poolaudit.files import read_json, replacing, sha256, write_json, write_text

PROJECT = Path(__file__).resolve().parents[1]

with job(snakemake) as log:
    params, output = snakemake.params, snakemake.output
    record = read_json(snakemake.input.provenance)
    collection, settings = record["collection"], params.archive
    folder = Path(output.crate).parent
    copies = {f"code/{name}": PROJECT / name for name in contents.project_files(PROJECT)}
    kept = zip(params.sha256, snakemake.input.kept, strict=True)
    copies |= {f"inputs/{name}": Path(path) for name, path in kept}
    for name, path in copies.items():
        with replacing(folder / name) as temporary:
            shutil.copyfile(path, temporary)
    archived = settings["inputs"] == "files"
    write_text(output.readme, crate.readme(params.title, collection, archived))

    made = [
        *record["artifacts"],
        *snakemake.input.traces,
        output.readme,
        snakemake.input.provenance,
    ]
    made += [snakemake.input.report, snakemake.input.markdown, snakemake.input.audit]
    below = {Path(p).relative_to(folder).as_posix() for p in made if Path(p).is_relative_to(folder)}
    names = [*contents.kept_results(below, settings["inputs"]), *copies]
    read = {p: d for made in record["artifacts"].values() for p, d in made["inputs"].items()}
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    described = crate.describe(
        {name: (sha256(folder / name), (folder / name).stat().st_size) for name in sorted(names)},
        {contents.below(p): d for p, d in read.items() if p not in record["artifacts"]},
        crate.Facts(
            collection=collection,
            title=params.title,
            published=settings.get("published", params.repository["date"] or "1980-01-01"),
            authors=settings["authors"],
            publisher=settings["publisher"],
            licence=settings.get("licence"),
            version=project["version"],
            commit=params.repository["commit"],
            clean=params.repository["clean"],
            settings=f"inputs/config/collections/{collection}.yaml",
            engine=version("snakemake"),
        ),
    )
    write_json(output.crate, described)
    log.info("%d files", len(names))
