"""What is done again after a change, and nothing else: jobs counted on dry runs, with 40 runs.

The tables of docs/rerunning.md are made here; `make tables` writes them anew.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from poolaudit import provenance
from poolaudit.batches import batches
from poolaudit.files import read_json
from small import lists, project, sheet
from workflow import ROOT, plans

pytestmark = pytest.mark.workflow

PAGE = ROOT / "docs" / "rerunning.md"
RUNS = [f"run{i:02}" for i in range(40)]

# The rules after the two tables, by what they depend on.
SCORED = {
    *("evaluate_runs", "evaluate_truth", "estimate_removal", "probe_sharing"),
    *("calibrate_tail", "decide_verdicts"),
    "read_first",
}
# The crate holds the digest of the report, and a copy of the code.
SHOWN = {"render_report", "describe_crate"}
TOLD = {"record_provenance", *SHOWN}
TABLED = {
    *SCORED | TOLD,
    *("evaluate_sparse_labels", "build_pools", "draw_sample", "estimate_tail"),
}
OF_RUNS = {"compare_topics", "build_pairs", "explain_judgments", *TABLED}


def jobs(rules: Iterable[str], **counts: int) -> dict[str, int]:
    """One job of each rule, and what else is said."""
    return dict.fromkeys(rules, 1) | counts


# What a user may do to a folder.


def nothing(folder: Path) -> None:
    pass


def edit(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))

    return change


def touch(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_file() and ".snakemake" not in path.parts:
            path.touch()


def change_run(folder: Path) -> None:
    (folder / "runs/run07").write_text(lists(8))


def change_run_of_old(folder: Path) -> None:
    change_run(folder)
    os.utime(folder / "runs/run07", (0, 0))


def change_run_and_put_it_back(folder: Path) -> None:
    change_run(folder)
    (folder / "runs/run07").write_text(lists(7))


def add_run(folder: Path) -> None:
    (folder / "runs/run40").write_text(lists(40))
    (folder / "runs.tsv").write_text(sheet([*RUNS, "run40"]))


def remove_run(folder: Path) -> None:
    (folder / "runs.tsv").write_text(sheet(RUNS[:-1]))


def remove_run_and_put_it_back(folder: Path) -> None:
    remove_run(folder)
    (folder / "runs.tsv").write_text(sheet(RUNS))


def rename_run(folder: Path) -> None:
    edit("runs.tsv", "\nrun07\t", "\nrun77\t")(folder)


def upgrade(package: str) -> Callable[[Path], None]:
    """Another version of a package, as far as its metadata say."""

    def change(folder: Path) -> None:
        metadata = folder / "packages" / f"{package.replace('-', '_')}-999.dist-info" / "METADATA"
        metadata.parent.mkdir(parents=True)
        metadata.write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 999\n")

    return change


RUN_CHANGED = jobs(OF_RUNS, normalize_runs=1)
# A renamed run leaves its batch, and comes into another if its new name says so.
PLACE = {name: n for n, names in batches([*RUNS, "run77"], 8).items() for name in names}
BOTH = len({PLACE["run07"], PLACE["run77"]})
CASES: dict[str, tuple[Callable[[Path], None], dict[str, int]]] = {
    "nothing": (nothing, {}),
    "every file touched": (touch, {}),
    "a run's content, with a newer time": (change_run, RUN_CHANGED),
    "a run's content, with an older time": (change_run_of_old, RUN_CHANGED),
    "a run's content, and put back": (change_run_and_put_it_back, {}),
    "a run added": (add_run, RUN_CHANGED),
    "a run removed": (remove_run, RUN_CHANGED),
    "a run removed, and put back": (remove_run_and_put_it_back, {}),
    "a run renamed": (rename_run, jobs(OF_RUNS, normalize_runs=BOTH)),
    "a judgment": (
        edit("key.qrels", "q1 0 d00 0", "q1 0 d00 1"),
        jobs(OF_RUNS, fetch_judgments=1),
    ),
    "a depth added": (
        edit("small.yaml", "depths: [2, 3]", "depths: [2, 3, 4]"),
        jobs(
            {
                *("compare_topics", "build_pools", "evaluate_runs"),
                *("estimate_removal", "probe_sharing", "decide_verdicts"),
                "read_first",
                *TOLD,
            }
        ),
    ),
    "a measure added": (edit("small.yaml", "nDCG@10,", "nDCG@10, RR,"), jobs(SCORED | TOLD)),
    "a measure added that has another relevance level": (
        edit("small.yaml", "nDCG@10,", "nDCG@10, AP(rel=2),"),
        jobs(SCORED | TOLD | {"build_pools", "estimate_tail"}),
    ),
    "a policy added": (
        edit("small.yaml", "condense]", "condense, restrict]"),
        jobs(
            {
                *("evaluate_runs", "estimate_removal", "probe_sharing", "decide_verdicts"),
                "read_first",
                *TOLD,
            },
        ),
    ),
    "the title of the report": (
        edit("small.yaml", "Small runs", "Another title"),
        jobs(SHOWN),
    ),
    "a template of the report": (
        edit("workflow/report/report.md", "#", "# "),
        jobs(SHOWN),
    ),
    "altair upgraded": (upgrade("altair"), jobs(SHOWN)),
    "jinja2 upgraded": (upgrade("jinja2"), jobs(SHOWN)),
    "ir-datasets upgraded": (upgrade("ir-datasets"), jobs(OF_RUNS, fetch_judgments=1)),
}


@pytest.fixture(scope="module")
def audited(tmp_path_factory) -> Path:
    """A folder in which everything was made once."""
    folder = project(tmp_path_factory.mktemp("rerun") / "project", RUNS)
    run = subprocess.run(
        [sys.executable, "-m", "snakemake", "report", "--cores", "2"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return folder


@pytest.fixture(scope="module")
def importers() -> dict[str, list[str]]:
    """For each module of the library the rules whose code it is part of."""
    found: dict[str, list[str]] = {name: [] for name in library(ROOT)}
    for script in scripts(ROOT):
        for name in provenance.code_of(script)["files"]:
            if name in found:
                found[name].append(script.stem)
    return found


def library(project: Path) -> list[str]:
    folder = project / "scripts"
    return sorted(p.relative_to(folder).as_posix() for p in folder.glob("poolaudit/**/*.py"))


def scripts(project: Path) -> list[Path]:
    """The scripts of the rules that this collection has."""
    names = sorted((project / "scripts").glob("*_*.py"))
    return [path for path in names if path.stem != "simulate_campaign"]


def of_each_package(importers: dict[str, list[str]]) -> list[str]:
    """One module of each package of the library, the one that most rules import."""
    by_package: dict[str, list[str]] = {}
    for module in importers:
        by_package.setdefault(str(Path(module).parent), []).append(module)
    return [max(modules, key=lambda m: len(importers[m])) for modules in by_package.values()]


@pytest.fixture(scope="module")
def planned(audited, importers, tmp_path_factory) -> dict[str, dict[str, int]]:
    """The jobs planned after each change, each made to a copy of the folder."""
    changes = {name: change for name, (change, _) in CASES.items()}
    changes |= {module: append(f"scripts/{module}") for module in of_each_package(importers)}
    parent = tmp_path_factory.mktemp("copies")
    folders = {name: parent / str(i) / "elsewhere" for i, name in enumerate(changes)}
    for name, folder in folders.items():
        shutil.copytree(audited, folder)
        changes[name](folder)
    return dict(zip(folders, plans(folders.values()), strict=True))


def append(name: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        with (folder / name).open("a") as file:
            file.write("\n# edited\n")

    return change


@pytest.mark.parametrize("case", CASES)
def test_only_what_a_change_can_change_is_done_again(planned, case):
    assert planned[case] == CASES[case][1]


def test_an_edit_of_a_module_changes_the_code_of_the_rules_that_import_it(
    importers, tmp_path, monkeypatch
):
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    monkeypatch.setattr(provenance, "LIBRARY", tmp_path / "scripts" / "poolaudit")

    read, known = provenance.read_code.__wrapped__, {}

    def read_once(path: Path, folder: Path):
        key = path, path.read_bytes()
        if key not in known:
            known[key] = read(path, folder)
        return known[key]

    monkeypatch.setattr(provenance, "read_code", read_once)

    def digests() -> dict[str, str]:
        provenance.code_of.cache_clear()
        return {s.stem: provenance.code_of(s)["digest"] for s in scripts(tmp_path)}

    before = digests()
    for module, rules in importers.items():
        text = (tmp_path / "scripts" / module).read_bytes()
        append(f"scripts/{module}")(tmp_path)
        after = digests()
        assert [rule for rule in after if after[rule] != before[rule]] == rules, module
        (tmp_path / "scripts" / module).write_bytes(text)
    assert digests() == before


def test_an_edited_module_runs_what_imports_it_and_what_comes_after(audited, planned, importers):
    for module in of_each_package(importers):
        assert planned[module] == done_again(audited, importers[module]), module


def done_again(audited: Path, rules: Iterable[str]) -> dict[str, int]:
    """The jobs of some rules and of all that depends on their artifacts, as the traces say."""
    jobs_of, after = graph(audited)
    waiting, reached = [job for rule in rules for job in jobs_of.get(rule, [])], set()
    while waiting:
        job = waiting.pop()
        if job not in reached:
            reached.add(job)
            waiting += after[job]
    # The crate holds a copy of the code.
    return Counter(rule for rule, _ in reached) | {"describe_crate": 1}


Job = tuple[str, str]


def graph(folder: Path) -> tuple[dict[str, list[Job]], dict[Job, list[Job]]]:
    """The jobs of each rule, and the jobs that read what each wrote, as their traces say."""
    inputs: dict[Job, set[str]] = {}
    outputs: dict[Job, set[str]] = {}
    for path in (folder / "results" / "small" / "trace").rglob("*.json"):
        trace = read_json(path)
        job = trace["rule"], path.stem
        inputs[job] = set(trace["inputs"])
        outputs[job] = {path.relative_to(folder).as_posix(), *trace["outputs"]}
    after = {job: [other for other in inputs if inputs[other] & outputs[job]] for job in outputs}
    jobs_of: dict[str, list[Job]] = {}
    for job in outputs:
        jobs_of.setdefault(job[0], []).append(job)
    return jobs_of, after


# The tables of the documentation.


def stages() -> dict[str, str]:
    """The stage of each rule: the file that it stands in, in the order of the Snakefile."""
    included = re.findall(r'"rules/(\w+)\.smk"', (ROOT / "workflow" / "Snakefile").read_text())
    return {
        rule: stage
        for stage in included
        for rule in re.findall(
            r"scripts/(\w+)\.py", (ROOT / "workflow" / "rules" / f"{stage}.smk").read_text()
        )
    }


def table_of_changes(planned: dict[str, dict[str, int]], cold: dict[str, int]) -> str:
    stage_of = stages()
    columns = [stage for stage in dict.fromkeys(stage_of.values()) if stage != "campaign"]
    lines = [
        "| what changed | " + " | ".join(columns) + " | all |",
        "|---" * (len(columns) + 2) + "|",
    ]
    for name, plan in {"no results yet": cold, **{case: planned[case] for case in CASES}}.items():
        cells = [sum(n for rule, n in plan.items() if stage_of[rule] == c) for c in columns]
        row = [str(n or "") for n in cells] + [str(sum(cells))]
        lines.append(f"| {name} | " + " | ".join(row) + " |")
    return "\n".join(lines)


def table_of_modules(audited: Path, importers: dict[str, list[str]]) -> str:
    of_rules: dict[tuple[str, ...], list[str]] = {}
    for module, rules in importers.items():
        of_rules.setdefault(tuple(rules), []).append(module.removeprefix("poolaudit/"))
    most = max(map(len, of_rules))
    lines = ["| module | jobs | imported by |", "|---|---|---|"]
    for rules, modules in of_rules.items():
        names = ", ".join(f"`{name}`" for name in modules)
        by = "every rule" if len(rules) == most else ", ".join(rules) or "no rule"
        lines.append(f"| {names} | {sum(done_again(audited, rules).values())} | {by} |")
    return "\n".join(lines)


def test_the_tables_of_the_documentation_are_these(planned, audited, importers, request):
    jobs_of, _ = graph(audited)
    cold = {rule: len(of_rule) for rule, of_rule in jobs_of.items()}
    made = {
        "changes": table_of_changes(planned, cold),
        "modules": table_of_modules(audited, importers),
    }
    text = PAGE.read_text(encoding="utf-8")
    for name, table in made.items():
        place = rf"(?<=<!-- table of {name} -->\n\n).*?(?=\n\n|\n\Z)"
        assert re.search(place, text, re.DOTALL), name
        text = re.sub(place, lambda _, table=table: table, text, flags=re.DOTALL)
    if request.config.getoption("--write-tables"):
        PAGE.write_text(text, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text, "make tables writes them anew"
