"""What version 0.1.0 wrote is opened: models, corpora, runs, studies, experiments and feedback.

The files lie in tests/fixtures/formats, beside the script that made them. They are copied, because runs and
studies go on in place, and opened by the command line and the Python class alone.
"""

from __future__ import annotations

import json
import runpy
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from seq2set import Seq2SetClassifier
from seq2set.config.run_folder import RunFolder
from seq2set.inference.model_folder import read_metadata

FORMATS = Path(__file__).resolve().parent.parent / "fixtures" / "formats"
MAKER = runpy.run_path(str(FORMATS / "make.py"))
EXPECTED: dict[str, Any] = json.loads((FORMATS / "expected.json").read_text(encoding="utf-8"))
TEXTS: list[str] = EXPECTED["texts"]
TOLERANCE = 1e-4
"""Other processors add up in another order."""

Run = Callable[..., str]


@pytest.fixture(autouse=True)
def formats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a copy: the files hold relative paths."""
    copied = shutil.copytree(FORMATS, tmp_path / "formats", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(copied)
    return copied


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `python -m seq2set` in this process and return what it printed."""

    def run_command(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["seq2set", *arguments])
        capsys.readouterr()
        code: Any = 0
        try:
            runpy.run_module("seq2set", run_name="__main__")
        except SystemExit as stop:
            code = stop.code
        out, err = capsys.readouterr()
        assert not code, err
        return out

    return run_command


def assert_alike(now: Any, then: Any, place: str = "") -> None:
    """All that was there is there, numbers within the tolerance; what is new does not count.

    Reasons are found otherwise than at that time, so that no more is asked than that there are some.
    """
    if isinstance(then, Mapping):
        for key in then:
            assert key in now, f"{place}: {key} is missing"
            if key == "evidence":
                reasons = [*now[key], *now.get("against", ())]
                assert bool(reasons) or not then[key], f"{place}: no reason is left"
                assert all(one.keys() >= old.keys() for one in reasons for old in then[key][:1]), place
            else:
                assert_alike(now[key], then[key], f"{place}.{key}")
    elif isinstance(then, list):
        assert len(now) == len(then), place
        for number, (one, other) in enumerate(zip(now, then, strict=True)):
            assert_alike(one, other, f"{place}[{number}]")
    elif isinstance(then, float):
        assert now == pytest.approx(then, abs=TOLERANCE), place
    else:
        assert now == then, place


def without(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Leave out what depends on the machine or on where the files lie."""
    return {key: value for key, value in values.items() if key not in names}


def files_of(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return the time and the content of every file."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def questions() -> Iterator[tuple[str, str]]:
    """Return each model folder with each way of asking that was recorded."""
    for folder, ways in EXPECTED["predictions"].items():
        if folder != "whole":
            yield from ((folder, way) for way in ways)


def ask(run: Run, folder: str, way: str) -> list[Any]:
    """Predict the fixed texts in one of the recorded ways."""
    ways: dict[str, list[str]] = MAKER["ways_of"]("seq2set")
    return [json.loads(line) for line in run("predict", folder, *TEXTS, "--json", *ways[way]).splitlines()]


@pytest.mark.parametrize(("folder", "way"), list(questions()))
def test_a_model_says_what_it_said(run: Run, folder: str, way: str) -> None:
    assert_alike(ask(run, folder, way), EXPECTED["predictions"][folder][way])


@pytest.mark.parametrize("model", MAKER["MODELS"])
def test_a_model_reaches_what_it_reached(run: Run, model: str) -> None:
    now = json.loads(run("evaluate", f"models/{model}", "--data", "corpus", "--json"))
    assert_alike(now, without(EXPECTED["evaluations"][model], "run", "documents_a_second"))


@pytest.mark.parametrize("model", ["br", "seq2set-simp"])
def test_a_finished_run_is_measured_and_left_alone(run: Run, model: str, formats: Path) -> None:
    before = files_of(formats / "finished" / model)
    now = json.loads(run("evaluate", f"finished/{model}", "--json"))
    assert_alike(now, without(EXPECTED["evaluations"][model], "documents_a_second"))
    run(*MAKER["training"](model), "--out", f"finished/{model}", "--resume")
    assert files_of(formats / "finished" / model) == before


def test_a_stopped_search_for_c_goes_on(run: Run, formats: Path) -> None:
    first_fit = formats / "interrupted" / "br" / "checkpoints" / "linear-c-0.3.safetensors"
    before = first_fit.stat().st_mtime_ns
    run(*MAKER["training"]("br"), "--out", "interrupted/br", "--resume")
    assert first_fit.stat().st_mtime_ns == before
    for way in ("default", "top-k"):
        assert_alike(ask(run, "interrupted/br", way), EXPECTED["predictions"]["models/br"][way])


def test_a_stopped_training_of_a_network_goes_on(run: Run, formats: Path) -> None:
    history = formats / "interrupted" / "seq2set-simp" / "history.jsonl"
    begun = history.read_text(encoding="utf-8")
    run(*MAKER["slow_training"](), "--out", "interrupted/seq2set-simp", "--resume")
    assert history.read_text(encoding="utf-8").startswith(begun)
    now = [json.loads(line) for line in history.read_text(encoding="utf-8").splitlines()]
    timing = ("seconds", "validation_seconds", "documents_a_second")
    assert_alike(now, [without(record, *timing) for record in EXPECTED["history"]])
    for way, answers in EXPECTED["predictions"]["whole"].items():
        assert_alike(ask(run, "interrupted/seq2set-simp", way), answers, way)


def test_a_study_is_opened_and_gets_another_trial(run: Run, formats: Path) -> None:
    before = json.loads((formats / "study" / "trials.json").read_text(encoding="utf-8"))
    kept = files_of(formats / "study" / "trials")
    run(*MAKER["tuning"](), "--out", "study", "--trials", "3", "--resume")
    after = json.loads((formats / "study" / "trials.json").read_text(encoding="utf-8"))
    assert (len(before), len(after)) == (2, 3)
    assert_alike(after[:2], before)
    assert files_of(formats / "study" / "trials").items() >= kept.items()


def test_an_experiment_is_rendered_without_training(run: Run, formats: Path) -> None:
    before, pages = files_of(formats / "experiment" / "cells"), formats / "experiment" / "compare"
    then = json.loads((pages / "results.json").read_text(encoding="utf-8"))
    shutil.rmtree(pages)
    run(*MAKER["comparing"](), "--out", "experiment")
    assert files_of(formats / "experiment" / "cells") == before
    assert (pages / "index.html").is_file()
    now = json.loads((pages / "results.json").read_text(encoding="utf-8"))
    for one, other in zip(now["cells"], then["cells"], strict=True):
        assert_alike(one["metrics"], other["metrics"])
        assert_alike(one["validation"], other["validation"])
    assert_alike(numbers_of(now["sections"]), numbers_of(then["sections"]))


def numbers_of(sections: list[Any]) -> list[Any]:
    """Return the cells of all tables: words may change, figures may not."""
    tables = [table for section in sections for table in section["tables"]]
    return [[list(row.values())[1:] for row in table["rows"]] for table in tables]


def test_a_prepared_corpus_is_described(run: Run) -> None:
    stats = run("data", "stats", "corpus", "--json")
    assert_alike(json.loads(stats), EXPECTED["stats"])


def test_a_model_saved_from_python_is_loaded_with_its_parameters() -> None:
    loaded = Seq2SetClassifier.load("from-python")
    assert loaded.min_labels == 1
    answers = EXPECTED["predictions"]["from-python"]["default"]
    # The command line does not know of the parameter, and gives no label to a text without any.
    for given, answer in zip(loaded.predict(TEXTS), answers, strict=True):
        assert list(given)[: len(answer["labels"])] == [one["label"] for one in answer["labels"]]
        assert len(given) == max(1, len(answer["labels"]))


def test_feedback_becomes_a_corpus_and_is_added_to(run: Run, formats: Path) -> None:
    MAKER["keep_feedback"]()  # a server opens the database, and is told the same once more
    run(
        "data",
        "prepare",
        "feedback",
        "--from",
        "feedback.sqlite",
        "--valid",
        "0",
        "--test",
        "0",
        "--out",
        "said",
    )
    facts = json.loads((formats / "said" / "corpus.json").read_text(encoding="utf-8"))
    assert facts["counts"]["documents"] == {"train": 2, "valid": 0, "test": 0}
    assert facts["counts"]["labels"] == 2
    with closing(sqlite3.connect("feedback.sqlite")) as database:
        kept = database.execute("SELECT count(*) FROM feedback").fetchone()
    assert kept == (4,)


def test_keys_of_old_files_are_read_by_their_names_of_today() -> None:
    for model in MAKER["MODELS"]:
        assert read_metadata(Path("models") / model)["corpus"]["labels_per_document"] > 1
    speeds = [look["documents_per_second"] for look in RunFolder(Path("finished/seq2set-simp")).records()]
    assert len(speeds) == 10
    assert min(speeds) > 0


def test_nothing_in_the_fixtures_is_large_or_of_one_machine() -> None:
    files = [path for path in FORMATS.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert sum(path.stat().st_size for path in files) < 600_000
    for path in files:
        assert not any(place in path.read_bytes() for place in (b"/root", b"/home", b"/tmp"))
