"""Function names begin with a verb, as far as a list of first words can hold that.

`first_words.txt` has the words in use. A new one is added there knowingly, to the list that it belongs to.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from seq2set.config.catalog import METRICS, REWARDS

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src/seq2set"

NAMED_ELSEWHERE = {*METRICS, *REWARDS, "stats"}
"""Rows of the catalog, which are what the functions are called, and the verb `seq2set data stats`"""
REGISTERED = ("property", "cached_property", "setter", "router", "callback", "fixture", "overload")
"""Decorators of what is called by another name, or by an address, or not at all"""


class Function(NamedTuple):
    name: str
    line: int
    is_method: bool

    def first_word(self) -> str:
        return self.name.lstrip("_").partition("_")[0]


def list_functions(tree: ast.AST, *, of_class: bool = False) -> Iterator[Function]:
    """Yield the functions and methods whose names are the author's to choose."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            decorators = {
                part.id if isinstance(part, ast.Name) else part.attr
                for one in node.decorator_list
                for part in ast.walk(one.func if isinstance(one, ast.Call) else one)
                if isinstance(part, ast.Name | ast.Attribute)
            }
            if not node.name.startswith("__") and not decorators.intersection(REGISTERED):
                yield Function(node.name, node.lineno, of_class)
            yield from list_functions(node)
        else:
            yield from list_functions(node, of_class=of_class or isinstance(node, ast.ClassDef))


def read_words() -> dict[str, set[str]]:
    """Return the lists of first words by their headings."""
    parts = (HERE / "first_words.txt").read_text(encoding="utf-8").split("\n\n")
    lists = [part.partition("\n") for part in parts if part.strip()]
    return {heading.partition(":")[0]: set(words.split()) for heading, _, words in lists}


def find_misnamed(code: str) -> list[Function]:
    """Return the functions whose first word is in no list that is for them."""
    words = read_words()
    allowed = words["verbs"] | words["questions"] | words["conversions"]
    whole = NAMED_ELSEWHERE | words["libraries"]
    return [
        one
        for one in list_functions(ast.parse(code))
        if one.first_word() not in (allowed | words["methods"] if one.is_method else allowed)
        and one.name not in whole
    ]


@pytest.mark.parametrize(
    "name", ["judged", "_judged", "greedy", "beam_search", "total_loss", "ordered_likelihood"]
)
@pytest.mark.parametrize(
    "code",
    [
        "def {0}(): ...",
        "async def {0}(): ...",
        "@cache\ndef {0}(): ...",
        "def read():\n    def {0}(): ...",
        "class Rollout:\n    def read(self):\n        def {0}(): ...",
        "if True:\n    def {0}(): ...",
    ],
)
def test_a_function_without_a_verb_is_seen(code: str, name: str) -> None:
    assert [one.name for one in find_misnamed(code.format(name))] == [name]


@pytest.mark.parametrize("name", ["judged", "_taken", "greedy"])
def test_a_method_without_a_verb_is_seen(name: str) -> None:
    assert [one.name for one in find_misnamed(f"class Rollout:\n    def {name}(self): ...")] == [name]


@pytest.mark.parametrize(
    "code",
    [
        "def find_best(): ...",
        "def _is_open(): ...",
        "def to_plain(): ...",
        "def micro_f1(counts): ...",
        "class Study:\n    def cells(self): ...",
        "class Study:\n    @property\n    def greedy(self): ...",
        "class Study:\n    def __len__(self): ...",
        '@router.get("/v1/model")\nasync def model(): ...',
        "class Step(Function):\n    def backward(ctx): ...",
    ],
)
def test_other_functions_are_left_alone(code: str) -> None:
    assert find_misnamed(code) == []


def test_nouns_are_for_methods_alone() -> None:
    assert [one.name for one in find_misnamed("def cells(): ...\ndef scores(): ...")] == ["cells", "scores"]


def test_no_word_is_listed_twice_or_unused() -> None:
    words = read_words()
    once = [word for one in words.values() for word in one]
    assert sorted(once) == sorted(set(once))
    functions = [
        one
        for path in SOURCE.rglob("*.py")
        for one in list_functions(ast.parse(path.read_text(encoding="utf-8")))
    ]
    used = {one.first_word() for one in functions} | {one.name for one in functions}
    assert sorted(set(once) - used) == []


def test_functions_begin_with_a_verb() -> None:
    found = [
        f"{path.relative_to(SOURCE).as_posix()}:{one.line}: {one.name}"
        for path in sorted(SOURCE.rglob("*.py"))
        for one in find_misnamed(path.read_text(encoding="utf-8"))
    ]
    assert found == [], "name it by a verb, or add its first word to first_words.txt"
