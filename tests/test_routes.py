"""Routes: how each judged document came to be judged; the key of five documents as shipped."""

from pathlib import Path

import pandas as pd
import pytest

from literal import tables
from poolaudit import config
from poolaudit.errors import AuditError
from poolaudit.pairs import Contributor, build
from poolaudit.pools import routes
from poolaudit.reading.qrels import read_judgments
from poolaudit.reading.runs import read_run
from poolaudit.removal import leave_out

FOLDER = Path(config.PROJECT) / "config/collections/five-documents"
CONTRIBUTORS = [
    Contributor("bm25", True, "ash"),
    Contributor("dense", True, "oak"),
    Contributor("late", False, "elm"),
]


@pytest.fixture(scope="module")
def built():
    # Depth 2: a by both, b by bm25, c by dense; d and z by no pooled run, d by a later one.
    runs = {"bm25": "q1: a b d", "dense": "q1: c a d", "late": "q1: d"}
    groups = {c.run: c.group for c in CONTRIBUTORS}
    return tables("q1: a=1 b=0 c=1 d=1 z=1", runs, unpooled=["late"], groups=groups)


def named(*rows: tuple[str, str, str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=routes.COLUMNS)


def listed(pairs, known) -> dict[str, list[tuple]]:
    table = routes.routes_of_judgments(pairs, known)
    found: dict[str, list] = {}
    for row in table.itertuples():
        rank = None if pd.isna(row.rank) else int(row.rank)
        found.setdefault(row.doc_id, []).append((None if pd.isna(row.route) else row.route, rank))
    return found


def test_every_judged_document_has_its_routes_or_none(built):
    pairs, rankings = built
    known = routes.pool_routes(pairs, rankings, CONTRIBUTORS, 2)
    assert listed(pairs, known) == {
        "a": [("bm25", 1), ("dense", 2)],
        "b": [("bm25", 2)],
        "c": [("dense", 1)],
        "d": [(None, None)],
        "z": [(None, None)],
    }


def test_routes_by_hand_join_those_of_the_pool(built):
    pairs, rankings = built
    by_hand = routes.named_routes(pairs, named(("q1", "z", "letter"), ("q1", "b", "letter")))
    known = routes.join(routes.pool_routes(pairs, rankings, CONTRIBUTORS, 2), by_hand)
    assert known.names == ("bm25", "dense", "letter")
    assert listed(pairs, known)["b"] == [("bm25", 2), ("letter", None)]
    assert listed(pairs, known)["z"] == [("letter", None)]


def test_what_one_route_alone_brought_is_what_is_unique_in_the_pool(built):
    pairs, rankings = built
    for kind in ("run", "group"):
        found = routes.pool_routes(pairs, rankings, CONTRIBUTORS, 2, kind)
        alone = leave_out.unique_to_routes(found)
        unique = leave_out.uniques(pairs, kind, 2)
        assert sorted(zip(alone.pair, alone.owner, strict=True)) == sorted(
            zip(unique.pair, unique.owner, strict=True)
        )


def test_routes_to_documents_that_are_not_judged_are_listed(built):
    pairs, _ = built
    with pytest.raises(AuditError, match="2 routes lead to documents that are not judged") as error:
        routes.named_routes(pairs, named(("q1", "x", "letter"), ("q2", "a", "letter")))
    assert "q1 x, q2 a" in str(error.value)


def test_a_file_of_routes_needs_its_header(built, tmp_path):
    file = tmp_path / "routes.tsv"
    file.write_text("query\tdoc\troute\nq1\ta\tletter\n")
    with pytest.raises(AuditError, match="header of the routes"):
        routes.read_named_routes(built[0], file)


@pytest.fixture(scope="module")
def key():
    rows, _ = config.read_sheet(FOLDER / "runs.tsv", FOLDER)
    contributors = [Contributor(r.run, r.pooled, r.group, r.family, r.type) for r in rows]
    runs = [(c, read_run(r.path).table) for c, r in zip(contributors, rows, strict=True)]
    pairs, rankings = build(read_judgments(FOLDER / "key.qrels"), runs)
    known = routes.join(
        routes.pool_routes(pairs, rankings, contributors, 6),
        routes.read_named_routes(pairs, FOLDER / "routes.tsv"),
    )
    return pairs, rankings, contributors, known


def test_the_shipped_key_has_the_routes_it_says(key):
    pairs, _, _, known = key
    assert listed(pairs, known) == {
        "012": [("chance find", None), ("tool", 1)],
        "013": [("tool", 5)],
        "020": [("chance find", None)],
        "025": [("tool", 3)],
        "035": [("letter", None), ("tool", 2)],
    }


def test_the_shipped_key_without_each_route(key):
    pairs, rankings, contributors, known = key
    table, cells = leave_out.leave_out_uniques(
        pairs, rankings, contributors, ["P@3", "R@6"], nominal=6, routes=known
    )
    of = {(row.left_out, row.measure): row for row in table.itertuples()}
    assert {row.kind for row in of.values()} == {"route"}
    assert of["tool", "P@3"].score == 1 and of["tool", "P@3"].score_without == pytest.approx(2 / 3)
    assert of["letter", "P@3"].change == of["letter", "R@6"].change == 0
    # Without the chance find all that is left stands in the tool's first six.
    assert of["chance find", "P@3"].score_without == of["chance find", "R@6"].score_without == 1
    assert of["chance find", "R@6"].score == 0.8
    assert set(cells.left_out) == {"tool", "chance find"}
    assert all(row.cannot_see == leave_out.CANNOT_SEE for row in of.values())


def test_by_run_the_shipped_key_is_refused_with_what_removal_cannot_see(key):
    pairs, rankings, contributors, _ = key
    assert leave_out.kinds_to_leave_out(pairs)[0] == []
    with pytest.raises(AuditError, match="cannot see what all contributors share"):
        leave_out.leave_out_uniques(
            pairs, rankings, contributors, ["P@3"], nominal=6, kinds=["run"]
        )
