"""Equal methods are seldom called different, whatever their seeds and documents do: a quick simulation.

`tools/simulate_statistics.py` is the long one; its table stands in docs/experiments.md.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "simulate_statistics.py"
REPLICATES = 150


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("simulate_statistics", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("seeds", [3, 5])
@pytest.mark.parametrize("deviation", [0.0, 0.08])
@pytest.mark.parametrize("grouped", [False, True])
def test_equal_methods_are_seldom_called_different(
    tool: ModuleType, seeds: int, deviation: float, grouped: bool
) -> None:
    found = tool.rejected(tool.World(seeds, deviation, grouped, documents=250), REPLICATES)
    # At most 5 % are wanted; of 150 replicates more than 8.5 % are seen in 2 % of cases then.
    assert found is not None
    assert found <= 0.085


def test_seeds_that_differ_by_far_against_a_deterministic_model(tool: ModuleType) -> None:
    # With Satterthwaite's degrees of freedom as they are 65 of these 800, with the seeds counted twice 43.
    assert tool.rejected(tool.World(3, 0.16, grouped=False, fixed=True), 800) <= 0.07


def test_few_groups_of_unequal_size(tool: ModuleType) -> None:
    assert tool.rejected(tool.World(3, 0.0, grouped=False, unequal=True), 400) <= 0.07


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("seeds", [1, 2])
def test_fewer_than_three_seeds_have_no_p(tool: ModuleType, seeds: int, fixed: bool) -> None:
    assert tool.rejected(tool.World(seeds, 0.08, grouped=False, fixed=fixed, documents=100), 5) is None


def test_a_better_method_is_found(tool: ModuleType) -> None:
    # Five points, three seeds that hardly differ: nearly always.
    assert tool.rejected(tool.World(3, 0.02, grouped=False, better=0.4, documents=400), 50) > 0.9
