"""A run is measured on its own corpus from wherever it is called, and never on a namesake."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest

HEAD = "text,labels\n"


def rows(seed: int, count: int = 60) -> str:
    draw = random.Random(seed)
    words = [f"word{number}" for number in range(200)]
    lines = (f"{' '.join(draw.sample(words, 8))},{draw.choice('abc')}" for _ in range(count))
    return HEAD + "".join(line + "\n" for line in lines)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file to train on; the commands are called from there."""
    monkeypatch.setenv("SEQ2SET_CACHE", str(tmp_path / "cache"))
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "mine.csv").write_text(rows(1), encoding="utf-8")
    monkeypatch.chdir(tmp_path / "home")
    return tmp_path / "home"


@pytest.fixture
def run(seq2set, home: Path) -> Path:
    """A run whose corpus was named by a relative path; 48 documents to learn from, 6 and 6 held out."""
    call = ("train", "--data", "mine.csv", "--model", "br", "--out", "run")
    assert seq2set(*call, "--set", "features.min_documents=1").code == 0
    return home / "run"


@pytest.fixture
def elsewhere(tmp_path: Path, run: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another working directory, where a file of the same name holds other documents."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "mine.csv").write_text(rows(2, 40), encoding="utf-8")
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path / "elsewhere"


def measure(seq2set, *call: object) -> dict:
    outcome = seq2set("evaluate", *call, "--json")
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    return {name: found[name] for name in ("data", "split", "documents", "micro_f1", "corpus_changed")}


def test_a_run_records_where_its_corpus_lay(home: Path, run: Path) -> None:
    recorded = json.loads((run / "run.json").read_text(encoding="utf-8"))
    assert recorded["path"] == str(home / "mine.csv")
    assert 'corpus = "mine.csv"' in (run / "config.toml").read_text(encoding="utf-8")


def test_from_another_folder_a_run_finds_its_own_corpus(
    seq2set, run: Path, tmp_path: Path, monkeypatch
) -> None:
    own = measure(seq2set, run)
    assert (own["documents"], own["corpus_changed"]) == (6, False)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    assert measure(seq2set, run) == own
    assert measure(seq2set, run / "model") == own
    assert seq2set("tune", "--thresholds", run).code == 0


def test_a_namesake_is_not_the_runs_own_corpus(seq2set, run: Path, home: Path, elsewhere: Path) -> None:
    own = measure(seq2set, run)
    assert (own["split"], own["documents"], own["corpus_changed"]) == ("test", 6, False)
    other = measure(seq2set, run, "--data", "mine.csv")
    assert (other["split"], other["documents"]) == ("all", 40)
    told = seq2set("tune", "--thresholds", run, "--data", "mine.csv")
    assert "on 40 documents" in told.out
    # A namesake that is where the own corpus no longer is.
    (home / "mine.csv").unlink()
    refused = seq2set("evaluate", run)
    assert refused.code == 2
    assert refused.err.splitlines()[-1] == (
        "seq2set: the corpus of the training cannot be opened, name one with --data: it is no longer at "
        f"{home / 'mine.csv'}, and 'mine.csv' here is another one"
    )


@pytest.mark.parametrize("name", ["mine.csv", "renamed.csv"])
def test_a_copy_is_recognised_by_its_content(
    seq2set, run: Path, home: Path, elsewhere: Path, name: str
) -> None:
    own = measure(seq2set, run)
    shutil.move(home / "mine.csv", elsewhere / name)
    assert measure(seq2set, run, "--data", name) == own | {"data": name.removesuffix(".csv")}
    if name == "mine.csv":  # found by the name that was typed, because its documents are the same
        assert measure(seq2set, run) == own


def test_the_own_file_that_has_changed_is_told_of_from_elsewhere(
    seq2set, run: Path, home: Path, elsewhere: Path
) -> None:
    (home / "mine.csv").write_text(rows(3), encoding="utf-8")
    for call in ((), ("--data", home / "mine.csv")):
        found = measure(seq2set, run, *call)
        assert (found["split"], found["documents"], found["corpus_changed"]) == ("test", 6, True)


def test_a_prepared_copy_is_recognised_by_its_fingerprint(seq2set, home: Path, tmp_path: Path) -> None:
    assert seq2set("data", "prepare", "mine", "--from", "mine.csv", "--out", "prepared").code == 0
    call = ("train", "--data", "prepared", "--model", "br", "--out", "run")
    assert seq2set(*call, "--set", "features.min_documents=1").code == 0
    own = measure(seq2set, home / "run")
    shutil.copytree(home / "prepared", tmp_path / "copy")
    assert measure(seq2set, home / "run", "--data", tmp_path / "copy") == own
    assert seq2set("data", "prepare", "mine", "--from", "mine.csv", "--out", "other", "--seed", 2).code == 0
    found = seq2set("evaluate", home / "run", "--data", "other", "--json")
    assert json.loads(found.out)["left_out"] > 0


def test_a_copy_of_a_folder_in_the_aapd_layout_is_recognised(seq2set, home: Path, tmp_path: Path) -> None:
    (home / "aapd").mkdir()
    for split, count in (("train", 12), ("val", 6), ("test", 3)):
        (home / "aapd" / f"text_{split}").write_text("wheat harvest\ncrude barrels\ntariff\n" * (count // 3))
        (home / "aapd" / f"label_{split}").write_text("grain\noil\ntrade\n" * (count // 3))
    call = ("train", "--data", "aapd", "--model", "br", "--out", "run")
    assert seq2set(*call, "--set", "features.min_documents=1").code == 0
    shutil.move(home / "aapd", tmp_path / "moved")
    assert measure(seq2set, home / "run", "--data", tmp_path / "moved") == {
        "data": "moved",
        "split": "test",
        "documents": 3,
        "micro_f1": 1.0,
        "corpus_changed": False,
    }


def test_runs_that_recorded_no_path_still_open(seq2set, run: Path) -> None:
    own = measure(seq2set, run)
    recorded = json.loads((run / "run.json").read_text(encoding="utf-8"))
    del recorded["path"], recorded["digest"]
    (run / "run.json").write_text(json.dumps(recorded), encoding="utf-8")
    assert measure(seq2set, run) == own
    assert measure(seq2set, run, "--data", "mine.csv") == own
    (run / "run.json").unlink()
    assert measure(seq2set, run, "--data", "./mine.csv") == own
