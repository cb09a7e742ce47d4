"""`train --resume` and documents that are not those that the run was begun on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from changing_corpora import all_documents, contents, with_one_label_rare, write_jsonl
from seq2set.config.run_folder import RunFolder
from seq2set.corpora.documents import Document
from seq2set.corpora.prepared import PreparedCorpus
from tiny_networks import TINY

BR = ("--model", "br", "--set", "linear.c=[1]", "--set", "features.min_documents=1")
NETWORK = ("--model", "seq2set-simp", "--set", "prior.enabled=false")
NETWORK += tuple(part for one in (*TINY, "warm_start.epochs=2") for part in ("--set", one))


@pytest.fixture
def documents(small_corpus: PreparedCorpus) -> list[Document]:
    return all_documents(small_corpus)


@pytest.fixture
def mine(documents: list[Document], tmp_path: Path) -> Path:
    path = tmp_path / "mine.jsonl"
    write_jsonl(path, documents)
    return path


@pytest.mark.parametrize("model", [BR, NETWORK], ids=["br", "network"])
def test_a_stopped_training_on_changed_labels_is_refused(
    seq2set, mine: Path, documents, tmp_path: Path, model
) -> None:
    run = tmp_path / "run"
    call = ("train", "--data", mine, "--out", run, *model)
    assert seq2set(*call).code == 0
    shutil.rmtree(run / "model")  # as if killed before the model was written
    stopped = contents(run)
    write_jsonl(mine, with_one_label_rare(documents))
    outcome = seq2set(*call, "--resume")
    assert outcome.code == 2, json.loads(seq2set("evaluate", run, "--json").out)["micro_f1"]
    begun = json.loads((run / "run.json").read_text(encoding="utf-8"))
    # 160 documents, a tenth of them for validation and a tenth for test; the same four labels
    assert f"{run} was begun on other documents: 128 to learn from, 16 to tune on, 4 labels" in outcome.err
    assert f"(fingerprint {begun['documents']}); mine now has 128, 16 and 4 (fingerprint " in outcome.err
    assert "put the corpus back as it was, or name another --out" in outcome.err
    assert contents(run) == stopped


@pytest.mark.parametrize("model", [BR, NETWORK], ids=["br", "network"])
def test_a_stopped_training_goes_on_where_the_file_is_as_it_was(
    seq2set, mine: Path, documents, tmp_path: Path, model
) -> None:
    run = tmp_path / "run"
    call = ("train", "--data", mine, "--out", run, *model)
    assert seq2set(*call).code == 0
    found = json.loads(seq2set("evaluate", run, "--json").out)
    shutil.rmtree(run / "model")
    write_jsonl(mine, with_one_label_rare(documents))
    assert seq2set(*call, "--resume").code == 2
    write_jsonl(mine, documents)
    assert seq2set(*call, "--resume").code == 0
    again = json.loads(seq2set("evaluate", run, "--json").out)
    assert again["micro_f1"] == found["micro_f1"]


def test_a_finished_training_does_not_pass_for_one_on_other_documents(
    seq2set, mine: Path, documents, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    call = ("train", "--data", mine, "--out", run, *BR)
    assert seq2set(*call).code == 0
    finished = contents(run)
    write_jsonl(mine, [*documents[1:], documents[0]])  # the same rows in another order
    outcome = seq2set(*call, "--resume")
    assert (outcome.code, "was begun on other documents" in outcome.err) == (2, True)
    assert "finished already" not in outcome.err
    assert contents(run) == finished
    write_jsonl(mine, documents)
    outcome = seq2set(*call, "--resume")
    assert (outcome.code, "is finished already" in outcome.err) == (0, True)


def test_a_training_without_its_record_is_not_gone_on_with(seq2set, mine: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    call = ("train", "--data", mine, "--out", run, *BR)
    seq2set(*call)
    (run / "run.json").unlink()
    stopped = contents(run)
    outcome = seq2set(*call, "--resume")
    assert outcome.code == 2
    assert f"{run} has no run.json, so that the documents that it was begun on are unknown" in outcome.err
    assert contents(run) == stopped
    shutil.rmtree(run / "model")  # killed before anything was fitted: there is nothing to be checked
    shutil.rmtree(run / "checkpoints")
    (run / "history.jsonl").unlink()
    assert seq2set(*call, "--resume").code == 0
    assert (run / "run.json").is_file()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"format": 2}', "run.json has format 2, which a newer version wrote; this one reads format 1"),
        ("half", "run.json is damaged; name another --out"),
    ],
)
def test_a_record_that_cannot_be_read(seq2set, mine: Path, tmp_path: Path, text: str, sentence: str) -> None:
    run = tmp_path / "run"
    call = ("train", "--data", mine, "--out", run, *BR)
    seq2set(*call)
    (run / "run.json").write_text(text, encoding="utf-8")
    outcome = seq2set(*call, "--resume")
    assert (outcome.code, sentence in outcome.err) == (2, True), outcome.err


def test_a_run_that_was_killed_while_it_began_is_begun_again(seq2set, mine: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "checkpoints").mkdir(parents=True)
    (run / "run.json").write_text("{}", encoding="utf-8")
    assert seq2set("train", "--data", mine, "--out", run, *BR).code == 0
    assert RunFolder(run).config.is_file()
