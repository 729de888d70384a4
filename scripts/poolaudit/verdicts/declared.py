"""The numbers that a paper declares, held against their verdicts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from pathlib import Path
from typing import Any

from poolaudit.errors import BELOW, AuditError, first_of, nearest, shorten
from poolaudit.scores.measure_names import parse_measure
from poolaudit.verdicts.findings import CAVEAT, OK, UNSAFE

COLUMNS = ("run", "measure", "value", "than")
# As tables print them: at most so many digits, no exponent, neither nan nor inf.
_PRINTED = re.compile(r"[+-]?([0-9]{1,9}(\.[0-9]{0,20})?|\.[0-9]{1,20})")
_EXACT = Context(prec=60)
_WORSE = {OK: 0, CAVEAT: 1, UNSAFE: 2}


@dataclass(frozen=True)
class Declared:
    """One line of a published table.

    Attributes:
        run: whose number it is.
        measure: its measure; None: the primary one.
        value: as printed, such as "0.506"; None if it is not given.
        than: a run that it is said to beat by the primary measure; None: a number, no order.
        where: file and line.
    """

    run: str
    measure: str | None = None
    value: str | None = None
    than: str | None = None
    where: str = ""


def read_declared(path: Path | str) -> list[Declared]:
    """Read a TSV file with a header among run, measure, value, than; run is needed.

    Raises:
        AuditError: the file cannot be read, has another header, or lines with mistakes (all are
            listed).
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise AuditError(
            "The table of declared numbers cannot be read.",
            where=str(path),
            found=str(error),
            expected="a TSV file with the columns " + ", ".join(COLUMNS),
        ) from None
    rows = [line.split("\t") for line in re.split(r"\r\n|\r|\n", text)]
    header = [name.strip() for name in rows[0]]
    twice = [name for name, count in Counter(header).items() if count > 1]
    if "run" not in header or not set(header) <= set(COLUMNS) or twice:
        raise AuditError(
            "The header of the table of declared numbers is not understood.",
            where=f"{path}:1",
            found=shorten(", ".join(header)) or "nothing",
            expected="columns separated by tabs, each once, among "
            + ", ".join(COLUMNS)
            + "; run is needed",
            todo="correct the first line",
        )
    declared, mistakes = [], []
    for line, cells in enumerate(rows[1:], start=2):
        values = {name: cell.strip() for name, cell in zip(header, cells, strict=False)}
        if not any(cell.strip() for cell in cells):
            continue
        problem = _problem(values, len(cells), len(header))
        if problem:
            mistakes.append(f"line {line}: {problem}")
        else:
            given = {name: value or None for name, value in values.items()}
            declared.append(Declared(**given, where=f"{path}:{line}"))
    if mistakes or not declared:
        raise AuditError(
            "The table of declared numbers has mistakes.",
            where=str(path),
            found=first_of(mistakes, between=BELOW) or "no number",
            expected="a run on every line, and values as they are printed",
        )
    return declared


def _problem(values: Mapping[str, str], n_cells: int, n_columns: int) -> str | None:
    if n_cells != n_columns:
        return f"{n_cells} cells where the header has {n_columns}"
    if not values["run"]:
        return "no run"
    value = values.get("value")
    if value and not _PRINTED.fullmatch(value):
        return f"{shorten(value)!r} is not a number as tables print them, such as 0.506"
    return None


def check(
    verdicts: Mapping[str, Any], declared: Sequence[Declared], allow: str = CAVEAT
) -> list[dict[str, Any]]:
    """Look up the verdict of each declared number and order.

    Args:
        verdicts: what `decisions.decide` returned.
        declared: the numbers; none: every run's by the primary measure.
        allow: the worst verdict that passes, ok or caveat.

    Returns:
        For each: run, measure, than, declared (the printed value), value, verdict, reason (a
        sentence), passes, and why not: `failure`, None where it passes. An order fails too when it
        is the other way round; a value fails when it is not the measured one, rounded to as many
        digits.

    Raises:
        AuditError: a run, a measure or a comparison is not among the verdicts (all are listed).
    """
    primary = verdicts["primary"]["measure"]
    if not declared:
        names = [n["run"] for n in verdicts["numbers"] if n["measure"] == primary]
        declared = [Declared(run) for run in names]
    numbers = {(n["run"], n["measure"]): n for n in verdicts["numbers"]}
    orders = {(p["run"], p["other"]): p for p in verdicts["pairs"]}
    found, unknown = [], []
    for one in declared:
        place = f"{one.where}: " if one.where else ""
        try:
            measure = parse_measure(one.measure).name if one.measure else primary
        except AuditError as error:
            unknown.append(f"{place}{error.what}: {error.found}; {error.todo or error.expected}")
            continue
        if one.than is not None:
            pair, sign = orders.get((one.run, one.than)), 1
            if pair is None:
                pair, sign = orders.get((one.than, one.run)), -1
            if pair is None or measure != primary:
                unknown.append(
                    f"{place}{one.run} and {one.than} are not compared by {measure}; the baseline "
                    "is compared with every run, or without one the first ten with each other, by "
                    "the primary measure"
                )
                continue
            found.append(_order(one, measure, pair, sign, allow))
        elif (one.run, measure) in numbers:
            found.append(_number(one, measure, numbers[one.run, measure], allow))
        else:
            runs = sorted({run for run, _ in numbers})
            hint = f"no run {one.run} {nearest(one.run, runs)}" if one.run not in runs else ""
            unknown.append(f"{place}{hint or f'{measure} is not among the measures'}")
    if unknown:
        raise AuditError(
            "Declared numbers are not part of this audit.",
            found="\n            ".join(unknown),
            expected="runs of the run sheet, measures of the settings, compared pairs",
            todo="correct the table, or the settings of the collection",
        )
    return found


def _number(one: Declared, measure: str, number: Mapping[str, Any], allow: str) -> dict[str, Any]:
    failure = _too_bad(number["verdict"], allow)
    if one.value is not None and not _rounds_to(number["value"], one.value):
        failure = f"the measured value is {_shown(number['value'])}"
    return _entry(one, measure, number["value"], number, failure)


def _order(
    one: Declared, measure: str, pair: Mapping[str, Any], sign: int, allow: str
) -> dict[str, Any]:
    difference = None if pair["difference"] is None else sign * pair["difference"]
    failure = _too_bad(pair["verdict"], allow)
    if (
        difference is None
        or difference <= 0
        or (one.value is not None and not _rounds_to(difference, one.value))
    ):
        failure = f"the measured difference is {_shown(difference)}"
    return _entry(one, measure, difference, pair, failure)


def _entry(
    one: Declared,
    measure: str,
    value: float | None,
    judged: Mapping[str, Any],
    failure: str | None,
) -> dict[str, Any]:
    return {
        "run": one.run,
        "measure": measure,
        "than": one.than,
        "declared": one.value,
        "value": value,
        "verdict": judged["verdict"],
        "reason": judged["reason"],
        "passes": failure is None,
        "failure": failure,
    }


def _too_bad(verdict: str, allow: str) -> str | None:
    return f"it is {verdict}" if _WORSE[verdict] > _WORSE[allow] else None


def _rounds_to(value: float | None, printed: str) -> bool:
    """Whether a value is the printed one; half of the last digit and rounding are allowed."""
    if value is None:
        return False
    wanted = Decimal(printed)
    step = Decimal(1).scaleb(wanted.as_tuple().exponent)
    exact = Decimal(value)
    return (
        wanted == exact.quantize(step, ROUND_HALF_EVEN, _EXACT) or abs(exact - wanted) <= step / 2
    )


def _shown(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4f}"


def failures(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """What did not pass, each in a line with its reason."""
    return [
        f"{one['run']}{' above ' + one['than'] if one['than'] else ''} by {one['measure']}"
        f"{' (declared: ' + one['declared'] + ')' if one['declared'] else ''}: {one['failure']}. "
        f"{one['reason']}"
        for one in found
        if not one["passes"]
    ]
