"""Which files an archive is made of."""

import pytest

from poolaudit.archive import contents
from poolaudit.errors import AuditError
from workflow import ROOT


def test_without_the_files_of_runs_their_tables_stay_out_too():
    names = ["runs/a.parquet", "runs/a.json", "rankings.parquet", "pairs.parquet", "means.parquet"]
    assert contents.kept_results(names, "digests") == ["means.parquet", "runs/a.json"]
    assert contents.kept_results(names, "files") == sorted(names)


def test_paths_that_mean_something_on_one_machine_only_are_refused_together():
    paths = {"runs": "runs.tsv", "runs_root": "/data/trec", "run a": "../a.run"}
    with pytest.raises(AuditError, match="2 paths lead out") as raised:
        contents.refuse_foreign_paths(paths)
    assert raised.value.found == "runs_root: /data/trec; run a: ../a.run"
    contents.refuse_foreign_paths({"runs": "some/where/runs.tsv"})


def test_a_foreign_file_is_named_by_its_last_part():
    assert contents.below("/data/trec/a.run") == contents.below("../a.run") == "a.run"
    assert contents.below("runs/a.run") == "runs/a.run"


def test_files_that_are_no_longer_what_the_crate_says_are_named(tmp_path):
    (tmp_path / "a").write_text("x")
    with pytest.raises(AuditError, match="1 files were changed") as raised:
        contents.refuse_changed({tmp_path / "a": "0" * 64})
    assert raised.value.where == str(tmp_path / "a")


def test_the_project_is_kept_with_what_it_needs_to_run_and_no_collection():
    names = contents.project_files(ROOT)
    for name in ("workflow/Snakefile", "scripts/job.py", "scripts/poolaudit/pairs.py"):
        assert name in names
    assert {"config/config.yaml", "requirements/run.txt", "environment.yml"} <= set(names)
    assert not [name for name in names if name.startswith("config/collections")]


@pytest.mark.parametrize("place", ["archive.zip", "results", "unpacked"])
def test_an_audit_that_is_not_there_is_told(tmp_path, place):
    (tmp_path / "results").mkdir()
    (tmp_path / "unpacked" / "data").mkdir(parents=True)
    with pytest.raises(AuditError, match="The other audit is missing") as raised:
        contents.audit_files(str(tmp_path / place))
    assert raised.value.where == "--config against" and place in raised.value.found


def test_a_comparison_with_nothing_is_answered_with_how_to_name_an_audit():
    with pytest.raises(AuditError, match="no other audit to compare with") as raised:
        contents.audit_files(None)
    assert raised.value.todo == "name it: --config against=old/archive.zip"


@pytest.mark.parametrize("below", ["", "data"])
def test_an_audit_is_in_its_results_or_in_what_an_archive_was_unpacked_to(tmp_path, below):
    folder = tmp_path / below
    folder.mkdir(exist_ok=True)
    files = [folder / "audit.json", folder / "provenance.json"]
    for file in files:
        file.write_text("{}")
    assert contents.audit_files(str(tmp_path)) == files
