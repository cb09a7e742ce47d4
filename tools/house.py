"""Measure the shape of the source tree: how it is cut into files, and what is cut too thin or named twice.

Usage: python tools/house.py [--json FILE] [FOLDER]

The folder is src/seq2set by default. A file's header is its docstring and its imports at the top.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SHORT = 60
"""A file of fewer lines with a single importer is a candidate for being merged into that one"""
CROWDED = 15
"""A folder with more files than this is hard to take in at a glance"""
FACTORIES = {"namedtuple", "NamedTuple", "TypedDict", "make_dataclass", "create_model", "type", "new_class"}
FACTORIES |= {"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"}
"""Functions whose result is a class, called with its name and what it holds"""
DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+(:[A-Za-z_]\w*)?")
"""A module, or `module:name`"""


def main() -> None:
    """Print the figures, and write them where asked to."""
    parser = argparse.ArgumentParser(description="Measure the shape of the source tree.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "src" / "seq2set")
    parser.add_argument("--json", type=Path, help="write the figures here")
    asked = parser.parse_args()
    figures = measure(asked.folder)
    for name, value in figures.items():
        print(f"{name:<36}{value if isinstance(value, int | float) else len(value):>8}")
    if asked.json:
        asked.json.write_text(json.dumps(figures, indent=1) + "\n")


def measure(folder: Path) -> dict[str, Any]:
    """Return the figures of a package, whose folder is named like it."""
    paths = sorted(folder.rglob("*.py"))
    trees = {
        path.relative_to(folder).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in paths
    }
    lines = {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8").count("\n") for path in paths
    }
    headers = sum(header_lines(tree) for tree in trees.values())
    lengths = [length for tree in trees.values() for length in function_lengths(tree)]
    importers = importers_of(folder.name, trees)
    rows = named_by_tables(folder.name, trees)
    return {
        "files": len(paths),
        "lines": sum(lines.values()),
        "header_lines": headers,
        "header_share": round(headers / max(sum(lines.values()), 1), 4),
        "blank_lines": sum(blank_lines(path) for path in paths),
        "docstring_lines": sum(docstring_lines(tree) for tree in trees.values()),
        "functions": len(lengths),
        "lines_per_function": round(sum(lengths) / max(len(lengths), 1), 2),
        "functions_above_25_lines": sum(length > 25 for length in lengths),
        "files_above_250_lines": {name: count for name, count in lines.items() if count > 250},
        "class_names_used_twice": repeated_classes(trees),
        "ing_files": [name for name in lines if name.endswith("ing.py")],
        "crowded_folders": crowded_folders(folder),
        "short_files_with_one_importer": {
            name: importers[name][0]
            for name, count in lines.items()
            if count < SHORT
            and len(importers[name]) == 1
            and name not in rows
            and not name.endswith("__init__.py")
        },
    }


def header_lines(tree: ast.Module) -> int:
    """Return the number of the last line of the docstring and the imports at the top."""
    last = 0
    for number, node in enumerate(tree.body):
        is_docstring = number == 0 and ast.get_docstring(tree) is not None
        if not (is_docstring or isinstance(node, ast.Import | ast.ImportFrom)):
            break
        last = node.end_lineno or last
    return last


def blank_lines(path: Path) -> int:
    """Count the lines without a character."""
    return sum(not line.strip() for line in path.read_text(encoding="utf-8").splitlines())


def docstring_lines(tree: ast.Module) -> int:
    """Count the lines of all docstrings."""
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    documented = [node for node in ast.walk(tree) if isinstance(node, kinds) and ast.get_docstring(node)]
    return sum((node.body[0].end_lineno or 0) - node.body[0].lineno + 1 for node in documented)


def function_lengths(tree: ast.Module) -> Iterator[int]:
    """Return the lines of each function and method, its decorators left out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield (node.end_lineno or node.lineno) - node.lineno + 1


def repeated_classes(trees: Mapping[str, ast.Module]) -> dict[str, list[str]]:
    """Return the names of classes that stand in several places, with the files.

    Names that differ in underscores before them or in the order of their words are one name.
    """
    places = defaultdict(list)
    for file, tree in trees.items():
        for name in class_names(tree):
            words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)
            places[tuple(sorted(words))].append((name, file))
    repeated = (found for found in places.values() if len(found) > 1)
    return {", ".join(sorted({name for name, _ in one})): [file for _, file in one] for one in repeated}


def class_names(tree: ast.Module) -> Iterator[str]:
    """Yield the names of a file's classes; calls such as `namedtuple("Row", ..)` make some."""
    seen = set()
    for node in ast.walk(tree):  # an assignment comes before the call in it
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value and makes_class(node.value):
            seen.add(node.value)
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from {one.id for one in targets if isinstance(one, ast.Name)} | own_name(node.value)
        elif makes_class(node) and node not in seen:
            yield from own_name(node)


def makes_class(node: ast.AST) -> bool:
    """Say whether a call makes a class; `type` of one value does not."""
    if not isinstance(node, ast.Call):
        return False
    name = ast.unparse(node.func).rpartition(".")[2]
    return name in FACTORIES and len(node.args) + len(node.keywords) >= 2


def own_name(call: ast.AST) -> set[str]:
    """Return the name that a class made by a call is given, where it is a constant."""
    first = call.args[0] if isinstance(call, ast.Call) and call.args else None
    return {first.value} if isinstance(first, ast.Constant) and isinstance(first.value, str) else set()


def crowded_folders(folder: Path) -> dict[str, int]:
    """Return the folders with many Python files.

    `__init__` does not count: a folder of fifteen files and its `__init__`, which says what they have in
    common, is not crowded. Sub-folders and files of other kinds do not count either.
    """
    counts = Counter(path.parent for path in folder.rglob("*.py") if path.name != "__init__.py")
    return {
        one.relative_to(folder).as_posix(): count for one, count in sorted(counts.items()) if count > CROWDED
    }


def importers_of(package: str, trees: Mapping[str, ast.Module]) -> dict[str, list[str]]:
    """Return for each file the files that import it, wherever in them."""
    modules = {module_of(package, name): name for name in trees}
    importers: dict[str, list[str]] = {name: [] for name in trees}
    for name, tree in trees.items():
        found = {modules[module] for module in imported(tree) if module in modules}
        for other in sorted(found - {name}):
            importers[other].append(name)
    return importers


def named_by_tables(package: str, trees: Mapping[str, ast.Module]) -> set[str]:
    """Return the files that a row of a table names as `module:name`: one file per named thing is wanted."""
    paths = {path for tree in trees.values() for path in row_paths(tree) if ":" in path}
    modules = {path.partition(":")[0] for path in paths}
    return {name for name in trees if module_of(package, name) in modules}


def row_paths(tree: ast.Module) -> Iterator[str]:
    """Yield the dotted paths in the rows of a file's tables: calls that are values of dictionaries."""
    named = named_values(tree)
    tables = (one for value in named.values() for one in ast.walk(value) if isinstance(one, ast.Dict))
    for row in (row for table in tables for row in table.values if isinstance(row, ast.Call)):
        for part in (*row.args, *(one.value for one in row.keywords)):
            yield from dotted_paths(part, named)


def used_paths(tree: ast.Module) -> Iterator[str]:
    """Yield the dotted paths that are given to calls, as they are or by the name of a constant.

    A path that nobody is given, in a docstring, a note or a constant, loads nothing.
    """
    named = named_values(tree)
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        for part in (*call.args, *(one.value for one in call.keywords)):
            yield from dotted_paths(part, named)


def named_values(tree: ast.Module) -> dict[str, ast.expr]:
    """Return what the names of a module are given."""
    return {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }


def dotted_paths(node: ast.expr, named: Mapping[str, ast.expr]) -> Iterator[str]:
    """Yield the dotted paths in an expression, and in the constants that it names."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id in named:
            yield from dotted_paths(named[part.id], {})
        if isinstance(part, ast.expr) and DOTTED.fullmatch(text := spelled(part, named)):
            yield text


def spelled(node: ast.expr, named: Mapping[str, ast.expr]) -> str:
    """Return the text of a constant, of a name for one, of a sum of texts, or of an f-string with gaps."""
    if isinstance(node, ast.Name) and node.id in named:
        return spelled(named[node.id], {})
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return spelled(node.left, named) + spelled(node.right, named)
    if isinstance(node, ast.JoinedStr):
        return "".join(spelled(part, named) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return spelled(node.value, named) or "gap"
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def module_of(package: str, name: str) -> str:
    """Return the dotted name of a file."""
    return ".".join([package, *Path(name).with_suffix("").parts]).removesuffix(".__init__")


def imported(tree: ast.Module) -> Iterator[str]:
    """Yield all names that could be modules, those of paths that are given to calls among them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
    yield from (path.partition(":")[0] for path in used_paths(tree))


if __name__ == "__main__":
    main()
