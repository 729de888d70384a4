"""Traces, digests of code, and what is noticed when a file was changed."""

import json

import pytest

from poolaudit import provenance
from poolaudit.errors import AuditError
from poolaudit.files import write_json


def record(folder, rule, inputs, outputs, params):
    path = folder / f"{rule}.json"
    digests = provenance.read_digests(map(str, inputs))
    write_json(path, provenance.trace(rule, digests, map(str, outputs), params))
    return path


def test_a_trace_holds_the_digest_of_each_file_read_and_written(tmp_path):
    (tmp_path / "in").write_text("abc")
    (tmp_path / "out").write_text("")
    digests = provenance.read_digests([str(tmp_path / "in")])
    trace = provenance.trace("rule", digests, [str(tmp_path / "out")], {"depth": 5})
    # SHA-256 of "abc" and of nothing: FIPS 180-4.
    assert trace["inputs"][str(tmp_path / "in")].startswith("ba7816bf8f01cfea")
    assert trace["outputs"][str(tmp_path / "out")].startswith("e3b0c44298fc1c14")
    assert trace["params"] == {"depth": 5}


def test_collected_traces_lead_from_an_artifact_to_its_inputs(tmp_path):
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_text("1")
    b.write_text("2")
    traces = [record(tmp_path, "first", [], [a], {}), record(tmp_path, "second", [a], [b], {})]
    found = provenance.collect(traces)
    assert found[str(b)]["rule"] == "second"
    assert found[str(b)]["inputs"] == {str(a): found[str(a)]["sha256"]}


def test_an_artifact_changed_after_it_was_made_is_named(tmp_path):
    artifact = tmp_path / "a"
    artifact.write_text("1")
    trace = record(tmp_path, "first", [], [artifact], {})
    artifact.write_text("2")
    with pytest.raises(AuditError, match="changed after") as raised:
        provenance.collect([trace])
    assert str(artifact) in str(raised.value)


def test_a_job_does_not_read_what_was_changed_since_it_was_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "results" / "demo"
    (folder / "trace").mkdir(parents=True)
    (folder / "pairs").write_text("1")
    record(folder / "trace", "build_pairs", [], ["results/demo/pairs"], {})
    assert provenance.read_digests(["results/demo/pairs"])
    (folder / "pairs").write_text("")
    with pytest.raises(AuditError, match="changed after") as raised:
        provenance.read_digests(["results/demo/pairs"])
    assert "results/demo/pairs" in str(raised.value)


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "some_rule.py"
    path.write_text("from poolaudit import files\n\n\ndef f():\n    import numpy\n")
    return path


def test_the_code_of_a_script_is_all_that_it_imports(script):
    code = provenance.code_of(script)
    assert set(code["files"]) == {
        "some_rule.py",
        "poolaudit/__init__.py",
        "poolaudit/errors.py",
        "poolaudit/files.py",
    }
    # files.py imports pyarrow inside a function.
    assert set(code["packages"]) == {"numpy", "pyarrow"}


def test_every_script_of_the_project_can_be_followed():
    scripts = sorted(provenance.LIBRARY.parent.glob("*_*.py"))
    assert len(scripts) > 5
    for script in scripts:
        code = provenance.code_of(script)
        assert "job.py" in code["files"] and "poolaudit/errors.py" in code["files"], script
        assert json.loads(json.dumps(code)) == code


def test_every_package_that_a_script_imports_has_its_version_in_the_digest(script):
    script.write_text("import ir_measures, vl_convert, yaml, scipy.stats, json\n")
    packages = provenance.code_of(script)["packages"]
    assert set(packages) == {
        *("ir-measures", "pytrec-eval-terrier", "vl-convert-python", "PyYAML", "scipy")
    }


def test_the_digest_follows_the_code_and_not_the_time(script):
    def digest():
        provenance.code_of.cache_clear()
        provenance.read_code.cache_clear()
        return provenance.code_of(script)["digest"]

    before = digest()
    script.touch()
    assert digest() == before
    script.write_text(script.read_text() + "# changed\n")
    assert digest() != before


def test_what_a_batch_makes_comes_from_the_one_file_behind_it(tmp_path):
    read, made = [[tmp_path / f"{kind}{i}" for i in range(2)] for kind in ("read", "made")]
    for path in read + made:
        path.write_text(path.name)
    inputs = provenance.read_digests(map(str, read))
    source = dict(zip(map(str, made), map(str, read), strict=True))
    record = provenance.trace("rule", inputs, map(str, made), {}, source)
    write_json(tmp_path / "trace.json", record)
    artifacts = provenance.collect([tmp_path / "trace.json"])
    assert [list(artifacts[str(path)]["inputs"]) for path in made] == [[str(p)] for p in read]
