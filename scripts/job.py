"""What every script does around its one library call: log, report errors, leave a trace."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from poolaudit import provenance
from poolaudit.errors import AuditError
from poolaudit.files import write_json
from poolaudit.joblogs import BEGINS, ENDS, LESS_MEMORY


@contextmanager
def job(snakemake) -> Iterator[logging.Logger]:
    """Run a job: check what it reads, log to its file and the terminal, leave a trace at the end.

    An AuditError is shown as its message alone, on the terminal and in the log; anything else is a
    fault of the program and keeps its traceback, in the log too.
    """
    log = logging.getLogger("poolaudit")
    log.setLevel(logging.DEBUG)
    file = logging.FileHandler(snakemake.log[0], mode="w", encoding="utf-8")
    file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(file)
    terminal = logging.StreamHandler()
    terminal.setLevel(logging.INFO)
    terminal.setFormatter(logging.Formatter(f"{_script()}: %(message)s"))
    log.addHandler(terminal)
    logging.captureWarnings(True)
    logging.getLogger("py.warnings").addHandler(file)
    try:
        # The many jobs of one rule say what they found, and not that they begin.
        log.log(logging.INFO if snakemake.rule == _script() else logging.DEBUG, BEGINS)
        inputs = provenance.read_digests(snakemake.input)
        yield log
        _leave_trace(snakemake, inputs)
        log.debug(ENDS)
    except AuditError as error:
        log.error("%s", error)
        sys.exit(1)
    except MemoryError as error:
        log.error("%s", _too_little_memory(snakemake, error))
        sys.exit(1)
    except Exception:
        log.exception("a fault of the program, not of your files")
        sys.exit(1)


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
