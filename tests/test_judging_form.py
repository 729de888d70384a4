"""The judging form: one file, and what it saves is a sheet."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil

import pandas as pd
import pytest

from poolaudit.tail import judging_form, sheets

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SAMPLE = pd.DataFrame(
    {
        "query_id": ["q1", "q1", "q2"],
        "query": ["tall trees", "tall trees", "</script><b>bold</b>"],
        "doc_id": ["d1", "=d2", "d3"],
        "text": ["Oaks grow.", 'Elms & "ash".', "<img src=x>"],
        "stratum": ["s1", "s2", "s1"],
        "inclusion_probability": [1 / 30, 0.2, 1 / 30],
        "relevance": pd.array([None] * 3, "Int16"),
    }
)


@pytest.fixture
def form(tmp_path):
    path = tmp_path / "sheet.html"
    judging_form.write_form(path, SAMPLE, {0: "off topic", 1: "on topic"}, "Trees & <co>")
    return path


def data_of(path):
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])


def test_is_one_file_that_asks_for_nothing(form):
    text = form.read_text(encoding="utf-8")
    assert not re.search(r"https?:|//[a-z]|\bimport\b|@import|url\(", text)
    assert "<title>Trees &amp; &lt;co&gt;</title>" in text


def test_texts_cannot_break_out_of_the_data(form):
    text = form.read_text(encoding="utf-8")
    assert "<b>bold" not in text
    assert data_of(form)["documents"][2]["query"] == "</script><b>bold</b>"


def test_runs_its_own_script_and_nothing_else(form):
    text = form.read_text(encoding="utf-8")
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]+)"', text)
    [style] = re.findall(r"<style>(.*?)</style>", text, re.S)
    [script] = re.findall(r"<script>(.*?)</script>", text, re.S)
    digests = [
        f"'sha256-{base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()}'"
        for part in (style, script)
    ]
    assert policy == (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src {digests[0]}; script-src {digests[1]}"
    )


def test_holds_the_lines_of_the_sheet_and_the_grades(form):
    data = data_of(form)
    lines = [doc["line"] for doc in data["documents"]]
    assert [data["header"], *lines] == sheets.sheet_lines(SAMPLE)
    assert data["grades"] == [[0, "off topic"], [1, "on topic"]]


def test_another_sample_is_kept_apart_in_the_browser(form, tmp_path):
    other = tmp_path / "other.html"
    judging_form.write_form(other, SAMPLE.assign(stratum="s1"), {0: "", 1: ""})
    assert data_of(other)["key"] != data_of(form)["key"]


@pytest.mark.browser
def test_keeps_what_was_entered_and_saves_a_sheet(form, tmp_path):
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(form.as_uri())
        page.get_by_role("group", name="=d2").get_by_label("1: on topic").check()
        page.get_by_role("group", name="d3").get_by_label("0: off topic").check()
        page.reload()
        assert page.get_by_role("status").inner_text() == "2 of 3 judged"
        with page.expect_download() as download:
            page.get_by_role("button", name="Save as TSV").click()
        assert download.value.suggested_filename == "judged.tsv"
        download.value.save_as(tmp_path / "judged.tsv")
        browser.close()
    found = sheets.read_sheet(tmp_path / "judged.tsv", SAMPLE, [0, 1])["relevance"]
    assert found.tolist() == [pd.NA, 1, 0]
