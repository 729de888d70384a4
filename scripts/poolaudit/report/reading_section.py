"""What to read first, and what came of reading: versions of the judgments side by side."""

from __future__ import annotations

from typing import Any

from poolaudit.report.subject import Subject, records


def reading(subject: Subject) -> dict[str, Any]:
    """What to read first to settle the compared pairs, and how much has to be read at worst."""
    return {
        "listed": subject.settings["tail"]["read_first"],
        **subject.made.read_first,
        "documents": records(subject.made.read_first_documents.drop(columns="route")),
    }


def versions(subject: Subject) -> dict[str, Any] | None:
    """The judgments beside other versions of them, by the primary measure."""
    if subject.made.versions is None:
        return None
    table = subject.made.compared
    table = table[table["measure"] == subject.primary.name].drop(columns="measure")
    found = subject.made.versions
    return {
        "policy": found["policy"],
        "versions": [
            {
                "version": name,
                **{key: record[key] for key in ("pairs", "queries_compared", "routes")},
                "runs": records(table[table["version"] == name].drop(columns="version")),
            }
            for name, record in sorted(found["versions"].items())
        ],
    }
