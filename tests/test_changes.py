"""What changed between two audits: what went in, and what moved."""

import copy
import json

import pytest

from poolaudit.archive import bag, changes, page
from poolaudit.archive.changes import Audit
from poolaudit.errors import AuditError


def number(run, value, verdict="ok"):
    return {
        "run": run,
        "measure": "AP",
        "policy": "nonrelevant",
        "value": value,
        "verdict": verdict,
        "figures": {"policies": {"condense": value}},
    }


def artifact(rule, digest, **inputs):
    return {"rule": rule, "sha256": digest, "inputs": inputs}


@pytest.fixture
def before() -> Audit:
    """Two runs; the first is above the second."""
    run = {"group": "us", "family": None, "type": None, "pooled": True}
    audit = {
        "collection": {"name": "small", "title": "Small", "primary": {"measure": "AP"}},
        "judgments": {"files": [{"name": "key.qrels", "sha256": "key"}]},
        "runs": [{"run": "alpha", "rank": 1, **run}, {"run": "beta", "rank": 2, **run}],
        "verdicts": {
            "numbers": [number("alpha", 0.5), number("beta", 0.25)],
            "pairs": [{"run": "alpha", "other": "beta", "verdict": "ok"}],
        },
    }
    provenance = {
        "collection": "small",
        "settings": {"measures": ["AP"], "pool": {"depth": 10}},
        "artifacts": {
            "results/small/judgments.parquet": artifact("fetch_judgments", "j", **{"a.qrels": "k"}),
            "results/small/runs/alpha.parquet": artifact("normalize_runs", "a", **{"a.run": "1"}),
            "results/small/runs/beta.parquet": artifact("normalize_runs", "b", **{"b.run": "2"}),
            "results/small/pairs.parquet": artifact("build_pairs", "p"),
        },
        "code": {
            "build_pairs": {"files": {"poolaudit/pairs.py": "c"}, "packages": {"numpy": "2.0"}},
            "normalize_runs": {"files": {"normalize_runs.py": "n"}, "packages": {}},
        },
    }
    return Audit(audit, provenance, "0" * 64)


@pytest.fixture
def after(before) -> Audit:
    return Audit(copy.deepcopy(before.audit), copy.deepcopy(before.provenance), "1" * 64)


def test_two_equal_audits_have_nothing_to_tell(before):
    found = changes.compare(before, before)
    assert found["same"] and found["numbers"] == found["order"] == found["artifacts"] == []
    assert not any(found["inputs"].values())
    assert changes.summary(found)[0].startswith("Nothing changed")


def test_a_changed_run_is_named_with_the_numbers_that_moved(before, after):
    after.provenance["artifacts"]["results/small/runs/beta.parquet"] |= {
        "sha256": "b2",
        "inputs": {"b.run": "3"},
    }
    after.audit["verdicts"]["numbers"][1] = number("beta", 0.75, "caveat")
    after.audit["verdicts"]["pairs"] = [{"run": "beta", "other": "alpha", "verdict": "unsafe"}]
    after.audit["runs"][0]["rank"], after.audit["runs"][1]["rank"] = 2, 1
    found = changes.compare(before, after)
    assert found["inputs"] == {
        "runs": [{"run": "beta", "change": "another file", "before": "2", "after": "3"}],
        "files": [],
        "settings": [],
        "code": [],
        "packages": [],
    }
    moved = {"run": "beta", "measure": "AP", "before": 0.25, "after": 0.75}
    assert found["numbers"] == [
        moved | {"policy": "condense"},
        moved | {"policy": "nonrelevant"},
    ]
    assert found["verdicts"] == {
        "numbers": [{"run": "beta", "measure": "AP", "before": "ok", "after": "caveat"}],
        "comparisons": [
            {
                "run": "alpha",
                "other": "beta",
                "before": "alpha above beta: ok",
                "after": "beta above alpha: unsafe",
            }
        ],
    }
    assert [c["run"] for c in found["order"]] == ["alpha", "beta"]
    assert found["artifacts"] == ["runs/beta.parquet"]
    assert changes.summary(found) == [
        "Runs: beta (another file).",
        "2 numbers of 1 runs moved, 1 verdicts on numbers and 1 on comparisons, and the ranks of "
        "2 runs.",
    ]


def test_runs_are_added_removed_and_renamed(before, after):
    artifacts = after.provenance["artifacts"]
    artifacts["results/small/runs/gamma.parquet"] = artifacts.pop(
        "results/small/runs/alpha.parquet"
    )
    artifacts["results/small/runs/new.parquet"] = artifact("normalize_runs", "x", x="9")
    del artifacts["results/small/runs/beta.parquet"]
    found = changes.compare(before, after)["inputs"]["runs"]
    assert {c["run"]: c["change"] for c in found} == {
        "beta": "removed",
        "gamma": "alpha under a new name",
        "new": "added",
    }


def test_settings_code_packages_judgments_and_rows_of_the_sheet_are_told(before, after):
    after.provenance["settings"]["pool"]["depth"] = 20
    after.provenance["code"]["build_pairs"]["files"]["poolaudit/pairs.py"] = "d"
    after.provenance["code"]["build_pairs"]["packages"]["numpy"] = "2.1"
    after.provenance["artifacts"]["results/small/judgments.parquet"]["inputs"]["a.qrels"] = "l"
    after.audit["runs"][0]["group"] = "them"
    found = changes.compare(before, after)["inputs"]
    assert found["settings"] == [{"setting": "pool.depth", "before": 10, "after": 20}]
    assert found["code"] == [
        {"file": "poolaudit/pairs.py", "before": "c", "after": "d", "rules": ["build_pairs"]}
    ]
    assert found["packages"] == [{"package": "numpy", "before": "2.0", "after": "2.1"}]
    assert found["files"] == [{"file": "a.qrels", "before": "k", "after": "l"}]
    assert [(c["run"], c["change"]) for c in found["runs"]] == [
        ("alpha", "another row in the sheet")
    ]


def test_the_page_says_what_changed_and_asks_for_nothing_from_outside(before, after):
    after.provenance["settings"]["note"] = "<script>alert(1)</script>"
    text = page.html(changes.compare(before, after))
    assert "&lt;script&gt;alert(1)" in text and "<script" not in text
    assert "Judgments and other files" not in text and "http" not in text.split("<body>")[1]


def test_numbers_are_rounded_as_in_the_report_wherever_they_stand():
    assert page.shown(2 / 3) == "0.6667"
    assert page.shown({"mean": 2 / 3, "queries": 50, "low": None}) == "mean 0.6667, queries 50"


def archived(tmp_path, **records: bytes):
    """An archive with these records, of which every digest is right."""
    for name, content in records.items():
        (tmp_path / name).write_bytes(content)
    files = {f"{name}.json": tmp_path / name for name in records}
    bag.write_bag(tmp_path / "archive.zip", files)
    return tmp_path / "archive.zip"


def test_an_archive_holds_both_records(before, tmp_path):
    audit, provenance = (json.dumps(r).encode() for r in (before.audit, before.provenance))
    path = archived(tmp_path, audit=audit, provenance=provenance)
    read = changes.read_audit([path])
    assert (read.audit, read.provenance) == (before.audit, before.provenance)
    assert changes.read_audit([tmp_path / "audit", tmp_path / "provenance"]) == read


@pytest.mark.parametrize(
    ("audit", "found"),
    [
        (None, "no such file"),
        (b"no json", "Expecting value"),
        (b"[" * 100_000, "recursion"),
        (b"\xff", "decode"),
        (b"[]", "[] is not of type 'object'"),
        (b'{"runs": 1e400}', "Out of range float values"),
        (b'{"runs": NaN}', "Out of range float values"),
        (b'{"runs": "\\ud800"}', "surrogates not allowed"),
    ],
)
def test_records_that_are_none_are_refused(before, tmp_path, audit, found):
    records = {} if audit is None else {"audit": audit}
    records["provenance"] = json.dumps(before.provenance).encode()
    with pytest.raises(AuditError, match="cannot be used") as raised:
        changes.read_audit([archived(tmp_path, **records)])
    assert found in raised.value.found


def test_a_record_with_another_kind_of_value_is_refused_with_its_place(before, tmp_path):
    before.audit["verdicts"]["numbers"][1]["figures"]["policies"] = [0.5]
    audit, provenance = (json.dumps(r).encode() for r in (before.audit, before.provenance))
    with pytest.raises(AuditError, match="cannot be used") as raised:
        changes.read_audit([archived(tmp_path, audit=audit, provenance=provenance)])
    assert raised.value.found.startswith("verdicts.numbers.1.figures.policies: [0.5] is not")


def test_a_run_of_the_provenance_alone_is_compared_by_its_file(before, after):
    after.provenance["artifacts"]["results/small/runs/other.parquet"] = artifact(
        "normalize_runs", "o", **{"o.run": "9"}
    )
    (change,) = changes.compare(before, after)["inputs"]["runs"]
    assert (change["run"], change["change"]) == ("other", "added")
