"""What every script does around its one library call: log, report errors, leave a trace."""

import fcntl
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from poolaudit import provenance
from poolaudit.errors import AuditError
from poolaudit.files import not_written, write_json
from poolaudit.joblogs import BEGINS, ENDS, LESS_MEMORY


@contextmanager
def job(snakemake) -> Iterator[logging.Logger]:
    """Run a job: check what it reads, log to its file and the terminal, leave a trace at the end.

    An AuditError is shown as its message alone, on the terminal and in the log; anything else is a
    fault of the program and keeps its traceback, in the log too.
    """
    log = logging.getLogger("poolaudit")
    log.setLevel(logging.DEBUG)
    # A log that cannot be written is no reason for a traceback at each of its lines.
    logging.raiseExceptions = False
    terminal = logging.StreamHandler()
    terminal.setLevel(logging.INFO)
    terminal.setFormatter(logging.Formatter(f"{_script()}: %(message)s"))
    log.addHandler(terminal)
    try:
        file = _own_log(snakemake.log[0], log)
        file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        log.addHandler(file)
        logging.captureWarnings(True)
        logging.getLogger("py.warnings").addHandler(file)
        # The many jobs of one rule say what they found, and not that they begin.
        log.log(logging.INFO if snakemake.rule == _script() else logging.DEBUG, BEGINS)
        inputs = provenance.read_digests(snakemake.input)
        _refuse_changed_files(snakemake, inputs)
        try:
            yield log
        finally:
            # What was read while it changed can also be why the job failed.
            _refuse_changed_files(snakemake, provenance.read_digests(_own_files(inputs)))
        _leave_trace(snakemake, inputs)
        log.debug(ENDS)
        _end(0)
    except AuditError as error:
        log.error("%s", error)
        _end(1)
    except MemoryError as error:
        log.error("%s", _too_little_memory(snakemake, error))
        _end(1)
    except KeyboardInterrupt:
        log.debug("interrupted, and so it %s", ENDS)
        _end(130)
    except Exception:
        log.exception("a fault of the program, not of your files")
        _end(1)


def _end(status: int) -> None:
    """End the process at once, as everything is written.

    A thread of Arrow that still lets go of what Python gave it while the interpreter is taken down
    aborts a process that has done all its work.
    """
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _own_log(path: str, log: logging.Logger) -> logging.FileHandler:
    """Open the log of a job for this process alone.

    A job can outlive its killed Snakemake. The next one of its rule waits here until it has ended,
    so that what the old one writes, from inputs of before, never comes last.
    """
    try:
        file = logging.FileHandler(path, mode="a", encoding="utf-8")
    except OSError as error:
        raise not_written(path, error) from error
    try:
        fcntl.flock(file.stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        log.info("waits for the same job of a run that was killed, which is still at work")
        fcntl.flock(file.stream, fcntl.LOCK_EX)
    except OSError as error:
        # Some file systems of clusters know no locks; there the queue ends what it started.
        log.debug("the log is not locked: %s", error)
    file.stream.truncate(0)
    return file


def _script() -> str:
    """The script's name: that of its rule, and of all rules of batches that share it."""
    return Path(sys.modules["__main__"].__file__).stem


def _too_little_memory(snakemake, error: MemoryError) -> AuditError:
    return AuditError(
        "There is not enough memory.",
        where=f"the job {_script()}",
        found=str(error) or "no more could be had",
        expected=f"about {snakemake.resources.mem_mb:,} MB for what it reads",
        todo=LESS_MEMORY,
    )


def _refuse_changed_files(snakemake, inputs: dict[str, str]) -> None:
    """Refuse files of the user's that are not those that Snakemake hashed when it planned."""
    planned = snakemake.params.get("sha256", [])
    planned = list(planned.values()) if isinstance(planned, dict) else planned
    own = _own_files(inputs)
    provenance.refuse_changed_files({path: inputs[path] for path in own}, planned)


def _own_files(inputs: dict[str, str]) -> list[str]:
    """The user's files among the inputs: all that the workflow does not make."""
    return [path for path in inputs if Path(path).parts[0] != "results"]


def _leave_trace(snakemake, inputs: dict[str, str]) -> None:
    trace = snakemake.output.get("trace")
    if trace is None:
        return
    made = [path for path in snakemake.output if path != trace]
    params = dict(snakemake.params.items())
    record = provenance.trace(_script(), inputs, made, params, _made_from(snakemake))
    Path(trace).parent.mkdir(parents=True, exist_ok=True)
    write_json(trace, record)


def _made_from(snakemake) -> dict[str, str]:
    """The input behind each output, for a job with an input `batch`: the outputs in its order."""
    batch = snakemake.input.get("batch", [])
    lists = [paths for _, paths in snakemake.output.items() if not isinstance(paths, str)]
    return {made: read for paths in lists for made, read in zip(paths, batch, strict=False)}
