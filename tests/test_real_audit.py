"""The workflow on TREC DL 2019 passages: 37 submitted runs, and ten later ones outside the pool."""

import os
import shutil

import pandas as pd
import pytest
import yaml

from workflow import ROOT, snakemake

pytestmark = [pytest.mark.workflow, pytest.mark.real]

# NIST's columns under the names that ir_measures has for them.
OFFICIAL = {
    "ndcg_cut_10": "nDCG@10",
    "ndcg_cut_100": "nDCG@100",
    **{
        f"{theirs}_rel{rel}": ours.format("" if rel == 1 else "(rel=2)")
        for rel in (1, 2)
        for theirs, ours in {
            "map": "AP{}",
            "recip_rank": "RR{}",
            "P_10": "P{}@10",
            "recall_100": "R{}@100",
            "recall_1000": "R{}@1000",
            "bpref": "Bpref{}",
        }.items()
    },
}


@pytest.fixture(scope="module")
def results(real_data, tmp_path_factory):
    """The folder of artifacts of an audit of all 47 runs, as far as scores and pools."""
    folder = tmp_path_factory.mktemp("dl19")
    data = real_data / "dl19-passage"
    sheets = [pd.read_csv(data / name, sep="\t") for name in ("runs.tsv", "new-runs.tsv")]
    pd.concat(sheets).to_csv(folder / "runs.tsv", sep="\t", index=False)
    shipped = ROOT / "config" / "collections" / "dl19-passage.yaml"
    settings = yaml.safe_load(shipped.read_text(encoding="utf-8"))
    settings |= {"runs": "runs.tsv", "runs_root": str(data)}
    settings |= {"measures": [*OFFICIAL.values()], "policies": ["nonrelevant"]}
    (folder / "all47.yaml").write_text(yaml.safe_dump(settings))
    home = folder / "irds"
    shutil.copytree(real_data / "irds_home", home, copy_function=shutil.copyfile)
    for path in [home, *home.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    made = folder / "results" / "all47"
    targets = ("evaluation/nonrelevant.parquet", "pools.parquet", "coverage.parquet")
    run = snakemake(
        folder,
        *(os.path.relpath(made / target, folder) for target in targets),
        *("--config", "collection=all47.yaml"),
        IR_DATASETS_HOME=str(home),
    )
    assert run.returncode == 0, run.stdout
    return made


def test_the_submitted_runs_have_the_published_scores(results, real_data):
    scores = pd.read_parquet(results / "evaluation/nonrelevant.parquet")
    scores = scores[scores["depth"].isna()]
    means = scores.groupby(["run", "measure"], observed=True)["value"].mean().unstack()
    official = pd.read_csv(
        real_data / "dl19-passage/official_scores.tsv", sep="\t", index_col="run"
    )
    ours = means.loc[official.index, list(OFFICIAL.values())].to_numpy()
    published = official[list(OFFICIAL)].to_numpy()
    assert published.size == 37 * 14
    assert (ours.round(4) == published).all()


def test_the_pool_of_depth_10(results):
    pool = pd.read_parquet(results / "pools.parquet").query("kind == 'pool' and depth == 10")
    pool = pool[pool["level"] == 1]
    assert (pool["pooled"].sum(), pool["judged"].sum()) == (2495, 2494)
    lines = (results / "pools/depth-10.qrels").read_text().splitlines()
    assert len(lines) == 2494


def test_only_later_runs_have_a_tenth_or_more_unjudged(results):
    table = pd.read_parquet(results / "coverage.parquet")
    table = table[table["depth"].isna() & (table["cutoff"] == 10)]
    sums = table.groupby("run", observed=True)[["retrieved", "unjudged"]].sum()
    share = sums["unjudged"] / sums["retrieved"]
    assert set(share[share >= 0.1].index) == {"ance", "colbert-e2e"}
