"""The how-tos do what they say."""

import shutil

import pytest

import pages
from workflow import ROOT, planned


@pytest.fixture
def folder(tmp_path):
    """A folder with the project's settings, as a reader has it."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    return tmp_path


@pytest.mark.workflow
def test_a_collection_of_ones_own(folder):
    # Whole audits of collections as small have tests of their own; here only what the page shows.
    pages.follow("own-collection.md", folder, instead_of_report="results/mine/bounds.parquet")
    assert "render_report" in planned(folder, "report", "--config", "collection=mine/mine.yaml")


@pytest.mark.workflow
def test_runs_on_dl_2019(folder):
    runs = folder / "runs" / "dl19-passage"
    runs.mkdir(parents=True)
    for sheet in (pages.files("dl19.md").values(), [submitted()]):
        for row in "".join(sheet).splitlines():
            (runs / row.split("\t")[1]).touch()
    pages.follow("dl19.md", folder, dry_run=True)


def submitted() -> str:
    """The rows of the sheet of submitted runs, without comments."""
    text = (ROOT / "config/runs/dl19-passage-submitted.tsv").read_text(encoding="utf-8")
    return "".join(line for line in text.splitlines(True) if not line.startswith("#"))


@pytest.mark.real
@pytest.mark.workflow
def test_the_submitted_runs_of_dl_2019_are_those_of_the_sheet(folder, real_data):
    (folder / "runs").mkdir()
    (folder / "runs/dl19-passage").symlink_to(real_data / "dl19-passage" / "runs")
    jobs = planned(folder, "report", "--config", "collection=dl19-passage-submitted")
    assert "probe_sharing" in jobs


def test_links_between_the_pages_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "config/README.md", *(ROOT / "docs").glob("*.md")]:
        for target in pages.links(page):
            assert (page.parent / target).exists(), f"{target} in {page.name}"


def test_every_page_is_in_the_list():
    listed = set(pages.links(pages.DOCS / "README.md"))
    assert {path.name for path in pages.DOCS.glob("*.md")} - {"README.md"} <= listed
