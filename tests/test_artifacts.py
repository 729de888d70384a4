"""What the report reads of the files that the workflow made."""

from dataclasses import MISSING, fields

import pandas as pd
import pytest

from poolaudit.files import sha256, write_json
from poolaudit.report.artifacts import Artifacts, read

PRIMARY = {"measure": "MAP", "policy": "condense"}
PAIRS = pd.DataFrame(
    {
        "query_id": ["q1", "q1", "q1", "q2"],
        "doc_id": ["a", "b", "c", "a"],
        "relevance": pd.array([0, None, -1, 2], "Int16"),
    }
)
REMOVAL = pd.DataFrame(
    [
        ("run", "AP", "condense", None, "q1", "taken"),
        ("run", "AP", "condense", 10, "q1", "of a pool of depth 10"),
        ("group", "AP", "condense", None, "q1", "a group was left out"),
        ("run", "P@5", "condense", None, "q1", "another measure"),
        ("run", "AP", "restrict", None, "q1", "another policy"),
    ],
    columns=["kind", "measure", "policy", "depth", "query_id", "run"],
).assign(depth=lambda table: table["depth"].astype("Int32"), change=0.5, unique=3)


@pytest.fixture
def paths(tmp_path) -> dict[str, str | list[str]]:
    """The files of an audit without a pool: a record or a table under each name that must be."""
    found: dict[str, str | list[str]] = {}
    for field in fields(Artifacts):
        if field.default is MISSING and field.default_factory is MISSING:
            kind = "parquet" if field.type == "pd.DataFrame" else "json"
            found[field.name] = str(tmp_path / f"{field.name}.{kind}")
    for key in ("notes", "evaluations"):
        found[key] = [str(tmp_path / key / f"{stem}.parquet") for stem in ("a.b", "c")]
        (tmp_path / key).mkdir()
    for path in [p for each in found.values() for p in ([each] if isinstance(each, str) else each)]:
        if path.endswith("json"):
            write_json(path, {"of": path})
        else:
            pd.DataFrame({"of": [path]}).to_parquet(path)
    PAIRS.to_parquet(found["pairs"])
    return found


def test_of_the_pairs_the_judged_ones_are_read_also_with_grades_below_0(paths):
    pairs = read(paths, PRIMARY).pairs
    assert pairs.to_dict("list") == {"query_id": ["q1", "q1", "q2"], "relevance": [0, -1, 2]}


def test_of_removal_by_query_the_primary_scores_on_all_judgments_are_read(paths, tmp_path):
    paths["removal_queries"] = str(tmp_path / "removal-queries.parquet")
    REMOVAL.to_parquet(paths["removal_queries"])
    found = read(paths, PRIMARY).removal_queries
    assert found.to_dict("list") == {"query_id": ["q1"], "run": ["taken"], "change": [0.5]}


def test_several_files_are_known_by_their_names_and_single_ones_by_their_digests(paths):
    made = read(paths, PRIMARY)
    assert list(made.notes) == list(made.evaluations) == ["a.b", "c"]
    assert made.source == {"of": paths["source"]}
    assert made.digests["pairs"] == sha256(paths["pairs"])
    assert made.digests.keys() == paths.keys() - {"notes", "evaluations"}


def test_what_an_audit_without_a_pool_does_not_have_is_none(paths):
    made = read(paths, PRIMARY)
    assert made.removal is None and made.sharing is None and made.truth is None
