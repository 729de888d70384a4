"""The lock files and the conda environment: one list of packages, and no index or path in it."""

import re
import runpy
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
# An address, an option of pip that names an index or a folder, or a package given as a file.
FORBIDDEN = re.compile(
    r"://|^\s*(-i|-f|-e|-r|--index-url|--extra-index-url|--find-links|--trusted-host)\b"
    r"|\s@\s|^\s*[./~]|\bfile:|\.(whl|tar\.gz)\b",
    re.MULTILINE,
)

script = runpy.run_path(str(ROOT / "requirements" / "write_environment.py"))


def lock(group: str) -> str:
    return (ROOT / "requirements" / f"{group}.txt").read_text(encoding="utf-8")


def test_conda_users_get_the_packages_of_the_lock():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    *conda, packages = environment["dependencies"]
    assert conda == ["python>=3.11", "pip"]
    assert packages["pip"] == script["pins"](lock("run"))
    assert any(pin.startswith("snakemake==") for pin in packages["pip"])


def test_the_test_group_holds_the_packages_of_the_run_group():
    assert set(script["pins"](lock("run"))) <= set(script["pins"](lock("test")))


@pytest.mark.parametrize("path", [*LOCKS, ROOT / "environment.yml"], ids=lambda path: path.name)
def test_no_lock_names_an_index_or_a_file(path):
    assert FORBIDDEN.findall(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_every_pin_has_a_hash(path):
    text = path.read_text(encoding="utf-8")
    entries = re.split(r"\n(?=[A-Za-z0-9])", text[re.search(r"^\w", text, re.MULTILINE).start() :])
    assert entries and all("--hash=sha256:" in entry for entry in entries)


@pytest.mark.parametrize(
    "line",
    [
        "--index-url https://packages.example/simple",
        "--extra-index-url=https://packages.example/simple",
        "-f wheels",
        "numpy @ file:wheels/numpy.whl",
        "./numpy.whl",
        "/opt/wheels/numpy-2.0-py3-none-any.whl",
        "-e .",
    ],
)
def test_the_check_would_notice(line):
    assert FORBIDDEN.search(f"six==1.0\n{line}\n")
