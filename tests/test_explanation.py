"""Explaining judgments: which pool of which runs, on lists that can be pooled by hand."""

import json

import numpy as np
import pyarrow as pa
import pytest

from literal import judgments, run
from poolaudit.errors import AuditError
from poolaudit.pools.explanation import explain
from submitted import dl19, trec8


def table(text, given_rank=None, line=None) -> pa.Table:
    """A run as it is read; ranks and lines as in the file, by default in the order of rank."""
    ranked = run(text)
    count = np.arange(1, ranked.num_rows + 1)
    given = ranked["rank"].to_pylist() if given_rank is None else given_rank
    lines = count if line is None else line
    return ranked.append_column("given_rank", pa.array(given, pa.int64())).append_column(
        "line", pa.array(lines, pa.int64())
    )


def explained(qrels, runs, **more):
    tables = {
        name: text if isinstance(text, pa.Table) else table(text) for name, text in runs.items()
    }
    return explain([(judgments(qrels), list(tables.values()))], list(tables), deepest=5, **more)


def places(found) -> dict[str, str]:
    return {entry["run"]: entry["place"] for entry in found["runs"]}


# The depth-2 pool of `old1` and `old2` is a b c; `new` has d at rank 2, which nobody judged.
QRELS = "q1: a=1 b=0 c=1"
RUNS = {"old1": "q1: a b x", "old2": "q1: c a y", "new": "q1: a d"}


def test_depth_and_runs_are_found_from_what_is_judged():
    found = explained(QRELS, RUNS)
    assert found["depth"] == 2
    assert found["contributed"] == ["old1", "old2"]
    assert places(found)["new"] == "outside"
    assert (found["pooled"], found["explained"], found["judged"]) == (3, 3, 3)
    assert (found["pooled_not_judged"], found["judged_not_pooled"]) == (0, 0)


def test_without_ties_no_rule_is_told_from_another():
    found = explained(QRELS, RUNS)
    assert found["tie_rule"] is None
    assert found["tie_rules"] == ["docid_desc", "docid_asc", "file", "rank"]
    assert found["shown_with"] == "docid_desc"


def test_a_run_that_brings_nothing_of_its_own_is_not_decided():
    found = explained(QRELS, RUNS | {"copy": "q1: a b x"})
    # Nobody else has b: one of the two was pooled at least. `old2` alone has c.
    assert places(found)["copy"] == places(found)["old1"] == "interchangeable"
    assert places(found)["old2"] == "needed" and found["undecided"] == []
    # Others have a, whether `echo` was pooled or not.
    assert explained(QRELS, RUNS | {"echo": "q1: a"})["undecided"] == ["echo"]


def test_one_pooled_pair_in_a_hundred_may_lack_a_judgment():
    # 40 queries of 5 documents; one of the 200 was not judged.
    queries = {f"q{i:02}": [f"d{i}{place}" for place in range(5)] for i in range(40)}
    lines = "\n".join(f"{q}: {' '.join(docs)} other" for q, docs in queries.items())
    pool = [f"{q}: {' '.join(f'{d}=0' for d in docs)}" for q, docs in queries.items()]
    pool[7] = "q07: d70=1 d71=0 d72=0 d73=0"
    found = explained("\n".join(pool), {"only": lines})
    assert (found["depth"], found["contributed"]) == (5, ["only"])
    assert found["pooled_not_judged"] == 1
    assert found["queries"][7] == {
        "query_id": "q07",
        "pooled": 5,
        "judged": 4,
        "pooled_not_judged": ["d74"],
        "judged_not_pooled": [],
    }


def test_judgments_that_no_pool_holds_came_by_another_route():
    found = explained("q1: a=1 b=0 c=1 z=1", RUNS)
    assert (found["depth"], found["judged_not_pooled"]) == (2, 1)
    assert found["queries"][0]["judged_not_pooled"] == ["z"]


def test_the_tie_rule_is_decided_where_the_cut_goes_through_many_ties():
    # In each query a, b, c tie at the top of the only run. Ids descending: c is first.
    queries = [f"q{i}" for i in range(8)]
    tied = "\n".join(f"{q}: c b~ a~" for q in queries)
    for judged, rule in (("c", "docid_desc"), ("a", "docid_asc")):
        qrels = "\n".join(f"{q}: {judged}=1" for q in queries)
        found = explained(qrels, {"only": table(tied, line=list(range(24, 0, -1)))})
        # The last line of the file is c: by line, a is first.
        expected = [rule] if judged == "c" else ["docid_asc", "file"]
        assert found["tie_rules"] == expected + (["rank"] if judged == "c" else [])
        assert found["depth"] == 1
    settled = explained(qrels, {"only": table(tied, line=list(range(24, 0, -1)))}, settled="file")
    assert settled["shown_with"] == "file" and settled["tie_rule"] is None


def test_the_rank_column_is_left_out_where_a_run_has_none():
    without = table("q1: a b", given_rank=[None, None])
    found = explained("q1: a=1", {"only": without})
    assert [entry["rule"] for entry in found["rules"]] == ["docid_desc", "docid_asc", "file"]


def test_the_rank_column_may_say_another_order_than_the_scores():
    # The scores rank a first in each query; the column, and the assessors, b.
    queries = [f"q{i}" for i in range(8)]
    only = table("\n".join(f"{q}: a b" for q in queries), given_rank=[2, 1] * 8)
    found = explained("\n".join(f"{q}: b=1" for q in queries), {"only": only})
    assert (found["tie_rule"], found["depth"]) == ("rank", 1)


def test_the_sheet_is_compared_with_what_the_judgments_say():
    sheet = {"old1": True, "old2": False, "new": True}
    assert explained(QRELS, RUNS, sheet=sheet)["against_sheet"] == ["new", "old2"]
    assert explained(QRELS, RUNS)["against_sheet"] == []


def test_a_document_in_the_pool_that_was_not_graded_counts_as_judged_here():
    found = explained("q1: a=1 b=-1 c=1", RUNS)
    assert (found["depth"], found["explained"]) == (2, 3)


def test_no_pool_of_these_runs_explains_the_judgments():
    found = explained("q1: z=1", RUNS)
    assert found["depth"] is None and found["contributed"] == []
    assert set(places(found).values()) == {"outside"}
    assert (found["pooled"], found["judged_not_pooled"]) == (0, 1)


def test_what_is_found_goes_into_json_and_does_not_depend_on_the_order_of_the_runs():
    backwards = dict(reversed(RUNS.items()))
    assert json.dumps(explained(QRELS, RUNS)) == json.dumps(explained(QRELS, backwards))


def test_no_runs():
    with pytest.raises(AuditError, match="without runs"):
        explain([(judgments(QRELS), [])], [])


@pytest.mark.real
def test_trec8_says_which_71_runs_were_pooled(real_data):
    collection = trec8(real_data)
    found = explain(
        [(collection.judgments, [*collection.runs.values()])], [*collection.runs], deepest=110
    )
    assert (found["depth"], found["tie_rule"]) == (100, "docid_desc")
    assert found["contributed"] == sorted(c.run for c in collection.contributors if c.pooled)
    assert len(found["contributed"]) == 71 and found["undecided"] == ["Dm8TFidf"]
    assert (found["pooled"], found["explained"]) == (86_830, 86_830)
    assert (found["pooled_not_judged"], found["judged_not_pooled"]) == (0, 0)
    ascending = next(entry for entry in found["rules"] if entry["rule"] == "docid_asc")
    assert (ascending["pooled_not_judged"], ascending["judged_not_pooled"]) == (2_148, 2_328)


@pytest.mark.real
def test_dl19_is_a_pool_of_depth_10_and_another_route(real_data):
    collection = dl19(real_data)
    sheet = {c.run: c.pooled for c in collection.contributors}
    found = explain(
        [(collection.judgments, [*collection.runs.values()])], [*collection.runs], sheet
    )
    assert (found["depth"], found["tie_rule"]) == (10, None)
    assert len(found["tie_rules"]) == 4 and found["against_sheet"] == []
    assert (found["pooled"], found["explained"]) == (2_495, 2_494)
    assert found["judged_not_pooled"] == 6_766  # of 9,260: 73% came by another route
    assert len(found["contributed"]) == 36 and found["undecided"] == ["idst_bert_p3"]
    ascending = next(entry for entry in found["rules"] if entry["rule"] == "docid_asc")
    assert (ascending["pooled"], ascending["explained"]) == (2_494, 2_494)
