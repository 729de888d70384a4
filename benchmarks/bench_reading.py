"""What reading a run costs, beside pyarrow.csv, pytrec_eval and ir_measures.

    PYTHONPATH=scripts python benchmarks/bench_reading.py

Everything is timed in one process, in turns, and the fastest of its turns counts. Memory is
the most that a process of its own held while it read a run, above what it held before.
"""

from __future__ import annotations

import gzip
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv

from poolaudit.reading import formats
from poolaudit.reading.runs import RUN, read_run

TURNS = 40
TARGETS = {"pyarrow.csv": 1.5, "pytrec_eval": 1 / 5, "ir_measures": 1 / 10}


def run_text(queries: int, depth: int = 1000, seed: int = 1) -> str:
    """A regular six-column run: tabs, scores that fall, ids as in newswire collections."""
    rng = np.random.default_rng(seed)
    lines = []
    for query in range(401, 401 + queries):
        documents = rng.choice(600_000, size=depth, replace=False)
        scores = np.sort(rng.gamma(2.0, 5.0, size=depth))[::-1]
        for rank, (document, score) in enumerate(zip(documents, scores, strict=True), 1):
            name = f"FBIS{document % 4 + 1}-{document:06}"
            lines.append(f"{query}\tQ0\t{name}\t{rank}\t{score:.6f}\tmyrun\n")
    return "".join(lines)


def three_columns(path: Path) -> pa.Table:
    """What pyarrow.csv needs for query, document and score."""
    return csv.read_csv(
        path,
        read_options=csv.ReadOptions(column_names=["query", "q0", "doc", "rank", "score", "tag"]),
        parse_options=csv.ParseOptions(delimiter="\t"),
        convert_options=csv.ConvertOptions(
            include_columns=["query", "doc", "score"],
            column_types={"query": pa.string(), "doc": pa.string(), "score": pa.float64()},
        ),
    )


def fastest(timed: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Milliseconds of the fastest turn of each."""
    times = dict.fromkeys(timed, float("inf"))
    for _ in range(TURNS):
        for name, function in timed.items():
            start = time.perf_counter()
            function()
            times[name] = min(times[name], 1000 * (time.perf_counter() - start))
    return times


def peak_memory(small: Path, large: Path) -> int:
    """Bytes that reading `large` adds to the peak of a process that has read `small`."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import bench_reading as b; b.report_peak()"
    command = [sys.executable, "-c", code, Path(__file__).parent, small, large]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def report_peak() -> None:
    """Print the bytes for `peak_memory`, in the process that it starts."""
    read_run(sys.argv[2])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    read_run(sys.argv[3])
    print(1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before))


def main() -> None:
    import ir_measures
    import pytrec_eval

    def pytrec_reader(path: Path) -> dict:
        with path.open() as file:
            return pytrec_eval.parse_run(file)

    with tempfile.TemporaryDirectory() as folder:
        regular, irregular, packed, large = (
            Path(folder) / name for name in ("regular", "irregular", "packed.gz", "large")
        )
        text = run_text(50)
        regular.write_text(text)
        irregular.write_text(text.replace("\tmyrun", "  my run"))
        packed.write_bytes(gzip.compress(text.encode()))
        large.write_text(run_text(1000))
        times = fastest(
            {
                "pyarrow.csv": lambda: three_columns(regular),
                "pytrec_eval": lambda: pytrec_reader(regular),
                "ir_measures": lambda: list(ir_measures.read_trec_run(str(regular))),
                "reading": lambda: formats.read(regular, RUN),
                "reading, irregular": lambda: formats.read(irregular, RUN),
                "reading, gzip": lambda: formats.read(packed, RUN),
                "reading and ordering": lambda: read_run(regular),
            }
        )
        print(f"{text.count(chr(10)):,} lines, {len(text):,} bytes\n")
        print(f"{'':24}{'ms':>8}" + "".join(f"{'/ ' + peer:>16}" for peer in TARGETS))
        for name, milliseconds in times.items():
            ratios = "".join(f"{milliseconds / times[peer]:16.2f}" for peer in TARGETS)
            print(f"{name:24}{milliseconds:8.1f}{ratios}")
        print(f"{'wanted of reading':32}" + "".join(f"{t:>16.2f}" for t in TARGETS.values()))
        added = peak_memory(regular, large)
        size = large.stat().st_size
        print(
            f"\nmemory for {size:,} bytes of text: {added / size:.1f} times that (wanted: below 4)"
        )


if __name__ == "__main__":
    main()
