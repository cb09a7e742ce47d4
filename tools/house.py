"""Measure the shape of the source tree: how it is cut into files, and what is cut too thin or named twice.

Usage: python tools/house.py [--json FILE] [FOLDER]

The folder is src/seq2set by default. A file's header is its docstring and its imports at the top.
"""

from __future__ import annotations

import argparse
import ast
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SHORT = 60
"""A file of fewer lines with a single importer is a candidate for being merged into that one"""
CROWDED = 15
"""A folder with more files than this is hard to take in at a glance"""


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
    """Return the names of classes that stand in several files, with the files."""
    places = defaultdict(list)
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(name)
    return {name: files for name, files in sorted(places.items()) if len(files) > 1}


def crowded_folders(folder: Path) -> dict[str, int]:
    """Return the folders with many Python files, but for their `__init__`."""
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
    texts = (
        node.value for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.Constant)
    )
    modules = {text.partition(":")[0] for text in texts if isinstance(text, str) and ":" in text}
    return {name for name in trees if module_of(package, name) in modules}


def module_of(package: str, name: str) -> str:
    """Return the dotted name of a file."""
    return ".".join([package, *Path(name).with_suffix("").parts]).removesuffix(".__init__")


def imported(tree: ast.Module) -> Iterator[str]:
    """Return all names that could be modules; an import of a dotted path in a text counts as well."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value.partition(":")[0]


if __name__ == "__main__":
    main()
