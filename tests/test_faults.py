"""Killed jobs, full disks, changed and stale files: an audit goes on, or says what to do.

POOLAUDIT_FAULT_TURNS=n kills n whole audits of each kind instead of one short one, and
POOLAUDIT_FAULT_SEED=s takes the moments that a failed test named. docs/faults.md says what was
tried.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import faults
import job
from poolaudit import owner, provenance
from poolaudit.errors import AuditError
from poolaudit.files import date_back, not_written, refuse_future, sha256, write_json, write_text
from small import project
from workflow import ROOT

TURNS = int(os.environ.get("POOLAUDIT_FAULT_TURNS", "0"))
SEED = int(os.environ.get("POOLAUDIT_FAULT_SEED", secrets.randbelow(10**6)))
RUNS = ["run00", "run01"]
RESULTS = Path("results/small")
TARGET = "report" if TURNS else f"{RESULTS}/pairs.parquet"


@pytest.fixture(scope="module")
def fresh(tmp_path_factory) -> Path:
    """The project with two small runs, and nothing made."""
    return project(tmp_path_factory.mktemp("faults") / "project", RUNS)


@pytest.fixture(scope="module")
def undisturbed(fresh, tmp_path_factory) -> tuple[Path, float]:
    """The same after a run that nothing disturbed, and the seconds that it took."""
    folder = copied(fresh, tmp_path_factory.mktemp("undisturbed"))
    begin = time.monotonic()
    said(folder, TARGET)
    return folder, time.monotonic() - begin


def copied(folder: Path, to: Path) -> Path:
    return Path(shutil.copytree(folder, to / "project", copy_function=shutil.copy))


def said(folder: Path, *arguments: str, status: int = 0) -> str:
    """What Snakemake says, which must end with a status."""
    process = faults.start(folder, *arguments)
    ended = process.wait(timeout=900)
    text = (folder / "said.txt").read_text()
    assert ended == status and "Traceback" not in text, text
    return text


@pytest.mark.workflow
@pytest.mark.parametrize("turn", range(3 * TURNS or 1))
def test_after_a_kill_at_any_moment_the_next_run_gives_the_same_bytes(
    fresh, undisturbed, tmp_path, turn
):
    done, seconds = undisturbed
    folder, choice = copied(fresh, tmp_path), random.Random(SEED + turn)
    kind = faults.KINDS[turn % 3] if TURNS else choice.choice(faults.KINDS)
    process = faults.start(folder, TARGET)
    killed = faults.kill(process, kind, choice.uniform(0, seconds), choice)
    told = f"POOLAUDIT_FAULT_SEED={SEED}, turn {turn}: {killed}"
    # At once: what outlived Snakemake is still at work.
    process = faults.start(folder, TARGET)
    if process.wait(timeout=900):
        text = (folder / "said.txt").read_text()
        assert kind != "job" and faults.LOCKED in text, f"{told}\n{text}"
        said(folder, "--unlock")
        said(folder, TARGET)
    assert faults.digests(folder / RESULTS) == faults.digests(done / RESULTS), told


DAMAGES = {
    "truncated": lambda content: content[: len(content) // 2],
    "one bit flipped": lambda content: bytes([content[0] ^ 1]) + content[1:],
    "emptied": lambda content: b"",
}


@pytest.mark.workflow
def test_every_damaged_file_is_named_before_anything_runs_and_made_anew(undisturbed, tmp_path):
    folder = copied(undisturbed[0], tmp_path)
    files = ["pairs.parquet", "runs/run00.json", "trace/fetch_judgments.json"]
    for name, damage in zip(files, DAMAGES.values(), strict=True):
        path, times = folder / RESULTS / name, (folder / RESULTS / name).stat()
        path.write_bytes(damage(path.read_bytes()))
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    text = said(folder, TARGET, status=1)
    (command,) = [line for line in text.splitlines() if "to do:" in line]
    names = command.split("rm -r ")[1].split()
    assert sorted(names) == [f"{RESULTS}/{name}" for name in files]
    for name in names:
        (folder / name).unlink()
    said(folder, TARGET, f"{RESULTS}/trace/fetch_judgments.json", f"{RESULTS}/runs/run00.json")
    assert faults.digests(folder / RESULTS) == faults.digests(undisturbed[0] / RESULTS)


@pytest.mark.workflow
def test_what_the_settings_ask_for_no_longer_is_taken_away(undisturbed, tmp_path):
    folder = copied(undisturbed[0], tmp_path)
    rows = (folder / "runs.tsv").read_text().splitlines(True)
    (folder / "runs.tsv").write_text("".join(rows[:-1]))
    half = folder / RESULTS / ".pairs.parquet.1.part"
    half.touch()
    own = folder / RESULTS / "notes.txt"
    own.write_text("of the user")
    text = said(folder, f"{RESULTS}/trace/fetch_judgments.json", "--forcerun", "fetch_judgments")
    assert f"ask for it no longer: {RESULTS}/runs/run01.parquet" in text
    left = {path.name for path in (folder / RESULTS / "runs").iterdir()}
    assert left == {"run00.parquet", "run00.json"}
    assert own.exists() and not half.exists()


@pytest.mark.workflow
def test_another_collection_of_the_same_name_is_refused(undisturbed, tmp_path):
    folder = copied(undisturbed[0], tmp_path)
    (folder / "other").mkdir()
    shutil.copy(folder / "small.yaml", folder / "other")
    text = said(folder, "--dry-run", "--config", "collection=other/small.yaml", status=1)
    assert "results/small was made from small.yaml" in text


def test_a_collection_that_was_moved_keeps_its_results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.yaml", "b/a.yaml"):
        write_text(name, "")
    owner.sign(Path("results/a"), Path("a.yaml"))
    owner.refuse_other(Path("results/a"), Path("./a.yaml"))
    with pytest.raises(AuditError, match="Two collections are called a") as raised:
        owner.refuse_other(Path("results/a"), Path("b/a.yaml"))
    assert "rm -r results/a" in raised.value.todo
    Path("a.yaml").unlink()
    owner.refuse_other(Path("results/a"), Path("b/a.yaml"))


def test_a_collection_of_the_project_may_be_replaced_by_one_of_the_user(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    owner.sign(Path("results/demo"), ROOT / "config/collections/demo.yaml")
    write_text("config/collections/demo.yaml", "")
    owner.refuse_other(Path("results/demo"), Path("config/collections/demo.yaml"))


JOB = """\
import sys, time
from pathlib import Path
from types import SimpleNamespace
from snakemake.iocontainers import Namedlist
from job import job
from poolaudit.files import write_text

text, planned = sys.argv[1:]
snakemake = SimpleNamespace(
    rule="some_rule",
    log=Namedlist(["log"]),
    input=Namedlist(["input"]),
    output=Namedlist(["output"]),
    params=Namedlist(fromdict={"sha256": [planned]}),
)
with job(snakemake) as log:
    log.info("at work")
    while not Path("go").exists():
        time.sleep(0.05)
    write_text("output", text)
"""


@pytest.fixture
def begin(tmp_path):
    """Starts a job that reads `input`, waits for a file `go` and writes `output`."""
    (tmp_path / "some_rule.py").write_text(JOB)
    (tmp_path / "input").write_text("of the user")

    def begin(text: str, says: str) -> subprocess.Popen:
        process = subprocess.Popen(
            [sys.executable, "some_rule.py", text, sha256(tmp_path / "input")],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT / "scripts")},
            stderr=subprocess.PIPE,
            text=True,
            # A shell that runs the tests in the background may have SIGINT ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        assert any(says in line for line in process.stderr), f"{text} did not say {says}"
        return process

    return begin


def test_a_job_that_outlived_its_snakemake_never_writes_last(begin, tmp_path):
    old = begin("old", "at work")
    new = begin("new", "waits for the same job of a run that was killed")
    (tmp_path / "go").touch()
    assert (old.wait(timeout=60), new.wait(timeout=60)) == (0, 0)
    assert (tmp_path / "output").read_text() == "new"


def test_a_file_that_changes_while_it_is_read_stops_the_job(begin, tmp_path):
    process = begin("new", "at work")
    (tmp_path / "input").write_text("of somebody else")
    (tmp_path / "go").touch()
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 1 and "Traceback" not in said
    assert "Files changed while the audit was at work: 1." in said and "input" in said


ARROW = """
    import pyarrow as pa, pyarrow.csv as csv

    class Slow:
        closed = False

        def read(self, size):
            time.sleep(0.1)
            return b"a,b\\n" * 2**16

    open_csv = csv.open_csv(pa.PythonFile(Slow(), "r"))
    open_csv.read_next_batch()
"""


def test_a_thread_of_arrow_that_is_still_at_work_does_not_abort_a_job_that_is_done(begin, tmp_path):
    script = tmp_path / "some_rule.py"
    script.write_text(script.read_text() + ARROW)
    process = begin("new", "at work")
    (tmp_path / "go").touch()
    assert process.communicate(timeout=60)[1] == ""
    assert process.returncode == 0


def test_an_interrupted_job_says_nothing_and_writes_nothing(begin, tmp_path):
    process = begin("new", "at work")
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[1] == ""
    assert process.returncode == 130
    assert not (tmp_path / "output").exists()


def test_a_file_that_vanished_since_the_plan_is_named(tmp_path):
    with pytest.raises(AuditError, match="Files vanished") as raised:
        provenance.read_digests([str(tmp_path / "gone.run")])
    assert raised.value.where == str(tmp_path / "gone.run")


def test_a_damaged_trace_is_named_as_an_artifact_is(tmp_path):
    (tmp_path / "a").write_text("1")
    record = provenance.trace("rule", {}, [str(tmp_path / "a")], {"depth": 5})
    path = tmp_path / "trace" / "rule.json"
    write_json(path, record)
    provenance.refuse_changed([tmp_path])
    for damaged in ({}, [], record | {"params": {"depth": 6}}):
        write_json(path, damaged)
        with pytest.raises(AuditError, match="changed after") as raised:
            provenance.refuse_changed([tmp_path])
        assert raised.value.where == str(path)


def test_a_folder_has_the_digest_of_all_that_is_in_it(tmp_path):
    write_text(tmp_path / "code" / "a" / "b.py", "1")
    before = provenance.content(tmp_path / "code")
    (tmp_path / "code" / ".snakemake_timestamp").touch()
    assert provenance.content(tmp_path / "code") == before
    (tmp_path / "code" / "a" / "b.py").rename(tmp_path / "code" / "a" / "c.py")
    assert provenance.content(tmp_path / "code") != before


def test_what_somebody_changed_is_never_taken_away(tmp_path):
    folder = tmp_path / "results"
    for name in ("kept", "changed", "old"):
        write_text(folder / name, name)
    made = [str(folder / name) for name in ("kept", "changed", "old")]
    write_json(folder / "trace" / "rule.json", provenance.trace("rule", {}, made, {}))
    (folder / "changed").write_text("by somebody")
    wanted = [str(folder / "kept"), str(folder / "trace/rule.json")]
    assert provenance.remove_leftovers(folder, wanted) == [str(folder / "old")]
    assert {path.name for path in folder.glob("*")} == {"kept", "changed", "trace"}


def test_files_of_the_future_are_refused_and_results_dated_back(tmp_path):
    for name in ("now", "late"):
        (tmp_path / name).touch()
    os.utime(tmp_path / "late", (time.time() + 3600,) * 2)
    with pytest.raises(AuditError, match="in the future: 1") as raised:
        refuse_future([tmp_path / "now", tmp_path / "late"])
    assert raised.value.todo.endswith(f"touch {tmp_path / 'late'}")
    date_back(tmp_path)
    refuse_future([tmp_path / "now", tmp_path / "late"])


FILL = """\
import sys
import pyarrow as pa
from poolaudit.errors import AuditError
from poolaudit.files import write_bytes, write_table

for write in (
    lambda: write_bytes("full/a.qrels", bytes(10**5)),
    lambda: write_table("full/a.parquet", pa.table({"a": [str(i**5) for i in range(40000)]})),
):
    try:
        write()
    except AuditError as error:
        print(error)
"""


def test_a_full_disk_is_told_with_the_file_and_the_room_left(tmp_path):
    (tmp_path / "full").mkdir()
    mount = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=64k tmpfs full && "$@"', "sh"]
    try:
        subprocess.run([*mount, "true"], cwd=tmp_path, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("a small disk can be mounted only by root")
    done = subprocess.run(
        [*mount, sys.executable, "-c", FILL],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "scripts")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.count("for the disk is full") == 2, done.stdout
    assert "full/a.qrels" in done.stdout and "full/a.parquet" in done.stdout
    assert "0.1 MB without the unfinished file" in done.stdout


def test_where_a_log_cannot_be_locked_the_job_goes_on(tmp_path, monkeypatch):
    def without_locks(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", without_locks)
    opened = job._own_log(str(tmp_path / "log"), logging.getLogger("a job"))
    opened.close()
    assert (tmp_path / "log").read_text() == ""


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    error = not_written(tmp_path / "a", PermissionError(13, "Permission denied"))
    assert error.where == str(tmp_path / "a") and error.found == "Permission denied"
    assert "--directory" in error.todo


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    with pytest.raises(AuditError, match="cannot be read") as raised:
        sha256(tmp_path)
    assert raised.value.where == str(tmp_path)
