"""Jobs that were killed are told from those that ended and those that said why they did not."""

import pytest

from poolaudit.joblogs import killed

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
