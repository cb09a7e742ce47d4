from __future__ import annotations

import json
import os
import signal
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from studies import BR_SPACE, NETWORK_SPACE, br_config, cells, network_config, space_file

from seq2set.config import build_config, load_config
from seq2set.core.errors import ConfigError, CorpusError, InputError, StoppedError, WorkError
from seq2set.core.files import hold_lock
from seq2set.core.progress import Advance, Silent
from seq2set.corpora.prepare import prepare
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.corpora.splits import SplitPlan
from seq2set.inference.model_folder import read_metadata
from seq2set.tuning.search import tune
from seq2set.tuning.study import StudyFolder
from seq2set.workflows.training_data import carve_validation, load_examples, load_training_data


class Listening:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.done = 0
        self.status = ""

    @contextmanager
    def stage(self, title: str, total: int | None = None) -> Iterator[Advance]:
        def advance(done: int, status: str = "", /) -> None:
            self.done += done
            self.status = status

        yield advance

    def note(self, sentence: str) -> None:
        self.notes.append(sentence)


@pytest.fixture
def unvalidated(small_corpus: PreparedCorpus, tmp_path: Path) -> PreparedCorpus:
    """A corpus of 120 training and 40 test documents."""
    splits = [small_corpus.split(name) for name in ("train", "valid", "test")]
    documents = (document for split in splits for batch in split.iter_batches(64) for document in batch)
    plan = SplitPlan("random", 0, 0.25, 1)
    return prepare(documents, tmp_path / "unvalidated", name="u", source="s", licence="l", plan=plan)


def test_a_study_leaves_the_best_settings_tables_and_a_picture(
    small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    out, told, config = tmp_path / "study", Listening(), br_config(small_corpus)
    space = space_file(tmp_path, BR_SPACE)
    found = tune(config, out, space=space, trials=3, progress=told)
    validation = [read_metadata(out / "trials" / f"{number:04}")["validation"] for number in range(3)]
    values = [one["micro_f1"] for one in validation]
    assert [row.value for row in found.rows] == values
    assert found.best.number == values.index(max(values))
    assert found.run.path == out / "trials" / f"{found.best.number:04}"
    assert (out / "best.toml").read_text() == found.run.config.read_text()
    best = build_config(file=out / "best.toml")
    assert best.linear.c == (found.best.settings["linear.c"],)
    assert best.features.ngrams == found.best.settings["features.ngrams"]
    assert not list(out.glob("trials/*/checkpoints"))
    assert told.done == 3
    assert told.status == f"best {max(values):.4f} (trial {found.best.number})"
    assert [note.split(" after")[0] for note in told.notes] == [
        f"trial {number}: micro_f1 {value:.4f}" for number, value in enumerate(values)
    ]
    head = "trial,state,value,looks,seconds,linear.c,features.ngrams,features.sublinear"
    assert (out / "trials.csv").read_text().startswith(head + "\n0,complete,")
    table = (out / "trials.md").read_text().splitlines()
    assert table[0] == f"| {head.replace(',', ' | ')} |"
    assert len(table) == 5
    assert [row["value"] for row in json.loads((out / "trials.json").read_text())] == values
    assert (out / "study.png").read_bytes().startswith(b"\x89PNG")
    assert ET.parse(out / "study.svg").getroot().tag.endswith("svg")


@pytest.mark.usefixtures("undrawn")
def test_a_loss_is_made_small(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    config = br_config(small_corpus, "decision.metric=hamming_loss")
    space = space_file(tmp_path, "[linear]\nc = { choice = [[0.0001], [10.0]] }")
    found = tune(config, tmp_path / "study", space=space, trials=4)
    by_c = {row.settings["linear.c"]: row.value for row in found.rows}
    assert by_c["[10.0]"] < by_c["[0.0001]"]
    assert found.best.settings["linear.c"] == "[10.0]"
    assert load_config(tmp_path / "study" / "best.toml").linear.c == (10.0,)


@pytest.mark.usefixtures("undrawn")
def test_a_study_that_grows_is_the_one_that_was_large_from_the_beginning(
    small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    config, space = br_config(small_corpus, "linear.c=[1]"), space_file(tmp_path, BR_SPACE)
    tune(config, tmp_path / "whole", space=space, trials=3)
    tune(config, tmp_path / "grown", space=space, trials=1)
    told = Listening()
    tune(config, tmp_path / "grown", space=None, trials=3, resume=True, progress=told)
    assert cells(tmp_path / "grown") == cells(tmp_path / "whole")
    assert len({cell.settings for cell in cells(tmp_path / "whole")}) == 3
    assert (told.done, len(told.notes)) == (3, 2)


@pytest.mark.usefixtures("undrawn")
def test_what_does_not_fit_a_study_that_is_there_is_refused(
    small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    config, out = br_config(small_corpus), tmp_path / "study"
    tune(config, out, space=space_file(tmp_path, BR_SPACE), trials=1)
    with pytest.raises(InputError, match="study holds a study already; pass --resume to continue it"):
        tune(config, out, trials=1)
    with pytest.raises(ConfigError, match="study was begun with other settings: seed: 1 -> 2; resume with"):
        tune(config.model_copy(update={"seed": 2}), out, trials=1, resume=True)
    other = space_file(tmp_path, NETWORK_SPACE)
    with pytest.raises(ConfigError, match="was created with a different search space; pass the same --space"):
        tune(config, out, space=other, trials=1, resume=True)
    busy = hold_lock(StudyFolder(out).lock("study"), busy="", seconds=0)
    with busy, pytest.raises(WorkError, match="another process works on the study .*; wait until it ends"):
        tune(config, out, trials=1, resume=True)
    with pytest.raises(InputError, match="--trials is 0; it must be >= 1"):
        tune(config, out, trials=0, resume=True)
    with pytest.raises(InputError, match="--jobs is -1; it must be >= 1"):
        tune(config, out, jobs=-1, resume=True)


def test_a_wrong_space_leaves_nothing_behind(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="linear.d is not a setting, did you mean 'linear.c'"):
        tune(br_config(small_corpus), tmp_path / "study", space=space_file(tmp_path, "linear.d = 1"))
    assert not (tmp_path / "study").exists()


@pytest.mark.usefixtures("undrawn")
def test_validation_is_carved_where_it_is_asked_for(unvalidated: PreparedCorpus, tmp_path: Path) -> None:
    config, out = br_config(unvalidated), tmp_path / "study"
    with pytest.raises(CorpusError, match="there is no validation split to tune on; pass --carve 0.1 to set"):
        tune(config, out)
    with pytest.raises(InputError, match="--carve is 1.5; it must lie between 0 and 1"):
        tune(config, out, carve=1.5)
    assert not out.exists()
    found = tune(config, out, trials=1, carve=0.2)
    corpus = PreparedCorpus.open(out / "corpus")
    # 120 training documents: 24 are a fifth of them
    assert [len(corpus.split(name)) for name in ("train", "valid", "test")] == [96, 24, 40]
    assert corpus.split("test").ids() == unvalidated.split("test").ids()
    assert read_metadata(found.run.path)["corpus"]["valid"] == 24
    assert load_config(out / "best.toml").data.corpus == str(out / "corpus")
    kept = (out / "corpus" / "corpus.json").stat().st_mtime_ns
    tune(config, out, trials=2, carve=0.2, resume=True)
    assert (out / "corpus" / "corpus.json").stat().st_mtime_ns == kept


def test_a_validation_split_that_is_there_is_not_carved_again(
    small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    with pytest.raises(CorpusError, match="there is a validation split of 32 documents; leave --carve out"):
        tune(br_config(small_corpus), tmp_path / "study", carve=0.1)


@pytest.mark.usefixtures("undrawn")
def test_failures_are_told_and_a_study_of_nothing_else_says_why(
    small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    space = space_file(tmp_path, "warm_start.learning_rate = { choice = [1e300] }")
    told = Listening()
    with pytest.raises(WorkError, match="none of the 2 trials in .*study is complete: the (loss|gradient)"):
        tune(network_config(small_corpus), tmp_path / "study", space=space, trials=2, progress=told)
    assert told.notes[1].startswith("trial 1: failed, the ")
    assert [cell.state for cell in cells(tmp_path / "study")] == ["failed", "failed"]
    assert not (tmp_path / "study" / "best.toml").exists()


def interrupt_when(exists: Path) -> threading.Thread:
    """Send this process a SIGINT as soon as a file is there."""

    def wait() -> None:
        while not exists.is_file():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


@pytest.mark.usefixtures("undrawn")
def test_a_study_stops_cleanly_and_goes_on(small_corpus: PreparedCorpus, tmp_path: Path) -> None:
    config, space, out = network_config(small_corpus), space_file(tmp_path, NETWORK_SPACE), tmp_path / "study"
    interrupt_when(out / "trials" / "0001" / "history.jsonl")
    with pytest.raises(StoppedError) as stopped:
        tune(config, out, space=space, trials=2)
    assert str(stopped.value) == (
        f"stopped with 1 of 2 trials done; all is saved in {out}; rerun with --resume to continue"
    )
    begun = (out / "trials" / "0001" / "config.toml").read_text()
    tune(config, out, space=space, trials=2, resume=True)
    assert (out / "trials" / "0001" / "config.toml").read_text() == begun
    looks = (out / "trials" / "0001" / "history.jsonl").read_text()
    assert looks.count("\n") == 8
    assert [cell.state for cell in cells(out)] == ["complete"] * 2


@pytest.mark.usefixtures("undrawn")
def test_all_faces_are_scored_on_the_same_documents(unvalidated: PreparedCorpus, tmp_path: Path) -> None:
    """A training, a study and the estimator, whatever the seed of the training is."""
    whole = load_examples(unvalidated.split("train"))
    tune(br_config(unvalidated).model_copy(update={"seed": 5}), tmp_path / "study", trials=1, carve=0.1)
    of_study = PreparedCorpus.open(tmp_path / "study" / "corpus").split("valid").ids()
    learn, of_training = load_training_data(unvalidated, Silent())
    of_estimator = carve_validation(whole, 0.1).tune.ids
    assert len(of_study) == 12
    assert list(of_training.ids) == of_study == list(of_estimator)
    assert sorted([*learn.ids, *of_training.ids]) == sorted(whole.ids)
