"""The list of mutants stays in step with the code: `make mutants` can put each of them where it belongs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
MUTANTS: list[dict[str, Any]] = json.loads((ROOT / "tools/mutants.json").read_text("utf-8"))


def test_the_text_that_a_mutant_replaces_stands_once_in_its_file() -> None:
    texts = {one["file"]: (ROOT / "src/seq2set" / one["file"]).read_text("utf-8") for one in MUTANTS}
    found = {one["name"]: texts[one["file"]].count(one["old"]) for one in MUTANTS}
    assert {name: times for name, times in found.items() if times != 1} == {}


def test_a_mutant_is_a_change_that_compiles() -> None:
    for one in MUTANTS:
        path = ROOT / "src/seq2set" / one["file"]
        assert one["old"] != one["new"], one["name"]
        if path.suffix == ".py":
            compile(path.read_text("utf-8").replace(one["old"], one["new"]), one["name"], "exec")


def test_the_tests_that_must_notice_it_are_there() -> None:
    for one in MUTANTS:
        assert one["tests"], one["name"]
        for test in one["tests"]:
            path, _, name = test.partition("::")
            assert (ROOT / path).exists(), one["name"]
            assert not name or f"def {name.partition('[')[0]}(" in (ROOT / path).read_text("utf-8"), one[
                "name"
            ]


def test_no_name_is_there_twice() -> None:
    assert [name for name, times in Counter(one["name"] for one in MUTANTS).items() if times > 1] == []
