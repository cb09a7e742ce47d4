from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from seq2set.config.run_folder import RunFolder
from seq2set.core.progress import Silent
from seq2set.corpora.documents import Document
from seq2set.corpora.prepare import prepare
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.corpora.splits import SplitPlan
from seq2set.experiments.cells.predictions import Answers, Sets, measure_predictions
from seq2set.inference.predictor import Predictor
from seq2set.models.predictions import Request
from seq2set.models.tagger import Examples
from seq2set.workflows.evaluate import evaluate
from seq2set.workflows.training_data import load_examples

ANSWERS = Answers(
    names=("a", "b", "c"),
    frequencies=(9, 5, 0),
    ids=("x", "y", "z"),
    chosen=Sets.of([[1, 0], [], [2]]),
    actual=Sets.of([[0], [1, 2], [2]]),
)


def test_counts_worked_by_hand() -> None:
    counts = ANSWERS.counts()
    assert counts.true_positives.tolist() == [1, 0, 1]
    assert counts.predicted.tolist() == [2, 0, 1]
    assert counts.actual.tolist() == [1, 2, 1]
    # 2 right of 3 given and 4 true.
    assert ANSWERS.metrics()["micro_f1"] == pytest.approx(4 / 7)


def test_some_labels_only() -> None:
    counts = ANSWERS.counts({"b", "c", "unheard of"})
    assert counts.true_positives.tolist() == [0, 0, 1]
    assert counts.predicted.tolist() == [1, 0, 1]
    assert counts.actual.tolist() == [0, 2, 1]
    # 3 wrong decisions of 3 documents x 2 labels.
    assert ANSWERS.metrics(["b", "c"])["hamming_loss"] == pytest.approx(3 / 6)


def test_the_order_of_labels_is_kept() -> None:
    assert ANSWERS.chosen.row(0).tolist() == [1, 0]
    assert ANSWERS.chosen.row(1).tolist() == []


def test_what_is_saved_is_read_back(tmp_path: Path) -> None:
    ANSWERS.save(tmp_path / "answers.npz")
    back = Answers.load(tmp_path / "answers.npz")
    assert (back.names, back.frequencies, back.ids) == (ANSWERS.names, ANSWERS.frequencies, ANSWERS.ids)
    for ours, theirs in zip((*back.chosen, *back.actual), (*ANSWERS.chosen, *ANSWERS.actual), strict=True):
        assert ours.tolist() == theirs.tolist()
    with np.load(tmp_path / "answers.npz", allow_pickle=False) as arrays:
        assert arrays["count_true_positives"].tolist() == [1, 0, 1]


def test_the_answers_are_those_of_the_evaluation(br_run: RunFolder, small_corpus: PreparedCorpus) -> None:
    tagger = Predictor.open(br_run.path).tagger
    found = measure_predictions(tagger, load_examples(small_corpus.split("test")), Request(), Silent())
    wanted = evaluate(br_run.path).result.metrics
    assert found.answers.metrics() == pytest.approx(wanted)
    assert found.result.metrics == wanted
    assert found.answers.ids == tuple(small_corpus.split("test").ids())


def test_labels_that_training_never_saw_come_last(br_run: RunFolder) -> None:
    tagger = Predictor.open(br_run.path).tagger
    part = Examples(["wheat harvest bushels"], [("zebra", "grain", "grain")])
    answers = measure_predictions(tagger, part, Request(), Silent()).answers
    assert answers.names == (*tagger.labels.names, "zebra")
    assert answers.frequencies == (*tagger.labels.frequencies, 0)
    assert [answers.names[one] for one in answers.actual.row(0)] == ["grain", "zebra"]


def test_groups_of_the_documents_are_kept(tmp_path: Path, br_run: RunFolder) -> None:
    tagger = Predictor.open(br_run.path).tagger
    part = Examples(["wheat", "crude"], [("grain",), ("oil",)], groups=["g1", "g1"])
    answers = measure_predictions(tagger, part, Request(), Silent()).answers
    assert answers.groups == ("g1", "g1")
    answers.save(tmp_path / "answers.npz")
    assert Answers.load(tmp_path / "answers.npz").groups == ("g1", "g1")


def test_answers_without_groups_say_so(tmp_path: Path, br_run: RunFolder) -> None:
    tagger = Predictor.open(br_run.path).tagger
    answers = measure_predictions(tagger, Examples(["wheat"], [("grain",)]), Request(), Silent()).answers
    assert answers.groups is None
    answers.save(tmp_path / "answers.npz")
    with np.load(tmp_path / "answers.npz", allow_pickle=False) as arrays:
        assert "groups" not in arrays.files
    assert Answers.load(tmp_path / "answers.npz").groups is None


def test_examples_take_their_groups_from_the_split(tmp_path: Path) -> None:
    documents = [Document(f"d{n}", "wheat", ("grain",), "train", f"g{n // 2}") for n in range(4)]
    plan = SplitPlan("given", valid=0)
    corpus = prepare(documents, tmp_path / "c", name="c", source="here", licence="none", plan=plan)
    learn = load_examples(corpus.split("train"))
    assert learn.groups == ["g0", "g0", "g1", "g1"]
    assert learn.pick(np.array([0, 3])).groups == ["g0", "g1"]
