"""What a user does wrong stops the workflow before any work, with one message that says how on."""

import pytest

from workflow import snakemake

pytestmark = pytest.mark.workflow

QRELS = "1 0 d1 1\n1 0 d2 0\n2 0 d3 1\n"
RUN = "1 Q0 d1 1 2.0 tag\n1 Q0 d2 2 1.0 tag\n2 Q0 d3 1 1.0 tag\n"
COLLECTION = "judgments: {file: key.qrels}\nruns: sheet.tsv\nmeasures: [nDCG@10]\n"
SHEET = "run\tpath\tpooled\nmine\tmine.run\tno\n"


@pytest.fixture
def folder(tmp_path):
    """A folder with a small audit of one run that is in order."""
    write(
        tmp_path,
        **{
            "tiny.yaml": COLLECTION,
            "sheet.tsv": SHEET,
            "key.qrels": QRELS,
            "mine.run": RUN,
        },
    )
    return tmp_path


def write(folder, **texts):
    for name, text in texts.items():
        (folder / name).write_text(text)


def refused(folder, *expected: str, collection: str = "tiny.yaml", **environment) -> str:
    """Run the audit, see that it fails with the expected words, and return what it said."""
    run = snakemake(folder, "report", "--config", f"collection={collection}", **environment)
    assert run.returncode != 0, run.stdout
    for text in expected:
        assert text in run.stdout, run.stdout
    assert "Traceback" not in run.stdout
    return run.stdout


def left_over(folder) -> list[str]:
    """Artifacts that lie in the results after a failure."""
    suffixes = {".parquet", ".json", ".qrels", ".tsv", ".html"}
    files = sorted((folder / "results").rglob("*"))
    kinds = {"logs", "benchmarks"}
    return [p.name for p in files if p.suffix in suffixes and not kinds & set(p.parts)]


def test_an_empty_run_sheet(folder):
    write(folder, **{"sheet.tsv": "run\tpath\tpooled\n"})
    refused(folder, "The run sheet lists no runs.", "sheet.tsv", "add a row")
    assert not (folder / "results").exists()


def test_a_missing_run_file(folder):
    (folder / "mine.run").unlink()
    refused(folder, "1 of 1 run files are missing.", "no file mine.run (run mine)")
    assert not (folder / "results").exists()


def test_a_run_name_with_a_slash(folder):
    write(folder, **{"sheet.tsv": SHEET.replace("mine\t", "a/b\t")})
    refused(folder, "line 2: 'a/b' cannot name a run")
    assert not (folder / "results").exists()


def test_an_unknown_measure(folder):
    write(folder, **{"tiny.yaml": COLLECTION.replace("nDCG@10", "nDGC@10")})
    refused(folder, "nDGC@10", "did you mean")
    assert not (folder / "results").exists()


def test_an_unknown_dataset_id(folder):
    text = COLLECTION.replace("file: key.qrels", "ir_datasets: msmarco-pasage/trec-dl-2019/judged")
    write(folder, **{"tiny.yaml": text})
    refused(folder, "msmarco-pasage/trec-dl-2019/judged", "msmarco-passage/trec-dl-2019/judged")
    assert set(left_over(folder)) <= {"mine.parquet", "mine.json", "2.json"}, (
        "nothing but the run as read"
    )


def test_a_run_that_shares_no_query_with_the_judgments(folder):
    write(folder, **{"mine.run": "q1 Q0 d1 1 2.0 tag\n"})
    refused(folder, "no query of the run is judged", "run mine", "q1")
    assert not {"pairs.parquet", "report.html"} & set(left_over(folder))


def test_a_misspelt_query_is_a_warning_and_stops_nothing(folder):
    write(
        folder,
        **{
            "key.qrels": QRELS.replace("2 0", "q2 0"),
            "mine.run": RUN.replace("2 Q0", "Q2 Q0"),
        },
    )
    run = snakemake(folder, "results/tiny/answered.json", "--config", "collection=tiny.yaml")
    assert run.returncode == 0, run.stdout
    assert run.stdout.count("warning: ") == 1
    assert (
        "warning: run mine: Q2 is not judged; q2 is: the case of letters differs; "
        "judged queries without an answer, which score 0: 1 (q2)" in run.stdout
    )


def test_a_folder_called_compare_asks_for_no_comparison(folder):
    (folder / "compare").mkdir()
    for name in ("tiny.yaml", "sheet.tsv", "key.qrels", "mine.run"):
        (folder / name).rename(folder / "compare" / name)
    words = ["--config", "collection=tiny.yaml", "--directory", "compare"]
    run = snakemake(folder, "report", "--dry-run", *words)
    assert run.returncode == 0, run.stdout


@pytest.mark.parametrize(
    ("against", "answer"),
    [
        ((), "name it: --config against=old/archive.zip"),
        (("against=old.zip",), "no file old.zip"),
        (("against=.",), "no file audit.json and no file provenance.json"),
    ],
)
def test_a_comparison_with_no_audit(folder, against, answer):
    run = snakemake(folder, "compare", "--config", "collection=tiny.yaml", *against)
    assert run.returncode != 0 and answer in run.stdout, run.stdout
    assert "Traceback" not in run.stdout and "Exception" not in run.stdout
    assert not (folder / "results").exists()


def test_bad_lines_are_listed_with_their_numbers(folder):
    write(folder, **{"mine.run": RUN + "1 Q0 d4 3 high tag\n2 Q0 d5\n"})
    said = refused(folder, "mine.run", "4", "high", "5")
    # What the job said in the middle stands at the end again.
    *_, last = said.split("Failed, as its log says (results/tiny/logs/normalize_runs/2.log):")
    assert "where:    mine.run:4" in last and "high" in last and len(last.splitlines()) < 14


def test_no_network_and_nothing_in_the_cache(folder, tmp_path):
    text = COLLECTION.replace("file: key.qrels", "ir_datasets: msmarco-passage/trec-dl-2019/judged")
    write(folder, **{"tiny.yaml": text})
    said = refused(
        folder,
        "the demo needs no download",
        IR_DATASETS_HOME=str(tmp_path / "cache"),
        # Nothing listens on the discard port of the loopback: every download fails at once.
        http_proxy="http://127.0.0.1:9",
        https_proxy="http://127.0.0.1:9",
    )
    assert str(tmp_path / "cache") in said
    assert set(left_over(folder)) <= {"mine.parquet", "mine.json", "2.json"}, (
        "nothing but the run as read"
    )
