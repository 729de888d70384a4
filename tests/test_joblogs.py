"""Why jobs failed is told from their logs, and which were killed before they could say so."""

import os

import pytest

from poolaudit.joblogs import failures, killed, written

AT = "2026-12-01 09:00:00,000"


def write(folder, name: str, *lines: str) -> None:
    path = folder / f"{name}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{AT} {line}\n" for line in lines))


def test_a_job_that_only_began_was_killed(tmp_path):
    write(tmp_path, "build_pairs", "INFO begins")
    write(tmp_path, "normalize_runs/3", "DEBUG begins", "INFO a: 10 rows of 1 queries")
    assert killed(tmp_path) == ["build_pairs", "normalize_runs/3"]


@pytest.mark.parametrize(
    "lines",
    [
        ("INFO begins", "INFO 2 runs, 10 rows, 5 pairs", "DEBUG ends"),
        ("INFO begins", "ERROR no query of the run is judged"),
        ("INFO begins", "ERROR a fault of the program, not of your files", "INFO ends"),
        (),
    ],
)
def test_a_job_that_ended_or_said_why_it_did_not_was_not_killed(tmp_path, lines):
    write(tmp_path, "build_pairs", *lines)
    assert killed(tmp_path) == []


def test_an_error_of_several_lines_is_an_error(tmp_path):
    write(tmp_path, "build_pairs", "INFO begins", "ERROR 2 lines cannot be read\n  a.run:1\n  done")
    assert killed(tmp_path) == []


def test_why_jobs_failed_is_told_as_their_logs_say_it(tmp_path):
    write(
        tmp_path,
        "a",
        "INFO begins",
        "INFO 3 judgments",
        "ERROR no run\n  where:    a\n  to do:    b",
    )
    write(tmp_path, "b/1", "DEBUG begins", "WARNING look\n  here", "DEBUG ends")
    assert failures(tmp_path, {}) == [
        (f"{tmp_path}/a.log", "no run\n  where:    a\n  to do:    b"),
    ]


def test_what_several_jobs_say_is_told_once(tmp_path):
    for name in ("b/1", "b/2"):
        write(tmp_path, name, "DEBUG begins", "ERROR the disk is full")
    assert failures(tmp_path, {}) == [
        (f"{tmp_path}/b/1.log, {tmp_path}/b/2.log", "the disk is full")
    ]


def test_what_failed_in_an_earlier_call_is_not_told_again(tmp_path):
    write(tmp_path, "a", "INFO begins", "ERROR old")
    write(tmp_path, "b", "INFO begins", "ERROR old")
    before = written(tmp_path)
    write(tmp_path, "b", "INFO begins", "ERROR new", "ERROR newer")
    os.utime(tmp_path / "b.log", ns=(1, before[tmp_path / "b.log"] + 1))
    assert [message for _, message in failures(tmp_path, before)] == ["new", "newer"]


def test_a_long_message_is_cut_and_of_a_fault_only_the_last_line_is_told(tmp_path):
    write(tmp_path, "a", "ERROR bad\n" + "\n".join(f"  line {i}" for i in range(1, 21)))
    write(tmp_path, "b", "ERROR a fault\nTraceback (most recent call last):\n  File\nKeyError: 1")
    (_, long), (_, fault) = failures(tmp_path, {})
    assert long.splitlines()[-2:] == ["  line 11", "  and 9 more lines"]
    assert fault == "a fault\nKeyError: 1"
