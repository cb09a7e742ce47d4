"""What may be written over, and where nothing may be written."""

from __future__ import annotations

from pathlib import Path

import pytest

from seq2set.core.errors import OutputError
from seq2set.core.files import write_folder_aside
from seq2set.core.outputs import FolderKind, refuse_existing, refuse_occupied

PAGE = FolderKind("report", ("index.html", "report.json"), "report.json")


def write_files(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text("precious", encoding="utf-8")
    return folder


def list_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def replace(folder: Path) -> None:
    with write_folder_aside(folder, force=True, kind=PAGE) as aside:
        write_files(aside, "index.html", "report.json")


def test_force_replaces_what_was_written_before_and_nothing_else(tmp_path: Path) -> None:
    out = write_files(tmp_path / "out", "index.html", "report.json", ".DS_Store")
    replace(out)
    assert (list_names(out), list_names(tmp_path)) == (["index.html", "report.json"], ["out"])
    for names, sentence in [
        (("index.html", "report.json", "notes.txt"), "out holds 'notes.txt', which is no part of a report"),
        (("index.html",), "out is not empty and holds no report"),
    ]:
        other = write_files(tmp_path / sentence[-9:] / "out", *names)
        with pytest.raises(OutputError, match=f"{sentence}; --force replaces reports only, name another"):
            replace(other)
        assert list_names(other) == sorted(names)
    replace(tmp_path / "new")
    (tmp_path / "empty").mkdir()
    replace(tmp_path / "empty")


def test_nothing_is_written_into_a_model(tmp_path: Path) -> None:
    model = write_files(tmp_path / "run" / "model", "manifest.json", "model.safetensors")
    inside = model / "deep" / "down"
    sentence = f"{inside} lies inside the model folder {model}, which holds its own files alone; name another"
    with pytest.raises(OutputError, match=sentence):
        refuse_occupied(inside)
    with pytest.raises(OutputError, match=sentence):
        refuse_existing(inside, force=True)
    refuse_occupied(model, force=True)  # to replace a model as a whole is another matter
    refuse_existing(model.parent / "errors.csv")
    (tmp_path / "link").symlink_to(model)
    with pytest.raises(OutputError, match="link/x lies inside the model folder"):
        refuse_existing(tmp_path / "link" / "x")
