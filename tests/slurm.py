"""A SLURM of one node on the loopback, for the tests: started, asked and stopped."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

# The executor's job step forgets SLURM_CONF, so that the configuration must lie where SLURM looks.
CONFIGURATION = Path("/etc/slurm/slurm.conf")
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel")


def why_not() -> str:
    """Why no SLURM can be started here; "" where one can."""
    missing = [program for program in PROGRAMS if not shutil.which(program)]
    if missing:
        return f"not installed: {', '.join(missing)} (packages slurm-wlm and munge)"
    if not find_spec("snakemake_executor_plugin_slurm"):
        return "the executor plugin is not installed (make cluster)"
    if os.geteuid() != 0:
        return "only root can start a SLURM for itself"
    if CONFIGURATION.exists() or CONFIGURATION.is_symlink():
        return f"a SLURM is configured here: {CONFIGURATION}"
    return ""


@dataclass(frozen=True)
class Job:
    """A job in the queue: its number, the rule it is for, and the memory it asks for."""

    number: str
    rule: str
    memory: str


@dataclass(frozen=True)
class Slurm:
    """A running SLURM with its files in a folder."""

    folder: Path

    def jobs(self) -> list[Job]:
        """The jobs that wait or run."""
        rows = _said("squeue", "--noheader", "--format=%i\t%k\t%m").splitlines()
        return [Job(*row.strip().split("\t")) for row in rows]

    def wait_for(self, rule: str, seconds: float = 600) -> Job:
        """The first job of a rule to appear in the queue."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for job in self.jobs():
                if rule in job.rule:
                    return job
            time.sleep(0.1)
        raise TimeoutError(f"no job of {rule} within {seconds} s")

    def wait_until_empty(self, seconds: float = 60) -> None:
        """SLURM takes a few seconds to end the jobs that it was told to cancel."""
        until = time.monotonic() + seconds
        while self.jobs():
            if time.monotonic() > until:
                raise TimeoutError(f"jobs are left in the queue: {self.jobs()}")
            time.sleep(0.2)

    def cancel(self, job: Job) -> None:
        _said("scancel", job.number)

    def ended(self) -> list[str]:
        """A line for each job that has ended, with its state."""
        return (self.folder / "jobs.log").read_text().splitlines()


@contextmanager
def running() -> Iterator[Slurm]:
    """Start munge and SLURM, and stop them at the end."""
    # munge wants every folder above its socket to be open to all, as pytest's are not.
    with TemporaryDirectory(prefix="slurm-") as folder:
        yield from _running(Path(folder))


def _running(folder: Path) -> Iterator[Slurm]:
    pids = [folder / f"{name}.pid" for name in ("slurmctld", "slurmd", "munged")]
    for name in ("state", "spool", "munge"):
        (folder / name).mkdir(mode=0o700, parents=True)
    folder.chmod(0o755)
    key = folder / "munge" / "key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    CONFIGURATION.parent.mkdir(exist_ok=True)
    (folder / "slurm.conf").write_text(_configuration(folder))
    CONFIGURATION.symlink_to(folder / "slurm.conf")
    try:
        options = {"key-file": key, "socket": folder / "munge.sock", "pid-file": pids[-1]}
        options |= {"log-file": folder / "munge/log", "seed-file": folder / "munge/seed"}
        _said("munged", *(f"--{name}={value}" for name, value in options.items()))
        _said("slurmctld", "-c")
        _said("slurmd", "-c")
        _wait_until_idle()
        yield Slurm(folder)
    finally:
        CONFIGURATION.unlink()
        for pid in pids:
            if pid.exists():
                os.kill(int(pid.read_text()), signal.SIGTERM)
        while any(pid.exists() for pid in pids):
            time.sleep(0.1)


def _wait_until_idle() -> None:
    for _ in range(300):
        if _said("sinfo", "--noheader", "--format=%T").startswith("idle"):
            return
        time.sleep(0.2)
    raise TimeoutError("SLURM did not come up")


def _configuration(folder: Path) -> str:
    host = socket.gethostname().partition(".")[0]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 8 // 10 // 2**20
    settings = {
        "ClusterName": "test",
        "SlurmctldHost": f"{host}(127.0.0.1)",
        "SlurmctldPort": _free_port(),
        "SlurmdPort": _free_port(),
        "SlurmUser": "root",
        "SlurmdUser": "root",
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={folder}/munge.sock",
        "CredType": "cred/munge",
        "StateSaveLocation": f"{folder}/state",
        "SlurmdSpoolDir": f"{folder}/spool",
        "SlurmctldPidFile": f"{folder}/slurmctld.pid",
        "SlurmdPidFile": f"{folder}/slurmd.pid",
        "SlurmctldLogFile": f"{folder}/slurmctld.log",
        "SlurmdLogFile": f"{folder}/slurmd.log",
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "JobAcctGatherType": "jobacct_gather/none",
        "AccountingStorageType": "accounting_storage/none",
        "JobCompType": "jobcomp/filetxt",
        "JobCompLoc": f"{folder}/jobs.log",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_Core",
        "SchedulerParameters": "batch_sched_delay=0,sched_interval=1,sched_min_interval=0",
        "ReturnToService": 2,
        "MinJobAge": 3600,
        "KillWait": 5,
        "MpiDefault": "none",
        "PropagateResourceLimits": "NONE",
    }
    lines = [f"{name}={value}" for name, value in settings.items()]
    lines += [
        f"NodeName={host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} RealMemory={memory}",
        f"PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP",
    ]
    return "\n".join(lines) + "\n"


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def _said(*command: object) -> str:
    return subprocess.run(
        [*map(str, command)], check=True, capture_output=True, text=True, timeout=60
    ).stdout
