"""The numbers of a paper against their verdicts."""

import pytest

from poolaudit.errors import AuditError
from poolaudit.verdicts.declared import Declared, check, failures, read_declared


def number(run, value, verdict, measure="nDCG@10"):
    reason = f"{measure} of {run} is {verdict}."
    return {"run": run, "measure": measure, "value": value, "verdict": verdict, "reason": reason}


VERDICTS = {
    "primary": {"measure": "nDCG@10"},
    "numbers": [
        number("bm25", 0.50575, "ok"),
        number("dense", 0.61, "caveat"),
        number("late", 0.4, "unsafe"),
        number("bm25", 0.3, "unsafe", "AP"),
    ],
    "pairs": [
        {
            "run": "dense",
            "other": "bm25",
            "difference": 0.10425,
            "verdict": "caveat",
            "reason": "The order of dense above bm25 needs a caveat.",
        }
    ],
}


def passes(*declared, allow="caveat"):
    return [one["passes"] for one in check(VERDICTS, declared, allow)]


def test_a_number_passes_unless_it_is_unsafe():
    assert passes(Declared("bm25"), Declared("dense"), Declared("late")) == [True, True, False]


def test_without_a_table_every_run_is_checked_by_the_primary_measure():
    assert passes() == [True, True, False]


def test_caveats_can_be_refused_too():
    assert passes(Declared("bm25"), Declared("dense"), allow="ok") == [True, False]


def test_a_value_is_compared_as_far_as_it_is_printed():
    printed = ["0.506", "0.51", ".5058", "0.505", "0.5056"]
    values = [passes(Declared("bm25", value=value)) for value in printed]
    assert values == [[True], [True], [True], [False], [False]]


def test_an_order_passes_in_its_direction_only():
    right = [Declared("dense", than="bm25"), Declared("dense", value="0.104", than="bm25")]
    assert passes(*right, Declared("dense", value="0.2", than="bm25")) == [True, True, False]
    (wrong,) = check(VERDICTS, [Declared("bm25", than="dense")])
    assert wrong["failure"] == "the measured difference is -0.1042"


def test_a_failure_says_what_was_declared_and_why_it_does_not_stand():
    found = check(VERDICTS, [Declared("late", value="0.4"), Declared("bm25", "AP", "0.29")])
    assert failures(found) == [
        "late by nDCG@10 (declared: 0.4): it is unsafe. nDCG@10 of late is unsafe.",
        "bm25 by AP (declared: 0.29): the measured value is 0.3000. AP of bm25 is unsafe.",
    ]


def test_what_is_not_part_of_the_audit_is_named_with_its_line():
    declared = [
        Declared("bm52", where="t.tsv:2"),
        Declared("bm25", "P@5", where="t.tsv:3"),
        Declared("late", than="bm25", where="t.tsv:4"),
    ]
    with pytest.raises(AuditError, match="not part of this audit") as raised:
        check(VERDICTS, declared)
    text = raised.value.found
    assert "t.tsv:2: no run bm52" in text and "bm25" in text
    assert "t.tsv:3: P@5 is not among the measures" in text
    assert "t.tsv:4: late and bm25 are not compared by nDCG@10" in text


def test_a_table_is_read_with_its_lines(tmp_path):
    (tmp_path / "t.tsv").write_text("run\tmeasure\tvalue\nbm25\tAP\t0.30\n\ndense\t\t\n")
    assert read_declared(tmp_path / "t.tsv") == [
        Declared("bm25", "AP", "0.30", where=f"{tmp_path}/t.tsv:2"),
        Declared("dense", where=f"{tmp_path}/t.tsv:4"),
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name\tvalue\nbm25\t1\n", "header"),
        ("", "header"),
        ("run\tvalue\n", "no number"),
        ("run\tvalue\nbm25\thigh\n\t0.3\nbm25\n", "line 2: 'high' is not a number"),
        ("run\tvalue\nbm25\thigh\n\t0.3\nbm25\n", "line 3: no run"),
        ("run\tvalue\nbm25\thigh\n\t0.3\nbm25\n", "line 4: 1 cells"),
        ("run\tvalue\n\t\t0.3\nbm25\t.5\n", "line 2: 3 cells where the header has 2"),
        ("run\trun\nbm25\tdense\n", "columns separated by tabs, each once"),
    ],
)
def test_mistakes_in_a_table_are_listed(tmp_path, text, says):
    (tmp_path / "t.tsv").write_text(text)
    with pytest.raises(AuditError) as raised:
        read_declared(tmp_path / "t.tsv")
    assert says in str(raised.value)


@pytest.mark.parametrize("value", ["nan", "inf", "0e1", "1e400", "1_0", "٠.٥", "0,5", "9" * 40])
def test_a_value_that_no_table_prints_is_no_number(tmp_path, value):
    # 0e1 would be right for every score below 5, and nan has no digits to round to.
    (tmp_path / "t.tsv").write_text(f"run\tvalue\nbm25\t{value}\n", encoding="utf-8")
    with pytest.raises(AuditError, match="is not a number as tables print them"):
        read_declared(tmp_path / "t.tsv")


def test_more_digits_than_a_score_has_are_compared_too():
    exact = "0.50575000000000003286"  # what the double 0.50575 is, to 20 decimals
    assert passes(Declared("bm25", value=exact), Declared("bm25", value="0." + "5" * 20)) == [
        True,
        False,
    ]


@pytest.mark.parametrize("measure", ["1e400", "nDGC@10", "RBP(p=2)"])
def test_a_measure_that_is_none_is_named_with_its_line(measure):
    with pytest.raises(AuditError) as raised:
        check(VERDICTS, [Declared("bm25", measure, where="t.tsv:2")])
    assert "t.tsv:2: " in raised.value.found and measure in raised.value.found


def test_a_table_that_is_missing_is_named(tmp_path):
    with pytest.raises(AuditError, match="cannot be read"):
        read_declared(tmp_path / "none.tsv")
