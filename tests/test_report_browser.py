"""The report in a headless Chromium, from a file and without a network.

Needs a system Chromium and the packages playwright and axe-playwright-python.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import audited
from poolaudit.report import charts, page
from poolaudit.report.summary import summarise

pytestmark = pytest.mark.browser
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
RUNS = {
    "alpha": "q1: d1 d2 d3 \n q2: e1 e2",
    "beta": "q1: d3 d2 x1 \n q2: e2 e1",
    **{f"late-{i}": f"q1: d1 y{i} d3 \n q2: z{i} e1" for i in range(8)},
}
TRUTH = "q1: d1=2 d2=0 d3=1 \n q2: e1=1 e2=0 z0=1"


CHARTS = {"coverage", "found", "depth", "removal", "overlap", "thinning", "losses", "truth"}


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    """A page with every section and chart: ten runs, of two families, the truth known."""
    families = {run: "old" if run in ("alpha", "beta") else "new" for run in RUNS}
    late = [run for run in RUNS if run.startswith("late")]
    audit = summarise(audited.subject(runs=RUNS, unpooled=late, families=families, truth=TRUTH))
    path = tmp_path_factory.mktemp("report") / "report.html"
    assert charts.charts(audit).keys() == CHARTS
    path.write_text(page.html(audit, charts.charts(audit), charts.javascript()), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_report(browser, report):
    """Open the page; afterwards, no request was made and nothing complained."""
    said, asked, contexts = [], [], []

    def open_page(**context):
        contexts.append(browser.new_context(viewport={"width": 1200, "height": 800}, **context))
        tab = contexts[-1].new_page()
        tab.on("console", lambda message: said.append(message.text))
        tab.on("pageerror", lambda error: said.append(str(error)))
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(report.as_uri())
        return tab

    yield open_page
    for context in contexts:
        context.close()
    assert said == []
    assert set(asked) == {report.as_uri()}


def draw_all(tab) -> None:
    """Scroll through the page until every chart is drawn."""
    for plot in tab.locator(".plot").all():
        plot.scroll_into_view_if_needed()
    tab.wait_for_function("document.querySelectorAll('.plot > svg').length === 0")


def column(tab, table: str, number: int) -> list[str]:
    cells = tab.locator(f"table[aria-label^='{table}'] tbody tr:not([hidden])")
    return [row.locator(f":nth-child({number})").first.inner_text() for row in cells.all()]


def test_every_chart_is_drawn_without_a_request_or_a_complaint(open_report):
    tab = open_report()
    draw_all(tab)
    assert tab.locator(".plot").count() == len(CHARTS)


def test_numbers_sort_by_value_and_come_back(open_report):
    tab = open_report()
    table = tab.locator("table[aria-label^='Runs by']")
    shares = table.locator("th", has_text="Unjudged in first").locator("button")
    shares.click()
    assert column(tab, "Runs by", 4)[0].startswith("50.0%")
    assert table.locator("th[aria-sort=descending]").count() == 1
    shares.press("Enter")
    assert column(tab, "Runs by", 4)[0].startswith("0.0%")
    assert table.locator("th[aria-sort=ascending]").count() == 1


def test_missing_values_stay_last(open_report):
    tab = open_report()
    table = tab.locator("table[aria-label^='Runs by']")
    head = table.locator("thead th").all_inner_texts().index("Left out")
    for _ in range(2):
        table.locator("th", has_text="Left out").locator("button").click()
        assert column(tab, "Runs by", head + 1)[-1] == "–"


def test_a_filter_keeps_the_rows_that_hold_its_words(open_report):
    tab = open_report()
    tab.locator("#runs").get_by_label("Filter").first.fill("late pool")
    assert len(column(tab, "Runs by", 2)) == 8
    assert tab.locator("#runs output").first.inner_text() == "8 of 10"


def test_a_chosen_run_stands_out_in_tables_and_charts(open_report):
    tab = open_report()
    draw_all(tab)
    tab.get_by_label("Bring out a run").select_option("late-3")
    assert tab.locator("tr.chosen").count() > 2
    tab.wait_for_function("document.querySelectorAll('[stroke=\"var(--chosen)\"]').length > 1")
    tab.locator("table[aria-label^='Runs by'] tr[data-run=alpha]").click()
    assert tab.get_by_label("Bring out a run").input_value() == "alpha"


def test_without_scripts_tables_and_drawings_are_there(open_report):
    tab = open_report(java_script_enabled=False)
    assert tab.locator(".plot > svg").count() == len(CHARTS)
    assert tab.locator("table[aria-label^='Runs by'] tbody tr").count() == 10
    assert tab.locator("#choose").is_hidden()


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_axe_finds_nothing(open_report, colours):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe-core")
    tab = open_report(color_scheme=colours)
    draw_all(tab)
    tab.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true })")
    found = axe.Axe().run(tab).response["violations"]
    assert [(v["id"], [node["html"][:200] for node in v["nodes"]]) for v in found] == []


def test_on_a_phone_only_tables_scroll_sideways(open_report):
    tab = open_report()
    tab.set_viewport_size({"width": 360, "height": 740})
    draw_all(tab)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360


def test_on_paper_everything_is_unfolded(open_report):
    tab = open_report()
    assert tab.pdf(format="A4").startswith(b"%PDF")
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert tab.locator("details:not([open])").count() == 0
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    assert tab.locator("details[open]").count() == 0


def test_the_keyboard_reaches_content_sorting_and_tables(open_report):
    tab = open_report()
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent") == "Skip to the report"
    assert tab.locator(".scroll:not([tabindex='0'])").count() == 0
    button = tab.locator("table[aria-label^='Queries'] thead button").first
    button.focus()
    assert button.evaluate("button => getComputedStyle(button).outlineStyle") != "none"


def test_a_sentence_is_copied_whole(open_report):
    tab = open_report(permissions=["clipboard-read", "clipboard-write"])
    sentence = tab.locator(".quotable").first
    text = sentence.evaluate("part => part.firstChild.textContent")
    sentence.locator("button").click()
    sentence.get_by_text("copied").wait_for()
    assert tab.evaluate("navigator.clipboard.readText()") == text
