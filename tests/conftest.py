"""Fixtures that every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real judgments and runs; tests that ask for it skip where it is absent."""
    folder = Path(os.environ.get("POOLAUDIT_DATA", ROOT.parent / "shared" / "data"))
    if not (folder / "README.md").is_file():
        pytest.skip(f"no real data at {folder} (set POOLAUDIT_DATA)")
    return folder.resolve()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that start Snakemake come first: the last of them leaves no worker without work."""
    slow = {item.path for item in items if item.get_closest_marker("workflow")}
    items.sort(key=lambda item: item.path not in slow)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--write-tables", action="store_true", help="write the tables of docs/rerunning.md anew"
    )
