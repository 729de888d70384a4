"""The demo on a real SLURM: through sbatch, with a cancelled run and a job that is lost."""

import signal
import subprocess
import sys
import time

import pytest

import slurm
from workflow import ROOT

pytestmark = pytest.mark.workflow

PROFILE = ROOT / "workflow" / "profiles" / "slurm"
JUDGMENTS = "results/demo/judgments.parquet"


def start(folder) -> subprocess.Popen:
    """Start the audit of the demo; what it says goes to said.log."""
    command = [sys.executable, "-m", "snakemake", "--snakefile", ROOT / "workflow" / "Snakefile"]
    with (folder / "said.log").open("a") as log:
        return subprocess.Popen(
            [*map(str, command), "--workflow-profile", str(PROFILE), "report"],
            cwd=folder,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    """Start the audit and cancel it; start it again, and take one of its jobs away."""
    if reason := slurm.why_not():
        pytest.skip(reason)
    folder, facts = tmp_path_factory.mktemp("audit"), {}
    with slurm.running() as cluster:
        first = start(folder)
        cluster.wait_for("build_pairs")
        first.send_signal(signal.SIGINT)
        facts["cancelled"] = first.wait(300)
        cluster.wait_until_empty()
        facts["ended_first"] = cluster.ended()
        facts["made_before"] = (folder / JUDGMENTS).stat().st_mtime

        second = start(folder)
        lost = cluster.wait_for("build_pairs")
        cluster.cancel(lost)
        while cluster.wait_for("build_pairs").number == lost.number:
            time.sleep(0.1)
        facts["lost"], facts["retried"] = lost, cluster.wait_for("build_pairs")
        facts["finished"] = second.wait(900)
        facts["ended"] = cluster.ended()
    said = (folder / "said.log").read_text()
    assert facts["finished"] == 0, said
    return folder, facts


def test_a_cancelled_run_takes_its_jobs_out_of_the_queue(story):
    _, facts = story
    assert facts["cancelled"] != 0
    assert any("JobState=CANCELLED" in line for line in facts["ended_first"])


def test_the_next_run_goes_on_where_it_was(story):
    folder, facts = story
    assert (folder / JUDGMENTS).stat().st_mtime == facts["made_before"]
    assert (folder / "results/demo/report.html").is_file()
    assert list(folder.rglob("*.part")) == []


def test_a_lost_job_is_tried_again_with_twice_the_memory(story):
    _, facts = story
    megabytes = [int(facts[name].memory.removesuffix("M")) for name in ("lost", "retried")]
    assert megabytes[1] == pytest.approx(2 * megabytes[0], abs=1)


def test_every_job_went_through_the_queue(story):
    _, facts = story
    completed = [line for line in facts["ended"] if "JobState=COMPLETED" in line]
    assert len(completed) >= 20
    (lost,) = [line for line in facts["ended"] if f"JobId={facts['lost'].number} " in line]
    assert "JobState=CANCELLED" in lost
