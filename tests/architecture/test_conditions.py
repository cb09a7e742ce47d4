"""The hostile rows are what they say: all at once means every one of them."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture
def conditions(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(TOOLS))
    monkeypatch.delitem(sys.modules, "conditions", raising=False)
    import conditions

    return conditions


def begin(conditions: ModuleType, condition: Any, folder: Path) -> list[str]:
    """Return what tests are started by, or why they cannot be."""
    place = conditions.Place(folder / "tree", folder / "scratch")
    for path in (place.tree, place.scratch):
        path.mkdir(parents=True)
    try:
        return [word.replace(str(folder), "") for word in condition.before(place)]
    except conditions.CannotBeHadError as error:
        return [f"cannot be had: {error}"]


def test_all_at_once_has_the_environment_of_every_part(conditions: ModuleType) -> None:
    (whole,) = [one for one in conditions.CONDITIONS if one.name == "all-at-once"]
    parts = {one.name: one.environment for one in conditions.OTHER_MACHINES}
    assert set(parts) == {"avx2", "default-kernels", "no-network", "not-root", "ascii", "kathmandu"}
    assert [name for name, part in parts.items() if not part.items() <= whole.environment.items()] == []


def test_all_at_once_is_started_by_what_starts_every_part(conditions: ModuleType, tmp_path: Path) -> None:
    (whole,) = [one for one in conditions.CONDITIONS if one.name == "all-at-once"]
    parts = [begin(conditions, one, tmp_path / one.name) for one in conditions.OTHER_MACHINES]
    refused = [words for words in parts if words and words[0].startswith("cannot be had")]
    expected = refused[0] if refused else [word for words in parts for word in words]
    assert begin(conditions, whole, tmp_path / "whole") == expected
    assert expected


def test_rights_are_dropped_last(conditions: ModuleType) -> None:
    """A user without rights could not leave the network any more."""
    names = [one.name for one in conditions.OTHER_MACHINES if one.before is not conditions.PLAIN.before]
    assert names == ["no-network", "not-root"]
