"""The whole loop: draw, fill in, estimate, fold, compare; by the library, and as docs/judging.md
has it on the demo."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from poolaudit.campaign import corpus, simulation
from poolaudit.files import read_json, sha256
from poolaudit.pairs import Contributor, build
from poolaudit.reading.qrels import read_judgments
from poolaudit.reading.runs import read_run
from poolaudit.tail import assessments, judging_form, sampling, sheets
from poolaudit.tail.by_run import by_run, grades_in
from workflow import ROOT, planned

SETTINGS = {"documents": 2000, "topics": 6, "relevant": 40, "decoys": 40, "run_depth": 60}


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The folder of a campaign, its judgments, its runs and its two tables."""
    folder = tmp_path_factory.mktemp("campaign")
    simulated = simulation.simulate(corpus.settings_from(SETTINGS, "test"))
    simulation.write(simulated, folder)
    judgments = read_judgments(folder / "judgments-demo.qrels")
    runs = [
        (
            Contributor(run.name, "demo" in run.pools, run.group, run.family),
            read_run(folder / run.path).table,
        )
        for run in simulation.RUNS
    ]
    return folder, judgments, runs, build(judgments, runs)


@pytest.mark.parametrize("design", sampling.DESIGNS)
def test_the_loop(demo, tmp_path, design):
    folder, judgments, runs, (pairs, rankings) = demo
    truth = pairs.grades_of(read_judgments(folder / "truth.qrels"), default=0)
    levels = [1, 2]

    # Draw the sheet, as text and as a form.
    rows = sampling.population(pairs, pairs.relevance, 50)
    frame = sampling.stratify(pairs, rows, 150, design)
    titles = dict(zip(pairs.query_ids, ["a title"] * len(pairs.query_ids), strict=True))
    sample, strata = sampling.draw(pairs, frame, queries=titles)
    sheets.write_sheet(tmp_path / "sample.tsv", sample)
    judging_form.write_form(tmp_path / "sample.html", sample, dict.fromkeys(range(4), ""))

    # Somebody fills it in; here the truth does.
    keys = (pa.array(sample[name], pa.string()) for name in ("query_id", "doc_id"))
    place = pairs.rows_of(*(pa.chunked_array([key]) for key in keys))
    header, *lines = (tmp_path / "sample.tsv").read_text().splitlines()
    judged = [f"{line}{truth[row]}" for line, row in zip(lines, place, strict=True)]
    (tmp_path / "judged.tsv").write_text("\n".join([header, *reversed(judged)]) + "\n")

    # Read it back and estimate.
    filled = sheets.read_sheet(tmp_path / "judged.tsv", sample, range(4))
    assert filled["relevance"].tolist() == truth[place].tolist()
    known = sampling.judged_relevant(pairs, pairs.relevance, levels)
    table = sampling.estimate(filled, strata, known, truth=frame.count(truth, levels))
    total = table[table["scope"] == "total"]
    assert (total["low"] <= total["truth"]).all()
    assert (total["truth"] <= total["high"]).all()
    assert sampling.skipped(filled, strata) == []
    found = grades_in(pairs, filled)
    runs_table = by_run(pairs, rankings, pairs.relevance, frame, found, levels, truth)
    estimate = total.set_index("level")["estimate"]
    for level in levels:
        of_level = runs_table[runs_table["level"] == level]
        assert of_level["base_tail"].to_numpy() == pytest.approx(estimate[level])
    assert runs_table["xinfap"].notna().all() == (design == "by-query")

    # Fold the sample in and compare the two versions.
    folded = assessments.fold_assessments(judgments, filled, "sample")
    assert folded.num_rows == judgments.num_rows + len(sample)
    new_pairs, new_rankings = build(folded, runs)
    before, after = (new_pairs.grades_of(version) for version in (judgments, folded))
    compared = assessments.compare_judgments(
        new_pairs, new_rankings, before, after, ["nDCG@10", "AP", "P@10"]
    )
    assert compared.queries["added"].sum() == len(sample)
    assert compared.queries["removed"].sum() == compared.queries["regraded"].sum() == 0
    changed = compared.runs
    assert changed["own"].to_numpy() + changed["base"].to_numpy() == pytest.approx(
        (changed["score_after"] - changed["score_before"]).to_numpy()
    )
    assert (changed["judged_after"] >= changed["judged_before"]).all()
    # The folded documents are no longer in the tail.
    assert len(sampling.population(new_pairs, after, 50)) == len(rows) - len(sample)
    assert np.array_equal(new_pairs.relevance, after)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A folder in which the workflow lies as in a clone, and whose demo audits nine runs only."""
    folder = tmp_path_factory.mktemp("project")
    for name in ("workflow", "scripts", "environment.yml"):
        (folder / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "config", folder / "config")
    sheet = (folder / "config/runs/demo.tsv").read_text().splitlines(keepends=True)
    (folder / "config/runs/nine.tsv").write_text("".join(sheet[:1] + sheet[1::3]))
    demo = folder / "config/collections/demo.yaml"
    demo.write_text(demo.read_text().replace("runs/demo.tsv", "runs/nine.tsv"))
    return folder


def run_commands(project, heading):
    """Run the commands that stand under a heading of docs/judging.md."""
    text = (ROOT / "docs" / "judging.md").read_text(encoding="utf-8")
    [section] = re.findall(rf"^## {heading}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    [commands] = re.findall(r"^```sh\n(.*?)^```", section, re.M | re.S)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    run = subprocess.run(
        ["bash", "-e", "-c", commands],
        cwd=project,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=900,
        check=False,
    )
    assert run.returncode == 0, run.stdout
    return run.stdout


@pytest.mark.workflow
def test_the_how_to_on_the_demo(project):
    made = project / "results" / "judging"

    run_commands(project, "Draw")
    sample, first = (
        pd.read_csv(made / f"tail/{name}.tsv", sep="\t", dtype={"query_id": str})
        for name in ("sample", "read-first")
    )
    assert (len(sample), len(first)) == (200, 50)
    assert set(first["route"]) == {"targeted"}
    assert first[["query", "text"]].notna().all(axis=None)
    drawn = sha256(made / "tail/sample.tsv")

    run_commands(project, "Fill in")
    run_commands(project, "Estimate, fold in, compare")
    assert sha256(made / "tail/sample.tsv") == drawn
    # The truth filled in the sample that the rehearsal fills in with the truth.
    estimate = pd.read_parquet(made / "tail/estimate.parquet").query("scope == 'total'")
    assessed, known = (estimate[estimate["tail"] == tail] for tail in ("assessed", "truth"))
    assert len(assessed) == 1
    for column in ("judged", "relevant", "estimate", "low", "high"):
        assert assessed[column].tolist() == known[column].tolist()
    assert (assessed["low"].item(), assessed["high"].item()) != (0, assessed["population"].item())
    by_run = pd.read_parquet(made / "tail/by-run.parquet")
    assert set(by_run["tail"]) == {"assessed", "calibration", "truth"}
    assert by_run.loc[by_run["tail"] == "assessed", "run"].nunique() == 9

    folded = pd.read_parquet(made / "judgments-folded.parquet")
    judgments = pd.read_parquet(made / "judgments.parquet")
    both = pd.merge(sample, first, on=["query_id", "doc_id"])
    assert folded["route"].value_counts().to_dict() == {
        "pool": len(judgments),
        "sample": 200,
        "targeted": 50 - len(both),
    }
    qrels = read_judgments(made / "judgments-folded.qrels").to_pandas()
    pd.testing.assert_frame_equal(qrels, folded[["query_id", "doc_id", "relevance"]])

    versions = read_json(made / "judgments-compared.json")["versions"]
    assert versions["folded"]["pairs"]["added"] == len(folded) - len(judgments)
    assert versions["folded"]["pairs"]["removed"] == versions["folded"]["pairs"]["regraded"] == 0
    assert versions["other"]["pairs"]["removed"] > 0
    runs = pd.read_parquet(made / "judgments-compared.parquet")
    assert (runs["own"] + runs["base"]).to_numpy() == pytest.approx(runs["change"].to_numpy())

    page = (made / "report.html").read_text(encoding="utf-8")
    assert "Other versions of the judgments" in page and "the sample assessed" in page
    assert planned(project, "report", "--config", "collection=judging.yaml") == {}
    with (project / "read.tsv").open("a") as sheet:
        sheet.write("\n")
    assert set(planned(project, "report", "--config", "collection=judging.yaml")) == {
        *("fold_assessments", "compare_judgments"),
        *("record_provenance", "render_report", "describe_crate"),
    }

    assert "fetch_judgments" in run_commands(project, "Go on with the new version")
