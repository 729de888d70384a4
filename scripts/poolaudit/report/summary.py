"""What the report says, as data: one dictionary, from which page, text and audit.json are made.

Numbers are not rounded; None stands where a number does not exist, and for a section whose stage
this collection cannot have.
"""

from __future__ import annotations

import math
from typing import Any

from poolaudit.report import pool_section, reading_section, runs_section
from poolaudit.report.subject import Subject
from poolaudit.scores.measure_names import levels_of

FORMAT = 1


def summarise(subject: Subject) -> dict[str, Any]:
    """The whole report as data; workflow/schemas/audit.schema.json describes it."""
    runs = runs_section.runs(subject)
    audit = {
        "format": FORMAT,
        "collection": _collection(subject),
        "settings": dict(subject.settings),
        "judgments": _judgments(subject),
        "verdicts": subject.made.verdicts,
        "reading": reading_section.reading(subject),
        "runs": runs,
        "depth": pool_section.depth(subject),
        "reach": pool_section.reach(subject),
        "removal": pool_section.removal(subject),
        "sharing": pool_section.sharing(subject),
        "tail": pool_section.tail(subject),
        "truth": runs_section.truth(subject, runs),
        "versions": reading_section.versions(subject),
        "queries": runs_section.queries(subject),
        "provenance": _provenance(subject),
    }
    return _without_nan(audit)


def _without_nan(value: Any) -> Any:
    """The same with None for each number that does not exist: JSON has neither NaN nor infinity."""
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _collection(subject: Subject) -> dict[str, Any]:
    pooled = sum(c["pooled"] for c in subject.contributors)
    return {
        "name": subject.collection,
        "title": subject.title,
        "runs": len(subject.contributors),
        "pooled_runs": pooled,
        "queries": subject.made.source["queries"],
        "judgments": subject.made.source["rows"],
        "primary": {
            "measure": subject.primary.name,
            "policy": subject.policy,
            "cutoff": subject.cutoff,
            "level": subject.level,
        },
        "assessors": subject.settings["assessors"],
    }


def _judgments(subject: Subject) -> dict[str, Any]:
    """Where the judgments come from, what the grades are, and which pool explains them."""
    source, found = subject.made.source, subject.made.explanation
    grades = {int(grade): count for grade, count in source["grades"].items()}
    relevance = subject.made.pairs["relevance"]
    return {
        "source": source.get("ir_datasets"),
        "files": [
            {
                "name": file.get("path") or file["name"],
                "sha256": file["sha256"],
                "as_published": file.get("verified"),
            }
            for file in source["files"]
        ],
        "notes": [note["text"] for note in source["found"]],
        "grades": [
            {"grade": grade, "meaning": source["meanings"].get(str(grade)), "judgments": count}
            for grade, count in sorted(grades.items())
        ],
        "relevant": {
            str(level): int((relevance >= level).sum()) for level in levels_of(subject.measures)
        },
        "official_measures": source["official_measures"],
        "routes": pool_section.routes(subject),
        "labels": subject.made.labels["measures"],
        "warnings": [warning["text"] for warning in subject.made.labels["warnings"]],
        "explanation": {key: found[key] for key in found if key not in {"queries", "depths"}},
    }


def _provenance(subject: Subject) -> dict[str, Any]:
    record = subject.made.provenance
    packages = {p: v for code in record["code"].values() for p, v in code["packages"].items()}
    return {
        "sha256": subject.made.digests.get("provenance"),
        "artifacts": [
            {
                "name": name,
                "rule": made["rule"],
                "sha256": made["sha256"],
                "inputs": sorted(made["inputs"]),
            }
            for name, made in sorted(record["artifacts"].items())
        ],
        "code": {rule: code["digest"] for rule, code in sorted(record["code"].items())},
        "packages": dict(sorted(packages.items())),
    }
