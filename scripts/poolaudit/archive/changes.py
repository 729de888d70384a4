"""Changes: what two audits of a collection have not in common, and what may be why."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from poolaudit.archive import bag
from poolaudit.errors import AuditError, shorten
from poolaudit.files import sha256

ABSENT = None


def _records(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": [*properties], "properties": properties}


def _mapping(values: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_TEXT, _ANY = {"type": "string"}, {}
_TEXTS = _mapping(_TEXT)
# What is read of an audit's records here and by scripts/verify.py; they may hold more.
_FORMS = {
    "audit.json": _records(
        collection=_records(name=_TEXT, title=_TEXT, primary=_records(measure=_TEXT)),
        judgments=_records(files=_list(_records(name=_TEXT, sha256=_TEXT))),
        runs=_list(_records(run=_TEXT, rank=_ANY, group=_ANY, family=_ANY, type=_ANY, pooled=_ANY)),
        verdicts=_records(
            numbers=_list(
                _records(
                    run=_TEXT,
                    measure=_TEXT,
                    policy=_TEXT,
                    value=_ANY,
                    verdict=_TEXT,
                    figures=_records(policies={"type": "object"}),
                )
            ),
            pairs=_list(_records(run=_TEXT, other=_TEXT, verdict=_TEXT)),
        ),
    ),
    "provenance.json": _records(
        collection=_TEXT,
        settings={"type": "object"},
        artifacts=_mapping(_records(rule=_TEXT, sha256=_TEXT, inputs=_TEXTS)),
        code=_mapping(_records(files=_TEXTS, packages=_TEXTS)),
    ),
}


@dataclass(frozen=True)
class Audit:
    """The record of an audit.

    Attributes:
        audit: audit.json.
        provenance: provenance.json.
        sha256: the digest of provenance.json.
    """

    audit: Mapping[str, Any]
    provenance: Mapping[str, Any]
    sha256: str


def read_audit(paths: Sequence[Path | str]) -> Audit:
    """Read an audit from its archive, or from its audit.json and provenance.json.

    Raises:
        AuditError: no archive, or one that is not safe to unpack; records that hold other things
            than those of an audit.
    """
    if len(paths) == 1:
        archive = bag.open_bag(paths[0])
        return Audit(
            archived_record(archive, "audit.json"),
            archived_record(archive, "provenance.json"),
            archive.digest(f"{bag.PAYLOAD}provenance.json"),
        )
    audit, provenance = map(Path, paths)
    return Audit(
        _record(audit.read_bytes(), "audit.json", str(audit)),
        _record(provenance.read_bytes(), "provenance.json", str(provenance)),
        sha256(provenance),
    )


def archived_record(archive: bag.Bag, name: str) -> dict[str, Any]:
    """A record of an archive: audit.json or provenance.json.

    Raises:
        AuditError: it is not there, cannot be read, or holds other things than such a record.
    """
    where = f"{archive.path}, {bag.PAYLOAD}{name}"
    if bag.PAYLOAD + name not in archive.names:
        raise _no_record(name, where, "no such file")
    try:
        content = archive.read(bag.PAYLOAD + name)
    except bag.UNREADABLE as error:
        raise _no_record(name, where, str(error)) from None
    return _record(content, name, where)


def _record(content: bytes, name: str, where: str) -> dict[str, Any]:
    import jsonschema

    try:
        record = json.loads(content)
        # What could not be written again: NaN, numbers beyond all bounds, half characters.
        json.dumps(record, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError) as error:
        raise _no_record(name, where, str(error)) from None
    wrong = next(jsonschema.Draft202012Validator(_FORMS[name]).iter_errors(record), None)
    if wrong:
        place = ".".join(map(str, wrong.absolute_path))
        raise _no_record(name, where, f"{place}: {wrong.message}" if place else wrong.message)
    return record


def _no_record(name: str, where: str, found: str) -> AuditError:
    return AuditError(
        f"The {name} of the audit cannot be used.",
        where=where,
        found=shorten(found),
        expected="the file as the workflow wrote it",
        todo="ask for another copy, or make the audit again with this version of the project",
    )


def compare(before: Audit, after: Audit) -> dict[str, Any]:
    """What changed from one audit to another.

    Returns:
        `same`: whether both have the same provenance.json, and so every artifact in common.
        `inputs`: lists of changes in `runs`, `files` (judgments and others), `settings`, `code` and
        `packages`. `numbers`: run, measure, policy with other values. `verdicts`: of numbers and of
        comparisons. `order`: runs with another rank by the primary measure. `artifacts`: the names
        of the files with other bytes. Each change has `before` and `after`, null where one of the
        audits does not have the thing.
    """
    return {
        "same": before.sha256 == after.sha256,
        "audits": [_identity(before), _identity(after)],
        "inputs": {
            "runs": _runs(before, after),
            "files": _changes(_files(before), _files(after), "file"),
            "settings": _changes(_settings(before), _settings(after), "setting"),
            "code": _code(before, after),
            "packages": _changes(_packages(before), _packages(after), "package"),
        },
        "numbers": _changes(_numbers(before), _numbers(after), "run", "measure", "policy"),
        "verdicts": {
            "numbers": _changes(_verdicts(before), _verdicts(after), "run", "measure"),
            "comparisons": _changes(_comparisons(before), _comparisons(after), "run", "other"),
        },
        "order": _changes(_ranks(before), _ranks(after), "run"),
        "artifacts": [c["artifact"] for c in _changes(_made(before), _made(after), "artifact")],
    }


def _identity(audit: Audit) -> dict[str, Any]:
    facts = audit.audit["collection"]
    named = {key: facts[key] for key in ("name", "title", "primary")}
    return named | {"provenance": audit.sha256}


def _changes(before: Mapping, after: Mapping, *keys: str) -> list[dict[str, Any]]:
    """The entries of two mappings that are not the same, with the parts of their keys named."""
    found = []
    for key in sorted(before.keys() | after.keys(), key=repr):
        old, new = before.get(key, ABSENT), after.get(key, ABSENT)
        if old != new:
            parts = key if isinstance(key, tuple) else (key,)
            named = dict(zip(keys, parts, strict=True))
            found.append(named | {"before": old, "after": new})
    return found


def _made(audit: Audit) -> dict[str, str]:
    """SHA-256 of each artifact by its name below the results."""
    artifacts = audit.provenance["artifacts"].items()
    return {_below_results(name): made["sha256"] for name, made in artifacts}


def _below_results(name: str) -> str:
    """A name without the folder of the collection, which may be called otherwise."""
    path = PurePosixPath(name)
    return PurePosixPath(*path.parts[2:]).as_posix() if path.parts[1:2] != ("campaign",) else name


def _inputs_of(audit: Audit, rule: str) -> Iterable[tuple[str, Mapping[str, str]]]:
    """Each artifact of a rule with what was read for it, other than artifacts of the results."""
    artifacts = audit.provenance["artifacts"]
    made = {name for name in artifacts if not name.startswith("results/campaign/")}
    for name, artifact in artifacts.items():
        if artifact["rule"] == rule:
            yield name, {p: d for p, d in artifact["inputs"].items() if p not in made}


def _run_files(audit: Audit) -> dict[str, str]:
    """SHA-256 of the file of each run."""
    read = _inputs_of(audit, "normalize_runs")
    return {PurePosixPath(name).stem: digest for name, inputs in read for digest in inputs.values()}


def _runs(before: Audit, after: Audit) -> list[dict[str, Any]]:
    """Runs that were added, removed or renamed, whose file or whose row in the sheet changed."""
    rows = [{r["run"]: _row(r) for r in audit.audit["runs"]} for audit in (before, after)]
    old, new = _run_files(before), _run_files(after)
    gone = {digest: run for run, digest in old.items() if run not in new}
    found = []
    for run in sorted(old.keys() | new.keys()):
        change = {"run": run, "before": old.get(run), "after": new.get(run)}
        if run not in old:
            renamed = gone.get(new[run])
            found.append(change | {"change": f"{renamed} under a new name" if renamed else "added"})
        elif run not in new:
            if old[run] not in {new[r] for r in new.keys() - old.keys()}:
                found.append(change | {"change": "removed"})
        elif old[run] != new[run]:
            found.append(change | {"change": "another file"})
        elif rows[0].get(run) != rows[1].get(run):
            found.append({"run": run, "before": rows[0].get(run), "after": rows[1].get(run)})
            found[-1]["change"] = "another row in the sheet"
    return found


def _row(run: Mapping[str, Any]) -> dict[str, Any]:
    return {key: run[key] for key in ("group", "family", "type", "pooled")}


def _files(audit: Audit) -> dict[str, str]:
    """SHA-256 of every file that was read besides the runs, also of judgments that were fetched."""
    runs = set(_run_files(audit).values())
    artifacts = audit.provenance["artifacts"].values()
    read = {
        path: digest
        for rule in sorted({artifact["rule"] for artifact in artifacts} - {"normalize_runs"})
        for _, inputs in _inputs_of(audit, rule)
        for path, digest in inputs.items()
        if digest not in runs
    }
    for file in audit.audit["judgments"]["files"]:
        read.setdefault(file["name"], file["sha256"])
    return read


def _settings(audit: Audit) -> dict[str, Any]:
    return dict(_flat(audit.provenance["settings"]))


def _flat(settings: Mapping[str, Any], above: str = "") -> Iterable[tuple[str, Any]]:
    for key, value in settings.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{above}{key}.")
        else:
            yield above + key, value


def _code(before: Audit, after: Audit) -> list[dict[str, Any]]:
    """Files of the code that changed, each with the rules that run it."""
    old, new = _code_files(before), _code_files(after)
    changes = _changes(old, new, "file")
    for change in changes:
        change["rules"] = sorted(
            {
                rule
                for audit in (before, after)
                for rule, code in audit.provenance["code"].items()
                if change["file"] in code["files"]
            }
        )
    return changes


def _code_files(audit: Audit) -> dict[str, str]:
    code = audit.provenance["code"].values()
    return {name: digest for each in code for name, digest in each["files"].items()}


def _packages(audit: Audit) -> dict[str, str]:
    code = audit.provenance["code"].values()
    return {package: version for each in code for package, version in each["packages"].items()}


def _numbers(audit: Audit) -> dict[tuple[str, str, str], float]:
    """The score of each run by each measure under each policy, on all the judgments."""
    return {
        (number["run"], number["measure"], policy): value
        for number in audit.audit["verdicts"]["numbers"]
        for policy, value in {
            **number["figures"]["policies"],
            number["policy"]: number["value"],
        }.items()
    }


def _verdicts(audit: Audit) -> dict[tuple[str, str], str]:
    numbers = audit.audit["verdicts"]["numbers"]
    return {(number["run"], number["measure"]): number["verdict"] for number in numbers}


def _comparisons(audit: Audit) -> dict[tuple[str, str], str]:
    """The verdict on each compared pair, whichever of the two is the better."""
    pairs = audit.audit["verdicts"]["pairs"]
    return {tuple(sorted((pair["run"], pair["other"]))): _of_pair(pair) for pair in pairs}


def _of_pair(pair: Mapping[str, Any]) -> str:
    return f"{pair['run']} above {pair['other']}: {pair['verdict']}"


def _ranks(audit: Audit) -> dict[str, int]:
    return {run["run"]: run["rank"] for run in audit.audit["runs"]}


def summary(changes: Mapping[str, Any]) -> list[str]:
    """What changed, in a few sentences."""
    if changes["same"]:
        return ["Nothing changed: both audits have the same inputs, code, settings and artifacts."]
    inputs, verdicts = changes["inputs"], changes["verdicts"]
    runs = [f"{change['run']} ({change['change']})" for change in inputs["runs"]]
    said = [f"Runs: {', '.join(runs)}."] if runs else []
    for key, name in (("files", "Other files"), ("settings", "Settings"), ("packages", "Packages")):
        if inputs[key]:
            said.append(f"{name}: {', '.join(str(next(iter(c.values()))) for c in inputs[key])}.")
    if inputs["code"]:
        said.append(f"Code: {len(inputs['code'])} files.")
    said = said or ["No input changed."]
    moved = {change["run"] for change in changes["numbers"]}
    said.append(
        f"{len(changes['numbers'])} numbers of {len(moved)} runs moved, "
        f"{len(verdicts['numbers'])} verdicts on numbers and {len(verdicts['comparisons'])} on "
        f"comparisons, and the ranks of {len(changes['order'])} runs."
    )
    return said
