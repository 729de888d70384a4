"""The judging sheet: written for assessors, and read back with every mistake they can make.

A sheet is tab-separated text with a header line. Assessors fill in its last column, `relevance`, in
a text editor, in a spreadsheet, or in the form of `judging_form`. Lines may come back in another
order; nothing else may change. Reading a sheet never writes to it.

There are two kinds. A *sample* has to come back whole, with the probabilities that it was drawn
with. A *targeted* sheet names documents that somebody picked: any of them may be missing.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poolaudit.errors import AuditError, first_of, nearest
from poolaudit.escapes import defuse, undo
from poolaudit.files import write_text
from poolaudit.reading.complaints import Complaints

if TYPE_CHECKING:
    import pandas as pd

DRAWN = ("stratum", "inclusion_probability")
_SCIENTIFIC = re.compile(r"\d(?:[.,]\d+)?[eE][+-]?\d+")


def scale(source: Mapping[str, Any]) -> dict[int, str]:
    """The grades that assessors may give, and what each means ("" where nobody said).

    Args:
        source: judgments.json. The scale ends at the highest grade that it counts or explains.
    """
    meanings = {int(grade): text for grade, text in source["meanings"].items()}
    top = max(1, *meanings, *map(int, source["grades"]))
    return {grade: meanings.get(grade, "") for grade in range(top + 1)}


def sheet_lines(sample: pd.DataFrame) -> list[str]:
    """The lines of a sheet, without line ends: the header, then a line for each document.

    Cells are quoted where they hold a quotation mark; `relevance` comes last.
    """
    columns = [*sample.columns.drop("relevance"), "relevance"]
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    writer.writerow(columns)
    for row in sample[columns].itertuples(index=False):
        writer.writerow([_cell(value) for value in row])
    return text.getvalue().splitlines()


def _cell(value: object) -> str:
    import pandas as pd

    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if pd.isna(value) else defuse(str(value))


def write_sheet(path: Path | str, sample: pd.DataFrame) -> None:
    """Write a sample, as `sampling.draw` gave it, as a sheet; equal samples give equal bytes."""
    write_text(path, "\n".join(sheet_lines(sample)) + "\n")


def read_sheet(
    path: Path | str,
    sample: pd.DataFrame,
    grades: Collection[int] | None = None,
    *,
    whole: bool = True,
) -> pd.DataFrame:
    """Read a sheet that assessors filled in, or left some lines of without a grade.

    Args:
        path: the sheet.
        sample: what was drawn; for a targeted sheet query_id and doc_id of all pairs that may be on
            it.
        grades: the grades that they may give; None: any from 0 up.
        whole: every document has to have a line. Not so for a targeted sheet.

    Returns:
        `sample` with its `relevance` from the sheet, null where no grade was entered.

    Raises:
        AuditError: another separator; a column missing; lines with another number of cells, with a
            pair that is not in the sample (ids turned into numbers are recognised), with a pair
            that an earlier line has, with another stratum or inclusion probability, with a grade
            that is none of `grades`; documents of the sample that have no line. All of them are
            gathered first.
    """
    import pandas as pd

    path = Path(path)
    lines = _decode(path.read_bytes()).splitlines()
    said = [name for name in DRAWN if name in sample]
    header, rows = _parse(path, lines, ["query_id", "doc_id", *said, "relevance"])
    place = {name: header.index(name) for name in ("query_id", "doc_id", *said, "relevance")}
    keys = zip(sample["query_id"], sample["doc_id"], strict=True)
    drawn = {key: i for i, key in enumerate(keys)}
    complaints = Complaints(path, "sheet")
    first_line: dict[int, int] = {}
    strangers: list[tuple[int, str, str]] = []
    found: list[int | None] = [None] * len(sample)

    for line, cells in rows:
        if len(cells) != len(header):
            complaints.add([line], _saying(f"{len(cells)} cells, the header has {len(header)}"))
            continue
        cell = {name: undo(cells[i].strip()) for name, i in place.items()}
        i = drawn.get((cell["query_id"], cell["doc_id"]))
        if i is None:
            strangers.append((line, cell["query_id"], cell["doc_id"]))
            continue
        if i in first_line:
            complaints.add([line], _saying(f"the same pair as in line {first_line[i]}"))
            continue
        first_line[i] = line
        for wrong in _edited(cell, sample.iloc[i]) if said else ():
            complaints.add([line], _saying(wrong))
        if cell["relevance"]:
            found[i], wrong = _grade(cell["relevance"], grades)
            complaints.add([line] if wrong else [], _saying(wrong))

    near = {(_unpadded(q), _unpadded(d)): f"{q} {d}" for q, d in drawn} if strangers else {}
    unknown = "is not in the sample" if whole else "was returned by no run and never judged"
    for line, query, doc in strangers:
        complaints.add([line], _saying(_stranger(query, doc, near, unknown)))
    missing = [key for key, i in drawn.items() if i not in first_line]
    if missing and whole:
        some = first_of((" ".join(key) for key in missing), 5)
        complaints.add(
            [len(lines) + 1], _saying(f"{len(missing):,} documents of the sample are gone: {some}")
        )
    complaints.raise_any(
        lambda numbers: {n: lines[n - 1] for n in numbers if n <= len(lines)},
        what=f"the sheet cannot be used as it is ({complaints.count:,} mistakes)",
        expected=("the" if whole else "any of the")
        + " lines of the sheet as it was written, in any order, with relevance filled in: "
        + (", ".join(map(str, sorted(grades))) if grades else "0, 1, 2, ...")
        + " or nothing",
        todo="mend these lines; the file was only read, and all other lines are kept",
    )
    return sample.assign(relevance=pd.array(found, "Int16"))


def _saying(reason: str):
    return lambda _: reason


def _decode(content: bytes) -> str:
    """The text of a file that a spreadsheet may have saved as UTF-16."""
    is_utf16 = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    return content.decode("utf-16" if is_utf16 else "utf-8-sig", "replace")


def _parse(
    path: Path, lines: list[str], needed: list[str]
) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The header, and each further line that is not empty with its number."""
    if not lines:
        raise AuditError("the sheet is empty", where=str(path), todo="fill in the sheet as drawn")
    header = _split(lines[0], "\t")
    for separator, name in ((",", "commas"), (";", "semicolons")):
        if len(header) == 1 and len(_split(lines[0], separator)) > 1:
            raise AuditError(
                f"the sheet was saved with {name} between its columns",
                where=f"{path}:1",
                found=lines[0][:100],
                expected="tabs between the columns",
                todo="save it as tab-separated text; nothing in it is lost",
            )
    for name in needed:
        if name not in header:
            raise AuditError(
                f"the sheet has no column {name}",
                where=f"{path}:1",
                found=", ".join(header),
                expected=", ".join(needed),
                todo=nearest(name, header) or "put the header of the drawn sheet back",
            )
    numbered = enumerate(lines[1:], start=2)
    return header, [(n, _split(line, "\t")) for n, line in numbered if line.strip()]


def _split(line: str, separator: str) -> list[str]:
    return next(csv.reader([line], delimiter=separator), [])


def _stranger(query: str, doc: str, near: Mapping[tuple[str, str], str], unknown: str) -> str:
    """Why a pair may be unknown; `near` has the known pairs by their ids without leading zeros."""
    said = f"the pair {query} {doc} {unknown}"
    converted = [value for value in (query, doc) if _SCIENTIFIC.fullmatch(value)]
    if converted:
        return (
            f"{said}; {converted[0]} is an id that a spreadsheet turned into a number: open the "
            "sheet again as it was drawn and import its columns as text"
        )
    meant = near.get((_unpadded(query), _unpadded(doc)))
    return f"{said}; a spreadsheet dropped the zeros before {meant}" if meant else said


def _unpadded(text: str) -> str:
    return text.lstrip("0")


def _edited(cell: Mapping[str, str], drawn: pd.Series) -> list[str]:
    """What the sheet says of the draw of a document that is not so."""
    wrong = []
    if cell["stratum"] != drawn["stratum"]:
        wrong.append(f"the stratum was changed from {drawn['stratum']} to {cell['stratum']}")
    probability = f"{drawn['inclusion_probability']:.6g}"
    try:
        same = abs(float(cell["inclusion_probability"]) / float(probability) - 1) < 1e-5
    except ValueError:
        same = False
    if not same:
        said = cell["inclusion_probability"]
        wrong.append(f"the inclusion probability was changed from {probability} to {said}")
    return wrong


def _grade(text: str, grades: Collection[int] | None) -> tuple[int | None, str]:
    """A grade, or None and what is wrong with it."""
    if not re.fullmatch(r"\d{1,4}", text):
        return None, f"the grade {text} is no whole number"
    if grades is not None and int(text) not in grades:
        return None, f"the grade {text} is not one of {', '.join(map(str, sorted(grades)))}"
    return int(text), ""
