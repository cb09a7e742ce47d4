from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import CorpusError, InputError, UnknownNameError
from seq2set.corpora.documents import Document
from seq2set.corpora.prepare import prepare
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.corpora.splits import SplitPlan
from seq2set.evaluation.measure import evaluate_tagger
from seq2set.inference.predictor import Predictor
from seq2set.labels.labels import Labels
from seq2set.models.predictions import Inference, Request
from seq2set.workflows.evaluate import evaluate, sample_predictions
from seq2set.workflows.train import train


def corpus_of(documents: list[Document], folder: Path) -> PreparedCorpus:
    plan = SplitPlan("given", valid=0)
    return prepare(documents, folder, name="other", source="", licence="", plan=plan)


def test_labels_unseen_in_training_are_misses_with_rows_of_their_own(
    br_run: RunFolder, tmp_path: Path
) -> None:
    documents = [
        Document("0", "anything", ("grain",), "train"),
        Document("1", "wheat harvest bushels", ("grain", "whaling"), "test"),
        Document("2", "crude barrels refinery", ("oil",), "test"),
    ]
    corpus_of(documents, tmp_path / "other")
    report = evaluate(br_run.path, data=str(tmp_path / "other"))
    # Two of three true labels are found, nothing wrong is given: P 1, R 2/3, F1 4/5; 1 of 10 cells is wrong.
    assert report.result.metrics["micro_precision"] == 1
    assert report.result.metrics["micro_recall"] == pytest.approx(2 / 3)
    assert report.result.metrics["micro_f1"] == pytest.approx(0.8)
    assert report.result.metrics["hamming_loss"] == pytest.approx(0.1)
    assert report.result.metrics["subset_accuracy"] == 0.5
    assert report.result.unseen_labels == 1
    whaling = next(row for row in report.result.per_label if row.label == "whaling")
    assert (whaling.recall, whaling.support) == (0, 1)


def test_scores_are_measured_as_probabilities(br_run: RunFolder) -> None:
    report = evaluate(br_run.path)
    tagger, documents = Predictor.open(br_run.path).tagger, report.result.documents
    scores = sum(one.scores for one in report.result.reliability.bins(0.0))
    assert scores == documents * report.result.labels
    summary = report.summary()
    assert {"calibration_error", "calibration_error_all", "brier", "log_loss"} <= summary.keys()
    # A model that gave every label 0 would have a Brier score of as many labels as there are per cell.
    naive = sum(map(len, report.result.actual)) / scores
    assert 0 < summary["brier"] < naive
    assert len(tagger.labels) == report.result.labels


def test_the_curve_agrees_with_the_metrics(br_run: RunFolder) -> None:
    low = evaluate(br_run.path, request=Request(threshold=0.5)).result
    point = min(low.curve, key=lambda one: abs(one.threshold - 0.5))
    assert point.threshold == pytest.approx(0.5)
    assert point.f1 == pytest.approx(low.metrics["micro_f1"])
    assert point.precision == pytest.approx(low.metrics["micro_precision"])
    assert point.recall == pytest.approx(low.metrics["micro_recall"])


def test_the_curve_gives_nothing_to_documents_without_a_known_word(br_run: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "some.csv").write_text("text,labels\nwheat,grain\nzebra,oil\n42,oil\n", encoding="utf-8")
    result = evaluate(br_run.path, data=str(tmp_path / "some.csv"), request=Request(threshold=0.01)).result
    assert result.no_known_words == 2
    assert result.curve[0].recall == pytest.approx(result.metrics["micro_recall"]) == pytest.approx(1 / 3)
    assert result.curve[0].precision == pytest.approx(result.metrics["micro_precision"])


class Halves:
    """Gives every label the score 0.5, and none of them away."""

    labels = Labels(("a", "b"), (2, 1))

    def infer(self, texts: Sequence[str], request: Request) -> Inference:
        return Inference(np.full((len(texts), 2), 0.5, np.float32), [np.empty(0, np.intp) for _ in texts])


def test_a_score_that_equals_the_threshold_counts_in_the_curve(tmp_path: Path) -> None:
    parts = {"x": "train", "y": "test", "z": "test"}
    corpus = corpus_of([Document(text, text, ("a",), part) for text, part in parts.items()], tmp_path / "c")
    curve = evaluate_tagger(Halves(), corpus.split("test")).curve  # type: ignore[arg-type]
    # At 0.5 all four labels are given, two of which are right: P 1/2, R 1. At 0.51 none is.
    at = {round(point.threshold, 2): point for point in curve}
    assert (at[0.5].precision, at[0.5].recall) == (0.5, 1)
    assert (at[0.51].precision, at[0.51].recall) == (0, 0)


def test_the_chosen_labels_are_kept_in_the_order_of_the_model(br_run: RunFolder, tmp_path: Path) -> None:
    rows = "text,labels\nwheat harvest,grain\nzebra,oil\nwheat crude oil barrel,unseen\n"
    (tmp_path / "some.csv").write_text(rows, encoding="utf-8")
    result = evaluate(br_run.path, data=str(tmp_path / "some.csv")).result
    texts = ["wheat harvest", "zebra", "wheat crude oil barrel"]
    given = [[one.label for one in labels] for labels in Predictor.open(br_run.path).predict(texts)]
    assert [[result.per_label[column].label for column in row] for row in result.chosen] == given
    assert (given[1], len(given[2])) == ([], 2)


def test_the_rule_that_decided_is_told(br_run: RunFolder) -> None:
    own = evaluate(br_run.path)
    assert own.result.rule is not None
    assert own.summary()["rule"] == {"kind": "global", "thresholds": [own.summary()["threshold"]]}
    asked = evaluate(br_run.path, request=Request(threshold=0.5)).summary()
    assert (asked["threshold"], asked["rule"]) == (0.5, {"kind": "global", "thresholds": [0.5]})
    few = evaluate(br_run.path, request=Request(top_k=2))
    assert (few.summary()["threshold"], few.summary()["rule"]) == (None, {"kind": "top-k", "k": 2})
    assert few.result.predicted_cardinality == {2: few.result.documents}


def test_cardinalities_count_documents(br_run: RunFolder) -> None:
    result = evaluate(br_run.path).result
    assert sum(result.actual_cardinality.values()) == result.documents
    assert sum(result.predicted_cardinality.values()) == result.documents


def test_a_plain_file_is_measured_whole(br_run: RunFolder, tmp_path: Path) -> None:
    rows = "".join(f"wheat harvest {'word ' * 600 if n == 0 else n},grain\n" for n in range(7))
    (tmp_path / "held_out.csv").write_text("text,labels\n" + rows, encoding="utf-8")
    report = evaluate(br_run.path, data=str(tmp_path / "held_out.csv"))
    assert (report.split, report.result.documents) == ("all", 7)


def test_an_empty_split_cannot_be_measured(br_run: RunFolder, tmp_path: Path) -> None:
    corpus_of([Document("0", "wheat", ("grain",), "train")], tmp_path / "other")
    with pytest.raises(CorpusError, match="the split 'test' is empty; there is nothing to measure"):
        evaluate(br_run.path, data=str(tmp_path / "other"))
    with pytest.raises(UnknownNameError, match="split 'dev' is not known"):
        evaluate(br_run.path, data=str(tmp_path / "other"), split="dev")


def test_a_corpus_that_moved_away(small_corpus: PreparedCorpus, br_run: RunFolder, tmp_path: Path) -> None:
    import shutil

    from seq2set.config import build_config

    moved = Path(shutil.copytree(small_corpus.folder, tmp_path / "moved"))
    settings = [f'data.corpus="{moved}"', "linear.c=[1]"]
    run = train(build_config(model="br", assignments=settings), tmp_path / "run")
    shutil.rmtree(moved)
    with pytest.raises(InputError, match="the corpus of the training cannot be opened, name one with --data"):
        evaluate(run.path)


def test_what_is_odd_about_a_corpus_is_said_when_it_is_learnt_from(tmp_path: Path) -> None:
    from seq2set.config import build_config
    from seq2set.core.progress import Silent

    said: list[str] = []

    class Notes(Silent):
        def note(self, sentence: str) -> None:
            said.append(sentence)

    documents = [
        Document(
            str(n), f"{'wheat' if n % 2 else 'crude'} {n}", (("grain", "oil", "grain|oil")[n % 3],), "train"
        )
        for n in range(40)
    ]
    corpus = corpus_of(documents, tmp_path / "other")
    run = train(
        build_config(model="br", assignments=[f'data.corpus="{corpus.folder}"']),
        tmp_path / "run",
        progress=Notes(),
    )
    assert "other has no validation split: 4 training documents are set aside for tuning" in said
    # The labels of some are two, which nobody has split.
    assert (
        "no document has two labels, and some look like several joined by '|'; if so, split them with "
        "--separator '|'"
    ) in said
    assert run.model.is_dir()


def test_samples_come_with_their_true_labels(br_run: RunFolder, small_corpus: PreparedCorpus) -> None:
    shown = sample_predictions(br_run.path, count=5)
    truth = dict(zip(small_corpus.split("test").ids(), small_corpus.split("test").labels(), strict=True))
    assert len(shown) == 5
    assert all(list(actual) == truth[prediction.id] for prediction, actual in shown)
    assert shown == sample_predictions(br_run.path, count=5)
