"""The measures, by hand and against the tools they must agree with."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from literal import tables
from poolaudit.errors import AuditError
from poolaudit.pairs import Contributor, build
from poolaudit.reading.runs import read_run
from poolaudit.scores.lists import judged_lists
from poolaudit.scores.measure_names import Measure, levels_of, parse_measure
from poolaudit.scores.policies import evaluate, means
from real import ALL_RUNS, Collection, dl19_passage, read_qrels, trec8


def score(measure: str, qrels: str, ranking: str, policy: str = "nonrelevant") -> float:
    """The value for one list: `score("RR", "a=1 b=0", "b a")` is 0.5."""
    pairs, rankings = tables(f"q: {qrels}", {"A": f"q: {ranking}"})
    lists = judged_lists(pairs, rankings)
    return float(evaluate(lists, pairs.grades(), [measure], policy).values[0, 0, 0])


QRELS = "a=3 b=2 c=0 d=1 e=0 f=2"  # five of them returned below; f is missed
RANKING = "c a x d b e"  # x is not judged


@pytest.mark.parametrize(
    ("measure", "value"),
    [
        ("nDCG@3", (3 / math.log2(3)) / (3 + 2 / math.log2(3) + 2 / 2)),
        (
            "nDCG",
            (3 / math.log2(3) + 1 / math.log2(5) + 2 / math.log2(6))
            / (3 + 2 / math.log2(3) + 2 / 2 + 1 / math.log2(5)),
        ),
        ("NCG@3", 3 / (3 + 2 + 2)),
        ("NCG@5", (3 + 1 + 2) / (3 + 2 + 2 + 1)),
        ("P@5", 3 / 5),
        ("P@10", 3 / 10),  # also when the list is shorter
        ("P(rel=2)@5", 2 / 5),
        ("R@4", 2 / 4),
        ("R(rel=3)@4", 1 / 1),
        ("RR", 1 / 2),
        ("RR(rel=3)", 1 / 2),
        ("RR@1", 0),
        ("AP", (1 / 2 + 2 / 4 + 3 / 5) / 4),
        ("AP(rel=2)", (1 / 2 + 2 / 5) / 3),
        ("AP@4", (1 / 2 + 2 / 4) / 4),
        ("Success@1", 0),
        ("Success@2", 1),
        ("RBP(p=0.5,rel=1)", 0.5 * (0.5 + 0.125 + 0.0625)),
        ("RBP(p=0.5,rel=2)@4", 0.5 * 0.5),
        ("Bpref", ((1 - 1 / 2) * 3) / 4),  # N = 2 is below R = 4
        ("Judged@3", 2 / 3),
        ("Judged@10", 5 / 6),
        ("Judged", 5 / 6),
        ("nDCG(judged_only=True)@2", (3 / math.log2(3)) / (3 + 2 / math.log2(3))),
    ],
)
def test_a_ranking_worked_by_hand(measure, value):
    assert score(measure, QRELS, RANKING) == pytest.approx(value, abs=1e-15)


def test_bpref_of_the_worked_case():
    # Judged, retrieved: n r r r r; three more nonrelevant and two more relevant not retrieved.
    qrels = "n=0 r1=1 r2=1 r3=1 r4=1 n2=0 n3=0 n4=0 r5=1 r6=1"
    assert score("Bpref", qrels, "n r1 r2 r3 r4") == 0.5


def test_bpref_without_nonrelevant_documents_is_the_share_retrieved():
    assert score("Bpref", "a=1 b=1", "x a") == 0.5


@pytest.mark.parametrize(("p", "low", "high"), [(0.5, 0.7661, 0.7663), (0.8, 0.447, 0.489)])
def test_rbp_of_the_worked_case(p, low, high):
    marks = "$$---$----$-??--?---"
    docs = [f"d{rank}" for rank in range(len(marks))]
    known = [f"{d}={int(m == '$')}" for d, m in zip(docs, marks, strict=True) if m != "?"]
    value = score(f"RBP(p={p},rel=1)", " ".join(known), " ".join(docs))
    assert value == pytest.approx(low, abs=1e-3)
    assert value < high


def test_infap_by_hand():
    # Rank 3, zero-based 2: above it one judged nonrelevant and one in the pool, not judged.
    e = 1e-5
    expected = 1 / 3 + (2 / 3) * (2 / 2) * ((0 + e) / (1 + 2 * e))
    assert score("infAP", "a=0 b=-1 c=1", "a b c") == pytest.approx(expected, abs=1e-15)


def test_infap_takes_grade_minus_2_for_a_document_outside_the_pool():
    assert score("infAP", "b=-2 c=1", "b c") == score("infAP", "c=1", "b c")
    assert score("infAP", "b=-1 c=1", "b c") > score("infAP", "c=1", "b c")


@pytest.mark.parametrize("measure", ["nDCG@3", "AP", "RR", "Bpref", "P@3", "Judged@3"])
def test_a_grade_below_zero_is_no_judgment(measure):
    assert score(measure, "a=1 b=-1", "b a") == score(measure, "a=1", "b a")


@pytest.mark.parametrize(
    "measure", ["nDCG@3", "NCG@3", "AP", "RR", "Bpref", "infAP", "R@3", "RBP(rel=1)"]
)
def test_a_query_without_a_relevant_document_scores_0(measure):
    assert score(measure, "a=0 b=0", "b a") == 0


# Names


@pytest.mark.parametrize(
    ("given", "canonical"),
    [
        ("nDCG@10", "nDCG@10"),
        ("NDCG @ 10", "nDCG@10"),
        ("MAP(rel=1)", "AP"),
        ("RBP(rel=2, p=.5)", "RBP(p=0.5,rel=2)"),
        ("RBP(p=0.8,rel=1)", "RBP(rel=1)"),
        ("AP(rel=2)@100", "AP(rel=2)@100"),
        ("nDCG(judged_only=True)@5", "nDCG(judged_only=True)@5"),
        ("ERR@20", "ERR@20"),
    ],
)
def test_names_are_written_as_ir_measures_writes_them(given, canonical):
    assert parse_measure(given).name == canonical


@pytest.mark.parametrize(
    "name", ["nDCG@10", "AP(rel=2)", "P(rel=2)@10", "RBP(p=0.5,rel=2)", "AP(rel=2)@100", "Judged@5"]
)
def test_ir_measures_reads_the_names(name):
    import ir_measures

    assert str(ir_measures.parse_measure(parse_measure(name).name)) == name


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nDGC@10", "did you mean nDCG@10?"),
        ("nDCGG@10", "did you mean nDCG@10 or NCG@10?"),
        ("ndcg@10", "did you mean nDCG@10?"),
        ("ndcg_cut_10", "did you mean nDCG@10?"),
        ("nDCG10", "did you mean nDCG@10?"),
        ("P_5", "did you mean P@5?"),
        ("AP@10(rel=2)", "did you mean AP(rel=2)@10?"),
        ("nDCG@ten", "did you mean nDCG?"),
        ("ERR@10x", "did you mean ERR?"),
        ("AP(rell=2)", "did you mean rel?"),
        ("usefulness", "take one of nDCG, NCG, P, R, AP"),
        ("map", "did you mean AP?"),
        ("P", "P@10"),
        ("NCG", "NCG@10"),
        ("Bpref@10", "cutoff"),
        ("RR@0", "cutoff"),
        ("RBP(p=0.5)", "RBP needs rel="),
        ("RBP(p=1,rel=1)", "0 < p < 1"),
        ("P(rel=0)@10", "1 or more"),
        ("P(rel=two)@10", "1 or more"),
        ("nDCG(judged_only=maybe)", "True or False"),
        ("nDCG(rel=2)@10", "rel"),
        ("AP(", "cannot be read"),
        ("AP(2)", "cannot be read"),
    ],
)
def test_names_that_are_not_known_say_what_to_write(name, says):
    with pytest.raises(AuditError) as error:
        parse_measure(name)
    assert says in str(error.value)
    assert name in str(error.value)
    assert error.value.todo


def test_a_measure_without_an_installed_provider_is_refused():
    with pytest.raises(AuditError, match="no provider that is installed"):
        parse_measure("alpha_nDCG@10")


def test_the_projects_own_measures_need_no_ir_measures():
    assert parse_measure("AP(rel=2)") == Measure("AP(rel=2)", "AP", rel=2)


def test_levels_are_those_of_the_measures_and_1():
    assert levels_of(["nDCG@10", "AP(rel=2)", "RR(rel=3)"]) == [1, 2, 3]


@pytest.mark.parametrize("measure", ["Bpref", "infAP", "Judged@10", "AP(judged_only=True)"])
def test_measures_with_a_policy_of_their_own_say_so(measure):
    assert parse_measure(measure).own_policy


# Other measures


def test_other_measures_are_computed_by_ir_measures_over_the_same_order():
    # Three tied documents: document ids descending put c first, which is relevant.
    value = score("Rprec", "c=1 b=0 a=0", "c b~ a~")
    assert value == 1
    assert score("Rprec", "c=0 b=0 a=1", "c b~ a~") == 0


def test_other_measures_leave_unjudged_documents_in_their_places():
    assert score("ERR@3", "a=1", "x y a") < score("ERR@3", "a=1", "a x y")
    assert score("ERR@3", "a=1", "x y a", "condense") == score("ERR@3", "a=1", "a", "condense")


# The same numbers as other tools give

TREC_EVAL = {
    "nDCG": "ndcg",
    "nDCG@10": "ndcg_cut_10",
    "AP": "map",
    "AP@100": "map_cut_100",
    "RR": "recip_rank",
    "P@10": "P_10",
    "R@100": "recall_100",
    "R@1000": "recall_1000",
    "Success@5": "success_5",
    "Bpref": "bpref",
    "infAP": "infAP",
}


def _at_level(measure: str, rel: int) -> str:
    base, _, cutoff = measure.partition("@")
    graded = rel == 1 or base == "nDCG"
    return measure if graded else f"{base}(rel={rel})" + (f"@{cutoff}" if cutoff else "")


def assert_equal_to_pytrec_eval(
    collection: Collection, judgment_sets: list[np.ndarray], levels: list[int], every: int = 1
) -> None:
    """Every query of one run in `every`, on whole and condensed lists: not one bit differs."""
    lists = judged_lists(collection.pairs, collection.rankings)
    compared = []
    for grades, rel in itertools.product(judgment_sets, levels):
        names = {_at_level(measure, rel): theirs for measure, theirs in TREC_EVAL.items()}
        for policy in ("nonrelevant", "condense"):
            reference = pytrec_eval.RelevanceEvaluator(
                collection.qrels(grades),
                set(names.values()),
                relevance_level=rel,
                judged_docs_only_flag=policy == "condense",
            )
            compared.append((evaluate(lists, grades, names, policy), reference))
    for index in range(0, len(lists.runs), every):
        documents = collection.run(index)
        for evaluation, reference in compared:
            found = reference.evaluate(documents)
            theirs = [
                [found.get(query, {}).get(name, 0) for query in lists.query_ids]
                for name in TREC_EVAL.values()
            ]
            np.testing.assert_array_equal(
                evaluation.values[:, index],
                theirs,
                err_msg=f"{lists.runs[index]}, {evaluation.policy}",
            )


@settings(max_examples=40, deadline=None)
@given(
    qrels=st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-1, 3), min_size=1).filter(
        lambda drawn: max(drawn.values()) >= 0
    ),
    ranking=st.permutations("abcdefghxy").map(lambda docs: docs[:7]),
    rel=st.integers(1, 3),
)
def test_small_lists_score_as_in_pytrec_eval(qrels, ranking, rel):
    words = " ".join(f"{doc}={grade}" for doc, grade in qrels.items())
    collection = Collection(*tables(f"q: {words}", {"A": "q: " + " ".join(ranking)}))
    assert_equal_to_pytrec_eval(collection, [collection.pairs.grades()], [rel])


@settings(max_examples=20, deadline=None)
@given(
    qrels=st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 3), min_size=1),
    ranking=st.permutations("abcdefghxy").flatmap(lambda d: st.integers(1, 9).map(lambda n: d[:n])),
    cutoff=st.integers(1, 12),
)
def test_judged_is_that_of_ir_measures(qrels, ranking, cutoff):
    import ir_measures

    words = " ".join(f"{doc}={grade}" for doc, grade in qrels.items())
    run = {"q": {doc: -rank for rank, doc in enumerate(ranking)}}
    theirs = ir_measures.calc_aggregate([ir_measures.Judged @ cutoff], {"q": qrels}, run)
    assert [score(f"Judged@{cutoff}", words, " ".join(ranking))] == list(theirs.values())


@pytest.mark.real
def test_dl19_scores_as_in_pytrec_eval(dl19):
    sets = [dl19.pairs.grades(), dl19.pairs.grades(10)]
    assert_equal_to_pytrec_eval(dl19, sets, levels=[1, 2], every=1 if ALL_RUNS else 4)


@pytest.mark.real
def test_trec8_scores_as_in_pytrec_eval(trec_8):
    sets = [trec_8.pairs.grades(), trec_8.pairs.grades(10)]
    assert_equal_to_pytrec_eval(trec_8, sets, levels=[1])


@pytest.fixture(scope="module")
def dl19(real_data):
    return dl19_passage(real_data)


@pytest.fixture(scope="module")
def trec_8(real_data):
    return trec8(real_data)


@pytest.mark.real
def test_dl19_runs_have_the_published_scores(dl19, real_data):
    published = (real_data / "dl19-passage/official_scores.tsv").read_text().splitlines()
    header, *rows = [line.split("\t") for line in published]
    ours = {
        "ndcg_cut_10": "nDCG@10",
        "ndcg_cut_100": "nDCG@100",
        **{
            f"{theirs}_rel{rel}": _at_level(measure, rel)
            for theirs, measure in [
                ("map", "AP"),
                ("recip_rank", "RR"),
                ("P_10", "P@10"),
                ("recall_100", "R@100"),
                ("recall_1000", "R@1000"),
                ("bpref", "Bpref"),
            ]
            for rel in (1, 2)
        },
    }
    assert set(header[2:]) == set(ours)
    lists = judged_lists(dl19.pairs, dl19.rankings)
    evaluation = evaluate(lists, dl19.pairs.grades(), [ours[name] for name in header[2:]])
    found = means(evaluation)
    assert len(rows) == 37
    for run, _, *values in rows:
        scores = found[:, dl19.rankings.runs.index(run)]
        assert [f"{value:.4f}" for value in scores] == values, run


@pytest.mark.real
@pytest.mark.parametrize(
    ("expected", "qrels", "results", "rel"),
    [
        ("out.test.aq", "qrels.test", "results.test", 1),
        ("out.test.aqc", "qrels.test", "results.trunc", 1),  # one query not answered
        ("out.test.aql", "qrels.rel_level", "results.test", 2),
    ],
)
def test_trec_evals_own_expected_output(real_data, expected, qrels, results, rel):
    folder = real_data / "odd/trec_eval"
    run = read_run(folder / results, precision="float32").table
    judgments = read_qrels(folder / qrels)
    pairs, rankings = build(judgments, [(Contributor("STANDARD", True), run)])
    lines = [line.split() for line in (folder / expected).read_text().splitlines()]
    wanted = {(name, query): value for name, query, value in lines}
    measures = {theirs: _at_level(ours, rel) for ours, theirs in TREC_EVAL.items()}
    assert all((theirs, "all") in wanted for theirs in measures)
    lists = judged_lists(pairs, rankings)
    evaluation = evaluate(lists, pairs.grades(), measures.values())
    for place, theirs in enumerate(measures):
        values = dict(zip(pairs.query_ids, evaluation.values[place, 0], strict=True))
        values["all"] = means(evaluation)[place, 0]
        for query, value in values.items():
            assert f"{value:.4f}" == wanted[theirs, query], (theirs, query)


# Names and grades that ir_measures' providers refuse


def test_a_provider_that_gives_up_is_named_with_its_measure():
    pairs, rankings = tables("q: a=5", {"A": "q: a"})
    with pytest.raises(AuditError, match=r"cannot compute ERR@10 on these judgments") as raised:
        evaluate(judged_lists(pairs, rankings), pairs.grades(), ["ERR@10"])
    assert "grades up to 5" in raised.value.found


def test_a_recall_level_is_no_cutoff():
    measure = parse_measure("IPrec@0.1")
    assert (measure.name, measure.cutoff, measure.ours) == ("IPrec@0.1", None, False)


@pytest.mark.parametrize("name", ["nDCG@2000000", "P@0", "P@0.5"])
def test_a_cutoff_is_a_rank(name):
    with pytest.raises(AuditError, match="cutoff is wrong"):
        parse_measure(name)


def test_a_missing_parameter_is_answered_with_those_that_there_are():
    with pytest.raises(AuditError, match="wrong or missing") as raised:
        parse_measure("INST")
    assert "T" in raised.value.expected and "object" not in str(raised.value)
