"""`seq2set distill` and `train --from` with teachers, texts and folders that are not as they should be."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from changing_corpora import all_documents, contents, write_jsonl
from seq2set.config.run_folder import RunFolder
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.corpora.seen_texts import hash_texts
from seq2set.inference.model_folder import read_metadata, read_seen
from seq2set.models.tagger import Tagger
from seq2set.workflows.teacher import TeacherAnswer
from seq2set.workflows.train import train as train_run
from tiny_networks import tiny_config

BR = ("--model", "br", "--set", "linear.c=[1]", "--set", "features.min_documents=1")
TEXTS = ("wheat harvest of spring", "crude barrels and more", "a bank of rates")


def write_texts(path: Path, *texts: str, column: str = "text") -> Path:
    path.write_text("".join(json.dumps({column: one}) + "\n" for one in texts), encoding="utf-8")
    return path


@pytest.fixture
def teacher(br_run: RunFolder, tmp_path: Path) -> Path:
    """A copy of a run, which may be damaged."""
    shutil.copytree(br_run.path, tmp_path / "teacher")
    return tmp_path / "teacher"


@pytest.fixture(scope="module")
def corpus(small_corpus: PreparedCorpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "mine.jsonl"
    write_jsonl(path, all_documents(small_corpus))
    return path


@pytest.mark.parametrize("place", [".", "model", "checkpoints/.."])
def test_force_never_removes_the_teacher(
    seq2set, teacher: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    before = contents(teacher)
    monkeypatch.chdir(teacher.parent)
    call = ("distill", teacher / place, "--data", corpus, "--out", "teacher", "--folds", 2, *BR)
    for more in ((), ("--force",), ("--resume",)):
        outcome = seq2set(*call, *more)
        assert (outcome.code, "lies in --out teacher itself; name another" in outcome.err) == (2, True)
    assert contents(teacher) == before


def test_force_never_removes_the_network_to_begin_from(
    seq2set, small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    settings = (f'data.corpus="{small_corpus.folder}"', "training.validate_every=1000")
    first = train_run(tiny_config(*settings, model="cnn"), tmp_path / "first")
    run = tmp_path / "run"
    assert seq2set("train", "--from", first.path, "--data", small_corpus.folder, "--out", run).code == 0
    before = contents(run)
    outcome = seq2set(
        "train", "--from", run / "start", "--data", small_corpus.folder, "--out", run, "--force"
    )
    assert (outcome.code, f"--from {run / 'start'} lies in --out {run} itself" in outcome.err) == (2, True)
    assert contents(run) == before


def test_what_the_teacher_has_learnt_is_not_unseen(
    seq2set, br_run: RunFolder, small_corpus: PreparedCorpus, corpus: Path, tmp_path: Path
) -> None:
    """Texts without labels carry it over, so that figures on it would be too good."""
    call = ("distill", br_run.path, "--data", corpus, "--test", 60, *BR)
    texts = ("--unlabelled", write_texts(tmp_path / "texts.jsonl", *TEXTS))
    for more, carried in [(("--folds", 0, *texts), True), (("--folds", 2), False)]:
        out = tmp_path / f"student-{carried}"
        outcome = seq2set(*call, *more, "--out", out)
        assert outcome.code == 0, outcome.err
        learnt = read_seen(br_run.path).trained
        seen = read_seen(out).trained
        assert learnt is not None
        assert seen is not None
        assert np.isin(learnt, seen).all() == carried
        told = json.loads(seq2set("evaluate", out, "--json").out)
        assert (told["left_out"] > 0, told["documents"] + told["left_out"]) == (carried, 60)
    shutil.copytree(br_run.path, tmp_path / "old")
    (tmp_path / "old" / "model" / "seen.safetensors").unlink()
    outcome = seq2set(
        "distill", tmp_path / "old", *call[2:], *texts, "--folds", 0, "--out", tmp_path / "more"
    )
    assert "holds no hashes of the texts that it was trained on" in outcome.err


def test_texts_of_another_language_teach_nothing(
    seq2set, br_run: RunFolder, small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    call = ("distill", br_run.path, "--data", small_corpus.folder, "--folds", 0, *BR)
    greek = ("λέξη", "άλλη λέξη")
    only = write_texts(tmp_path / "greek.jsonl", *greek)
    outcome = seq2set(*call, "--unlabelled", only, "--out", tmp_path / "none")
    assert (outcome.code, "knows no word of any of the 2 texts without labels" in outcome.err) == (2, True)
    both = write_texts(tmp_path / "both.jsonl", *greek, *TEXTS)
    outcome = seq2set(*call, "--unlabelled", both, "--out", tmp_path / "some")
    assert outcome.code == 0, outcome.err
    said = "2 texts without labels are left out: the teacher knows no word of them; 3 are taught"
    assert said in " ".join(outcome.err.split())
    assert read_metadata(tmp_path / "some")["teacher"]["texts"] == 3
    seen = read_seen(tmp_path / "some").trained
    assert seen is not None
    assert np.isin(hash_texts([*TEXTS, *greek]), seen).tolist() == [True] * 3 + [False] * 2


def make_pipe(path: Path) -> Path:
    os.mkfifo(path)
    return path


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda at: "", "an input has an empty name; name a file"),
        (lambda at: "-", "standard input (-) cannot be read here; write it to a file"),
        (lambda at: make_pipe(at / "lines.csv"), "this is a pipe or a device; a file is expected here"),
        (
            lambda at: write_texts(at / "body.jsonl", *TEXTS, column="body"),
            "there is no column 'text'; texts of --data and of --unlabelled must stand in columns of one "
            "name (--text); the columns are: body",
        ),
    ],
    ids=["empty", "stdin", "pipe", "column"],
)
def test_texts_that_cannot_be_read(
    seq2set, br_run: RunFolder, corpus: Path, tmp_path: Path, make: Callable[[Path], object], sentence: str
) -> None:
    out = tmp_path / "out"
    call = ("distill", br_run.path, "--data", corpus, "--folds", 0, "--out", out, *BR)
    outcome = seq2set(*call, "--unlabelled", make(tmp_path))
    assert (outcome.code, sentence in outcome.err) == (2, True), outcome.err
    assert not out.exists()


@pytest.mark.parametrize("verb", [("predict", "--input"), ("train", "--data")])
def test_a_pipe_is_refused_and_not_waited_for(
    seq2set, br_run: RunFolder, tmp_path: Path, verb: tuple[str, str]
) -> None:
    pipe = make_pipe(tmp_path / "lines.csv")
    model = (br_run.path,) if verb[0] == "predict" else ("--out", tmp_path / "run")
    outcome = seq2set(verb[0], *model, verb[1], pipe)
    assert (outcome.code, f"{pipe}: this is a pipe or a device" in outcome.err) == (2, True), outcome.err


def test_labels_that_are_not_read_are_named(
    seq2set, br_run: RunFolder, small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    more = tmp_path / "more.csv"
    more.write_text("text,labels\n" + "".join(f"{one},oil\n" for one in TEXTS), encoding="utf-8")
    call = ("distill", br_run.path, "--data", small_corpus.folder, "--folds", 0, *BR)
    outcome = seq2set(*call, "--unlabelled", more, "--out", tmp_path / "run")
    assert outcome.code == 0, outcome.err
    assert f"the labels in {more} are not read: its texts are" in " ".join(outcome.err.split())


def test_repeated_texts_take_no_memory(
    seq2set, br_run: RunFolder, small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    """A small compressed file may hold a large text again and again."""
    import tracemalloc

    with gzip.open(tmp_path / "bomb.csv.gz", "wt", encoding="utf-8") as stream:
        stream.write("text\n")
        for _ in range(2_000):
            stream.write("wheat " * 2_000 + "\n")
    call = ("distill", br_run.path, "--data", small_corpus.folder, "--folds", 0, *BR)
    tracemalloc.start()
    outcome = seq2set(*call, "--unlabelled", tmp_path / "bomb.csv.gz", "--out", tmp_path / "run")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert outcome.code == 0, outcome.err
    assert most < 16e6  # of 24 MB


def test_no_fold_is_without_a_document(seq2set, br_run: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "few.csv").write_text(
        "text,labels\n" + "".join(f"{one},oil\n" for one in TEXTS), encoding="utf-8"
    )
    call = ("distill", br_run.path, "--data", tmp_path / "few.csv", "--no-test", "--out", tmp_path / "run")
    outcome = seq2set(*call, *BR, "--folds", 40)
    assert (
        outcome.code,
        "folds is 40; it must be 0, or from 2 to 2, the training documents" in outcome.err,
    ) == (
        2,
        True,
    )


@pytest.fixture(scope="module")
def stopped(
    br_run: RunFolder, corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Path], Path]:
    """Make a student that was stopped when its teacher had judged, in a folder."""
    from seq2set.config import build_config
    from seq2set.workflows.distill import distill
    from seq2set.workflows.teaching_record import Teaching

    place = tmp_path_factory.mktemp("stopped")
    config = build_config(
        model="br", assignments=[f'data.corpus="{corpus}"', "linear.c=[1]", "features.min_documents=1"]
    )
    texts = write_texts(place / "texts.jsonl", *TEXTS)
    distill(config, br_run.path, place / "student", Teaching((str(texts),), folds=2))
    for name in ("model", "checkpoints"):
        shutil.rmtree(place / "student" / name)
    (place / "student" / "history.jsonl").unlink()

    def copy(to: Path) -> Path:
        shutil.copytree(place / "student", to)
        return to

    return copy


@pytest.mark.parametrize(
    "changes",
    [
        {"sha256": None},
        {"texts": "three"},
        {"taught": None},
        {"folds": "2"},
        {"share": None},
        {"unlabelled": "texts.jsonl"},
        {"unlabelled": [1]},
    ],
    ids=str,
)
def test_a_damaged_record_is_a_sentence(
    seq2set, br_run: RunFolder, stopped: Callable[[Path], Path], tmp_path: Path, changes: dict[str, object]
) -> None:
    path = stopped(tmp_path / "run") / "teacher.json"
    record = json.loads(path.read_text(encoding="utf-8")) | changes
    path.write_text(json.dumps({key: value for key, value in record.items() if value is not None}))
    outcome = seq2set("distill", br_run.path, "--out", tmp_path / "run", "--resume")
    assert (outcome.code, f"{path} is damaged; name another --out" in outcome.err) == (2, True)


def test_a_record_of_a_newer_version_is_refused(
    seq2set, br_run: RunFolder, stopped: Callable[[Path], Path], tmp_path: Path
) -> None:
    path = stopped(tmp_path / "run") / "teacher.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | {"format": 2}))
    outcome = seq2set("distill", br_run.path, "--out", tmp_path / "run", "--resume")
    assert (outcome.code, "has format 2, which a newer version wrote" in outcome.err) == (2, True)


def swap(folder: Path) -> str:
    one, other = folder / "unlabelled.safetensors", folder / "valid.safetensors"
    content = one.read_bytes()
    shutil.copy(other, one)
    other.write_bytes(content)
    return f"{other} is damaged (it is about other texts, or of another teacher); delete it"


def replace_by_folder(folder: Path) -> str:
    (folder / "valid.safetensors").unlink()
    (folder / "valid.safetensors").mkdir()
    return "valid.safetensors: there is a folder instead of the file"


def cut(folder: Path) -> str:
    path = folder / "unlabelled.safetensors"
    path.write_bytes(path.read_bytes()[:-9])
    return f"{path} is damaged"


@pytest.mark.parametrize("damage", [swap, replace_by_folder, cut])
def test_damaged_lessons_are_not_learnt(
    seq2set,
    br_run: RunFolder,
    stopped: Callable[[Path], Path],
    tmp_path: Path,
    damage: Callable[[Path], str],
) -> None:
    sentence = damage(stopped(tmp_path / "run") / "teacher")
    outcome = seq2set("distill", br_run.path, "--out", tmp_path / "run", "--resume")
    assert (outcome.code, sentence in outcome.err) == (2, True), outcome.err


def test_a_student_goes_on_from_any_folder(
    seq2set, br_run: RunFolder, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_texts(tmp_path / "texts.jsonl", *TEXTS)
    call = ("distill", br_run.path, "--data", corpus, "--unlabelled", "texts.jsonl", "--folds", 0, *BR)
    assert seq2set(*call, "--out", "run").code == 0
    weights = (tmp_path / "run" / "model" / "model.safetensors").read_bytes()
    assert read_metadata(tmp_path / "run")["teacher"]["unlabelled"] == ["texts.jsonl"]  # no path of ours
    shutil.rmtree(tmp_path / "run" / "model")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    outcome = seq2set("distill", br_run.path, "--out", "../run", "--resume")
    assert outcome.code == 0, outcome.err
    assert (tmp_path / "run" / "model" / "model.safetensors").read_bytes() == weights


def test_a_student_that_was_killed_while_it_began_goes_on(
    seq2set, br_run: RunFolder, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its settings say that a run has begun: by then, the record of its teacher has to stand."""
    out = tmp_path / "run"
    texts = write_texts(tmp_path / "texts.jsonl", *TEXTS)
    call = ("distill", br_run.path, "--out", out)
    first = (*call, "--data", corpus, "--unlabelled", texts, "--folds", 0, *BR)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("seq2set.config.run_folder.write_toml", die)
        assert seq2set(*first).code == 1
    assert not (out / "config.toml").exists()
    # A plain training may begin here, and is no student then.
    shutil.copytree(out, tmp_path / "plain")
    assert seq2set("train", "--data", corpus, "--out", tmp_path / "plain", *BR).code == 0
    assert not (tmp_path / "plain" / "teacher.json").exists()
    with monkeypatch.context() as patch:
        patch.setattr("seq2set.workflows.distill._teach", die)
        assert seq2set(*first).code == 1
    outcome = seq2set(*call, "--resume")
    assert outcome.code == 0, outcome.err
    assert read_metadata(out)["teacher"]["texts"] == 3


def test_a_teacher_from_another_machine_is_trained_as_this_one_can(
    seq2set, small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    from seq2set.inference.manifest import CONFIG, MANIFEST, describe_file

    settings = (f'data.corpus="{small_corpus.folder}"', "training.validate_every=1000")
    model = train_run(tiny_config(*settings, model="cnn"), tmp_path / "teacher").model
    told = json.loads((model / CONFIG).read_text(encoding="utf-8"))
    told["settings"]["training"]["device"] = "cuda"
    (model / CONFIG).write_text(json.dumps(told), encoding="utf-8")
    manifest = json.loads((model / MANIFEST).read_text(encoding="utf-8"))
    manifest["files"][CONFIG] = describe_file(model / CONFIG)
    (model / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    call = ("distill", tmp_path / "teacher", "--data", small_corpus.folder, "--folds", 2, *BR)
    outcome = seq2set(*call, "--set", "training.device=cpu", "--out", tmp_path / "run")
    assert outcome.code == 0, outcome.err


@pytest.mark.parametrize("batch", [2, 8, 14, 18])
def test_ctrl_c_while_the_teacher_judges_costs_no_bit(
    seq2set,
    small_corpus: PreparedCorpus,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    batch: int,
) -> None:
    """In the first fold, in the second, amid validation documents, and amid texts without labels."""
    from seq2set.workflows import teacher as module

    settings = (f'data.corpus="{small_corpus.folder}"', "training.validate_every=1000")
    network = tmp_path.parent / "network"
    if not network.exists():
        train_run(tiny_config(*settings, model="seq2set-simp"), network)
    texts = write_texts(
        tmp_path / "texts.jsonl", *(f"{one} {number}" for one in TEXTS for number in range(9))
    )
    call = ("distill", network, "--data", small_corpus.folder, "--unlabelled", texts, "--folds", 2, *BR)
    monkeypatch.setattr(module, "BATCH", 8)
    ask, batches = module._ask, iter(range(1, 99))

    def ask_or_stop(tagger: Tagger, block: list[str]) -> Iterator[TeacherAnswer]:
        if next(batches) == batch:
            signal.raise_signal(signal.SIGINT)
        return ask(tagger, block)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
    with monkeypatch.context() as patch:
        patch.setattr(module, "_ask", ask_or_stop)
        outcome = seq2set(*call, "--out", tmp_path / "run")
    signal.signal(signal.SIGINT, before)
    assert (outcome.code, "stopped; rerun with --resume to continue" in outcome.err) == (1, True)
    assert seq2set("distill", network, "--out", tmp_path / "run", "--resume").code == 0
    whole = tmp_path.parent / "whole"
    if not whole.exists():
        assert seq2set(*call, "--out", whole).code == 0
        assert next(batches) < 99
    for name in ("model.safetensors", "labels.json", "tokenizer.json"):
        assert (tmp_path / "run" / "model" / name).read_bytes() == (whole / "model" / name).read_bytes()


DISTILL = """
import sys
from seq2set.cli.app import main
from seq2set.workflows import distill

teach = distill._teach


def teach_when_told(*given):
    print("teaching", flush=True)
    sys.stdin.readline()
    return teach(*given)


distill._teach = teach_when_told
sys.argv = ["seq2set", "distill", *sys.argv[1:]]
main()
"""


def test_two_processes_do_not_teach_one_student(
    seq2set, br_run: RunFolder, corpus: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    call = [br_run.path, "--data", corpus, "--folds", 2, "--out", out, *BR]
    with subprocess.Popen(
        [sys.executable, "-c", DISTILL, *map(str, call)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as other:
        try:
            assert other.stdout is not None
            assert other.stdout.readline() == "teaching\n"
            for more in ((), ("--resume",), ("--force",)):
                outcome = seq2set("distill", *call, *more)
                said = f"{out} is in use by process {other.pid} on"
                assert (outcome.code, said in outcome.err) == (1, True), outcome.err
            _, said = other.communicate("go on\n")
            assert other.returncode == 0, said
        finally:  # nothing runs on where the test fails
            other.kill()
    assert "nothing to do" in seq2set("distill", br_run.path, "--out", out, "--resume").err
