"""Identity is not display text: rows are told apart by their keys, and titles appear at rendering alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from house import named_values, spelled
from seq2set.config.catalog import METRICS, MODELS

SOURCE = Path(__file__).parents[2] / "src/seq2set"

DISPLAYED = {row.title for row in (*MODELS.values(), *METRICS.values())}
ATTRIBUTES = {"title", "short", "heading", "caption"}
"""Attributes that are shown, whatever their text is; a variable of such a name is one too"""
CUTTING = {"split", "rsplit", "partition", "rpartition"}
TAKING = {"startswith", "endswith", "removeprefix", "removesuffix", "replace", "fullmatch", "match"}
TAKING |= {"find", "rfind", "index", "rindex", "count", *CUTTING}
"""Methods that look for a text in another"""
FOREIGN = {
    "model name": "of /proc/cpuinfo",
    "Value error, ": "pydantic's",
    "<REUTERS ": "of Reuters-21578",
}
"""Texts of other programs, which can only be told by what they say."""


class Found(NamedTuple):
    line: int
    text: str


def find_compared(code: str) -> Iterator[Found]:
    """Yield the display texts and the shown attributes that code compares, cuts apart or looks up by."""
    tree = ast.parse(code)
    named = named_values(tree)
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        for one in list_compared(node):
            for part in list_parts(one):
                if is_display_text(text := spelled(part, named)):
                    yield Found(line, text)
                elif is_shown(part):
                    yield Found(line, ast.unparse(part))
        if (key := find_key(node)) and is_shown(key):
            yield Found(line, ast.unparse(key))
        if is_call_of(node, CUTTING) and re.search(r"\S\s|\s\S", text := spelled(node.args[0], named)):
            yield Found(line, text)


def find_compared_texts(code: str) -> Iterator[Found]:
    """Yield all texts that code compares with others, whatever they are."""
    tree = ast.parse(code)
    named = named_values(tree)
    for node in ast.walk(tree):
        parts = (part for one in list_compared(node) for part in list_parts(one))
        texts = (spelled(part, named) for part in parts)
        yield from (Found(getattr(node, "lineno", 0), text) for text in texts if text)


def list_compared(node: Any) -> Iterator[ast.expr]:
    """Yield what is compared with others: by an operator, a case or a method."""
    if isinstance(node, ast.Compare):
        yield from (node.left, *node.comparators)
    elif isinstance(node, ast.Match):
        yield node.subject
        yield from (one.value for one in ast.walk(node) if isinstance(one, ast.MatchValue))
    elif is_call_of(node, TAKING):
        yield node.args[0]
        yield node.func.value


def find_key(node: Any) -> ast.expr | None:
    """Return what something is looked up by."""
    if isinstance(node, ast.Subscript):
        return node.slice
    return node.args[0] if is_call_of(node, {"get", "pop", "setdefault"}) else None


def is_call_of(node: Any, methods: set[str]) -> bool:
    is_method = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    return is_method and bool(node.args) and node.func.attr in methods


def list_parts(node: ast.expr) -> list[ast.expr]:
    """Return the members of a collection, or the keys of a dictionary; of others the expression itself."""
    if isinstance(node, ast.Dict):
        return [key for key in node.keys if key is not None]
    return node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]


def is_shown(node: ast.expr) -> bool:
    """Say whether an expression is a shown attribute, or a part of one such as `row.title.lower()[:3]`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return is_shown(node.func.value)
    if isinstance(node, ast.Subscript):
        return is_shown(node.value)
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name in ATTRIBUTES


def is_display_text(text: str) -> bool:
    """Say whether a text is a title, or reads like a part of a sentence: `", shuffled"`, `"λ = "`."""
    return text in DISPLAYED or bool(re.search(r"[^\W\d_]", text) and re.search(r"[ λ]", text))


@pytest.mark.parametrize("text", [", shuffled", "λ = ", "Every training", "micro-F1", "Seq2Set (simp.)"])
@pytest.mark.parametrize(
    "code",
    [
        "row.endswith({0})",
        "row != {0}",
        "{0} in row",
        "row in [{0}, 'x']",
        "row in {{{0}: 1}}",
        "row.removeprefix({0})",
        "row.find({0}) == 0",
        "row.replace({0}, '')",
        "row.split({0})[-1] == 'x'",
        "match row:\n    case 'x' | {0}: ...",
        "match row:\n    case ({0}, _): ...",
        "T = {0}\nrow.endswith(T)",
        "row.endswith(kind + {0})",
    ],
)
def test_display_text_is_seen(code: str, text: str) -> None:
    assert [one.text for one in find_compared(code.format(repr(text)))][:1] == [text]


@pytest.mark.parametrize(
    "code",
    [
        'row.title == MODELS["seq2set"].title',
        "row.title in names",
        'row.title.startswith("Seq2Set")',
        'row.title.lower() == "br"',
        "METRICS[name].short[:3] == other",
        'title == "BR"',
        "shown[row.title]",
        "shown.get(column.heading)",
        'match row.title:\n    case "x": ...',
        'row.text().split(", ")[-1] == "shuffled"',
        'name.partition(": ")',
        'name.rsplit(" (")',
    ],
)
def test_what_is_shown_is_not_compared(code: str) -> None:
    assert list(find_compared(code))


@pytest.mark.parametrize(
    "code",
    [
        'row.model == "seq2set" and name in ("br", "cc")',
        'name.split(",") + name.split(" ") + name.split()',
        "titles = [row.title for row in rows if row.key == key]",
        'text.title() == "Br"',
        "axes.set_title(row.title)",
        'shown["br"] = row.title',
    ],
)
def test_keys_may_be_compared(code: str) -> None:
    assert list(find_compared(code)) == []


def test_display_text_is_seen_in_an_f_string() -> None:
    assert [one.text for one in find_compared('row.endswith(f", {kind}")')] == [", gap"]


def test_no_display_text_is_compared() -> None:
    found = {
        f"{path.relative_to(SOURCE).as_posix()}:{one.line}": one.text
        for path in sorted(SOURCE.rglob("*.py"))
        for one in find_compared(path.read_text(encoding="utf-8"))
    }
    assert {place: text for place, text in found.items() if text not in FOREIGN} == {}
