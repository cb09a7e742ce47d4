"""Documents that a model has learnt or was tuned on are noticed, told of and left out."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest

from seq2set.config import build_config
from seq2set.config.run_folder import RunFolder
from seq2set.corpora.open_corpus import open_corpus
from seq2set.corpora.seen_texts import hash_texts
from seq2set.inference.model_folder import SEEN
from seq2set.workflows.train import train

HEAD = "text,labels\n"


def rows(count: int = 120, seed: int = 5) -> list[str]:
    """Texts of words that say nothing about their labels: what is right was learnt by heart."""
    draw = random.Random(seed)
    words = [f"word{number}" for number in range(400)]
    return [f"{' '.join(draw.sample(words, 12))},{draw.choice('abcd')}" for _ in range(count)]


@pytest.fixture(scope="module")
def learnt(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A model trained on a file of 120 rows: 96 to learn from, 12 to tune on, 12 to test."""
    folder = tmp_path_factory.mktemp("learnt")
    (folder / "mine.csv").write_text(HEAD + "\n".join(rows()) + "\n", encoding="utf-8")
    config = build_config(
        model="br", assignments=[f'data.corpus="{folder / "mine.csv"}"', "features.min_documents=1"]
    )
    return train(config, folder / "run")


@pytest.fixture
def run(learnt: RunFolder, tmp_path: Path) -> Path:
    """A copy of the run, and of its file, that a test may change."""
    shutil.copytree(learnt.path.parent, tmp_path / "home")
    path, record = (tmp_path / "home" / "run" / name for name in ("model/config.json", "run.json"))
    here, now = str(learnt.path.parent), str(tmp_path / "home")
    _rewrite(path, path.read_text(encoding="utf-8").replace(here, now))
    record.write_text(record.read_text(encoding="utf-8").replace(here, now), encoding="utf-8")
    return tmp_path / "home" / "run"


def _rewrite(path: Path, text: str) -> None:
    """Change a file of a model folder, and what the manifest says of it."""
    from seq2set.core.files import compute_sha256

    path.write_text(text, encoding="utf-8")
    manifest = json.loads((path.parent / "manifest.json").read_text())
    manifest["files"][path.name] = {"sha256": compute_sha256(path), "bytes": path.stat().st_size}
    (path.parent / "manifest.json").write_text(json.dumps(manifest))


def without_hashes(run: Path) -> None:
    """Make the model one of those that were saved before hashes were kept."""
    (run / "model" / SEEN).unlink()
    manifest = json.loads((run / "model" / "manifest.json").read_text())
    del manifest["files"][SEEN]
    (run / "model" / "manifest.json").write_text(json.dumps(manifest))


def file_of(run: Path) -> Path:
    return run.parent / "mine.csv"


def shuffled(run: Path) -> None:
    lines = file_of(run).read_text(encoding="utf-8").splitlines()[1:]
    random.Random(1).shuffle(lines)
    file_of(run).write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")


def test_the_test_split_of_the_training_has_no_document_left_out(seq2set, run: Path) -> None:
    outcome = seq2set("evaluate", run, "--json")
    found = json.loads(outcome.out)
    assert (found["split"], found["documents"], found["left_out"]) == ("test", 12, 0)
    assert (found["trained_on"], found["used_for_tuning"], found["corpus_changed"]) == (0, 0, False)
    assert not any(said in outcome.err for said in ("of these 12 documents", "left out", "cannot be checked"))
    assert "12 documents to measure on are few" in outcome.err


def test_of_rows_that_were_shuffled_since_those_trained_on_are_left_out(seq2set, run: Path) -> None:
    before = open_corpus(str(file_of(run)))
    trained, tuned = (set(before.split(name).texts()) for name in ("train", "valid"))
    shuffled(run)
    now = open_corpus(str(file_of(run))).split("test").texts()
    seen = sum(text in trained for text in now)
    used = sum(text in tuned for text in now)
    assert seen > 5  # of 12: without a word, these would be tested on

    outcome = seq2set("evaluate", run, "--json")
    found = json.loads(outcome.out)
    assert (found["trained_on"], found["used_for_tuning"]) == (seen, used)
    assert (found["left_out"], found["documents"]) == (seen + used, 12 - seen - used)
    assert found["corpus_changed"] is True
    assert "mine is not what it was when the model was trained" in outcome.err
    assert f"of these 12 documents {seen} were trained on" in outcome.err

    whole = json.loads(seq2set("evaluate", run, "--json", "--include-seen").out)
    assert (whole["documents"], whole["left_out"], whole["trained_on"]) == (12, 0, seen)
    assert whole["micro_f1"] > found["micro_f1"]


def test_the_runs_own_file_means_its_own_test_split(seq2set, run: Path, monkeypatch) -> None:
    own = seq2set("evaluate", run, "--json").out
    assert without_speed(seq2set("evaluate", run, "--json", "--data", file_of(run)).out) == without_speed(own)
    monkeypatch.chdir(run.parent)
    assert without_speed(seq2set("evaluate", run, "--json", "--data", "./mine.csv").out) == without_speed(own)


def without_speed(out: str) -> dict:
    return {name: value for name, value in json.loads(out).items() if name != "documents_per_second"}


@pytest.mark.parametrize("spoilt", [False, True], ids=["as it was", "other case and white space"])
def test_a_copy_of_the_file_elsewhere_is_noticed_by_a_copied_model(
    seq2set, run: Path, tmp_path: Path, spoilt: bool
) -> None:
    own = json.loads(seq2set("evaluate", run, "--json").out)
    text = file_of(run).read_text(encoding="utf-8")
    if spoilt:
        text = HEAD + text.removeprefix(HEAD).replace("word", "WORD").replace(" ", "  ")
    (tmp_path / "copy.csv").write_text(text, encoding="utf-8")
    model = shutil.copytree(run / "model", tmp_path / "elsewhere")
    shutil.rmtree(run)
    found = json.loads(seq2set("evaluate", model, "--json", "--data", tmp_path / "copy.csv").out)
    assert (found["split"], found["trained_on"], found["used_for_tuning"], found["left_out"]) == (
        "all",
        96,
        12,
        108,
    )
    assert (found["documents"], found["micro_f1"]) == (12, own["micro_f1"])


def test_where_all_documents_were_seen_there_is_nothing_to_measure(
    seq2set, run: Path, tmp_path: Path
) -> None:
    train_texts = open_corpus(str(file_of(run))).split("train")
    lines = [
        f"{text},{labels[0]}" for text, labels in zip(train_texts.texts(), train_texts.labels(), strict=True)
    ]
    (tmp_path / "part.csv").write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")
    outcome = seq2set("evaluate", run, "--data", tmp_path / "part.csv")
    assert outcome.code == 2
    assert outcome.err.splitlines()[-1] == (
        "seq2set: part: the model was trained or tuned on all 96 documents, so none is left to measure on; "
        "pass --include-seen to measure on them all the same"
    )
    found = json.loads(
        seq2set("evaluate", run, "--data", tmp_path / "part.csv", "--include-seen", "--json").out
    )
    assert (found["documents"], found["trained_on"], found["left_out"]) == (96, 96, 0)


@pytest.mark.parametrize(("split", "count"), [("train", 96), ("valid", 12)])
def test_a_split_of_the_training_that_is_asked_for_by_name_is_measured_and_told_of(
    seq2set, run: Path, split: str, count: int
) -> None:
    outcome = seq2set("evaluate", run, "--split", split)
    what = "trained on" if split == "train" else "used for tuning"
    assert f"of these {count} documents {count} were {what}: figures on them are too good" in " ".join(
        outcome.out.split()
    )


def test_a_split_of_a_plain_file_is_never_ignored(seq2set, run: Path, tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text(HEAD + "\n".join(rows(50, seed=9)) + "\n", encoding="utf-8")
    for split, documents in ((None, 50), ("test", 5), ("valid", 5), ("train", 40)):
        chosen = () if split is None else ("--split", split)
        found = json.loads(seq2set("evaluate", run, "--data", tmp_path / "other.csv", *chosen, "--json").out)
        assert (found["split"], found["documents"]) == (split or "all", documents)
    outcome = seq2set("evaluate", run, "--data", tmp_path / "other.csv", "--split", "tset")
    assert (outcome.code, "split 'tset' is not known" in outcome.err) == (2, True)


@pytest.mark.parametrize("kept", [True, False])
def test_test_documents_that_repeat_a_training_text_are_counted_and_kept_unless_told_otherwise(
    seq2set, tmp_path: Path, kept: bool
) -> None:
    texts = [line.split(",") for line in rows(40)]
    lines = [f"{text},{label},{'train' if n < 30 else 'valid'}" for n, (text, label) in enumerate(texts)]
    lines += [f"{texts[3][0].upper()},a,test", f"{texts[35][0]},b,test", "wholly new words,c,test"]
    (tmp_path / "given.csv").write_text("text,labels,split\n" + "\n".join(lines) + "\n", encoding="utf-8")
    seq2set(
        "data", "prepare", "given", "--from", tmp_path / "given.csv", "--split-column", "split", "--out",
        tmp_path / "given",
    )  # fmt: skip
    call = ("train", "--data", tmp_path / "given", "--model", "br", "--out", tmp_path / "run")
    assert seq2set(*call, "--set", "features.min_documents=1").code == 0
    outcome = seq2set("evaluate", tmp_path / "run", "--json", *(() if kept else ("--leave-out-seen",)))
    found = json.loads(outcome.out)
    assert (found["trained_on"], found["used_for_tuning"]) == (1, 1)
    assert (found["documents"], found["left_out"]) == ((3, 0) if kept else (1, 2))
    fate = "figures on them are too good (--leave-out-seen leaves them out)" if kept else "2 left out"
    assert f"of these 3 documents 1 was trained on and 1 was used for tuning: {fate}" in outcome.err


def test_a_model_without_hashes_says_that_it_cannot_know(seq2set, run: Path, tmp_path: Path) -> None:
    without_hashes(run)
    outcome = seq2set("evaluate", run, "--json")
    assert json.loads(outcome.out)["trained_on"] is None
    assert "cannot be checked" not in outcome.err  # its corpus is the very same, and so is its split
    shuffled(run)
    outcome = seq2set("evaluate", run, "--json")
    assert (json.loads(outcome.out)["trained_on"], json.loads(outcome.out)["documents"]) == (None, 12)
    assert "mine is not what it was when the model was trained" in outcome.err
    assert "whether the model was trained on some of these documents cannot be checked" in outcome.err


def test_the_hashes_may_be_deleted(seq2set, run: Path, tmp_path: Path) -> None:
    (run / "model" / SEEN).unlink()
    assert seq2set("predict", run, "word1 word2").code == 0
    (tmp_path / "other.csv").write_text(HEAD + "\n".join(rows(9, seed=9)) + "\n", encoding="utf-8")
    outcome = seq2set("evaluate", run, "--data", tmp_path / "other.csv", "--json")
    assert "cannot be checked" in outcome.err
    assert json.loads(outcome.out)["documents"] == 9


def test_what_a_rule_was_tuned_on_is_seen_as_well(seq2set, run: Path, tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text(HEAD + "\n".join(rows(60, seed=9)) + "\n", encoding="utf-8")
    saved = json.loads((run / "model" / "config.json").read_text(encoding="utf-8"))
    saved["facts"]["rule"] = {"kind": "global", "thresholds": [1.0]}  # one that any other is better than
    _rewrite(run / "model" / "config.json", json.dumps(saved))
    assert "->" in seq2set("tune", "--thresholds", run, "--data", tmp_path / "other.csv").out
    outcome = seq2set("evaluate", run, "--data", tmp_path / "other.csv", "--include-seen", "--json")
    found = json.loads(outcome.out)
    assert (found["trained_on"], found["used_for_tuning"]) == (0, 60)
    assert json.loads(seq2set("evaluate", run, "--json").out)["used_for_tuning"] == 0


def test_a_rule_is_not_tuned_on_training_documents(seq2set, run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.csv"
    lines = file_of(run).read_text(encoding="utf-8").splitlines()
    copy.write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n", encoding="utf-8")
    outcome = seq2set("tune", "--thresholds", run, "--data", copy)
    assert "of these 120 documents 96 were trained on" in outcome.err
    assert "on 24 documents" in outcome.out
    own = seq2set("tune", "--thresholds", run, "--data", file_of(run))
    assert "on 12 documents" in own.out  # its own validation split
    shuffled(run)
    before = {path: path.read_bytes() for path in (run / "model").iterdir()}
    refused = seq2set("tune", "--thresholds", run)
    assert refused.code == 2
    assert "mine is not what it was when the model was trained" in refused.err
    assert "put it back as it was, or name the documents to tune on with --data" in refused.err
    assert before == {path: path.read_bytes() for path in (run / "model").iterdir()}
    named = seq2set("tune", "--thresholds", run, "--data", file_of(run))
    assert named.code == 0
    assert "were trained on" in named.err


def test_another_file_needs_no_column_of_groups(seq2set, tmp_path: Path) -> None:
    head = "text,labels,author\n"
    grouped = [f"{one},a{number // 3}" for number, one in enumerate(rows(60, seed=3))]
    (tmp_path / "mine.csv").write_text(head + "\n".join(grouped) + "\n", encoding="utf-8")
    run, other = tmp_path / "grouped", tmp_path / "other.csv"
    settings = ("--model", "br", "--set", "data.group=author")
    assert seq2set("train", "--data", tmp_path / "mine.csv", "--out", run, *settings).code == 0
    other.write_text(HEAD + "\n".join(rows(9, seed=9)) + "\n", encoding="utf-8")
    outcome = seq2set("evaluate", run, "--data", other, "--json")
    assert json.loads(outcome.out)["documents"] == 9


def test_empty_texts_are_never_called_seen() -> None:
    assert hash_texts(["", " \n", "a"])[:2].tolist() == [0, 0]


def test_a_test_split_that_was_drawn_here_leaves_out_what_was_learnt(seq2set, tmp_path: Path) -> None:
    """The file names documents for validation, and none for the test: that is drawn from the others."""
    table, run = tmp_path / "mine.csv", tmp_path / "run"
    named = [f"{row},{'valid' if number % 5 == 0 else 'train'}" for number, row in enumerate(rows() * 2)]
    table.write_text("text,labels,split\n" + "\n".join(named) + "\n", encoding="utf-8")
    trained = seq2set("train", "--data", table, "--test", "0.2", "--model", "br", "--out", run)
    assert trained.code == 0, trained.err
    found = json.loads(seq2set("evaluate", run, "--json").out)
    assert found["left_out"] > 0
    assert found["left_out"] == found["trained_on"] + found["used_for_tuning"]


@pytest.mark.parametrize("verb", ["--thresholds", "--calibrate"])
def test_after_cross_validation_a_rule_is_tuned_on_what_the_training_tuned_on(
    seq2set, tmp_path: Path, verb: str
) -> None:
    """The last training learns from all splits, and sets documents of its own aside."""
    table, run = tmp_path / "mine.csv", tmp_path / "run"
    table.write_text(HEAD + "\n".join(rows(600)) + "\n", encoding="utf-8")
    trained = seq2set("train", "--data", table, "--model", "br", "--folds", "2", "--out", run)
    assert trained.code == 0, trained.err
    aside = json.loads((run / "run.json").read_text(encoding="utf-8"))["valid"]
    tuned = seq2set("tune", verb, run, "--dry-run")
    assert tuned.code == 0, tuned.err
    assert f"on {aside} documents" in " ".join(tuned.out.split())
    assert "trained on" not in tuned.err
