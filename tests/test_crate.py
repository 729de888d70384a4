"""The crate: every file with its digest, who made it, and what it was made from."""

import pytest

from poolaudit.archive.crate import Facts, describe, readme

FILES = {
    "README.md": ("1" * 64, 10),
    "code/workflow/Snakefile": ("2" * 64, 20),
    "inputs/config/collections/small.yaml": ("3" * 64, 30),
    "report.html": ("4" * 64, 40),
}
FACTS = {
    "collection": "small",
    "title": "Small runs",
    "published": "2026-05-04",
    "authors": [{"name": "Ada Example", "affiliation": "A Laboratory"}],
    "publisher": {},
    "licence": None,
    "version": "0.1.0",
    "commit": "abc",
    "clean": False,
    "settings": "inputs/config/collections/small.yaml",
    "engine": "9.27.1",
}


def crate(**facts) -> dict[str, dict]:
    """The entities of a crate by their names."""
    described = describe(FILES, {"runs/alpha": "a" * 64}, Facts(**FACTS | facts))
    return {entity["@id"]: entity for entity in described["@graph"]}


def test_every_file_has_its_digest_and_is_part_of_the_crate():
    entities = crate()
    assert [part["@id"] for part in entities["./"]["hasPart"]] == list(FILES)
    for name, (digest, size) in FILES.items():
        assert entities[name]["sha256"] == digest
        assert entities[name]["contentSize"] == str(size)


def test_the_run_leads_from_what_was_read_to_the_report():
    entities = crate()
    run = entities["#run"]
    assert run["instrument"] == entities["./"]["mainEntity"] == {"@id": "code/workflow/Snakefile"}
    assert [part["@id"] for part in run["result"]] == ["README.md", "report.html"]
    assert [part["@id"] for part in run["object"]] == [
        *("inputs/config/collections/small.yaml", "#input-" + "a" * 64)
    ]
    assert entities["#input-" + "a" * 64]["name"] == "runs/alpha"


def test_equal_files_that_were_read_are_one_entity():
    described = describe(FILES, {"b": "a" * 64, "a": "a" * 64}, Facts(**FACTS))
    names = {entity["@id"]: entity["name"] for entity in described["@graph"] if "name" in entity}
    assert names["#input-" + "a" * 64] == "a, b"


def test_the_only_date_is_the_one_that_was_given():
    text = str(describe(FILES, {}, Facts(**FACTS)))
    assert text.count("2026-05-04") == text.count("2026") == 2


@pytest.mark.parametrize(
    ("commit", "clean", "version"),
    [
        ("abc", True, "0.1.0 (commit abc, tree clean)"),
        ("abc", False, "0.1.0 (commit abc, tree not clean)"),
        (None, None, "0.1.0"),
    ],
)
def test_the_workflow_says_which_commit_it_is(commit, clean, version):
    entities = crate(commit=commit, clean=clean)
    assert entities["code/workflow/Snakefile"]["version"] == version


def test_authors_and_the_licence_are_those_of_the_settings():
    licence = "https://creativecommons.org/licenses/by/4.0/"
    entities = crate(licence=licence)
    author = entities[entities["./"]["author"]["@id"]]
    assert author["name"] == "Ada Example"
    assert entities[author["affiliation"]["@id"]]["name"] == "A Laboratory"
    assert entities["./"]["license"] == {"@id": licence}
    assert crate()["#no-licence"]["name"] == "No licence is stated"
    assert "author" not in crate(authors=[])["./"]


def test_the_first_page_takes_a_title_for_text():
    page = readme("A <b>title</b> [x](y)", "small", archived=True)
    assert page.startswith(r"# A \<b\>title\</b\> \[x\](y)" "\n")
    assert "the runs and the judgments" in page
    assert "the runs and the judgments" not in readme("A", "small", archived=False)
