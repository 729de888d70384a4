"""The verdict follows from the signs, in a fixed order."""

from __future__ import annotations

import pytest

from poolaudit.sharing.signs import Sign, Thresholds, decide

LOSS = "left out, the dense family would lose a third"


def sign(figure: float, likely: float | None = 0.3, text: str = LOSS) -> Sign:
    return Sign("largest_loss", figure, 0.1, likely, text)


@pytest.mark.parametrize(
    ("figure", "likely", "level"),
    [(0.09, 0.3, "unlikely"), (0.1, 0.3, "possible"), (0.3, 0.3, "likely"), (1, None, "possible")],
)
def test_thresholds_belong_to_the_higher_level(figure, likely, level):
    assert sign(figure, likely=likely).level == level


def test_an_alarm_is_never_a_proof():
    assert Sign.of(Thresholds(), "relevant_share", 1.0, "all is relevant").level == "possible"


def test_no_sign_makes_it_unlikely_and_says_what_that_cannot_rule_out():
    found = decide([sign(0), sign(0.05)])
    assert found["verdict"] == "unlikely"
    assert "none of the 2 signs" in found["sentence"] and "no contributor" in found["sentence"]


def test_the_strongest_sign_decides_and_is_named_first():
    found = decide([sign(0.15, text="weak"), sign(0.5, text="strong"), sign(0, text="absent")])
    assert found["verdict"] == "likely"
    assert found["reasons"] == ["strong", "weak"]
    assert found["sentence"] == "Shared bias is likely: strong (and 1 more sign)."


def test_one_family_cannot_tell_and_alarms_do_not_change_that():
    found = decide([sign(0.15, text="alarm")], blind="all are of one family")
    assert found["verdict"] == "cannot be told"
    assert found["sentence"].endswith("from these data: all are of one family.")
    assert found["reasons"] == ["all are of one family", "alarm"]


def test_runs_that_looked_elsewhere_can_tell_about_one_family():
    found = decide([sign(0.5)], blind="all are of one family")
    assert found["verdict"] == "likely"
    assert "all are of one family" in found["reasons"]


def test_a_collection_judged_in_full_can_lack_nothing():
    found = decide([sign(0.5)], complete="every document is judged for every query")
    assert found["verdict"] == "unlikely"


def test_every_sign_is_reported_with_its_thresholds():
    (reported,) = decide([sign(0.05)])["signs"]
    assert reported == {
        "name": "largest_loss",
        "figure": 0.05,
        "possible": 0.1,
        "likely": 0.3,
        "text": LOSS,
        "level": "unlikely",
    }
