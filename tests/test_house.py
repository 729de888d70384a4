"""The library is built as docs/house.md says: each package imports only what stands above it."""

import ast

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
