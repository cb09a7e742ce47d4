from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import ModelFolderError, OutputError
from seq2set.inference.manifest import describe_file
from seq2set.inference.model_folder import (
    find_model_folder,
    load_model,
    read_metadata,
    renew_model,
    save_model,
)
from seq2set.inference.predictor import Predictor
from seq2set.labels.rules import make_global_rule, make_top_rule
from seq2set.models.predictions import Request

TEXTS = ["wheat harvest", "crude barrels at the bank", ""]


@pytest.fixture
def model(br_run: RunFolder, tmp_path: Path) -> Path:
    """A copy of the model that a test may spoil."""
    return Path(shutil.copytree(br_run.model, tmp_path / "elsewhere" / "model"))


def test_the_folder_holds_what_it_says(br_run: RunFolder) -> None:
    names = {path.name for path in br_run.model.iterdir()}
    assert names == {
        "model.safetensors",
        "config.json",
        "tokenizer.json",
        "labels.json",
        "README.md",
        "manifest.json",
        "seen.safetensors",
    }


def test_a_moved_model_predicts_identically(br_run: RunFolder, model: Path) -> None:
    here, there = Predictor.open(br_run.path), Predictor.open(model)
    request = Request(threshold=0.0, explain=True)
    assert here.predict(TEXTS, request) == there.predict(TEXTS, request)


def test_saved_and_loaded_parts_are_the_same(br_run: RunFolder, tmp_path: Path) -> None:
    first = load_model(br_run.path)
    save_model(first, tmp_path / "again", card="", metadata={})
    second = load_model(tmp_path / "again")
    assert first.state().fitted == second.state().fitted
    for name, value in first.state().tensors.items():
        assert np.array_equal(value, second.state().tensors[name])


@pytest.mark.parametrize(
    "name",
    ["model.safetensors", "config.json", "tokenizer.json", "labels.json", "README.md", "seen.safetensors"],
)
def test_one_flipped_byte_is_refused(model: Path, name: str) -> None:
    path = model / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(
        ModelFolderError, match=rf"{name} is damaged: its SHA-256 is not the one in manifest.json"
    ):
        load_model(model)


def test_a_missing_file_is_named(model: Path) -> None:
    (model / "labels.json").unlink()
    with pytest.raises(ModelFolderError, match=r"labels.json is missing; copy the model folder again"):
        load_model(model)


def test_a_newer_format_is_refused(model: Path) -> None:
    manifest = json.loads((model / "manifest.json").read_text())
    (model / "manifest.json").write_text(json.dumps(manifest | {"format": 99}))
    with pytest.raises(ModelFolderError, match=r"has format version 99, .* reads up to 4; upgrade seq2set"):
        load_model(model)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "cannot be read"),
        ("[]", "is not a manifest of a model folder"),
        ('{"format": "x"}', "is not a manifest of a model folder"),
        ('{"format": 1}', "does not list all files of a model"),
        ('{"format": 1, "files": {"../x": {}}}', "does not list all files of a model"),
    ],
)
def test_a_manifest_that_is_none(model: Path, content: str, sentence: str) -> None:
    (model / "manifest.json").write_text(content)
    with pytest.raises(ModelFolderError, match=sentence):
        load_model(model)


def test_a_manifest_cannot_point_outside(model: Path) -> None:
    manifest = json.loads((model / "manifest.json").read_text())
    manifest["files"]["../secret"] = {"sha256": "0"}
    (model / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ModelFolderError, match="lists '../secret', which lies outside the folder"):
        load_model(model)


def test_foreign_settings_are_refused_though_their_checksum_is_right(
    br_run: RunFolder, tmp_path: Path
) -> None:
    tagger = load_model(br_run.path)
    save_model(tagger, tmp_path / "m", card="", metadata={})
    saved = json.loads((tmp_path / "m" / "config.json").read_text())
    saved["settings"]["from_the_future"] = 1
    (tmp_path / "m" / "config.json").write_text(json.dumps(saved))
    manifest = json.loads((tmp_path / "m" / "manifest.json").read_text())
    manifest["files"]["config.json"] = describe_file(tmp_path / "m" / "config.json")
    (tmp_path / "m" / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(
        ModelFolderError, match=r"does not hold a model that can be opened: .*from_the_future"
    ):
        load_model(tmp_path / "m")


def rewritten(model: Path, facts: dict[str, object], version: int = 2) -> Path:
    """Put other facts into a folder, with checksums that are right."""
    saved = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps(saved | {"facts": facts}))
    manifest = json.loads((model / "manifest.json").read_text()) | {"format": version}
    manifest["files"]["config.json"] = describe_file(model / "config.json")
    (model / "manifest.json").write_text(json.dumps(manifest))
    return model


def test_a_folder_from_before_there_were_rules(br_run: RunFolder, model: Path) -> None:
    facts = dict(load_model(model).state().fitted)
    del facts["rule"]
    opened = load_model(rewritten(model, facts | {"threshold": 0.375}, version=1))
    assert opened.rule == make_global_rule(0.375)
    assert opened.state().fitted == facts | {"rule": {"kind": "global", "thresholds": [0.375]}}


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ({"kind": "per-label", "thresholds": [0.1]}, "a rule of 1 thresholds cannot decide on 4 labels"),
        ({"kind": "top-k", "k": 9}, "top_k is 9, but there are 4 labels; it must be <= 4"),
        ({"kind": "global", "thresholds": [7]}, r"threshold is 7; it must lie in \[0, 1\]"),
        ({"kind": "oracle"}, "rule 'oracle' is not known"),
        ({}, "the decision rule is missing"),
    ],
)
def test_a_rule_that_cannot_be(model: Path, rule: dict[str, object], sentence: str) -> None:
    facts = dict(load_model(model).state().fitted) | {"rule": rule}
    with pytest.raises(ModelFolderError, match=f"does not hold a model that can be opened: {sentence}"):
        load_model(rewritten(model, facts))


def test_a_renewed_folder_holds_the_new_and_keeps_the_rest(br_run: RunFolder, model: Path) -> None:
    facts = dict(load_model(model).state().fitted) | {"rule": make_top_rule(2).to_dict()}
    renew_model(model.parent, facts=facts, metadata={"new": 1}, card="a new card")
    assert load_model(model).rule == make_top_rule(2)
    assert read_metadata(model) == {"new": 1}
    assert (model / "README.md").read_text() == "a new card"
    assert {path.name for path in model.iterdir()} == {path.name for path in br_run.model.iterdir()}
    old, new = (json.loads((one / "manifest.json").read_text())["files"] for one in (br_run.model, model))
    assert old.keys() == new.keys()
    assert {name for name in new if new[name] != old[name]} == {"config.json", "README.md"}
    assert new["README.md"].keys() == {"sha256", "bytes"}


KILLED = """
import os, pathlib, shutil, signal, sys
from seq2set.inference.model_folder import load_model, renew_model
from seq2set.labels.rules import make_top_rule

model, out = map(pathlib.Path, sys.argv[1:])
facts = dict(load_model(model).state().fitted) | {"rule": make_top_rule(2).to_dict()}
rename = pathlib.Path.replace

for moment in range(7):
    copy = pathlib.Path(shutil.copytree(model, out / str(moment)))
    child = os.fork()
    if not child:
        left = moment

        def replace(path, target):
            global left
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1
            return rename(path, target)

        pathlib.Path.replace = replace
        renew_model(copy, facts=facts, metadata={}, card="a new card")
        os._exit(0)
    print(moment, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_killed_at_any_moment_the_folder_opens(br_run: RunFolder, model: Path, tmp_path: Path) -> None:
    """Six renames: both new files beside the old ones, the manifest of both, both in place, the manifest."""
    script = [sys.executable, "-c", KILLED, str(model), str(tmp_path / "killed")]
    ended = subprocess.run(script, capture_output=True, text=True, check=True).stdout.split()
    assert ended == [str(one) for moment in range(7) for one in (moment, 0 if moment == 6 else -9)]
    opened = [load_model(tmp_path / "killed" / str(moment)) for moment in range(7)]
    own = load_model(br_run.path).rule
    assert [one.rule == make_top_rule(2) for one in opened] == [False, False, False, False, False, True, True]
    assert all(one.rule == own for one in opened[:5])
    facts = dict(opened[0].state().fitted) | {"rule": make_top_rule(3).to_dict()}
    for moment in range(7):  # and it can be renewed again, to the end
        folder = tmp_path / "killed" / str(moment)
        renew_model(folder, facts=facts, metadata={}, card="again")
        assert load_model(folder).rule == make_top_rule(3)
        assert "next" not in (folder / "manifest.json").read_text()


def test_what_is_no_model_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelFolderError, match="nowhere does not exist; it must be a run or a model folder"):
        find_model_folder(tmp_path / "nowhere")
    with pytest.raises(ModelFolderError, match=r"holds no model: there is no manifest.json in it$"):
        find_model_folder(tmp_path)
    (tmp_path / "config.toml").touch()
    with pytest.raises(ModelFolderError, match="the run has not finished: pass --resume to train"):
        find_model_folder(tmp_path)


def test_a_folder_in_use_is_not_overwritten(br_run: RunFolder) -> None:
    with pytest.raises(OutputError, match="is not empty"):
        save_model(load_model(br_run.path), br_run.model, card="", metadata={})


def test_the_card_tells_what_matters(br_run: RunFolder) -> None:
    card = (br_run.model / "README.md").read_text(encoding="utf-8")
    for part in (
        "# br on small",
        "made for tests",
        "micro-F1",
        "## Limits",
        "The test split was not looked at",
    ):
        assert part in card
