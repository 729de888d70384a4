"""The page of a comparison: small, self-contained, in the style of the report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from poolaudit.archive.changes import summary

FORMS = Path(__file__).resolve().parents[3] / "workflow" / "report"
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def html(changes: Mapping[str, Any]) -> str:
    """The page, from what `changes.compare` gives."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FORMS),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["shown"] = shown
    style = (FORMS / "page.css").read_text(encoding="utf-8")
    return environment.get_template("compare.html").render(
        changes=changes, summary=summary(changes), style=Markup(style), policy=POLICY
    )


def shown(value: Any) -> str:
    """A value of either audit: four decimals, the first digits of a digest, a dash for nothing."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4f}"
    if isinstance(value, Mapping):
        given = {key: item for key, item in value.items() if item is not None}
        return ", ".join(f"{key} {shown(item)}" for key, item in given.items())
    text = str(value)
    return text[:16] + "…" if len(text) == 64 and text.isalnum() else text
