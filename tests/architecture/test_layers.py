"""Data flows one way: a module imports from strictly lower layers only."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import seq2set

ROOT = Path(seq2set.__file__).parent

LAYERS = {
    "seq2set": 0,  # the version only; public names load late
    "errors": 0,
    "progress": 0,
    "drawing": 0,
    "hardware": 0,
    "workers": 0,
    "presets": 0,
    "spaces": 0,
    "files": 1,
    "locking": 1,
    "config": 2,
    "text": 2,
    "provenance": 2,
    "runs": 3,
    "corpora": 3,
    "seen_texts": 4,
    "vocabulary": 4,
    "label_order": 4,
    "rules": 4,
    "metrics": 5,
    "batching": 5,
    "predictions": 5,
    "calibration": 5,
    "thresholds": 6,
    "evidence": 6,
    "features": 6,
    "nn": 6,
    "tagger": 7,
    "objectives": 8,
    "baselines": 8,
    "models": 9,
    "training": 10,
    "bundle": 10,
    "cards": 10,
    "predictor": 11,
    "training_corpus": 12,
    "evaluation": 12,
    "reporting": 13,
    "workflows": 13,
    "tuning": 14,
    "experiments": 15,
    "server": 15,
    "cli": 16,
    "estimator": 14,
    "benchmarks": 13,
    "__main__": 17,
}
"""A package's own files may import each other; between concerns only downwards."""

FILES = sorted(ROOT.rglob("*.py"))


def concern(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "seq2set"


def module_of(path: Path) -> str:
    relative = path.relative_to(ROOT.parent).with_suffix("")
    return ".".join(relative.parts).removesuffix(".__init__")


def imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path} has a relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] == "seq2set"}


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_imports_go_down(path: Path) -> None:
    own = concern(module_of(path))
    assert own in LAYERS, f"give {own} a layer"
    for name in imported(path):
        other = concern(name)
        if other not in LAYERS:  # a name of the root package, such as seq2set.__version__
            other = "seq2set"
        if other != own:
            assert LAYERS[other] < LAYERS[own], f"{own} imports {name} from its own layer or above"


@pytest.mark.parametrize("path", [p for p in FILES if "cli" not in p.parts], ids=module_of)
def test_the_library_never_prints(path: Path) -> None:
    calls = (
        node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)
    )
    assert not [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "print"]


def test_the_baselines_do_not_need_torch() -> None:
    for path in (ROOT / "baselines").glob("*.py"):
        assert "import torch" not in path.read_text(encoding="utf-8")
