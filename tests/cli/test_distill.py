"""`seq2set distill`: a small model that a large one teaches."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from changing_corpora import all_documents, contents, with_one_label_rare, write_jsonl
from seq2set.config.run_folder import RunFolder
from seq2set.core.files import compute_sha256
from seq2set.corpora.documents import Document
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.inference.model_folder import load_model, read_metadata, read_seen
from seq2set.inference.predictor import Predictor
from tiny_networks import TINY, tiny_examples

BR = ("--model", "br", "--set", "linear.c=[1]", "--set", "features.min_documents=1")
NETWORK = tuple(part for one in TINY for part in ("--set", one))


def further_texts() -> list[str]:
    return sorted(set(tiny_examples(60, seed=9).texts))


def write_texts(path: Path, texts: Sequence[str]) -> Path:
    path.write_text("".join(json.dumps({"text": one}) + "\n" for one in texts), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def further(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts without labels."""
    return write_texts(tmp_path_factory.mktemp("further") / "texts.jsonl", further_texts())


@pytest.fixture(scope="module")
def corpus(small_corpus: PreparedCorpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "mine.jsonl"
    write_jsonl(path, all_documents(small_corpus))
    return path


@pytest.mark.parametrize("student", [BR, NETWORK], ids=["br", "seq2set-simp"])
def test_a_student_learns_from_both_kinds_of_texts(
    seq2set, br_run: RunFolder, small_corpus: PreparedCorpus, further: Path, tmp_path: Path, student
) -> None:
    out = tmp_path / "student"
    taught_by = ("distill", br_run.path, "--data", small_corpus.folder, "--unlabelled", further, "--folds", 2)
    outcome = seq2set(*taught_by, "--out", out, *student)
    assert outcome.code == 0, outcome.err
    about, split = read_metadata(out), small_corpus.split("train")
    assert about["corpus"]["train"] == len(split)  # not those without labels
    taught = about["teacher"]
    assert (taught["model"], taught["folds"], taught["share"]) == ("br", 2, 0.5)
    assert taught["texts"] == len(further_texts())
    assert taught["sha256"] == compute_sha256(br_run.model / "manifest.json")
    tagger = load_model(out)
    assert tagger.config.model == ("br" if student is BR else "seq2set-simp")
    # How often a label occurs is counted on what people said.
    right = [set(one) for one in split.labels()]
    for name, times in zip(tagger.labels.names, tagger.labels.frequencies, strict=True):
        assert times == sum(name in one for one in right)
    card = (out / "model" / "README.md").read_text(encoding="utf-8")
    assert f"a `br` (SHA-256 of its manifest `{taught['sha256']}`), on {taught['texts']:,} texts" in card
    assert "2 models of its settings, each trained without a part of them" in card
    assert json.loads(seq2set("evaluate", out, "--json").out)["micro_f1"] > 0.8
    seen = read_seen(out).trained
    assert seen is not None
    assert len(seen) == len({*split.texts(), *further_texts()})


def test_words_are_learnt_from_texts_without_labels(seq2set, tmp_path: Path) -> None:
    def make(name: str, words: dict[str, str]) -> Path:
        documents = [
            Document(f"{number}", f"{words[label]} number {number}", (label,))
            for number in range(40)
            for label in words
        ]
        write_jsonl(tmp_path / name, documents)
        return tmp_path / name

    known = make("large.jsonl", {"grain": "wheat bushels", "oil": "crude barrels"})
    mine = make("small.jsonl", {"grain": "wheat", "oil": "crude"})
    teacher, out = tmp_path / "teacher", tmp_path / "student"
    assert seq2set("train", "--data", known, "--out", teacher, *BR).code == 0
    texts = [f"bushels of {number}" for number in range(30)] + [
        f"barrels of {number}" for number in range(30)
    ]
    further = write_texts(tmp_path / "further.jsonl", texts)
    call = ("distill", teacher, "--data", mine, "--unlabelled", further, "--folds", 0, "--out", out, *BR)
    assert seq2set(*call).code == 0
    tagger = load_model(out)
    (grain,), (oil,) = Predictor(tagger, {}).predict(["bushels", "barrels"])
    assert (grain.label, oil.label) == ("grain", "oil")
    # No document of the student's corpus has these words, and its own teacher would not know them.
    assert not any("bushels" in one.text for one in all_documents_of(mine))


def all_documents_of(path: Path) -> list[Document]:
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [Document(row["id"], row["text"], tuple(row["labels"])) for row in rows]


def test_training_documents_are_judged_by_models_that_have_not_seen_them(seq2set, tmp_path: Path) -> None:
    """Each document has a word of its own, and its label is a coin's: only who has seen it can know."""
    from safetensors.numpy import load_file

    coins = tiny_examples(80, seed=4)
    documents = [
        Document(f"{number}", f"word{number} report", ("odd",) if (number * 7919) % 13 < 6 else ("even",))
        for number in range(len(coins))
    ]
    mine = tmp_path / "mine.jsonl"
    write_jsonl(mine, documents)
    setting = ("--set", "text.min_frequency=1", "--set", "linear.c=[100]")
    teacher, out = tmp_path / "teacher", tmp_path / "student"
    assert seq2set("train", "--data", mine, "--out", teacher, *BR[:2], *BR[4:], *setting).code == 0
    assert seq2set("distill", teacher, "--data", mine, "--out", out, *BR).code == 0
    scores = [load_file(out / "teacher" / f"fold-{fold}.safetensors")["scores"] for fold in (1, 2, 3, 4)]
    assert sum(map(len, scores)) == read_metadata(out)["corpus"]["train"]
    # Of a document that was learnt, one of the two labels scores near 1; of one that was not, neither can.
    unseen = max(part.max() for part in scores)
    learnt = load_model(teacher).infer([document.text for document in documents], _ask()).scores.max(axis=1)
    assert unseen < sorted(learnt)[len(learnt) // 2]


def _ask():
    from seq2set.models.predictions import Request

    return Request()


def test_texts_of_the_corpus_are_left_out(
    seq2set, br_run: RunFolder, small_corpus: PreparedCorpus, tmp_path: Path
) -> None:
    test = small_corpus.split("test").texts()
    further = write_texts(tmp_path / "further.jsonl", [*test, "wheat", "Wheat ", "", "crude"])
    call = ("distill", br_run.path, "--data", small_corpus.folder, "--unlabelled", further, "--folds", 0)
    outcome = seq2set(*call, "--out", tmp_path / "run", *BR)
    assert outcome.code == 0
    left_out = len(test) + 2
    assert (
        f"{left_out} texts without labels are left out: they are empty, there twice, or of the" in outcome.err
    )
    assert read_metadata(tmp_path / "run")["teacher"]["texts"] == 2


def test_a_stopped_student_goes_on_to_the_same_result(
    seq2set, br_run: RunFolder, corpus: Path, further: Path, tmp_path: Path
) -> None:
    out = tmp_path / "student"
    taught_by = ("distill", br_run.path, "--out", out)
    call = (*taught_by, "--data", corpus, "--unlabelled", further, "--folds", 2, *BR)
    assert seq2set(*call).code == 0
    whole = (out / "model" / "model.safetensors").read_bytes()
    assert "nothing to do" in seq2set(*taught_by, "--resume").err
    shutil.rmtree(out / "model")  # as if killed amid the second fold
    shutil.rmtree(out / "checkpoints")
    (out / "history.jsonl").unlink()
    (out / "teacher" / "fold-2.safetensors").unlink()
    (out / "teacher" / "unlabelled.safetensors").unlink()
    kept = (out / "teacher" / "fold-1.safetensors").stat().st_mtime_ns
    assert seq2set(*taught_by, "--resume").code == 0
    assert (out / "model" / "model.safetensors").read_bytes() == whole
    assert (out / "teacher" / "fold-1.safetensors").stat().st_mtime_ns == kept
    assert seq2set(*call).code == 2  # a run is there
    assert seq2set(*call, "--force").code == 0


@pytest.fixture(scope="module")
def stopped(br_run: RunFolder, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A student that was stopped before its model was written."""
    from seq2set.config import build_config
    from seq2set.workflows.distill import distill
    from seq2set.workflows.teaching_record import Teaching

    out = tmp_path_factory.mktemp("stopped") / "student"
    config = build_config(
        model="br", assignments=[f'data.corpus="{corpus}"', "linear.c=[1]", "features.min_documents=1"]
    )
    distill(config, br_run.path, out, Teaching(folds=2))
    shutil.rmtree(out / "model")
    return out


def test_a_student_goes_on_with_its_own_teacher_only(
    seq2set, br_run: RunFolder, stopped: Path, corpus: Path, further: Path, tmp_path: Path
) -> None:
    before = contents(stopped)
    call = ("distill", br_run.path, "--out", stopped, "--resume")
    for more, sentence in [
        (
            ("--folds", 3),
            "was begun with another teacher or other texts: folds: 2 -> 3; resume with the same",
        ),
        (("--share", 0.9), "share: 0.5 -> 0.9"),
        (("--unlabelled", further), f"texts: 0 -> {len(further_texts())}"),
    ]:
        outcome = seq2set(*call, *more)
        assert (outcome.code, sentence in outcome.err) == (2, True), outcome.err
    other = tmp_path / "other"
    assert seq2set("train", "--data", corpus, "--out", other, *BR).code == 0
    outcome = seq2set("distill", other, "--out", stopped, "--resume")
    assert (outcome.code, "SHA-256 of the teacher: " in outcome.err) == (2, True), outcome.err
    outcome = seq2set("train", "--out", stopped, "--resume")
    assert (outcome.code, "is taught by a teacher; seq2set distill goes on with it" in outcome.err) == (
        2,
        True,
    )
    assert contents(stopped) == before


def test_changed_data_and_damage_are_refused(
    seq2set, br_run: RunFolder, stopped: Path, corpus: Path, tmp_path: Path
) -> None:
    out = tmp_path / "copy"
    shutil.copytree(stopped, out)
    call = ("distill", br_run.path, "--out", out, "--resume")
    documents = all_documents_of(corpus)
    write_jsonl(corpus, with_one_label_rare(documents))
    outcome = seq2set(*call)
    write_jsonl(corpus, documents)
    assert (outcome.code, "was begun on other documents: 128 to learn from" in outcome.err) == (2, True)
    said = out / "teacher" / "fold-1.safetensors"
    whole = said.read_bytes()
    said.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    shutil.rmtree(out / "checkpoints")
    outcome = seq2set(*call)
    assert (outcome.code, f"{said} is damaged" in outcome.err) == (2, True), outcome.err
    (out / "teacher.json").write_text("half", encoding="utf-8")
    outcome = seq2set(*call)
    assert (outcome.code, f"{out / 'teacher.json'} is damaged; name another" in outcome.err) == (2, True)
    (out / "teacher.json").unlink()
    outcome = seq2set(*call)
    assert (outcome.code, f"{out} holds a training without a teacher" in outcome.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--folds", 1), "folds is 1; it must be 0 or at least 2"),
        (("--share", 0), "share is 0.0; it must lie above 0 and not above 1"),
        (("--share", "nan"), "share is nan; it must lie above 0 and not above 1"),
        (("--folds", 0), "folds is 0 and there are no texts without labels: nothing would be taught"),
        (
            ("--model", "cc"),
            "model is 'cc'; a student must be one of br, cnn, cnn-rnn, seq2seq, seq2set-simp",
        ),
        (("--unlabelled", "nowhere.csv"), "nowhere.csv"),
        (("--force", "--resume"), "--force replaces a run and --resume goes on with it; give one of the two"),
    ],
)
def test_calls_that_cannot_be_right(
    seq2set, br_run: RunFolder, corpus: Path, tmp_path: Path, arguments, sentence: str
) -> None:
    out = tmp_path / "student"
    outcome = seq2set("distill", br_run.path, "--data", corpus, "--out", out, *arguments)
    assert (outcome.code, sentence in outcome.err) == (2, True), outcome.err
    assert "Traceback" not in outcome.err
    assert not out.exists()


def test_teachers_that_cannot_teach(seq2set, br_run: RunFolder, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "student"
    outcome = seq2set("distill", tmp_path / "nothing", "--data", corpus, "--out", out)
    assert (outcome.code, "does not exist; it must be a run or a model folder" in outcome.err) == (2, True)
    others = [Document(f"{number}", f"word {number % 3}", (f"x{number % 3}",)) for number in range(30)]
    write_jsonl(tmp_path / "others.jsonl", others)
    outcome = seq2set("distill", br_run.path, "--data", tmp_path / "others.jsonl", "--out", out)
    assert (outcome.code, "has no label in common with others; it knows 4 labels" in outcome.err) == (2, True)
    known = write_texts(tmp_path / "known.jsonl", [one.text for one in all_documents_of(corpus)])
    outcome = seq2set("distill", br_run.path, "--data", corpus, "--unlabelled", known, "--out", out)
    assert (outcome.code, "no text is left; all 160 are empty or in mine already" in outcome.err) == (2, True)
    assert not out.exists()


def test_what_a_teacher_does_not_know_is_said(
    seq2set, br_run: RunFolder, corpus: Path, further: Path, tmp_path: Path
) -> None:
    documents = [
        Document(one.id, one.text, (*one.labels, "rare") if number % 9 == 0 else one.labels)
        for number, one in enumerate(all_documents_of(corpus))
    ]
    write_jsonl(tmp_path / "more.jsonl", documents)
    call = ("distill", br_run.path, "--data", tmp_path / "more.jsonl", "--unlabelled", further, "--folds", 0)
    outcome = seq2set(*call, "--out", tmp_path / "run", *BR)
    assert outcome.code == 0, outcome.err
    assert "the teacher does not know 1 of 5 labels, such as 'rare'" in outcome.err
    # A new splitting of the same documents: some of validation are among those that it was trained on.
    assert "the teacher was trained on " in outcome.err
    assert "rare" in load_model(tmp_path / "run").labels.names
