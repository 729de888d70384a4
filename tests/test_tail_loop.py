"""The whole loop on a small simulated campaign: draw, fill in, estimate, fold, compare."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from poolaudit.campaign import corpus, simulation
from poolaudit.pairs import Contributor, build
from poolaudit.reading.qrels import read_judgments
from poolaudit.reading.runs import read_run
from poolaudit.tail import assessments, judging_form, sampling, sheets
from poolaudit.tail.by_run import by_run, grades_in

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
