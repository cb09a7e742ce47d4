"""Model folders whose numbers are finite and fit, and whose answers would be none all the same.

Every folder here is consistent, and was made to hurt: calibrators, acceptance, and weights that overflow.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from seq2set.core.errors import ModelFolderError, WorkError
from seq2set.inference.manifest import build_manifest
from seq2set.inference.model_folder import load_model
from seq2set.models.predictions import Request

FORMATS = Path(__file__).resolve().parent.parent / "fixtures" / "formats"
TEXT = json.loads((FORMATS / "documents.jsonl").read_text(encoding="utf-8").splitlines()[0])["text"]
LABELS = 5
LINE = {"scores": [0.1, 0.9], "probabilities": [0.2, 0.8]}
LOGISTIC = {"kind": "logistic", "weights": {"log": 1.0}, "offset": 0.0}
ACCEPTANCE = {"precision": 0.95, "confidence": 0.9, "search": "marginal", "thresholds": [0.5] * LABELS}


def copy(folder: Path, name: str = "br") -> Path:
    return Path(shutil.copytree(FORMATS / "models" / name, folder / "model"))


def seal(folder: Path) -> Path:
    """Give a folder a manifest that fits."""
    (folder / "manifest.json").unlink()
    (folder / "manifest.json").write_text(json.dumps(build_manifest(folder)))
    return folder


def put_confidence(folder: Path, calibrator: Any, acceptance: Any = None) -> Path:
    whole = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    whole["facts"]["confidence"] = {"calibrators": {"marginal": calibrator}, "acceptance": acceptance}
    (folder / "config.json").write_text(json.dumps(whole), encoding="utf-8")
    return seal(folder)


def isotonic(*own: Any, **line: Any) -> dict[str, Any]:
    return {"kind": "isotonic", **LINE, "own": list(own)} | line


def bounded(**changed: Any) -> dict[str, Any]:
    return {"kind": "bounded", "inner": LOGISTIC, "scores": [0.5], "probabilities": [0.4]} | changed


def test_calibrators_as_they_are_written_open(tmp_path: Path) -> None:
    own = {"label": 4, "share": 0.5, **LINE}
    calibrators = LOGISTIC, isotonic(own), isotonic(own, first=LOGISTIC), bounded()
    for number, calibrator in enumerate(calibrators):
        model = put_confidence(copy(tmp_path / str(number)), calibrator, ACCEPTANCE)
        scores = load_model(model).infer([TEXT], Request()).scores
        assert ((scores > 0) & (scores < 1)).all()


@pytest.mark.parametrize(
    ("calibrator", "sentence"),
    [
        (LOGISTIC | {"weights": {"logit": 1e308, "log": -1e308}}, "weights.logit: .* less than or equal to"),
        (LOGISTIC | {"offset": -1e308}, "offset: .* greater than or equal to"),
        (LOGISTIC | {"label_offsets": [1e300] * LABELS}, "label_offsets.0: .* less than or equal to"),
        (LOGISTIC | {"label_offsets": [0.0] * 6}, "6 offsets cannot calibrate 5 labels"),
        (LOGISTIC | {"weights": {"magic": 1.0}}, "feature 'magic' is not known"),
        (isotonic(scores=[0.9, 0.1]), "the scores of a line must ascend in"),
        (isotonic(scores=[0.5, 0.5]), "the scores of a line must ascend in"),
        (isotonic(scores=[0.1, 1.5]), "the scores of a line must ascend in"),
        (isotonic(probabilities=[0.8, 0.2]), "the probabilities of a line must not fall"),
        (isotonic(probabilities=[-1e308, 1e308]), "the probabilities of a line must not fall"),
        (isotonic(scores=[0.1]), "as many scores as probabilities"),
        (isotonic({"label": 0, "share": 1e308, **LINE}), "share: .* less than or equal to 1"),
        (isotonic({"label": 5, "share": 0.5, **LINE}), "a line of label 5 cannot calibrate 5 labels"),
        (isotonic(*[{"label": 1, "share": 0.5, **LINE}] * 2), "a label has two lines"),
        (isotonic(first=LOGISTIC | {"offset": 1e308}), "first.offset: .* less than or equal to"),
        (isotonic(first=LOGISTIC | {"label_offsets": [0.0]}), "1 offsets cannot calibrate 5 labels"),
        (bounded(probabilities=[7.0]), "probabilities.0: .* less than or equal to"),
        (bounded(scores=[-1e308]), "scores.0: .* greater than or equal to"),
        (bounded(scores=[0.5] * 4, probabilities=[0.5] * 4), "4 thresholds cannot bound the scores of 5"),
        (bounded(scores=[0.5] * 5), "as many scores as probabilities"),
        (bounded(inner=bounded()), "inner"),
    ],
)
def test_calibrators_that_cannot_be(calibrator: Any, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(ModelFolderError, match=sentence):
        load_model(put_confidence(copy(tmp_path), calibrator))


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"precision": 2.0}, "precision"),
        ({"confidence": 0.0}, "confidence"),
        ({"thresholds": [1e308] * LABELS}, "thresholds"),
        ({"thresholds": [-0.1] * LABELS}, "thresholds"),
        ({"thresholds": [0.5]}, "1 thresholds of acceptance cannot decide on 5 labels"),
        ({"search": "x" * 1000}, "search"),
    ],
)
def test_acceptance_that_cannot_be(change: Any, key: str, tmp_path: Path) -> None:
    with pytest.raises(ModelFolderError, match=key):
        load_model(put_confidence(copy(tmp_path), LOGISTIC, ACCEPTANCE | change))


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@pytest.mark.parametrize("name", ["br", "cc", "lp", "cnn", "cnn-rnn", "seq2seq", "seq2set-simp", "seq2set"])
def test_weights_that_overflow_are_a_sentence(name: str, tmp_path: Path) -> None:
    """Each is finite, and sums of them are not."""
    model = copy(tmp_path, name)
    tensors = load_file(model / "model.safetensors")
    for key, values in tensors.items():
        if values.dtype == np.float32:
            signs = 1 if key.endswith("idf") else np.where(np.arange(values.size) % 2, 1, -1)
            tensors[key] = (np.full(values.size, 3e38) * signs).astype(np.float32).reshape(values.shape)
    save_file(tensors, model / "model.safetensors")
    tagger = load_model(seal(model))
    with pytest.raises(WorkError, match="gives scores that are not numbers; its weights are too large"):
        tagger.infer([TEXT], Request())


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_reasons_that_overflow_are_left_out(tmp_path: Path) -> None:
    model = copy(tmp_path)
    tensors = load_file(model / "model.safetensors")
    tensors["linear.weights"] = np.full_like(tensors["linear.weights"], 3e38)
    save_file(tensors, model / "model.safetensors")
    (found,) = load_model(seal(model)).infer([TEXT], Request(explain=True)).suggestions("abcde")
    assert found
    for one in found:
        assert all(np.isfinite(word.weight) for word in (*one.evidence, *one.against))


def test_a_file_of_many_values_is_not_read(tmp_path: Path) -> None:
    """Each empty list is two letters and a hundred bytes of memory."""
    model = copy(tmp_path)
    (model / "labels.json").write_text("[" + "[]," * 10_000_001 + "[]]")
    with pytest.raises(ModelFolderError, match=re.escape("labels.json has more than 10,000,000 values")):
        load_model(seal(model))
