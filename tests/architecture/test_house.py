"""The shape of the package: how it is cut into files and folders, and what is named how."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

import house as shape

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/seq2set"

NOUNS = {
    "batching": "dynamic batching, a term of serving",
    "drawing": "a picture",
    "rescoring": "a term of decoding",
    "teacher_forcing": "a term of training",
}
"""Files that end in `ing` and are nouns all the same, and why."""

LATE = {"evaluation/report.py": "loads templates and plots, which a measurement may do without"}
"""What may be short and have one importer, and why; so may verbs and groups of routes, one file each."""


@pytest.fixture(scope="module")
def house() -> dict[str, Any]:
    return shape.measure(SOURCE)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return a small package of two rooms and a table."""
    folder = tmp_path / "small"
    write(folder, "catalog.py", ROWS)
    write(folder, "rooms/large.py", "VALUE = 1\n" * 60)
    write(folder, "rooms/user.py", "import small.rooms.large\n" + "VALUE = 1\n" * 60)
    return folder


ROWS = """
_HERE = "small.rooms."
TABLE = {
    "one": Row("the first", "small.rooms.one:find"),
    "two": Row("the second", _HERE + "two:find"),
    "three": Row("the third", path=f"{_HERE}three:find"),
}
"""


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


def test_a_folder_can_be_taken_in_at_a_glance(house: dict[str, Any]) -> None:
    assert house["crowded_folders"] == {}


def test_no_class_name_stands_in_two_files(house: dict[str, Any]) -> None:
    assert house["class_names_used_twice"] == {}


def test_files_are_named_by_nouns(house: dict[str, Any]) -> None:
    assert [name for name in house["ing_files"] if Path(name).stem not in NOUNS] == []


def list_verbs(app: str) -> set[str]:
    """Return the files whose functions an application registers as commands."""
    tree = ast.parse(app)
    modules = {
        alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    return {
        modules[verb.value.id].replace(".", "/").partition("/")[2] + ".py"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Call)
        and isinstance(node.func.func, ast.Attribute)
        and node.func.func.attr == "command"
        for verb in node.args
        if isinstance(verb, ast.Attribute) and isinstance(verb.value, ast.Name)
    }


def has_routes(text: str) -> bool:
    """Say whether a file answers requests: functions of its router are decorated with their addresses."""
    decorators = (
        decorator.func
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call)
    )
    return any(isinstance(one, ast.Attribute) and ast.unparse(one.value) == "router" for one in decorators)


def test_a_short_file_has_several_importers(house: dict[str, Any]) -> None:
    verbs = list_verbs((SOURCE / "cli/app.py").read_text(encoding="utf-8"))
    short = set(house["short_files_with_one_importer"]) - set(LATE) - verbs
    assert [name for name in short if not has_routes((SOURCE / name).read_text(encoding="utf-8"))] == []


def test_a_verb_is_what_the_command_line_registers() -> None:
    app = "from seq2set.cli import train, tiny\nfrom seq2set.cli.data import check\n"
    app += 'app.command("train", cls=tiny.Names)(train.train)\ndata.command("check")(check.check)'
    assert list_verbs(app) == {"cli/train.py", "cli/data/check.py"}


def test_a_group_of_routes_has_a_router() -> None:
    assert has_routes('@router.get("/v1/model")\nasync def model(): ...')
    assert not has_routes("@cache\ndef read(): ...\n@app.get\ndef other(): ...")


def test_a_file_of_a_row_may_be_short(package: Path) -> None:
    for name in ("one", "two", "three"):
        write(package, f"rooms/{name}.py", "def find(): ...\n")
    assert shape.measure(package)["short_files_with_one_importer"] == {}


@pytest.mark.parametrize(
    "line",
    [
        '"small.rooms.tiny: see there"',
        'NOTE = "small.rooms.tiny"',
        'NOTE = "small.rooms.tiny:find"',
        'SETTING: str = "small.rooms.tiny:find"',
        'NOTES = {"tiny": "small.rooms.tiny:find"}',
    ],
)
def test_a_text_that_names_a_file_does_not_hide_it(package: Path, line: str) -> None:
    write(package, "rooms/tiny.py", "VALUE = 1\n")
    write(package, "rooms/large.py", f"{line}\nimport small.rooms.tiny\n" + "VALUE = 1\n" * 60)
    write(package, "rooms/other.py", f"{line}\n" + "VALUE = 1\n" * 60)
    found = shape.measure(package)["short_files_with_one_importer"]
    assert found == {"rooms/tiny.py": "rooms/large.py"}


@pytest.mark.parametrize(
    "line",
    [
        'load("small.rooms.tiny:find")',
        'PLACE = "small.rooms.tiny"\nload(PLACE)',
        'COMMAND = ("-m", "small.rooms.tiny")\nrun([*COMMAND])',
        'LATE = {"tiny": "small.rooms.tiny"}\nimport_module(LATE[name])',
    ],
)
def test_a_path_that_is_loaded_is_an_import(package: Path, line: str) -> None:
    write(package, "rooms/tiny.py", "VALUE = 1\n")
    write(package, "rooms/large.py", "import small.rooms.tiny\n" + "VALUE = 1\n" * 60)
    write(package, "rooms/other.py", f"{line}\n" + "VALUE = 1\n" * 60)
    assert shape.measure(package)["short_files_with_one_importer"] == {}


@pytest.mark.parametrize(
    "again",
    [
        "class Rollout: ...",
        "class _Rollout: ...",
        'Rollout = namedtuple("Rollout", "labels log_prob")',
        'Rollout = collections.namedtuple("Other", ["labels"])',
        'Rollout: Any = NamedTuple("Rollout", [("labels", int)])',
        'made = NamedTuple("Rollout", [("labels", int)])',
        'Rollout = type("Rollout", (Base,), {})',
        'Rollout = make_dataclass(name, ["labels"])',
    ],
)
def test_a_class_name_stands_once(package: Path, again: str) -> None:
    write(package, "rooms/first.py", "class Rollout: ...\nKIND = type(Rollout)\n")
    write(package, "rooms/second.py", again + "\n")
    ((names, files),) = shape.measure(package)["class_names_used_twice"].items()
    assert "Rollout" in names
    assert files == ["rooms/first.py", "rooms/second.py"]


def test_the_order_of_its_words_does_not_make_another_name(package: Path) -> None:
    write(package, "rooms/first.py", "class EndedProcessError: ...\nclass EndedError: ...\n")
    write(package, "rooms/second.py", "class ProcessEndedError: ...\nclass HTTPError: ...\n")
    found = shape.measure(package)["class_names_used_twice"]
    assert found == {"EndedProcessError, ProcessEndedError": ["rooms/first.py", "rooms/second.py"]}


def test_the_readme_is_short() -> None:
    assert (ROOT / "README.md").stat().st_size <= 8 * 1024
