"""An archive from end to end: made, checked, made again from itself, and compared with another."""

from __future__ import annotations

import io
import json
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import rocrate
from requests import PreparedRequest, Response
from requests.adapters import BaseAdapter, HTTPAdapter
from requests_cache import CachedSession
from urllib3 import HTTPResponse

from poolaudit.archive import bag
from poolaudit.files import read_json
from small import lists, project
from workflow import ROOT

pytestmark = pytest.mark.workflow

RESULTS = "results/small"
# What stands in the documentation where a test puts its own words.
PLACES = {
    "cores": "--cores 8",
    "archive": "results/demo/archive.zip",
    "against": "old/archive.zip",
}
SETTINGS = """\
archive:
  inputs: files
  authors:
    - name: Ada Example
      id: https://orcid.org/0000-0002-1825-0097
      affiliation: A Laboratory
      affiliation_url: https://laboratory.example/
  publisher: {name: A Laboratory, url: https://laboratory.example/}
  licence: https://creativecommons.org/licenses/by/4.0/
  published: "2026-05-04"
"""
# This check asks for an absolute address of the workflow, which a file in the crate cannot have:
# RO-Crate 1.1 wants a relative one, and Workflow RO-Crate 1.0 wants the file in the crate.
IMPOSSIBLE = "process-run-crate-0.5_5.1"


def documented(begin: str, end: str = "", **other: str | Path) -> list[str]:
    """The command of docs/archiving.md that begins and ends so, with other words in some places."""
    text = (ROOT / "docs" / "archiving.md").read_text(encoding="utf-8")
    commands = re.findall(r"^```sh\n(.*?)\n```$", text, re.MULTILINE | re.DOTALL)
    command = next(c for c in commands if c.startswith(begin) and c.endswith(end))
    for name, word in {"cores": "--cores 2", **other}.items():
        command = command.replace(PLACES[name], str(word))
    python = {"snakemake": [sys.executable, "-m", "snakemake"], "python": [sys.executable]}
    first, *words = shlex.split(command)
    return [*python[first], *words]


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=900
    )


def make_archive(folder: Path) -> None:
    done = run(documented("snakemake", "archive"), folder)
    assert done.returncode == 0, done.stderr


def compare(folder: Path, against: Path) -> dict:
    done = run(documented("snakemake", "old/archive.zip", against=against), folder)
    assert done.returncode == 0, done.stderr
    return read_json(folder / RESULTS / "compare.json")


def verify(archive: Path) -> subprocess.CompletedProcess:
    return run(documented("python scripts/verify.py", archive=f"'{archive}'"), ROOT)


@pytest.fixture(scope="module")
def audited(tmp_path_factory) -> Path:
    """A folder with an audit of six runs and its archive."""
    runs = ["run00", "run01", "run02", "run03", "run04", "run30"]
    folder = project(tmp_path_factory.mktemp("first") / "project", runs)
    with (folder / "small.yaml").open("a") as file:
        file.write(SETTINGS)
    make_archive(folder)
    return folder


@pytest.fixture(scope="module")
def archive(audited) -> Path:
    return audited / RESULTS / "archive.zip"


@pytest.fixture(scope="module")
def elsewhere(audited, tmp_path_factory) -> Path:
    """A copy of the folder, with one run changed and everything that depends on it made again."""
    folder = tmp_path_factory.mktemp("second") / "a copy"
    shutil.copytree(audited, folder, copy_function=shutil.copy)
    shutil.rmtree(folder / RESULTS / "code")
    (folder / RESULTS / "archive.zip").unlink()
    make_archive(folder)
    return folder


def test_an_archive_made_in_another_folder_later_is_the_same(archive, elsewhere):
    assert (elsewhere / RESULTS / "archive.zip").read_bytes() == archive.read_bytes()


def test_an_archive_holds_all_that_the_audit_is_made_of(audited, archive):
    names = bag.open_bag(archive).names
    for name in (
        *("code/workflow/Snakefile", "code/scripts/job.py", "code/environment.yml"),
        *("inputs/config/collections/small.yaml", "inputs/runs.tsv", "inputs/runs/run00"),
        *("report.html", "provenance.json", "ro-crate-metadata.json", "snakemake.json"),
        *("runs/run00.parquet", "trace/build_pairs.json"),
    ):
        assert f"data/{name}" in names, name
    assert not [name for name in names if name.startswith(("data/logs", "data/benchmarks"))]


def test_an_archive_tells_nothing_of_the_machine(audited, archive):
    content = archive.read_bytes()
    assert str(audited).encode() not in content
    assert str(Path.home()).encode() + b"/" not in content


def test_an_archive_makes_its_numbers_again_to_the_byte(archive):
    done = verify(archive)
    assert done.returncode == 0, done.stderr
    assert re.search(r"All \d+ artifacts come out again, to the byte\.", done.stdout)
    stages = [line.split()[1] for line in done.stderr.splitlines() if line.startswith("verify: ")]
    assert stages == ["compares", "compares", "looks", "unpacks", "makes", "compares"]


def test_a_tampered_archive_is_refused_and_the_file_named(archive, tmp_path):
    folder = tmp_path / "unpacked"
    bag.open_bag(archive).extract(folder)
    scores = folder / "data/evaluation/nonrelevant.parquet"
    content = bytearray(scores.read_bytes())
    content[100] ^= 1
    scores.write_bytes(content)
    done = verify(folder)
    assert done.returncode == 1
    named = "data/evaluation/nonrelevant.parquet has other bytes than manifest-sha256.txt says"
    assert named in done.stderr


def forged(archive: Path, folder: Path, **files: bytes) -> Path:
    """The archive with some files changed or added, and every digest of its manifests made anew."""
    bag.open_bag(archive).extract(folder / "payload", "data/")
    for name, content in files.items():
        (folder / "payload" / name).write_bytes(content)
    paths = [path for path in (folder / "payload").rglob("*") if path.is_file()]
    payload = {path.relative_to(folder / "payload").as_posix(): path for path in paths}
    bag.write_bag(folder / "forged.zip", payload)
    return folder / "forged.zip"


def test_a_number_changed_together_with_the_manifest_is_named(archive, tmp_path):
    done = verify(forged(archive, tmp_path, **{"evaluation/nonrelevant.parquet": b"PAR1"}))
    assert done.returncode == 1
    assert "its files are not those of its provenance\n  data/evaluation/non" in done.stderr


def test_code_that_is_not_this_projects_runs_on_request_only(archive, tmp_path):
    code = bag.open_bag(archive).read("data/code/scripts/job.py")
    code += f"\nopen({str(tmp_path / 'ran')!r}, 'w')\n".encode()
    path = forged(archive, tmp_path, **{"code/scripts/job.py": code})
    done = verify(path)
    assert done.returncode == 0, done.stderr
    assert "Its code is not this project's (1 files, such as scripts/job.py)" in done.stdout
    assert "artifacts come out again" not in done.stdout and not (tmp_path / "ran").exists()


def test_no_archived_input_is_run(archive, tmp_path):
    trap = f"open({str(tmp_path / 'ran')!r}, 'w')\nraise SystemExit(9)\n".encode()
    inputs = {f"inputs/{name}.py": trap for name in ("snakemake", "numpy", "sitecustomize")}
    done = verify(forged(archive, tmp_path, **inputs))
    assert done.returncode == 0, done.stderr
    assert "artifacts come out again" in done.stdout and not (tmp_path / "ran").exists()


@pytest.mark.parametrize("path", ["../../outside", "/outside/run00"])
def test_a_provenance_that_leads_elsewhere_is_refused(archive, tmp_path, path):
    record = json.loads(bag.open_bag(archive).read("data/provenance.json"))
    record["artifacts"][f"{RESULTS}/pairs.parquet"]["inputs"][path] = "0" * 64
    done = verify(forged(archive, tmp_path, **{"provenance.json": json.dumps(record).encode()}))
    assert done.returncode == 1
    assert "names what no audit can" in done.stderr and path in done.stderr


def test_an_archive_that_would_write_elsewhere_is_refused(archive, tmp_path):
    copy = shutil.copy(archive, tmp_path / "archive.zip")
    with zipfile.ZipFile(copy, "a") as opened:
        opened.writestr("../outside", "x")
    done = verify(copy)
    assert done.returncode == 1 and "../outside leads out" in done.stderr


def test_without_the_inputs_only_digests_are_archived(audited, tmp_path):
    folder = shutil.copytree(audited, tmp_path / "copy")
    text = (folder / "small.yaml").read_text()
    (folder / "small.yaml").write_text(text.replace("inputs: files", "inputs: digests"))
    shutil.rmtree(folder / RESULTS / "inputs")
    make_archive(folder)
    names = bag.open_bag(folder / RESULTS / "archive.zip").names
    assert not [name for name in names if "run00" in name and name.endswith((".parquet", "run00"))]
    assert "data/rankings.parquet" not in names and "data/runs/run00.json" in names
    other = folder / RESULTS / "archive.zip"
    done = verify(other)
    assert done.returncode == 0, done.stderr
    assert "not recomputed: 12 files that it reads are not at hand" in done.stdout
    assert {"  key.qrels", "  runs/run00"} <= set(done.stdout.splitlines())
    done = run([*documented("python scripts/verify.py", archive=str(other)), "--recompute"], ROOT)
    assert done.returncode == 1 and "  runs/run00" in done.stderr.splitlines()


def test_a_changed_run_is_all_that_a_comparison_names(audited, elsewhere, archive):
    (elsewhere / "runs/run02").write_text(lists(7))
    found = compare(elsewhere, archive)
    assert [(c["run"], c["change"]) for c in found["inputs"].pop("runs")] == [
        ("run02", "another file")
    ]
    assert not any(found["inputs"].values())
    page = (elsewhere / RESULTS / "compare.html").read_text(encoding="utf-8")
    assert "run02" in page and "another file" in page
    assert "Settings" not in page and "Packages" not in page
    moved = {change["run"] for change in found["numbers"]}
    assert "run02" in moved
    for run in {"run00", "run01", "run03", "run04", "run30"} - moved:
        assert run not in page.split("Verdicts")[0], run


def test_a_comparison_with_the_same_results_says_so(audited):
    assert compare(audited, audited / RESULTS)["same"]


class Served(BaseAdapter):
    """Answers every request with one text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def send(self, request: PreparedRequest, **_) -> Response:
        body = HTTPResponse(
            io.BytesIO(self.text.encode()),
            headers={"Content-Type": "application/ld+json"},
            status=200,
            preload_content=False,
        )
        return HTTPAdapter().build_response(request, body)

    def close(self) -> None:
        pass


@pytest.fixture
def cache(tmp_path) -> Path:
    """The validator's cache of the network, with the one page that it asks for.

    rocrate carries the terms of RO-Crate 1.3. Of those that a crate of ours uses, these four stand
    for other addresses in 1.1, and sha256 is not among them.
    """
    context = json.loads((Path(rocrate.__file__).parent / "data/ro-crate.jsonld").read_text())
    context["@context"] |= {
        "ComputationalWorkflow": "https://bioschemas.org/ComputationalWorkflow",
        "FormalParameter": "https://bioschemas.org/FormalParameter",
        "input": "https://bioschemas.org/ComputationalWorkflow#input",
        "output": "https://bioschemas.org/ComputationalWorkflow#output",
    }
    del context["@context"]["sha256"]
    session = CachedSession(str(tmp_path / "cache"), backend="sqlite", expire_after=-1)
    session.mount("https://w3id.org/", Served(json.dumps(context)))
    assert session.get("https://w3id.org/ro/crate/1.1/context").status_code == 200
    session.close()
    return tmp_path / "cache"


def test_the_crate_is_valid_with_all_that_is_recommended(archive, cache, tmp_path):
    bag.open_bag(archive).extract(tmp_path / "crate", "data/")
    command = ["validate", "--offline", "--cache-path", cache, "--no-paging"]
    command += ["--profile-identifier", "workflow-run-crate-0.5"]
    command += ["--requirement-severity", "recommended", "--skip-checks", IMPOSSIBLE]
    command += ["--output-format", "json", "--output-file", tmp_path / "said.json"]
    validator = Path(sys.executable).with_name("rocrate-validator")
    done = subprocess.run(
        list(map(str, [validator, "-y", *command, tmp_path / "crate"])),
        capture_output=True,
        text=True,
        check=False,
    )
    said = json.loads((tmp_path / "said.json").read_text())
    assert said["passed"], [issue["message"] for issue in said["issues"]]
    assert done.returncode == 0
    checks = said["statistics"]["total_checks_by_severity"]
    assert checks["REQUIRED"] > 50 and checks["RECOMMENDED"] > 70
