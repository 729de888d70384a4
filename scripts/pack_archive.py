"""Pack the crate and Snakemake's own records into one archive; every byte is vouched for."""

import base64
import tempfile
from pathlib import Path

from job import job
from poolaudit.archive import bag, contents
from poolaudit.files import read_json, write_json

# What Snakemake notes of a job and is the same whenever and wherever it runs.
KEPT = ("rule", "input", "params", "code", "shellcmd", "record_format_version")


def records(folder: Path, names: set[str]) -> dict[str, dict]:
    """Snakemake's record of each file among `names` that it made, without times and hosts."""
    found = {}
    for path in sorted(folder.rglob("*")):
        # Snakemake splits long names into folders that begin with @.
        coded = "".join(part.removeprefix("@") for part in path.relative_to(folder).parts)
        name = base64.b64decode(coded, altchars=b"-_").decode() if path.is_file() else None
        if name in names:
            record = read_json(path)
            found[name] = {key: record[key] for key in KEPT}
    return found


with job(snakemake) as log:
    contents.refuse_foreign_paths(snakemake.params.paths)
    folder = Path(snakemake.input.crate).parent
    graph = {entity["@id"]: entity for entity in read_json(snakemake.input.crate)["@graph"]}
    names = [part["@id"] for part in graph["./"]["hasPart"]]
    files = {name: folder / name for name in [*names, "ro-crate-metadata.json"]}
    contents.refuse_changed({folder / name: graph[name]["sha256"] for name in names})
    artifacts = {str(folder / name) for name in names}
    with tempfile.TemporaryDirectory() as scratch:
        files["snakemake.json"] = Path(scratch) / "snakemake.json"
        write_json(files["snakemake.json"], records(Path(".snakemake/metadata"), artifacts))
        bag.write_bag(snakemake.output.archive, files)
    log.info("%d files", len(files))
