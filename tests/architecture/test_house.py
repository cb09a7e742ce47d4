"""The shape of the package: how it is cut into files and folders, and what is named how."""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seq2set.config.catalog import METRICS, MODELS

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src/seq2set").rglob("*.py"))

NOUNS = {
    "batching": "dynamic batching, a term of serving",
    "drawing": "a picture",
    "rescoring": "a term of decoding",
    "teacher_forcing": "a term of training",
}
"""Files that end in `ing` and are nouns all the same, and why."""

ONE_THOUGHT_EACH = {
    "cli/": "one file per verb, imported by the list of verbs",
    "server/routes/": "one file per group of routes, imported by the application",
    "evaluation/report.py": "loads templates and plots, which a measurement without a report does without",
}
"""What may be short and have one importer, and why."""


@pytest.fixture(scope="module")
def house() -> dict[str, Any]:
    measured: dict[str, Any] = runpy.run_path(str(ROOT / "tools/house.py"))["measure"](ROOT / "src/seq2set")
    return measured


def test_a_folder_can_be_taken_in_at_a_glance(house: dict[str, Any]) -> None:
    assert house["crowded_folders"] == {}


def test_no_class_name_stands_in_two_files(house: dict[str, Any]) -> None:
    assert house["class_names_used_twice"] == {}


def test_files_are_named_by_nouns(house: dict[str, Any]) -> None:
    assert [name for name in house["ing_files"] if Path(name).stem not in NOUNS] == []


def test_a_short_file_has_several_importers(house: dict[str, Any]) -> None:
    short = house["short_files_with_one_importer"]
    assert {name: one for name, one in short.items() if not name.startswith(tuple(ONE_THOUGHT_EACH))} == {}


def test_the_readme_is_short() -> None:
    assert (ROOT / "README.md").stat().st_size <= 8 * 1024


DISPLAYED = {row.title for row in (*MODELS.values(), *METRICS.values())}
PARTS = ("startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition")


def compared_texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Return the texts, each with its line, that code compares with other texts or cuts off from them."""
    named = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        compared: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            compared = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in PARTS:
            compared = list(node.args)
        for one in compared:
            inner = one.elts if isinstance(one, ast.Tuple | ast.List | ast.Set) else [one]
            yield from ((node.lineno, text) for part in inner if (text := spelled(part, named)))


def spelled(node: ast.expr, named: dict[str, ast.expr]) -> str:
    """Return the text of a constant, of a name of the module for one, or of an f-string with gaps."""
    if isinstance(node, ast.Name):
        node = named.get(node.id, node)
    if isinstance(node, ast.JoinedStr):
        return "".join(spelled(part, named) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return "gap"
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def is_display_text(text: str) -> bool:
    """Say whether a text is a title, or reads like a part of a sentence: `", shuffled"`, `"λ = "`."""
    return text in DISPLAYED or bool(re.search(r"[^\W\d_]", text) and re.search(r"[ λ]", text))


@pytest.mark.parametrize("text", [", shuffled", "λ = ", "Every training", "micro-F1", "Seq2Set (simp.)"])
def test_display_text_is_seen(text: str) -> None:
    code = f"T = {text!r}\nrow.endswith(T) or title != {text!r} or {text!r} in title or row.removeprefix(T)"
    found = [one for _, one in compared_texts(ast.parse(code)) if is_display_text(one)]
    assert found == [text] * 4


def test_display_text_is_seen_in_an_f_string() -> None:
    tree = ast.parse('row.endswith(f", {kind}")')
    assert [text for _, text in compared_texts(tree) if is_display_text(text)] == [", gap"]


def test_no_display_text_is_compared() -> None:
    found = {
        f"{path.relative_to(ROOT / 'src/seq2set')}:{line}": text
        for path in SOURCES
        for line, text in compared_texts(ast.parse(path.read_text(encoding="utf-8")))
        if is_display_text(text)
    }
    assert {place: text for place, text in found.items() if text not in FOREIGN} == {}


FOREIGN = {
    "model name": "of /proc/cpuinfo",
    "Value error, ": "pydantic's",
}
"""Texts of other programs, which can only be told by what they say."""
