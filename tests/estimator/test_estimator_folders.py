from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.preprocessing import MultiLabelBinarizer

from seq2set import Seq2SetClassifier
from seq2set.core.errors import ModelFolderError, OutputError
from seq2set.inference.predictor import Predictor
from seq2set.workflows.evaluate import evaluate


def test_saved_and_loaded_predict_the_same(make_quick, data, tmp_path: Path) -> None:
    tagger = make_quick(
        random_state=5, max_labels=np.int64(2), threshold=np.float64(0.3), validation_fraction=0.2
    )
    tagger.fit(data.texts, data.label_sets).save(tmp_path / "model")
    loaded = Seq2SetClassifier.load(str(tmp_path / "model"))
    assert loaded.predict(data.texts) == tagger.predict(data.texts)
    assert np.array_equal(loaded.predict_proba(data.texts), tagger.predict_proba(data.texts))
    assert loaded.get_params() == tagger.get_params() | {"verbose": False}
    assert loaded.classes_.tolist() == tagger.classes_.tolist()
    assert loaded.metadata_["validation"] == tagger.metadata_["validation"]
    assert loaded.history_ == []
    again = clone(loaded).fit(data.texts, data.label_sets)
    assert np.array_equal(again.predict_proba(data.texts), tagger.predict_proba(data.texts))


def test_a_saved_matrix_model_gives_matrices(make_quick, data, tmp_path: Path) -> None:
    matrix = csr_matrix(np.insert(MultiLabelBinarizer().fit_transform(data.label_sets), 1, 0, axis=1))
    tagger = make_quick().fit(data.texts, matrix)
    tagger.save(tmp_path / "model")
    loaded = Seq2SetClassifier.load(tmp_path / "model")
    assert (loaded.predict(data.texts) != tagger.predict(data.texts)).nnz == 0
    assert loaded.score(data.texts, matrix) == tagger.score(data.texts, matrix)


def test_the_model_folder_is_that_of_the_command_line(
    fitted, data, br_run, small_corpus, tmp_path: Path
) -> None:
    fitted.save(tmp_path / "model")
    predictor = Predictor.open(tmp_path / "model")
    answers = [tuple(one.label for one in row) for row in predictor.predict(data.texts)]
    assert answers == fitted.predict(data.texts)
    assert "# br on texts given in Python" in (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    trained_there = Seq2SetClassifier.load(br_run.path)
    test = small_corpus.split("test")
    expected = evaluate(br_run.path).result.metrics["micro_f1"]
    assert trained_there.score(test.texts(), test.labels()) == expected
    assert trained_there.get_params()["settings"] == {"linear.c": [1.0, 10.0]}
    assert trained_there.classes_.tolist() == ["grain", "money", "oil", "trade"]


def test_a_model_saved_from_python_has_each_labels_figures(fitted, br_run, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    metadata, there = Predictor.open(tmp_path / "model").metadata, Predictor.open(br_run.path).metadata
    assert metadata.keys() == there.keys() | {"estimator"}
    assert metadata["corpus"].keys() == there["corpus"].keys()
    assert [row["label"] for row in metadata["per_label"]] == list(fitted.tagger_.labels.names)
    # The mean of the labels' F1 is the macro-F1 that the card has.
    mean = np.mean([row["f1"] for row in metadata["per_label"]])
    assert mean == pytest.approx(metadata["validation"]["macro_f1"])


def test_a_model_saved_from_python_notices_what_it_learnt_even_when_it_was_loaded_between(
    fitted, data, tmp_path: Path
) -> None:
    fitted.save(tmp_path / "first")
    Seq2SetClassifier.load(tmp_path / "first").save(tmp_path / "model")
    rows = [f"{text},{';'.join(labels)}\n" for text, labels in zip(data.texts, data.label_sets, strict=True)]
    (tmp_path / "own.csv").write_text(
        "text,labels\nnever read before,grain\n" + "".join(rows), encoding="utf-8"
    )
    overlap = evaluate(tmp_path / "model", data=str(tmp_path / "own.csv")).overlap
    assert overlap.documents - overlap.left_out == 1
    assert overlap.trained_on > overlap.tuned_on > 0


def test_saving_does_not_replace_unasked(fitted, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    with pytest.raises(OutputError, match="is not empty"):
        fitted.save(tmp_path / "model")
    fitted.save(tmp_path / "model", force=True)
    assert Seq2SetClassifier.load(tmp_path / "model").n_labels_ == 3


def test_a_folder_with_a_spoilt_estimator(fitted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted.save(tmp_path / "model")
    metadata = fitted.metadata_ | {"estimator": {"form": {}, "parameters": {"colour": 1}}}
    monkeypatch.setattr("seq2set.inference.predictor.read_metadata", lambda folder: metadata)
    with pytest.raises(ModelFolderError, match="does not hold an estimator that can be opened: .*colour"):
        Seq2SetClassifier.load(tmp_path / "model")


def test_nothing_is_left_behind(make_quick, data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    make_quick().fit(data.texts, data.label_sets)
    assert list(tmp_path.iterdir()) == []
