"""Levels, and the sentence that a verdict is printed as."""

from __future__ import annotations

import pytest

from poolaudit.verdicts.findings import (
    Finding,
    Thresholds,
    level_of,
    policy_phrase,
    sentence,
    verdict,
    worst,
)


@pytest.mark.parametrize(
    ("share", "level"),
    [(0.0, "ok"), (0.009, "ok"), (0.01, "note"), (0.099, "note"), (0.1, "caveat"), (0.5, "unsafe")],
)
def test_levels_of_the_unjudged_share(share, level):
    """Near zero is ok, below 10% a note, from 10% on a caveat, half or more unsafe."""
    assert level_of(share, Thresholds().unjudged) == level


def test_a_step_that_is_never_reached():
    assert level_of(5.0, (0.05, 0.1, None)) == "caveat"
    assert level_of(0.06, (None, 0.05, None)) == "caveat"
    assert level_of(0.04, (None, 0.05, None)) == "ok"


def test_the_worst_level_decides_and_a_note_is_ok():
    findings = [Finding("a", "note", "this"), Finding("b", "ok", "that")]
    assert worst(findings) == "note"
    assert verdict("note") == "ok"
    assert verdict("caveat") == "caveat"
    assert worst([]) == "ok"


def test_the_sentence_begins_with_what_is_worst():
    findings = [
        Finding("a", "ok", "this"),
        Finding("b", "unsafe", "that"),
        Finding("c", "ok", "so"),
    ]
    assert (
        sentence("P@5 of A, 0.2,", findings) == "P@5 of A, 0.2, is not safe to use: that; this; so."
    )


def test_a_measure_with_a_policy_of_its_own_says_so():
    assert policy_phrase("condense") == "unjudged documents are deleted"
    own = policy_phrase("nonrelevant", "reads judged documents only")
    assert own == "a measure that reads judged documents only"
    assert policy_phrase("nonrelevant", "condense") == "unjudged documents are deleted"
