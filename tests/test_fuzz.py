"""A short turn of the fuzzer (tests/fuzz.py), and that it would see a fault."""

import pytest

import fuzz
from poolaudit.errors import AuditError


@pytest.mark.parametrize("name", fuzz.TARGETS)
def test_damaged_input_is_read_rightly_or_refused(name):
    outcome = fuzz.turn(fuzz.TARGETS[name], seed=2026, seconds=120, most=20)
    assert outcome.faults == {}
    assert outcome.executions == 20


def _refuse(path):
    raise AuditError("no")


def _break(path):
    raise KeyError(path.name)


def test_what_came_of_an_input_is_counted():
    for read, expected in ((len, (1, 0, 0)), (_refuse, (0, 1, 0)), (_break, (0, 0, 1))):
        target = fuzz.Target("any", lambda random: b"x", lambda path, read=read: read(path))
        if read is len:
            target = fuzz.Target("any", lambda random: b"x", lambda path: len(path.read_bytes()))
        outcome = fuzz.turn(target, seed=1, seconds=60, most=1)
        assert (outcome.read, outcome.refused, outcome.faults.total()) == expected
    assert outcome.faults == {"KeyError in fuzz.py": 1} and outcome.examples


def test_an_input_that_takes_too_long_is_a_fault(monkeypatch):
    monkeypatch.setattr(fuzz, "SECONDS", 1)

    def hang(path):
        while True:
            path.exists()

    outcome = fuzz.turn(fuzz.Target("any", lambda random: b"x", hang), 1, seconds=60, most=1)
    assert list(outcome.faults) == ["TooSlow in fuzz.py"]


def test_the_same_seed_gives_the_same_inputs():
    def inputs(seed):
        source = fuzz.random.Random(f"{seed}")
        return [fuzz.TARGETS["runs"].make(source) for _ in range(50)]

    assert inputs(1) == inputs(1) != inputs(2)
