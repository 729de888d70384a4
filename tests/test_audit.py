"""The whole workflow on the demo: what it makes, and what it does again."""

import html
import json
import re
import shutil
import zipfile
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pages
from pages import named
from poolaudit.files import sha256
from workflow import ROOT, planned, snakemake

pytestmark = pytest.mark.workflow

DEMO = "results/demo"
LATER = ["willow-bm25", "willow-dense", "willow-routing"]


@pytest.fixture(scope="module")
def audit(tmp_path_factory):
    """A folder in which the demo has been audited once."""
    folder = tmp_path_factory.mktemp("audit")
    run = snakemake(folder, "report")
    assert run.returncode == 0, run.stdout
    return folder


@pytest.fixture(scope="module")
def demo(audit):
    return audit / DEMO


def primary(demo, name="evaluation/nonrelevant.parquet") -> pd.Series:
    """Mean nDCG@10 of each run on all the judgments."""
    table = pd.read_parquet(demo / name)
    if "depth" in table:
        table = table[table["depth"].isna()]
    table = table[table["measure"] == "nDCG@10"]
    return table.groupby("run", observed=True)["value"].mean()


def test_the_page_of_artifacts_names_every_file_with_its_rule(demo):
    made = [path.relative_to(demo).as_posix() for path in demo.rglob("*") if path.is_file()]
    record = json.loads((demo / "provenance.json").read_text(encoding="utf-8"))["artifacts"]
    for name in made:
        sections = [text for pattern, text in documented(copies=True) if pattern.fullmatch(name)]
        assert len(sections) == 1, name
        if rule := record.get(f"{DEMO}/{name}", {}).get("rule"):
            assert f"Made by `{rule}`" in sections[0], name


# How the page writes the types of columns.
TYPES = {
    "string": "text",
    "large_string": "text",
    "bool": "yes or no",
    "double": "number",
    "list<element: string>": "list of text",
} | dict.fromkeys(("int16", "int32", "int64"), "integer")


def test_the_page_of_artifacts_has_every_column_of_every_table_and_no_other(demo):
    for pattern, text in documented():
        files = [path for path in demo.rglob("*") if pattern.fullmatch(str(path.relative_to(demo)))]
        rows = {named(row[0])[0]: row for row in pages.table(text, "column")}
        columns = {}
        for path in files:
            if path.suffix == ".tsv":
                header = path.read_text(encoding="utf-8").partition("\n")[0]
                columns |= dict.fromkeys(header.split("\t"))
            if path.suffix == ".parquet":
                columns |= {column.name: column for column in described(path)}
        assert columns.keys() == (rows.keys() if files else set()), pattern
        for name, column in columns.items():
            if column is not None:
                assert rows[name][1] == column.type, (pattern, name)
                assert rows[name][3] != "–" or not column.null_count, (pattern, name)


def test_the_page_of_artifacts_has_every_key_of_every_json_file_and_no_other(demo):
    # These are lists, or have the runs' names as keys.
    others = {"check.json", "answered.json"}
    for pattern, text in documented():
        for path in demo.rglob("*.json"):
            if not pattern.fullmatch(str(path.relative_to(demo))) or path.name in others:
                continue
            keys = {named(row[0])[0] for row in pages.table(text, "key")}
            assert keys == json.loads(path.read_text(encoding="utf-8")).keys(), path.name


def documented(*, copies: bool = False) -> list[tuple[re.Pattern, str]]:
    """Each path of the page, and the section that describes it; copies of other files or not."""
    return [
        (pages.pattern(path), text)
        for heading, text in pages.sections("artifacts.md").items()
        for path in named(heading)
        if copies or "<path>" not in path
    ]


class Column(NamedTuple):
    name: str
    type: str
    null_count: int


def described(path: Path) -> list[Column]:
    """The columns of a Parquet file, their types in the words of the page."""
    table = pq.read_table(path)
    kinds = [t.value_type if pa.types.is_dictionary(t) else t for t in table.schema.types]
    return [
        Column(name, TYPES[str(kind)], table[name].null_count)
        for name, kind in zip(table.column_names, kinds, strict=True)
    ]


def test_every_run_is_scored_under_every_policy(demo):
    for policy in ("nonrelevant", "condense", "restrict"):
        table = pd.read_parquet(demo / f"evaluation/{policy}.parquet")
        assert table["run"].nunique() == 27
        assert set(table["depth"].dropna()) == {5, 10, 20}


def test_the_measured_scores_are_those_of_the_page(demo):
    page = (demo / "report.html").read_text(encoding="utf-8")
    for run, score in primary(demo).items():
        assert run in page and f"{score:.4f}" in page


def test_the_page_asks_for_nothing_from_outside(demo):
    page = (demo / "report.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in html.unescape(page)
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", page)


def test_leaving_out_the_outsider_costs_it_a_fifth_and_a_lexical_run_next_to_nothing(demo):
    table = pd.read_parquet(demo / "removal.parquet")
    table = table.query(
        "kind == 'run' and measure == 'nDCG@10' and policy == 'nonrelevant' and depth.isna()"
    ).set_index("run")["relative_change"]
    assert table["spruce-routing"] > 0.2
    lexical = table[table.index.str.match("alder|birch|cedar|elder")]
    assert len(lexical) == 12 and lexical.abs().max() < 0.02


def test_the_truth_tells_who_was_right(demo):
    ratio = primary(demo) / primary(demo, "truth.parquet")
    lexical = ratio.index.str.match("alder|birch|cedar|elder")
    assert (ratio[lexical] > 1).all(), "lexical runs are overstated"
    assert ratio["willow-routing"] < 0.85, "a later run that uses other words is understated"


def test_the_unsafe_orders_are_those_that_the_truth_turns_around(demo):
    truth = primary(demo, "truth.parquet")
    pairs = json.loads((demo / "verdicts.json").read_text(encoding="utf-8"))["pairs"]
    turned = {
        (pair["run"], pair["other"])
        for pair in pairs
        if pair["difference"] * (truth[pair["run"]] - truth[pair["other"]]) < 0
    }
    unsafe = {(pair["run"], pair["other"]) for pair in pairs if pair["verdict"] == "unsafe"}
    assert unsafe == turned != set()


def test_the_tail_estimate_comes_with_an_interval_that_holds_the_truth(demo):
    table = pd.read_parquet(demo / "tail/estimate.parquet").query("scope == 'total'")
    assert set(table["tail"]) == {"calibration", "truth"}
    assert ((table["low"] <= table["truth"]) & (table["truth"] <= table["high"])).all()


def test_provenance_leads_from_the_scores_to_the_files_of_the_runs(audit, demo):
    record = json.loads((demo / "provenance.json").read_text(encoding="utf-8"))
    artifacts = record["artifacts"]
    waiting, reached = [f"{DEMO}/evaluation/nonrelevant.parquet"], set()
    while waiting:
        name = waiting.pop()
        reached.add(name)
        waiting += [i for i in artifacts.get(name, {}).get("inputs", {}) if i not in reached]
    assert "results/campaign/runs/willow-bm25.run.gz" in reached
    assert "results/campaign/judgments-demo.qrels" in reached
    for name, artifact in artifacts.items():
        assert sha256(audit / name) == artifact["sha256"], name


@pytest.fixture
def declaring(audit):
    """The folder of the audit, with the settings that the page on checking adds to the demo's."""
    own = audit / "config/collections/demo.yaml"
    own.parent.mkdir(parents=True)
    settings = (ROOT / "config/collections/demo.yaml").read_text(encoding="utf-8")
    own.write_text(settings + "".join(pages.fences("check.md", "yaml")), encoding="utf-8")
    yield audit
    shutil.rmtree(audit / "config")


def test_the_check_passes_for_the_table_of_its_page_and_fails_for_another(declaring, demo):
    pages.follow("check.md", declaring)
    table = "run\tvalue\tthan\nalder-bm25\t0.999\t\nwillow-dense\t\twillow-routing\n"
    (declaring / "paper/table.tsv").write_text(table, encoding="utf-8")
    run = snakemake(declaring, "check")
    assert run.returncode == 1
    score = primary(demo)["alder-bm25"]
    assert f"the measured value is {score:.4f}" in run.stdout
    assert "willow-dense above willow-routing by nDCG@10: it is unsafe" in run.stdout


def test_the_examples_of_organising_a_pool_give_what_the_page_says(audit):
    demo = (ROOT / "config/collections/demo.yaml").read_text(encoding="utf-8")
    deeper = demo.replace("depths: [5, 10, 20]", "depths: [5, 10, 20, 25]")
    assert deeper != demo
    (audit / "deeper.yaml").write_text(deeper, encoding="utf-8")
    pages.follow("organise.md", audit, dry_run=True)


def test_snakemakes_own_report_shows_what_is_worth_seeing(audit):
    run = snakemake(audit, "--report", "own.zip")
    assert run.returncode == 0, run.stdout
    with zipfile.ZipFile(audit / "own.zip") as archive:
        shown = {Path(name).name for name in archive.namelist()}
    assert {"report.html", "verdicts.json", "removal.parquet", "sample.tsv"} <= shown


def test_nothing_is_left_half_written(audit):
    assert list(audit.rglob("*.part")) == []


def test_nothing_is_done_again_when_nothing_changed(audit):
    assert planned(audit, "report") == {}


def test_a_touched_file_changes_nothing(audit, demo):
    (demo / "pairs.parquet").touch()
    (audit / "results/campaign/runs/willow-bm25.run.gz").touch()
    assert planned(audit, "report") == {}


@pytest.mark.parametrize("name", ["coverage.parquet", "pools/depth-5.qrels"])
def test_a_deleted_artifact_is_made_again(audit, demo, name):
    hidden = (demo / name).rename(demo / "hidden")
    jobs = planned(audit, "report")
    hidden.rename(demo / name)
    assert {"coverage.parquet": "evaluate_runs"}.get(name, "build_pools") in jobs


def test_the_other_collection_of_the_same_simulation_does_not_simulate_again(audit):
    jobs = planned(audit, "report", "--config", "collection=demo-lexical")
    assert "simulate_campaign" not in jobs
    assert jobs["normalize_runs"] == 8


def test_a_copied_folder_is_done_and_makes_the_same_bytes_again(audit, tmp_path):
    copy = shutil.copytree(audit, tmp_path / "copied audit", copy_function=shutil.copy)
    assert planned(copy, "report") == {}
    run = snakemake(copy, "report", "--forcerun", "fetch_judgments", "build_pairs")
    assert run.returncode == 0, run.stdout
    before, after = digests(audit / DEMO), digests(copy / DEMO)
    assert before.keys() == after.keys()
    assert {name for name in before if before[name] != after[name]} == set()


def digests(folder) -> dict[str, str]:
    """SHA-256 of every artifact; logs and benchmarks hold times and are left out."""
    paths = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    timed = {"logs", "benchmarks"}
    return {str(path): sha256(folder / path) for path in paths if path.parts[0] not in timed}
