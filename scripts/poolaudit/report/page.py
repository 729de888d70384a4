"""The report as one HTML page and as Markdown, from its data and charts.

The page needs no network: style, scripts and drawings are in it, and a content security policy
admits these and nothing else. Everything that came from a file is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
import yaml
from markupsafe import Markup

from poolaudit.escapes import markdown_text, security_policy
from poolaudit.report.answers import answers, citation, reasons
from poolaudit.report.charts import Chart
from poolaudit.scores.measure_names import parse_measures
from poolaudit.verdicts.findings import counted, listed

FORMS = Path(__file__).resolve().parents[3] / "workflow" / "report"
NOTHING = "–"


def html(audit: Mapping[str, Any], charts: Mapping[str, Chart], bundle: str) -> str:
    """The page.

    Args:
        audit: as `summary.summarise` gives it.
        charts: by name, as `charts.charts` gives them.
        bundle: the script that draws charts, as `charts.javascript` gives it.
    """
    style = (FORMS / "page.css").read_text(encoding="utf-8")
    script = (FORMS / "page.js").read_text(encoding="utf-8")
    template = _environment(autoescape=True).get_template("page.html")
    return template.render(
        **_content(audit, charts),
        drawn={name: Markup(chart.svg()) for name, chart in charts.items()},
        specs={name: Markup(chart.json) for name, chart in charts.items()},
        style=Markup(style),
        scripts=[Markup(bundle), Markup(script)],
        policy=security_policy(style, [bundle, script]),
    )


def markdown(audit: Mapping[str, Any], charts: Mapping[str, Chart]) -> str:
    """The same content as Markdown, without drawings."""
    template = _environment(autoescape=False).get_template("report.md")
    return template.render(**_content(audit, charts))


def _content(audit: Mapping[str, Any], charts: Mapping[str, Chart]) -> dict[str, Any]:
    true = {row["run"]: row["true"] for row in audit["truth"]["runs"]} if audit["truth"] else {}
    measures = [m.name for m in parse_measures(audit["settings"]["measures"])]
    leads = {frozenset((lead["leader"], lead["other"])): lead for lead in audit["reading"]["leads"]}
    return {
        "audit": audit,
        "answers": answers(audit),
        "reasons": reasons(audit),
        "citation": citation(audit),
        "measures": measures,
        "true_scores": true,
        "leads": [
            leads.get(frozenset((pair["run"], pair["other"])))
            for pair in audit["verdicts"]["pairs"]
        ],
        "charts": charts,
    }


def _environment(autoescape: bool) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FORMS),
        autoescape=autoescape,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {
        "score": lambda value: _shown(value, "{:.4f}"),
        "change": lambda value: _shown(value, "{:+.4f}"),
        "percent": lambda value: _shown(value, "{:.1%}"),
        "percent_change": lambda value: _shown(value, "{:+.1%}"),
        "tau": lambda value: _shown(value, "{:.3f}"),
        "count": lambda value: _shown(value, "{:,}"),
        "whole": lambda value: _shown(value, "{:,.0f}"),
        "counted": lambda n, one, several=None: counted(n, one, several or one + "s"),
        "listed": listed,
        "cell": markdown_text,
        "yaml": lambda value: yaml.safe_dump(value, allow_unicode=True, width=100),
    }
    return environment


def _shown(value: float | None, form: str) -> str:
    if value is None:
        return NOTHING
    text = form.format(value)
    # What rounds to nothing has no sign.
    if not any(digit in text for digit in "123456789"):
        text = text.lstrip("+-")
    return text.replace("-", "−")
