"""The library is built as docs/house.md says: each package imports only what stands above it."""

import ast
import re
from collections.abc import Iterable

import pages
from pages import named
from workflow import ROOT

LIBRARY = ROOT / "scripts" / "poolaudit"


def imported(package: str) -> set[str]:
    """The other packages that the modules of one import, also inside functions."""
    files = [LIBRARY / f"{package}.py", *(LIBRARY / package).rglob("*.py")]
    nodes = [
        node
        for file in files
        if file.is_file()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    ]
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [
        f"{node.module}.{alias.name}"
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    parts = [name.split(".") for name in names if name.startswith("poolaudit.")]
    return {part[1] for part in parts} - {package}


def test_packages_import_what_the_page_says_and_only_from_above():
    rows = pages.table(pages.sections("house.md", level=2)["The library"], "package")
    above: set[str] = set()
    for package, _, imports in rows:
        (name,) = named(package)
        assert imported(name) == set(named(imports)), name
        assert imported(name) <= above, name
        above.add(name)
    there = {path.stem for path in LIBRARY.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert above == {name for name in there if not name.startswith(("__", "."))}


def test_the_library_knows_nothing_of_snakemake():
    for path in LIBRARY.rglob("*.py"):
        assert "snakemake" not in {
            name.name.partition(".")[0]
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Import)
            for name in node.names
        }, path.name


def test_what_docstrings_name_in_other_modules_is_there():
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in LIBRARY.rglob("*.py")}
    defined: dict[str, set[str]] = {}
    for path, tree in trees.items():
        defined.setdefault(path.stem, set()).update(_names(ast.iter_child_nodes(tree)))
    for path, tree in trees.items():
        own = _names(ast.walk(tree))
        for module, name in re.findall(r"`([a-z_]{2,})\.(\w+)`", path.read_text(encoding="utf-8")):
            if module not in own | {"pyarrow"} and name not in FILE_TYPES:
                assert name in defined.get(module, ()), f"{path.name}: {module}.{name}"


# Names of files stand in docstrings as well.
FILE_TYPES = {"json", "html", "md", "parquet", "tsv", "qrels", "zip"}


def _names(nodes: Iterable[ast.AST]) -> set[str]:
    """What these parts of a module define, assign or are passed."""
    found: set[str] = set()
    for node in nodes:
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                found.add(node.name)
            case ast.Name(ctx=ast.Store()):
                found.add(node.id)
            case ast.Assign() | ast.AnnAssign():
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found |= {target.id for target in targets if isinstance(target, ast.Name)}
            case ast.arg():
                found.add(node.arg)
    return found
