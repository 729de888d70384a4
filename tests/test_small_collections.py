"""Collections at the edge of what can be audited still get their report."""

import json
import math

import pyarrow.parquet as pq
import pytest

from workflow import snakemake

pytestmark = pytest.mark.workflow

FILES = {
    "key.qrels": "1 0 a 1\n1 0 b 0\n2 0 c 2\n2 0 d 0\n3 0 e 0\n",
    "A.run": "1 Q0 a 1 2.0 x\n1 Q0 b 2 1.0 x\n2 Q0 c 1 1.0 x\n",
    "B.run": "1 Q0 b 1 2.0 x\n2 Q0 d 1 1.0 x\n2 Q0 c 2 0.5 x\n",
    "two.tsv": "run\tpath\tgroup\tpooled\nA\tA.run\tash\tyes\nB\tB.run\toak\tyes\n",
    "one.tsv": "run\tpath\tpooled\nA\tA.run\tno\n",
    "complete.yaml": """\
title: A {small} collection
assessors: "{us}"
judgments: {file: key.qrels}
runs: two.tsv
measures: [nDCG@10, AP, "AP(rel=2)", Bpref, infAP]
pool: {depths: [1, 5]}
""",
    "single.yaml": """\
judgments: {file: key.qrels}
runs: one.tsv
measures: [AP, "AP(rel=2)"]
primary: {policy: restrict}
""",
}
FILES["batched.yaml"] = FILES["complete.yaml"] + "batches: {rows: 1}\n"


@pytest.fixture
def audit(tmp_path, request):
    """audit.json of a collection: no topics, a query without a relevant or answered document."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    run = snakemake(tmp_path, "report", "--config", f"collection={request.param}.yaml")
    assert run.returncode == 0, run.stdout
    return json.loads((tmp_path / "results" / request.param / "audit.json").read_text())


@pytest.fixture
def audit_both(tmp_path):
    """What two collections have that differ in how many rows a batch of queries may hold."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    folders = [tmp_path / "results" / name for name in ("complete", "batched")]
    for folder in folders:
        wanted = [f"results/{folder.name}/{name}.json" for name in ("verdicts", "sharing")]
        run = snakemake(tmp_path, *wanted, "--config", f"collection={folder.name}.yaml")
        assert run.returncode == 0, run.stdout
    return folders


@pytest.mark.parametrize("audit", ["complete"], indirect=True)
def test_a_pool_judged_to_the_last_document_has_no_tail(audit):
    assert audit["collection"]["title"] == "A {small} collection"
    assert audit["tail"]["sheet"] == {"population": 0, "sampled": 0}
    # Over three queries: A has a and c, each the best there is, at rank 1; B has c at rank 2.
    scores = {run["run"]: run["value"] for run in audit["runs"]}
    assert scores == pytest.approx({"A": 2 / 3, "B": 1 / math.log2(3) / 3})


@pytest.mark.parametrize("audit", ["single"], indirect=True)
def test_one_run_outside_the_pool_has_nothing_to_be_compared_with(audit):
    assert audit["removal"] is None and audit["sharing"] is None
    assert audit["verdicts"]["pairs"] == []


def test_queries_in_batches_of_their_own_give_the_same_numbers(audit_both):
    folders = audit_both
    tables = [pq.ParquetFile(folder / "pairs.parquet") for folder in folders]
    assert [table.num_row_groups for table in tables] == [1, 3]
    assert tables[0].read().equals(tables[1].read())
    made = [
        "verdicts.json",
        "removal.parquet",
        "bounds.parquet",
        "ties.parquet",
        "coverage.parquet",
    ]
    made += [f"evaluation/{policy}.parquet" for policy in ("nonrelevant", "condense", "restrict")]
    for name in [*made, "explanation.json", "sharing.json"]:
        whole, batched = ((folder / name).read_bytes() for folder in folders)
        assert whole == batched, name
