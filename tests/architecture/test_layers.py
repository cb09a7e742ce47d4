"""Data flows one way: a module imports from strictly lower layers only."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import seq2set
from house import used_paths

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

LATE = {"seq2set": {"seq2set.estimator.Seq2SetClassifier", "seq2set.estimator", "seq2set.core.errors"}}
"""What the root package loads when it is first asked for, or imports for type checkers only."""

CATALOG = "seq2set.config.catalog"
"""Its rows name implementations of all layers by dotted path; who uses a row loads them."""

FILES = sorted(ROOT.rglob("*.py"))


def concern(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "seq2set"


def module_of(path: Path) -> str:
    relative = path.relative_to(ROOT.parent).with_suffix("")
    return ".".join(relative.parts).removesuffix(".__init__")


def imported(code: str, module: str) -> set[str]:
    """Return what code imports; a dotted path that a call is given, such as `import_module`, counts too."""
    tree, found = ast.parse(code), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} has a relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    if module != CATALOG:
        found |= {path.partition(":")[0] for path in used_paths(tree)}
    return {name for name in found if name.split(".")[0] == "seq2set"}


def find_climbs(code: str, module: str) -> list[str]:
    """Return what a module imports from its own layer or above."""
    own, found = concern(module), []
    assert own in LAYERS, f"give {own} a layer"
    for name in sorted(imported(code, module) - LATE.get(module, set())):
        other = concern(name)
        if other not in LAYERS:  # a name of the root package, such as seq2set.__version__
            other = "seq2set"
        if other != own and LAYERS[other] >= LAYERS[own]:
            found.append(name)
    return found


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_imports_go_down(path: Path) -> None:
    assert find_climbs(path.read_text(encoding="utf-8"), module_of(path)) == []


@pytest.mark.parametrize(
    "code",
    [
        "import seq2set.workflows.train",
        "def late():\n    from seq2set.workflows import train",
        'importlib.import_module("seq2set.workflows.train")',
        'import_module("seq2set.workflows" + ".train")',
        'load_named("seq2set.workflows.train:train")',
        'WHERE = "seq2set.workflows.train"\n__import__(WHERE)',
        'PLACE = "seq2set.workflows"\nimport_module(f"{PLACE}.{name}")',
        'run([sys.executable, "-m", "seq2set.workflows.train"])',
        'ROWS = {"train": Row("trains", "seq2set.workflows.train:train")}',
    ],
)
def test_an_import_of_any_form_is_seen(code: str) -> None:
    climbs = find_climbs(code, "seq2set.core.files")
    assert climbs
    assert all(name.startswith("seq2set.workflows") for name in climbs)
    assert find_climbs(code, "seq2set.cli.train") == []


def test_the_catalog_names_what_is_above() -> None:
    row = 'MODELS = {"br": Model("BR", "seq2set.models.br:BinaryRelevance")}'
    assert find_climbs(row, CATALOG) == []
    assert find_climbs(row, "seq2set.config.loader") == ["seq2set.models.br"]
    assert find_climbs("import seq2set.models.br", CATALOG) == ["seq2set.models.br"]


def test_a_text_about_a_module_imports_nothing() -> None:
    assert find_climbs('"""See seq2set.workflows."""\nLOG = "seq2set.workflows"', "seq2set.core.files") == []


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
