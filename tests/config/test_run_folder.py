from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from seq2set.config import Config, build_config
from seq2set.config.provenance import Provenance
from seq2set.config.run_folder import RunFolder, recall_defaults
from seq2set.core.errors import ConfigError, InputError, OutputError
from seq2set.models.tagger import Examples, compute_fingerprint


def test_a_new_run_keeps_its_settings(tmp_path: Path) -> None:
    run = RunFolder.start(tmp_path / "run", Config(seed=4))
    assert run.checkpoints.is_dir()
    assert "seed = 4" in run.config.read_text()


def test_an_occupied_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "precious").touch()
    with pytest.raises(OutputError, match="is not empty"):
        RunFolder.start(tmp_path, Config())
    RunFolder.start(tmp_path / "run", Config())
    with pytest.raises(InputError, match="holds a run already; pass --resume"):
        RunFolder.start(tmp_path / "run", Config())


def test_a_run_that_was_killed_while_it_wrote_its_settings_begins_again(tmp_path: Path) -> None:
    run = RunFolder.start(tmp_path / "run", Config(seed=4))
    run.config.rename(run.path / ".config.toml.x1y2z3")  # as it is before it takes its place
    assert RunFolder.start(tmp_path / "run", Config(seed=4), resume=True).config.is_file()


def test_resume_takes_the_same_settings_only(tmp_path: Path) -> None:
    RunFolder.start(tmp_path / "run", build_config())
    RunFolder.start(tmp_path / "run", build_config(), resume=True)
    changed = build_config(assignments=["seed=2", "text.lowercase=false"])
    with pytest.raises(ConfigError) as caught:
        RunFolder.start(tmp_path / "run", changed, resume=True)
    assert "seed: 1 -> 2" in caught.value.faults[0]
    assert "text.lowercase: True -> False; resume with the same, or begin a new run" in caught.value.faults[1]


def test_resume_without_a_run_begins_one(tmp_path: Path) -> None:
    assert RunFolder.start(tmp_path / "run", Config(), resume=True).config.is_file()


def test_a_run_records_its_documents_when_it_begins_and_takes_no_others(tmp_path: Path) -> None:
    learn, tune = Examples(["wheat", "oil"], [["grain"], ["oil", "grain"]]), Examples(["corn"], [["grain"]])
    begun = Provenance("mine", "f1", compute_fingerprint(learn, tune), 2, 1, 2)
    run = RunFolder.start(tmp_path / "run", Config(), provenance=begun)
    assert json.loads((tmp_path / "run" / "run.json").read_text()) == {
        "format": 1,
        "corpus": "mine",
        "fingerprint": "f1",
        "documents": begun.documents,
        "train": 2,
        "valid": 1,
        "labels": 2,
        "path": "",
        "digest": "",
    }
    RunFolder.start(tmp_path / "run", Config(), provenance=begun, resume=True)
    # The splits that a training does not read may change.
    RunFolder.start(tmp_path / "run", Config(), provenance=replace(begun, fingerprint="f2"), resume=True)
    assert run.stands_on(begun)
    other = replace(begun, documents="else", train=1234)
    assert not run.stands_on(other)
    with pytest.raises(InputError) as caught:
        RunFolder.start(tmp_path / "run", Config(), provenance=other, resume=True)
    assert str(caught.value) == (
        f"{tmp_path / 'run'} was begun on other documents: 2 to learn from, 1 to tune on, 2 labels "
        f"(fingerprint {begun.documents}); mine now has 1,234, 1 and 2 (fingerprint else); put the corpus "
        "back as it was, or name another --out"
    )


def test_the_fingerprint_of_examples_sees_every_change() -> None:
    texts, sets, ids = ["a b", "c"], [["x"], ["y", "x"]], ["1", "2"]
    one, other = Examples(texts, sets, ids), Examples(["d"], [["y"]], ["3"])
    assert compute_fingerprint(one, other) == compute_fingerprint(Examples(texts, sets, ids), other)
    changed = [
        (Examples(["a b", "d"], sets, ids), other),
        (Examples(texts, [["x"], ["y"]], ids), other),
        (Examples(texts, sets, ["1", "4"]), other),
        (one.pick(np.array([1, 0])), other),
        (Examples(texts, sets, ids, {"x": 1}), other),
        (Examples(texts, sets, ids, groups=["g", "g"]), other),
        (Examples([*texts, "d"], [*sets, ["y"]], [*ids, "3"]), Examples([], [])),
        (other, one),
        (one, Examples(["d"], [["x"]], ["3"])),
    ]
    assert len({compute_fingerprint(one, other), *(compute_fingerprint(*parts) for parts in changed)}) == 10


def test_history_passes_over_a_line_cut_off_by_a_crash(tmp_path: Path) -> None:
    run = RunFolder.start(tmp_path / "run", Config())
    assert run.records() == []
    run.log({"step": 1})
    run.log({"step": 2})
    with run.history.open("a") as stream:
        stream.write('{"step": 3')
    assert run.records() == [{"step": 1}, {"step": 2}]
    again = RunFolder.start(tmp_path / "run", Config(), resume=True)
    again.log({"step": 3})
    assert again.records() == [{"step": 1}, {"step": 2}, {"step": 3}]


def test_a_run_goes_on_with_the_defaults_that_it_was_begun_with(tmp_path: Path) -> None:
    begun = build_config(assignments=['data.separator=";"', "search.samples=8"])
    run = RunFolder.start(tmp_path / "run", begun)
    assert recall_defaults(run.config, build_config()) == begun
    RunFolder.start(run.path, build_config(), resume=True)  # version 0.1.0 recorded these by itself
    chosen = build_config(assignments=["search.samples=9"])
    assert recall_defaults(run.config, chosen).search.samples == 9
    with pytest.raises(ConfigError, match=r"other settings: search.samples: 8 -> 9; resume"):
        RunFolder.start(run.path, chosen, resume=True)


def test_a_run_goes_on_with_the_defaults_of_its_preset_then(tmp_path: Path) -> None:
    begun = build_config(assignments=["prior.terms=given"])  # what `compact` had
    run = RunFolder.start(tmp_path / "run", begun)
    text = run.config.read_text("utf-8").replace('terms = "given"\nc = 1.0', "c = 1.0")
    assert text != run.config.read_text("utf-8")
    run.config.write_text(text, "utf-8")  # and did not record
    assert recall_defaults(run.config, build_config()) == begun
    RunFolder.start(run.path, build_config(), resume=True)
    with pytest.raises(ConfigError, match=r"preset: compact -> pretrained"):
        RunFolder.start(run.path, build_config(preset="pretrained"), resume=True)


def test_what_was_never_a_default_is_not_recalled(tmp_path: Path) -> None:
    run = RunFolder.start(tmp_path / "run", build_config(assignments=["search.samples=7"]))
    assert recall_defaults(run.config, build_config()) == build_config()
    assert recall_defaults(tmp_path / "none.toml", build_config()) == build_config()


@pytest.mark.parametrize("line", [b"{", b"[1]", b"[" * 100_000, b"\xff"])
def test_a_damaged_history_is_a_sentence(line: bytes, tmp_path: Path) -> None:
    run = RunFolder.start(tmp_path / "run", build_config())
    run.log({"phase": "linear", "c": 1})
    with run.history.open("ab") as stream:
        stream.write(line + b"\n")
    with pytest.raises(InputError, match=r"history.jsonl(, line 2: the record is damaged| is damaged)"):
        run.records()
