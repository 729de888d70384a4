"""Settings and run sheets: what is filled in, and what each mistake is answered with."""

from pathlib import Path

import pytest

from poolaudit import config
from poolaudit.errors import AuditError

SHEET = "run\tpath\tgroup\tpooled\nbm25\tbm25.run\tash\tyes\ndense\tdense.run\toak\tno\n"
SETTINGS = """\
judgments: {file: key.qrels}
runs: sheet.tsv
measures: [nDCG@10, AP]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of the user's with a small collection that is in order."""
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "mine.yaml": SETTINGS,
        "sheet.tsv": SHEET,
        "key.qrels": "1 0 d 1\n",
        "bm25.run": "1 Q0 d 1 1.0 x\n",
        "dense.run": "1 Q0 d 1 1.0 x\n",
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def complaint(name: str = "mine.yaml") -> str:
    with pytest.raises(AuditError) as raised:
        config.load_collection(name)
    return str(raised.value)


def test_defaults_are_filled_in(folder):
    settings = config.load_collection("mine.yaml").settings
    assert settings["policies"] == ["nonrelevant", "condense", "restrict"]
    assert settings["ranking"] == {"order": "score", "ties": "docid_desc", "precision": "float64"}
    assert settings["primary"] == {"measure": "nDCG@10", "policy": "nonrelevant"}
    assert settings["pool"] == {"depths": [5, 10, 20, 50, 100]}


def test_measures_get_their_canonical_names(folder):
    (folder / "mine.yaml").write_text(
        SETTINGS.replace("[nDCG@10, AP]", '["RBP(rel=2, p=0.5)", MAP]')
    )
    settings = config.load_collection("mine.yaml").settings
    assert settings["measures"] == ["RBP(p=0.5,rel=2)", "AP"]
    assert settings["primary"]["measure"] == "RBP(p=0.5,rel=2)"


def test_all_measures_that_are_not_known_are_answered_at_once(folder):
    (folder / "mine.yaml").write_text(SETTINGS.replace("[nDCG@10, AP]", "[nDCGG@10, AP, ndcg@5]"))
    assert complaint().splitlines() == [
        "no such measure",
        "  where:    mine.yaml, key measures",
        "  found:    nDCGG@10",
        "  expected: a name as ir_measures writes them, such as nDCG@10, AP(rel=2) or "
        "RBP(p=0.5,rel=2)",
        "  to do:    did you mean nDCG@10 or NCG@10?",
        "no such measure",
        "  where:    mine.yaml, key measures",
        "  found:    ndcg@5",
        "  expected: a name as ir_measures writes them, such as nDCG@10, AP(rel=2) or "
        "RBP(p=0.5,rel=2)",
        "  to do:    did you mean nDCG@5?",
    ]


def test_a_measure_under_two_names_is_refused(folder):
    (folder / "mine.yaml").write_text(SETTINGS.replace("[nDCG@10, AP]", "[AP, MAP]"))
    assert "A measure is named more than once." in complaint()


@pytest.mark.parametrize("key", ["sheet", "targeted"])
def test_a_sheet_filled_in_among_the_results_would_be_written_over(folder, key):
    (folder / "mine.yaml").write_text(SETTINGS + f"tail: {{{key}: results/mine/tail/sample.tsv}}\n")
    assert "copy it out of results/" in complaint() and f"key tail.{key}" in complaint()


def test_a_sample_has_a_size_or_a_budget(folder):
    (folder / "mine.yaml").write_text(SETTINGS + "tail: {budget: 60, cost: 0.5}\n")
    assert "size" not in config.load_collection("mine.yaml").settings["tail"]
    (folder / "mine.yaml").write_text(SETTINGS + "tail: {budget: 60, size: 100}\n")
    assert "both size and budget" in complaint()


def test_the_nominal_depth_is_one_of_the_depths(folder):
    (folder / "mine.yaml").write_text(SETTINGS + "pool: {depth: 7, depths: [10, 5]}\n")
    assert config.load_collection("mine.yaml").settings["pool"]["depths"] == [5, 7, 10]


def test_rows_of_the_sheet(folder):
    collection = config.load_collection("mine.yaml")
    assert [(row.run, row.group, row.pooled) for row in collection.rows] == [
        ("bm25", "ash", True),
        ("dense", "oak", False),
    ]
    assert collection.rows[0].path == Path("bm25.run") and collection.sheet_says_pooled


def test_paths_of_the_sheet_start_at_runs_root(folder):
    (folder / "mine.yaml").write_text(SETTINGS + "runs_root: deep/down\n")
    assert "no file deep/down/bm25.run (run bm25)" in complaint()


def test_files_that_the_workflow_makes_need_not_exist_yet(folder):
    (folder / "mine.yaml").write_text(SETTINGS + "runs_root: made\n")
    rows = config.load_collection("mine.yaml", made=["made"]).rows
    assert rows[0].path == Path("made/bm25.run")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("mesures: [AP]\n", "unknown key 'mesures' in the file (line 4); did you mean measures?"),
        ("pool: {dept: 3}\n", "unknown key 'dept' in pool (line 4); did you mean depth"),
        ("policies: [condens]\n", "'condens' is not one of nonrelevant, condense"),
        ("pool: {depth: ten}\n", "pool.depth (line 4): expected a whole number; found 'ten'"),
        ("pool: {depth: 0}\n", "pool.depth (line 4): 0 is less than the minimum of 1"),
        ("runs: other.tsv\n", "the key 'runs' stands 2 times"),
        ("primary: {measure: nDGC@10}\n", "did you mean nDCG@10?"),
        ("primary: {measure: P@5}\n", "The primary measure is not among those that are computed."),
        ("baseline: bm52\n", "key baseline"),
        ("verdicts: {thresholds: {flip: [1, 2]}}\n", "flip (line 4): expected 3 values; found 2"),
        ("pool: {depths: []}\n", "pool.depths (line 4): expected a list of 1 or more; found 0"),
        ("pool: {depths: 5}\n", "pool.depths (line 4): expected a list, such as [a, b]; found 5"),
        ("pool:\n", "pool (line 4): expected keys and values; nothing stands here"),
        ("[]: - {\n", "cannot be read as YAML"),
    ],
)
def test_a_mistake_in_the_settings_names_its_place_and_the_way_out(folder, text, answer):
    (folder / "mine.yaml").write_text(SETTINGS + text)
    message = complaint()
    assert answer in message and "mine.yaml" in message


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("pool: {depths: &a [1], depth: *a}\n", "the alias *a; write the value itself"),
        ("title: !!python/object/apply:os.getcwd []\n", "the tag tag:yaml.org,2002:python/object"),
        ("title: !!int ''\n", "the tag tag:yaml.org,2002:int; write the value itself"),
        ("? [a]\n: b\n", "a key that is no text or number"),
        ("2001-13-45: x\n", "month must be in 1..12"),
        ("title: " + "9" * 5000 + "\n", "4300 digits"),
        ("title: " + "[" * 5000 + "\n", "without end"),
        ("title: \x00\n", "special characters are not allowed"),
    ],
)
def test_yaml_that_is_more_than_settings_is_refused(folder, text, answer):
    (folder / "mine.yaml").write_text(SETTINGS + text)
    assert "cannot be read as YAML" in complaint() and answer in complaint()


def test_a_mistake_of_yaml_is_told_with_its_line_and_the_way_out(folder):
    (folder / "mine.yaml").write_text(SETTINGS + "title: [a\nbaseline: bm25\n")
    assert complaint().splitlines() == [
        "mine.yaml cannot be read as YAML.",
        "  where:    mine.yaml:5",
        "  found:    expected ',' or ']', but got ':', while parsing a flow sequence that begins "
        "in line 4",
        "  expected: keys and values, as in config/collections/template.yaml",
        "  to do:    correct this line or the one before it: a bracket, a quote or the colon and "
        "blank behind a key may be missing, a tab may stand for blanks, or a value with signs such "
        "as : # @ * may need quotes",
    ]


def test_a_file_in_another_encoding_is_told_what_to_save_it_as(folder):
    (folder / "mine.yaml").write_bytes("title: Prüfung\n".encode("latin-1"))
    assert "to do:    save the file as plain text in UTF-8" in complaint()


def test_keys_that_are_missing_are_named_with_an_example(folder):
    (folder / "mine.yaml").write_text("judgments: {file: key.qrels}\ntitle: Mine\n")
    assert complaint().splitlines() == [
        "mine.yaml has 2 mistakes.",
        "  where:    mine.yaml",
        "  found:    the key 'runs' is missing in the file; write, for example, "
        "runs: config/runs/mine.tsv",
        "            the key 'measures' is missing in the file; write, for example, "
        "measures: [nDCG@10, AP(rel=2)]",
        "  to do:    config/README.md explains every key",
    ]


def test_an_empty_file_holds_no_settings(folder):
    (folder / "mine.yaml").write_text("")
    assert "found:    an empty file" in complaint() and "to do:" in complaint()


def test_judgments_that_are_no_keys_and_values_are_one_mistake(folder):
    (folder / "mine.yaml").write_text(SETTINGS.replace("{file: key.qrels}", "key.qrels"))
    assert "1 mistake." in complaint()
    assert "judgments (line 1): expected keys and values; found 'key.qrels'" in complaint()


def test_all_mistakes_are_listed_at_once(folder):
    (folder / "mine.yaml").write_text(SETTINGS + "pool: {depth: 0}\nbounds: {depth: -1}\n")
    assert "mine.yaml has 2 mistakes." in complaint()


@pytest.mark.parametrize("text", ["{file: a, ir_datasets: b}", "{topics: a}"])
def test_judgments_come_from_one_source(folder, text):
    (folder / "mine.yaml").write_text(SETTINGS.replace("{file: key.qrels}", text))
    assert "give either ir_datasets or file" in complaint()


def test_missing_judgments(folder):
    (folder / "key.qrels").unlink()
    assert "no file key.qrels" in complaint() and "judgments.file" in complaint()


def test_a_path_with_braces_is_refused(folder):
    (folder / "{key}.qrels").write_text("q1 0 a 1\n")
    (folder / "mine.yaml").write_text(SETTINGS.replace("key.qrels", "'{key}.qrels'"))
    assert "judgments.file has braces" in complaint()


def test_a_name_that_is_too_long_for_a_file_is_a_missing_file(folder):
    (folder / "mine.yaml").write_text(SETTINGS.replace("key.qrels", "x" * 5000))
    assert "The file of judgments.file is missing." in complaint()
    (folder / "mine.yaml").write_text(SETTINGS)
    (folder / "sheet.tsv").write_text(SHEET.replace("dense.run", "x" * 5000))
    assert "1 of 2 run files are missing." in complaint()


def test_what_a_terminal_would_act_on_is_written_as_an_escape(folder):
    (folder / "mine.yaml").write_text(SETTINGS + 'baseline: "\\e[2J\\x9b5m"\n')
    assert r"found:    \x1b[2J\x9b5m" in complaint()


@pytest.mark.parametrize("text", ["</script>", "</SCRIPT >", "<script src=x>", "a <!-- b"])
def test_what_ends_a_script_is_in_no_setting_and_in_no_row(folder, text):
    # Snakemake's own report (--report) writes settings and rows into a script as they are.
    (folder / "mine.yaml").write_text(SETTINGS + f"title: 'A {text}'\njudgments: {{grades: 0}}\n")
    (folder / "mine.yaml").write_text(SETTINGS + f"title: 'A {text}'\n")
    assert "title (line 4): it holds '<" in complaint() and "would end a script" in complaint()
    (folder / "mine.yaml").write_text(SETTINGS)
    (folder / "sheet.tsv").write_text(SHEET.replace("oak", text))
    assert "line 3: group: it holds '<" in complaint()


def test_a_title_may_hold_other_marks(folder):
    (folder / "mine.yaml").write_text(SETTINGS + "title: Runs with k < 10 & <b>more</b>\n")
    assert config.load_collection("mine.yaml").settings["title"] == "Runs with k < 10 & <b>more</b>"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (
            "bounds: {depth: 1.0e+300}\n",
            "bounds.depth (line 4): expected a whole number; found 1e+300",
        ),
        ("pool: {depths: [5.0]}\n", "expected a whole number; found 5.0"),
        ("tail: {draws: 1000000000}\n", "greater than the maximum of 100000"),
        ("tail: {budget: .inf}\n", "expected a number; found inf"),
        (
            "verdicts: {thresholds: {flip: [.nan, 1, 2]}}\n",
            "expected a number or nothing (null); found nan",
        ),
        ("tail: {seed: 99999999999999999999}\n", "greater than the maximum"),
    ],
)
def test_numbers_that_no_machine_can_use_are_refused(folder, text, answer):
    (folder / "mine.yaml").write_text(SETTINGS + text)
    assert answer in complaint()


def test_meanings_of_grades_are_known_by_the_grade_as_text(folder):
    text = SETTINGS.replace("qrels}", "qrels, grades: {0: bad, '1': so, -1: pooled}}")
    (folder / "mine.yaml").write_text(text)
    judgments = config.load_collection("mine.yaml").settings["judgments"]
    assert judgments["grades"] == {"0": "bad", "1": "so", "-1": "pooled"}


@pytest.mark.parametrize("grades", ["{yes: a}", "{good: a}", "{1: a, '1': b}", "{1.5: a}"])
def test_a_meaning_of_what_is_no_grade_is_refused(folder, grades):
    (folder / "mine.yaml").write_text(SETTINGS.replace("qrels}", f"qrels, grades: {grades}}}"))
    assert "key judgments.grades" in complaint()


def test_a_run_that_is_no_file_is_told_from_one_that_is_not_there(folder):
    for name in ("dense.run", "bm25.run"):
        (folder / name).unlink()
    (folder / "dense.run").mkdir()
    (folder / "bm25.run").symlink_to("bm25.run")
    message = complaint()
    assert "dense.run is a folder, no file (run dense)" in message
    assert "bm25.run is a link that leads nowhere (run bm25)" in message


def test_a_missing_run_is_answered_with_where_it_was_looked_for(folder):
    (folder / "mine.yaml").write_text(SETTINGS + "runs_root: deep/down\n")
    said = f"at runs_root, deep/down, and that at the folder that Snakemake works in, {folder}"
    assert said in complaint()
    (folder / "mine.yaml").write_text(SETTINGS)
    (folder / "dense.run").unlink()
    assert "paths start at the sheet's folder" in complaint()


def test_a_missing_sheet(folder):
    (folder / "sheet.tsv").unlink()
    message = complaint()
    assert "The file of runs is missing." in message and "no file sheet.tsv" in message


def test_a_path_that_was_meant_to_start_at_the_settings_is_answered_with_the_right_one(folder):
    (folder / "audits").mkdir()
    for name in ("mine.yaml", "sheet.tsv"):
        (folder / name).rename(folder / "audits" / name)
    assert "write audits/sheet.tsv, which is there" in complaint("audits/mine.yaml")


def test_an_unknown_collection_names_the_nearest(folder):
    message = complaint("dl19-pasage")
    assert "There is no collection dl19-pasage." in message
    assert "did you mean dl19-passage" in message


def test_a_collection_may_not_take_the_name_of_another(folder):
    (folder / "demo.yaml").write_text(SETTINGS)
    assert "Two collections are called demo" in complaint("demo.yaml")


def test_a_reserved_name_is_refused(folder):
    (folder / "campaign.yaml").write_text(SETTINGS)
    assert "A collection cannot be called 'campaign'" in complaint("campaign.yaml")


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n", "run\tpath\tgroup\tpooled\n"])
def test_an_empty_sheet(folder, text):
    (folder / "sheet.tsv").write_text(text)
    assert "The run sheet lists no runs." in complaint() and "add a row" in complaint()


@pytest.mark.parametrize(
    "name", ["a/b", "../x", "/abs", "a b", "a'b", ";rm", "<script>", "", ".hidden", "x" * 101, "ü"]
)
def test_a_run_name_that_cannot_be_a_file_name(folder, name):
    (folder / "sheet.tsv").write_text(SHEET + f"{name}\tbm25.run\telm\tno\n")
    assert "line 4" in complaint() and "cannot name a run" in complaint()


@pytest.mark.parametrize(
    ("row", "answer"),
    [
        ("BM25\tbm25.run\telm\tno", "equal or differ by case only: BM25, bm25"),
        ("bm25\tbm25.run\telm\tno", "equal or differ by case only: bm25, bm25"),
        ("new\tbm25.run\telm", "line 4: 3 cells where the header has 4"),
        ("new\t\telm\tno", "line 4: the path is empty"),
        ("new\tbm{25}.run\telm\tno", "line 4: the path 'bm{25}.run' has braces"),
        ("new\tbm25.run\telm\tmaybe", "line 4: pooled is 'maybe'; expected yes or no"),
        ("new\tbm25.run\t\tyes", "pooled runs without a group, while others have one: new"),
        ("new\tnone.run\telm\tno", "no file none.run (run new)"),
    ],
)
def test_a_mistake_in_a_row_of_the_sheet(folder, row, answer):
    (folder / "sheet.tsv").write_text(SHEET + row + "\n")
    assert answer in complaint()


def test_a_header_that_is_not_understood(folder):
    (folder / "sheet.tsv").write_text(SHEET.replace("group", "gruop").replace("path", "file"))
    message = complaint()
    assert "unknown column 'gruop' did you mean group?" in message
    assert "no column 'path'" in message


def test_every_shipped_collection_is_in_order():
    for file in sorted((config.PROJECT / "config" / "collections").glob("*.yaml")):
        settings = config.read_settings(file, config.SCHEMAS / "collection.schema.yaml")
        assert settings["measures"], file
