"""Data flows one way: a module imports from strictly lower layers only."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import seq2set

ROOT = Path(seq2set.__file__).parent

LAYERS = {
    "seq2set": -1,  # the version only; public names load late
    "core": 0,
    "config": 1,
    "text": 2,
    "labels": 2,
    "corpora": 3,
    "nn": 4,
    "objectives": 4,
    "models": 5,
    "training": 6,
    "inference": 7,
    "evaluation": 8,
    "workflows": 9,
    "tuning": 10,
    "experiments": 10,
    "benchmarks": 10,
    "estimator": 11,
    "server": 11,
    "cli": 12,
    "__main__": 13,
}
"""A package's own files may import each other; between concerns only downwards."""

LATE = {"seq2set": {"seq2set.estimator.Seq2SetClassifier"}}
"""Public names of the root package, which it imports for type checkers only; others load late."""

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
    for name in imported(path) - LATE.get(module_of(path), set()):
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


def test_the_linear_models_do_not_need_torch() -> None:
    models = ROOT / "models"
    own = [models / f"{name}.py" for name in ("br", "cc", "lp", "label_combinations")]
    for path in [*own, *(models / "linear").glob("*.py")]:
        assert "import torch" not in path.read_text(encoding="utf-8")
