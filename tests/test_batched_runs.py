"""Many runs share a few jobs, and a change does not reach the runs of other batches."""

import re

import pytest

from poolaudit.batches import batches
from workflow import planned, snakemake

pytestmark = pytest.mark.workflow

TARGET = "results/many/pairs.parquet"
SETTINGS = ("--config", "collection=many.yaml")
NAMES = [f"run{i:02}" for i in range(12)]
COLLECTION = """
judgments: {file: key.qrels}
runs: sheet.tsv
measures: [P@1]
batches: {runs: 4}
"""


def write_sheet(folder, names) -> None:
    rows = [f"{name}\t{name}.run\tyes\n" for name in names]
    (folder / "sheet.tsv").write_text("run\tpath\tpooled\n" + "".join(rows))


def write_run(folder, name, score=1.0) -> None:
    (folder / f"{name}.run").write_text(f"q Q0 d1 1 {score} {name}\nq Q0 {name} 2 0.5 {name}\n")


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A folder in which twelve runs were read, in four batches, and joined."""
    folder = tmp_path_factory.mktemp("many")
    (folder / "many.yaml").write_text(COLLECTION)
    (folder / "key.qrels").write_text("q 0 d1 1\n")
    write_sheet(folder, NAMES)
    for name in NAMES:
        write_run(folder, name)
    run = snakemake(folder, TARGET, *SETTINGS)
    assert run.returncode == 0, run.stdout
    return folder


def read_again(folder) -> set[str]:
    """The numbers of the batches that would be read, by what a dry run plans."""
    run = snakemake(folder, TARGET, *SETTINGS, "--dry-run", "--quiet", "progress")
    return set(re.findall(r"^rule normalize_runs_(\d+):", run.stdout, re.MULTILINE))


def test_each_run_is_read_by_the_job_of_its_batch(done):
    notes = sorted(path.stem for path in (done / "results/many/runs").glob("*.json"))
    assert notes == NAMES
    logs = sorted(path.stem for path in (done / "results/many/logs/normalize_runs").glob("*.log"))
    assert logs == [str(number) for number in batches(NAMES, 4)]


def test_a_changed_run_re_reads_its_batch_alone(done):
    write_run(done, "run03", score=2.0)
    again = read_again(done)
    write_run(done, "run03")
    (place,) = [number for number, batch in batches(NAMES, 4).items() if "run03" in batch]
    assert again == {str(place)}


@pytest.mark.parametrize("names", [[*NAMES, "run12"], NAMES[:-1]], ids=["added", "taken away"])
def test_a_run_more_or_less_re_reads_one_batch(done, names):
    write_run(done, "run12")
    write_sheet(done, names)
    again = read_again(done)
    write_sheet(done, NAMES)
    (changed,) = {*names} ^ {*NAMES}
    of_all = batches([*NAMES, "run12"], 4)
    (place,) = [number for number, batch in of_all.items() if changed in batch]
    assert again == {str(place)}


def test_five_hundred_runs_take_as_many_jobs_as_there_are_batches(tmp_path):
    (tmp_path / "many.yaml").write_text(COLLECTION.replace("batches: {runs: 4}", ""))
    (tmp_path / "key.qrels").write_text("q 0 d1 1\n")
    names = [f"run{i:03}" for i in range(500)]
    write_sheet(tmp_path, names)
    for name in names:
        write_run(tmp_path, name)
    jobs = planned(tmp_path, "report", *SETTINGS)
    assert jobs["normalize_runs"] == 8
    assert sum(jobs.values()) < 30
