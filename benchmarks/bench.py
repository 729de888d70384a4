"""The project beside other tools, and its workflow beside a plain script: ratios and memory.

    python benchmarks/bench.py [--turns 3] [--collections dl19-passage trec8] [--workflow 1]

Every case of cases.py is a process of its own; the tools take turns, and the medians over the turns
count. Real runs and judgments are read from POOLAUDIT_DATA (default ../shared/data); a collection
that is not there is generated in its shape. Writes benchmarks/results.json and the tables of
benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import generated
from cases import CASES

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent
DATA = Path(os.environ.get("POOLAUDIT_DATA", PROJECT.parent / "shared" / "data"))
# The tools that read everything as text are given the first runs only where time is not the point.
FEW = 10
TASKS = {
    "reading": ("Reading runs into the tool's own tables", FEW),
    "evaluation": ("Six measures of every query, from text", FEW),
    "pools": ("Pools of depth 5 to 100, from text", FEW),
    "audit": ("All numbers of the plain script, from text", None),
}
MARKER = "<!-- What follows is written by bench.py. -->\n"


@dataclass(frozen=True)
class Shape:
    """A collection: its files among the real data, and its size where they are absent."""

    qrels: str
    sheet: str
    runs: int
    queries: int
    config: str


SHAPES = {
    "dl19-passage": Shape(
        "irds_home/msmarco-passage/trec-dl-2019/qrels",
        "dl19-passage/runs.tsv",
        *(37, 43),
        "dl19-passage",
    ),
    "trec8": Shape("trec8/qrels.txt", "trec8/runs.tsv", *(129, 50), "trec8"),
}


def locate(name: str, scratch: Path) -> tuple[Path, Path, str]:
    """Judgments, run sheet, and what they are."""
    shape = SHAPES[name]
    if (DATA / shape.sheet).is_file() and (DATA / shape.qrels).is_file():
        return DATA / shape.qrels, DATA / shape.sheet, "the real runs and judgments"
    folder = scratch / name
    generated.generate(folder, shape.runs, shape.queries)
    return folder / "qrels.txt", folder / "runs.tsv", "generated in its shape"


def run(command: list, folder: Path, environment: dict | None = None) -> dict:
    """Wall and processor seconds, peak memory in MB and output of a process with its children."""
    before = time.perf_counter()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            [*map(str, command)],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(PROJECT / "scripts"), **(environment or {})},
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        said = output.read()
    return {
        "wall": time.perf_counter() - before,
        "processor": usage.ru_utime + usage.ru_stime,
        "memory": usage.ru_maxrss / 1000,
        "failed": process.returncode != 0,
        "said": said,
    }


def of_cases(qrels: Path, sheet: Path, turns: int) -> dict:
    """For each task and tool the medians over the turns, or what went wrong."""
    measured: dict = {task: {tool: [] for tool in CASES[task]} for task in TASKS}
    for _ in range(turns):
        for task, (_, most) in TASKS.items():
            for tool in CASES[task]:
                arguments = [task, tool, qrels, sheet, *([most] if most else [])]
                found = run([sys.executable, HERE / "cases.py", *arguments], HERE)
                last = found.pop("said").strip().splitlines()[-1]
                if found["failed"] and tool == "poolaudit":
                    raise SystemExit(f"{task} of {sheet}: {last}")
                if found["failed"]:
                    measured[task][tool] = last
                elif isinstance(measured[task][tool], list):
                    measured[task][tool].append(found | json.loads(last))
    return {
        task: {
            tool: {"failed": turns_of} if isinstance(turns_of, str) else medians(turns_of)
            for tool, turns_of in tools.items()
        }
        for task, tools in measured.items()
    }


def medians(turns: list[dict]) -> dict:
    return {
        key: statistics.median(turn[key] for turn in turns)
        for key in ("wall", "processor", "memory")
    }


def of_workflow(name: str, qrels: Path, sheet: Path, scratch: Path, turns: int) -> dict:
    """The workflow cold, after one changed run and with nothing to do; the plain script."""
    measured: dict[str, list[dict]] = {}
    for turn in range(turns):
        folder = scratch / f"{name}-{turn}"
        changed = prepare(folder, name, qrels, sheet)
        snakemake = [sys.executable, "-m", "snakemake"]
        audit = [*snakemake, "-s", PROJECT / "workflow/Snakefile", "--cores", "2", "report"]
        audit += ["--config", f"collection={name}-bench.yaml"]
        steps = {
            "plain script": [sys.executable, HERE / "plain_pytrec_eval.py", qrels, sheet],
            "cold": audit,
            "one changed run": audit,
            "nothing to do": audit,
            "snakemake --version": [*snakemake, "--version"],
        }
        for step, command in steps.items():
            if step == "one changed run":
                changed.write_bytes(changed.read_bytes().rstrip().rpartition(b"\n")[0] + b"\n")
            found = run(command, folder)
            if found["failed"]:
                raise SystemExit(f"{step} of {name}:\n{found['said'][-2000:]}")
            measured.setdefault(step, []).append(found)
    return {step: medians(turns_of) for step, turns_of in measured.items()}


def prepare(folder: Path, name: str, qrels: Path, sheet: Path) -> Path:
    """A folder with the collection's settings; returns a run of its own to change."""
    folder.mkdir(parents=True)
    with sheet.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    for row in rows:
        row["path"] = str((sheet.parent / row["path"]).resolve())
    first = Path(rows[0]["path"])
    changed = folder / f"{rows[0]['run']}.run"
    unpacked = subprocess.run(["gzip", "-dc", first], check=True, capture_output=True)
    changed.write_bytes(unpacked.stdout)
    rows[0]["path"] = str(changed)
    with (folder / "runs.tsv").open("w", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter="\t")
        writer.writeheader()
        writer.writerows(rows)
    shipped = PROJECT / "config" / "collections" / f"{SHAPES[name].config}.yaml"
    lines = shipped.read_text(encoding="utf-8").splitlines()
    lines = [line for line in lines if not line.startswith(("judgments:", "runs:", "runs_root:"))]
    lines += [f"judgments: {{file: {qrels.resolve()}}}", "runs: runs.tsv"]
    (folder / f"{name}-bench.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return changed


def machine() -> str:
    """The machine in general words."""
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    load = os.getloadavg()[0]
    return (
        f"{os.cpu_count()} cores ({platform.machine()}), {gigabytes:.0f} GiB of memory, "
        f"{platform.system()}, Python {platform.python_version()}; "
        f"load {load:.1f} at the start"
    )


def versions() -> dict[str, str]:
    names = ("numpy", "pyarrow", "snakemake", "pytrec-eval-terrier", "ir-measures", "ranx")
    return {name: version(name) for name in (*names, "trectools")}


def tables(results: dict) -> str:
    """The results as Markdown."""
    turns = results["turns"]
    text = f"Machine: {results['machine']}.\n"
    text += f"Medians of {turns['cases']} turns; of the whole workflow, {turns['workflow']}. "
    packages = ", ".join(f"{name} {number}" for name, number in results["packages"].items())
    text += f"Packages: {packages}.\n"
    for name, found in results["collections"].items():
        text += f"\n## {name}: {found['data']}\n"
        for task, tools in found["cases"].items():
            most = f", first {TASKS[task][1]} runs" if TASKS[task][1] else ""
            text += f"\n{TASKS[task][0]}{most}:\n\n"
            text += _table(tools, tools["poolaudit"], "tool")
        if "workflow" in found:
            text += "\nThe workflow on two cores, beside the plain script:\n\n"
            text += _table(found["workflow"], found["workflow"]["cold"], "what")
    return text


def _table(rows: dict, one: dict, what: str) -> str:
    text = (
        f"| {what} | wall s | ratio | processor s | ratio | peak MB |\n|---|--:|--:|--:|--:|--:|\n"
    )
    for name, row in rows.items():
        if "failed" in row:
            text += f"| {name} | failed: {row['failed'][:80]} | | | | |\n"
            continue
        ratios = [row[key] / one[key] for key in ("wall", "processor")]
        text += f"| {name} | {row['wall']:.2f} | {ratios[0]:.2f} "
        text += f"| {row['processor']:.2f} | {ratios[1]:.2f} | {row['memory']:.0f} |\n"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--collections", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--workflow", type=int, default=0, help="turns of the whole workflow")
    chosen = parser.parse_args()
    turns = {"cases": chosen.turns, "workflow": chosen.workflow}
    results: dict = {"machine": machine(), "turns": turns, "packages": versions()}
    results["collections"] = {}
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        for name in chosen.collections:
            qrels, sheet, data = locate(name, scratch)
            found = {"data": data, "cases": of_cases(qrels, sheet, chosen.turns)}
            if chosen.workflow:
                found["workflow"] = of_workflow(name, qrels, sheet, scratch, chosen.workflow)
            results["collections"][name] = found
    text = json.dumps(results, indent=1, sort_keys=True) + "\n"
    (HERE / "results.json").write_text(text, encoding="utf-8")
    readme = HERE / "README.md"
    head = readme.read_text(encoding="utf-8").partition(MARKER)[0]
    readme.write_text(head + MARKER + "\n" + tables(results), encoding="utf-8")
    print(tables(results))


if __name__ == "__main__":
    main()
