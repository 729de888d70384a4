"""Settings: the collection file, the run sheet, and what is wrong with them.

Every error names the file and the key or line, what was found and what to do. Relative paths are
looked up in the folder that Snakemake works in and then in the project's own folder.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from poolaudit.errors import BELOW, AuditError, first_of, joined, nearest, shorten
from poolaudit.scores.measure_names import parse_measure

PROJECT = Path(__file__).resolve().parents[2]
SCHEMAS = PROJECT / "workflow" / "schemas"
COLLECTIONS = Path("config") / "collections"
RESERVED = frozenset({"campaign"})
# In place of a file of documents: the store that ir_datasets has of them.
DOCUMENT_STORE = "ir_datasets"
SHEET_COLUMNS = ("run", "path", "group", "family", "type", "pooled", "subtask", "format")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=@~-]{0,99}")
_SCRIPT_END = re.compile(r"</script|<script|<!--", re.IGNORECASE)
_GRADE = re.compile(r"-?[0-9]{1,5}")
_KEYS_AND_VALUES = "keys and values, as in config/collections/template.yaml"
# What JSON Schema calls the kinds of values, in words.
_KINDS = {
    "array": "a list, such as [a, b]",
    "object": "keys and values",
    "integer": "a whole number",
    "number": "a number",
    "string": "a text",
    "null": "nothing (null)",
}
NAME_RULE = "a letter or digit, then up to 99 letters, digits or . _ + = @ ~ -"


@dataclass(frozen=True)
class SheetRow:
    """One row of the run sheet: an audited run.

    Attributes:
        run: its name in every table and file.
        path: its file.
        pooled: whether its top documents were judged; False where the sheet does not say.
        group, family, type: who made it, what kind of system, manual or automatic; None if unsaid.
        subtask: for example "rerank" or "fullrank"; None if unsaid.
        format: the file's format; None to recognise it by its content.
    """

    run: str
    path: Path
    pooled: bool
    group: str | None
    family: str | None
    type: str | None
    subtask: str | None
    format: str | None


@dataclass(frozen=True)
class Collection:
    """A collection to audit.

    Attributes:
        name: the stem of its file, and its folder under `results`.
        file: the file that describes it.
        settings: its content, with every default filled in.
        rows: the rows of its run sheet, in byte order of the run names.
        sheet_says_pooled: whether the sheet has a `pooled` column.
    """

    name: str
    file: Path
    settings: Mapping[str, Any]
    rows: tuple[SheetRow, ...]
    sheet_says_pooled: bool


def find(path: Path | str) -> Path:
    """Look a relative path up in the working folder, then in the project's folder."""
    path = Path(path)
    in_project = PROJECT / path
    return in_project if not _exists(path) and _exists(in_project) else path


def _exists(path: Path) -> bool:
    """Whether there is a file or folder; a name that is too long to be one has none."""
    try:
        return path.exists()
    except OSError:
        return False


def _is_file(path: Path) -> bool:
    return _exists(path) and path.is_file()


def load_collection(name: str, made: Iterable[str] = ()) -> Collection:
    """Load a collection by its name or by the path of its file.

    Args:
        name: a name under config/collections, or a path that ends in .yaml or .yml.
        made: folders whose files the workflow makes itself; files below them may not exist yet.

    Raises:
        AuditError: no such collection, a bad key or value, a bad run sheet or a missing file.
    """
    file = _collection_file(name)
    settings = read_settings(file, SCHEMAS / "collection.schema.yaml")
    _complete(settings, file)
    if not _is_file(find(settings["runs"])):
        raise _missing(file, "runs", settings["runs"])
    rows, says_pooled = read_sheet(find(settings["runs"]), _runs_root(settings))
    missing = [row for row in rows if not _is_made(row.path, made) and not _is_file(row.path)]
    root = (
        f"runs_root, {settings['runs_root']}" if "runs_root" in settings else "the sheet's folder"
    )
    if missing:
        raise AuditError(
            f"{len(missing)} of {len(rows)} run files are missing.",
            where=str(find(settings["runs"])),
            found=first_of(
                (f"{_absence(row.path)} (run {row.run})" for row in missing), between=BELOW
            ),
            expected=f"a readable file for each row of the sheet; paths start at {root}, and "
            f"that at the folder that Snakemake works in, {Path.cwd()}",
            todo="correct the paths in the sheet, or runs_root in " + str(file),
        )
    _check_sheets_are_copies(settings, file)
    _check_baseline(settings, file, [row.run for row in rows])
    _check_local_files(settings, file, made)
    return Collection(file.stem, file, settings, rows, says_pooled)


def _collection_file(name: str) -> Path:
    if Path(name).suffix in {".yaml", ".yml"}:
        file = Path(name)
        shipped = find(COLLECTIONS / f"{file.stem}.yaml")
        if _exists(shipped) and _exists(file) and not shipped.samefile(file):
            raise AuditError(
                f"Two collections are called {file.stem}, and would share results/{file.stem}.",
                where=str(file),
                found=f"the same name as {shipped}",
                expected="a name of its own",
                todo="rename the file",
            )
    else:
        file = find(COLLECTIONS / f"{name}.yaml")
    if not _is_file(file):
        known = sorted({p.stem for p in find(COLLECTIONS).glob("*.yaml")} - {"template"})
        raise AuditError(
            f"There is no collection {name}.",
            where="collection in config/config.yaml or --config",
            found=f"no file {file}",
            expected="one of " + ", ".join(known) + ", or the path of a .yaml file",
            todo=nearest(name, known) or "copy config/collections/template.yaml and fill it in",
        )
    if not NAME.fullmatch(file.stem) or file.stem in RESERVED:
        raise AuditError(
            f"A collection cannot be called {file.stem!r}.",
            where=str(file),
            expected=f"{NAME_RULE}; not {', '.join(sorted(RESERVED))}",
            todo="rename the file",
        )
    return file


def read_settings(file: Path, schema_file: Path) -> dict[str, Any]:
    """Read a YAML file, check it against a schema and fill in the schema's defaults."""
    settings, lines = _read_yaml(file)
    check_settings(settings, schema_file, where=str(file), lines=lines)
    return settings


def check_settings(
    settings: dict[str, Any],
    schema_file: Path,
    *,
    where: str,
    lines: Mapping[tuple[Hashable, ...], int] | None = None,
) -> None:
    """Check settings against a schema, filling in its defaults; list all that is wrong at once."""
    schema = yaml.safe_load(schema_file.read_text(encoding="utf-8"))
    _fill_defaults(settings, schema)
    errors = sorted(
        _validator()(schema).iter_errors(settings),
        key=lambda error: [str(part) for part in error.absolute_path],
    )
    # A value that is no keys and values at all is told so once.
    errors = [e for e in errors if e.validator != "oneOf" or isinstance(e.instance, dict)]
    # A key that is missing is told by one error for all that are, and by one for itself.
    mistakes = list(dict.fromkeys(told for e in errors for told in _explain(e, lines or {})))
    mistakes += [
        f"{'.'.join(map(str, path))}{_line(path, lines or {})}: {problem}"
        for path, text in _texts(settings)
        if (problem := _markup(text))
    ]
    if mistakes:
        raise AuditError(
            f"{where} has {len(mistakes)} mistake{'s' if len(mistakes) > 1 else ''}.",
            where=where,
            found=first_of(mistakes, between=BELOW),
            todo="config/README.md explains every key",
        )


def _validator() -> type:
    """JSON Schema, but a whole number is written as one (not 5.0 or 1e300), and numbers end."""
    base = jsonschema.Draft202012Validator
    kinds = base.TYPE_CHECKER.redefine_many(
        {
            "integer": lambda _, value: isinstance(value, int) and not isinstance(value, bool),
            "number": lambda _, value: (
                isinstance(value, int | float)
                and not isinstance(value, bool)
                and math.isfinite(value)
            ),
        }
    )
    return jsonschema.validators.extend(base, type_checker=kinds)


def _texts(value: Any, path: tuple = ()) -> Iterable[tuple[tuple, str]]:
    """Every text in settings, with its place; keys are texts too."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield (*path, key), str(key)
            yield from _texts(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from _texts(inner, (*path, i))


def _markup(text: str) -> str:
    """What is wrong with a text that ends a script; "" where nothing is.

    The project's own pages escape what they show. `snakemake --report` writes settings and run
    sheets into a script as they are.
    """
    found = _SCRIPT_END.search(text)
    return f"it holds {found[0]!r}, which would end a script of Snakemake's report" if found else ""


def _fill_defaults(value: Any, schema: Mapping[str, Any]) -> None:
    if not isinstance(value, dict):
        return
    for key, subschema in schema.get("properties", {}).items():
        if "default" in subschema and key not in value:
            default = subschema["default"]
            value[key] = type(default)(default) if isinstance(default, dict | list) else default
        if key in value:
            _fill_defaults(value[key], subschema)


def _line(path: tuple, lines: Mapping[tuple[Hashable, ...], int]) -> str:
    """The line of the innermost key on the way to a value that has one."""
    return next(
        (f" (line {lines[path[:n]]})" for n in range(len(path), 0, -1) if path[:n] in lines), ""
    )


def _explain(
    error: jsonschema.ValidationError, lines: Mapping[tuple[Hashable, ...], int]
) -> list[str]:
    path = tuple(error.absolute_path)
    key = ".".join(map(str, path)) or "the file"
    line = _line(path, lines)
    if error.validator == "additionalProperties":
        known = error.schema["properties"]
        unknown = [name for name in error.instance if name not in known]
        return [
            f"unknown key {name!r} in {key}"
            + (f" (line {lines[(*path, name)]})" if (*path, name) in lines else "")
            + f"; {nearest(str(name), known) or 'known: ' + ', '.join(known)}"
            for name in unknown
        ]
    if error.validator == "required":
        return [
            f"the key {name!r} is missing in {key}{line}{_example(name, error.schema)}"
            for name in error.validator_value
            if name not in error.instance
        ]
    if error.validator == "type":
        kinds = error.validator_value
        kinds = " or ".join(_KINDS[k] for k in ([kinds] if isinstance(kinds, str) else kinds))
        found = "nothing stands here" if error.instance is None else f"found {error.instance!r}"
        return [f"{key}{line}: expected {kinds}; {found}"]
    if error.validator in ("minItems", "maxItems"):
        least, most = error.schema["minItems"], error.schema.get("maxItems")
        wanted = f"{most} values" if most else f"a list of {least} or more"
        return [f"{key}{line}: expected {wanted}; found {len(error.instance)}"]
    if error.validator == "oneOf":
        return [f"{key}{line}: give either ir_datasets or file, not both and not neither"]
    if error.validator == "enum":
        hint = nearest(str(error.instance), map(str, error.validator_value))
        choices = ", ".join(map(str, error.validator_value))
        hint = f"; {hint}" if hint else ""
        return [f"{key}{line}: {error.instance!r} is not one of {choices}{hint}"]
    return [f"{key}{line}: {error.message}"]


def _example(name: str, schema: Mapping[str, Any]) -> str:
    examples = schema.get("properties", {}).get(name, {}).get("examples", [])
    return "".join(f"; write, for example, {name}: {example}" for example in examples[:1])


class _Loader(yaml.SafeLoader):
    """A safe loader that refuses a key given twice, of which plain YAML keeps the last silently.

    It refuses aliases and tags too: settings need none. A few lines of aliases can stand for more
    text than there is memory, and a tag can ask for a value that the text is none of.
    """

    def compose_node(self, parent: yaml.Node, index: int) -> yaml.Node:
        event = self.peek_event()
        found = ""
        if isinstance(event, yaml.AliasEvent):
            found = f"the alias *{event.anchor}"
        elif event.tag is not None:
            found = f"the tag {event.tag}"
        if found:
            raise yaml.composer.ComposerError(
                None, None, f"{found}; write the value itself", event.start_mark
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(
                    None, None, "a key that is no text or number", key.start_mark
                )
        keys = Counter(self.construct_object(key, deep=True) for key, _ in node.value)
        for key, count in keys.items():
            if count > 1:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} stands {count} times", node.start_mark
                )
        return super().construct_mapping(node, deep)


def _read_yaml(file: Path) -> tuple[dict[str, Any], dict[tuple[Hashable, ...], int]]:
    """The content of a YAML file, and the line of each key."""
    try:
        text = file.read_text(encoding="utf-8-sig")
        content = yaml.load(text, _Loader)
        node = yaml.compose(text, _Loader)
    except (RecursionError, OSError, ValueError, OverflowError, yaml.YAMLError) as error:
        raise _no_yaml(file, error) from None
    if not isinstance(content, dict):
        raise AuditError(
            f"{file} holds no settings.",
            where=str(file),
            found="an empty file" if content is None else f"a {type(content).__name__}",
            expected=_KEYS_AND_VALUES,
            todo="write each setting as a key, a colon, a blank and its value",
        )
    return content, dict(_key_lines(node, ()))


def _no_yaml(file: Path, error: Exception) -> AuditError:
    """Say at which line the reading of a YAML file stopped, and what such a fault usually is."""
    where, found, todo = str(file), str(error), "correct the file"
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        where = f"{file}:{error.problem_mark.line + 1}"
        found = str(error.problem)
        if error.context_mark and error.context_mark.line < error.problem_mark.line:
            found += f", {error.context} that begins in line {error.context_mark.line + 1}"
        todo = (
            "correct this line or the one before it: a bracket, a quote or the colon and blank "
            "behind a key may be missing, a tab may stand for blanks, or a value with signs such "
            "as : # @ * may need quotes"
        )
    elif isinstance(error, RecursionError):
        found = "lists or keys within each other without end"
    elif isinstance(error, UnicodeDecodeError | yaml.reader.ReaderError):
        todo = "save the file as plain text in UTF-8"
    elif isinstance(error, OSError):
        found, todo = error.strerror or str(error), "change its permissions, or name another file"
    elif isinstance(error, ValueError | OverflowError):
        # A date that is none, or a number of 5,000 digits.
        todo = "put the value in quotes, or correct it"
    return AuditError(
        f"{file} cannot be read as YAML.",
        where=where,
        found=found,
        expected=_KEYS_AND_VALUES,
        todo=todo,
    )


def _key_lines(node: yaml.Node, path: tuple) -> Iterable[tuple[tuple, int]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            here = (*path, key.value)
            yield here, key.start_mark.line + 1
            yield from _key_lines(value, here)


def _complete(settings: dict[str, Any], file: Path) -> None:
    """Fill in the defaults that depend on other settings, and check what a schema cannot."""
    settings["measures"] = _measures(settings["measures"], f"{file}, key measures")
    twice = [name for name, n in Counter(settings["measures"]).items() if n > 1]
    if twice:
        raise AuditError(
            "A measure is named more than once.",
            where=f"{file}, key measures",
            found=", ".join(twice) + ", in one spelling or another",
            expected="each measure once; MAP and AP, for example, are one measure",
            todo="leave the others out",
        )
    meanings = settings["judgments"]["grades"]
    by_text = {str(grade): meaning for grade, meaning in meanings.items()}
    wrong = [grade for grade in by_text if not _GRADE.fullmatch(grade)]
    if wrong or len(by_text) < len(meanings):
        raise AuditError(
            "The meanings of the grades have a key that is no grade, or a grade twice.",
            where=f"{file}, key judgments.grades",
            found=", ".join(map(repr, meanings)),
            expected="whole numbers, such as 0: not relevant",
            todo="write each grade once, as it stands in the judgments",
        )
    settings["judgments"]["grades"] = by_text
    primary = settings["primary"]
    primary["measure"] = _measure(
        primary.get("measure", settings["measures"][0]), f"{file}, key primary.measure"
    )
    for key, known in (("measure", settings["measures"]), ("policy", settings["policies"])):
        if primary[key] not in known:
            raise AuditError(
                f"The primary {key} is not among those that are computed.",
                where=f"{file}, key primary.{key}",
                found=primary[key],
                expected="one of " + ", ".join(known),
                todo=nearest(primary[key], known) or "add it to the list, or choose one of these",
            )
    if "size" in settings["tail"] and "budget" in settings["tail"]:
        raise AuditError(
            "The sample has two sizes.",
            where=f"{file}, key tail",
            found="both size and budget",
            expected="one of them",
            todo="leave one of the two out",
        )
    depths = set(settings["pool"]["depths"]) | ({settings["pool"].get("depth")} - {None})
    settings["pool"]["depths"] = sorted(depths)


def _measures(names: Iterable[str], where: str) -> list[str]:
    """The canonical names of measures; those that cannot be read are refused together."""
    read, refused = [], []
    for name in names:
        try:
            read.append(_measure(name, where))
        except AuditError as error:
            refused.append(error)
    if refused:
        raise joined(refused)
    return read


def _measure(name: str, where: str) -> str:
    """The canonical name of a measure."""
    try:
        return parse_measure(name).name
    except AuditError as error:
        raise AuditError(
            error.what,
            where=where,
            found=error.found,
            expected=error.expected,
            todo=error.todo,
        ) from None


def _runs_root(settings: Mapping[str, Any]) -> Path:
    return Path(settings["runs_root"]) if "runs_root" in settings else find(settings["runs"]).parent


def _absence(path: Path) -> str:
    """What is at a path that is no file."""
    name = shorten(str(path))
    if _exists(path):
        return f"{name} is {'a folder' if path.is_dir() else 'a pipe or a device'}, no file"
    is_link = os.path.islink(path)  # noqa: PTH114  pathlib's raises for a name that is too long
    return f"{name} is a link that leads nowhere" if is_link else f"no file {name}"


def _is_made(path: Path, made: Iterable[str]) -> bool:
    path = Path(os.path.normpath(path))
    return any(path.is_relative_to(folder) for folder in made)


def _check_sheets_are_copies(settings: Mapping[str, Any], file: Path) -> None:
    for key in ("sheet", "targeted"):
        sheet = settings["tail"].get(key)
        if sheet and Path(sheet).resolve().is_relative_to(Path("results").resolve()):
            raise AuditError(
                "The filled-in judging sheet lies where the workflow writes its own.",
                where=f"{file}, key tail.{key}",
                found=sheet,
                expected="a file outside results/, which the next run would not write over",
                todo="copy it out of results/ before anything else, and name the copy",
            )


def _check_baseline(settings: Mapping[str, Any], file: Path, runs: list[str]) -> None:
    baseline = settings.get("baseline")
    if baseline is not None and baseline not in runs:
        raise AuditError(
            "The baseline is not in the run sheet.",
            where=f"{file}, key baseline",
            found=baseline,
            expected="a run of " + settings["runs"],
            todo=nearest(baseline, runs) or "name one of the runs, or leave the key out",
        )


def _check_local_files(settings: Mapping[str, Any], file: Path, made: Iterable[str]) -> None:
    keys = ("file", "topics", "documents", "truth", "routes", "sparse_labels", "compare_with")
    for section, key in [
        *(("judgments", key) for key in keys),
        *(("tail", key) for key in ("sheet", "targeted")),
        ("check", "declared"),
    ]:
        path = settings[section].get(key)
        if (key, path) == ("documents", DOCUMENT_STORE) and "ir_datasets" in settings["judgments"]:
            continue
        if path and set(path) & set("{}"):
            raise AuditError(
                f"The name of the file of {section}.{key} has braces.",
                where=f"{file}, key {section}.{key}",
                found=path,
                expected="a path without { and }, which Snakemake takes for wildcards",
                todo="rename the file",
            )
        if path and not _is_made(Path(path), made) and not _is_file(find(path)):
            raise _missing(file, f"{section}.{key}", path)


def _missing(file: Path, key: str, path: str) -> AuditError:
    """A file that the settings name is not found; it may lie beside the settings."""
    beside = file.parent / path
    return AuditError(
        f"The file of {key} is missing.",
        where=f"{file}, key {key}",
        found=f"no file {shorten(path)} in the folder that Snakemake works in, "
        "nor in the project's folder",
        expected="a readable file",
        todo=f"write {beside}, which is there" if _is_file(beside) else "correct the path",
    )


def read_sheet(file: Path, root: Path) -> tuple[tuple[SheetRow, ...], bool]:
    """Read a run sheet: a TSV file with a header that names at least `run` and `path`.

    Args:
        file: the sheet.
        root: the folder that relative paths in it start from.

    Returns:
        The rows in byte order of their run names, and whether the sheet has a `pooled` column.

    Raises:
        AuditError: no sheet, no rows, an unknown column, or rows with mistakes (all are listed).
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise AuditError(
            "The run sheet cannot be read.",
            where=str(file),
            found=str(error),
            expected="a TSV file",
        ) from None
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.startswith("#")
    ]
    if len(lines) < 2:
        raise AuditError(
            "The run sheet lists no runs.",
            where=str(file),
            found="a header only" if lines else "an empty file",
            expected="a header and one row for each run: " + " ".join(SHEET_COLUMNS),
            todo="add a row for each of your runs, columns separated by tabs",
        )
    header = [name.strip() for name in lines[0][1].split("\t")]
    _check_header(header, file, lines[0][0])
    rows, mistakes = [], []
    for number, line in lines[1:]:
        cells = [cell.strip() for cell in line.split("\t")]
        values = dict(zip(header, cells, strict=False))
        problems = _row_problems(values, len(cells), len(header))
        mistakes += [f"line {number}: {problem}" for problem in problems]
        if not problems:
            rows.append(_sheet_row(values, root))
    mistakes += _name_clashes(rows) + _gaps(rows)
    if mistakes:
        raise AuditError(
            f"The run sheet has {len(mistakes)} mistake{'s' if len(mistakes) > 1 else ''}.",
            where=str(file),
            found=first_of(mistakes, between=BELOW),
            todo="correct these rows; config/README.md explains the columns",
        )
    return tuple(sorted(rows, key=lambda row: row.run)), "pooled" in header


def _check_header(header: list[str], file: Path, line: int) -> None:
    unknown = [name for name in header if name not in SHEET_COLUMNS]
    missing = [name for name in ("run", "path") if name not in header]
    twice = [name for name, count in Counter(header).items() if count > 1]
    if unknown or missing or twice:
        hints = [f"unknown column {name!r} {nearest(name, SHEET_COLUMNS)}" for name in unknown]
        hints += [f"no column {name!r}" for name in missing]
        hints += [f"column {name!r} stands more than once" for name in twice]
        raise AuditError(
            "The header of the run sheet is not understood.",
            where=f"{file}:{line}",
            found="; ".join(hints),
            expected="columns separated by tabs, among: " + ", ".join(SHEET_COLUMNS),
            todo="correct the header; run and path are needed",
        )


def _row_problems(values: Mapping[str, str], n_cells: int, n_columns: int) -> list[str]:
    if n_cells != n_columns:
        return [f"{n_cells} cells where the header has {n_columns} (are they separated by tabs?)"]
    problems = []
    if not NAME.fullmatch(values["run"]):
        problems.append(f"{_cut(values['run'])} cannot name a run; a name is {NAME_RULE}")
    problems += [
        f"{name}: {problem}" for name, cell in values.items() if (problem := _markup(cell))
    ]
    if not values["path"]:
        problems.append("the path is empty")
    if set(values["path"]) & set("{}"):
        problems.append(f"the path {_cut(values['path'])} has braces; rename the file")
    if values.get("pooled", "no") not in {"yes", "no"}:
        problems.append(f"pooled is {_cut(values['pooled'])}; expected yes or no")
    return problems


def _sheet_row(values: Mapping[str, str], root: Path) -> SheetRow:
    optional = {
        key: values.get(key) or None for key in ("group", "family", "type", "subtask", "format")
    }
    pooled = values.get("pooled") == "yes"
    return SheetRow(run=values["run"], path=root / values["path"], pooled=pooled, **optional)


def _name_clashes(rows: Iterable[SheetRow]) -> list[str]:
    counts = Counter(row.run.casefold() for row in rows)
    clashing = sorted(row.run for row in rows if counts[row.run.casefold()] > 1)
    if not clashing:
        return []
    return [f"these names are equal or differ by case only: {', '.join(clashing)}"]


def _gaps(rows: Iterable[SheetRow]) -> list[str]:
    """A kind of contributor is known for all pooled runs or for none; half a kind is a mistake."""
    pooled = [row for row in rows if row.pooled]
    problems = []
    for kind in ("group", "family", "type"):
        without = [row.run for row in pooled if getattr(row, kind) is None]
        if without and len(without) < len(pooled):
            problems.append(
                f"pooled runs without a {kind}, while others have one: {', '.join(without)}"
            )
    return problems


def _cut(text: str, length: int = 60) -> str:
    return repr(text if len(text) <= length else text[:length] + "…")
