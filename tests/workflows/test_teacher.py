"""What a teacher says of texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seq2set.core.errors import InputError
from seq2set.core.progress import Silent
from seq2set.labels.calibration import Sigmoid
from seq2set.models.predictions import Request
from seq2set.workflows.teacher import SETS, Opinion, Teacher, fit_confidence
from tiny_networks import tiny_config, tiny_examples, trained

NAMES = ("money", "unknown", "grain", "oil", "trade")


@pytest.mark.parametrize("samples", [8, 2])
def test_a_decoder_says_how_likely_labels_are_and_draws_sets(tmp_path: Path, samples: int) -> None:
    config = tiny_config(f"search.samples={samples}", model="seq2set-simp")
    tagger = trained(tmp_path / "run", config)
    texts = tiny_examples(6, seed=5).texts
    said = Teacher(Path("teacher"), "", tagger, NAMES).judge(texts, tmp_path / "said.safetensors", Silent())
    columns = [tagger.labels.names.index(name) for name in NAMES if name != "unknown"]
    scores = tagger.infer(texts, Request(search="marginal")).scores
    assert np.array_equal(said.scores[:, [0, 2, 3, 4]], scores[:, columns])
    assert not said.scores[:, 1].any()
    # Each set is one of those that the decoder drew of the same text.
    every = tagger.draw_sets(texts).drawn[:, :, columns]
    assert said.drawn.shape == (6, SETS, 5)
    for own, drawn in zip(said.drawn[:, :, [0, 2, 3, 4]], every, strict=True):
        assert {one.tobytes() for one in own} <= {one.tobytes() for one in drawn}
    assert said.known.all()
    nobody: Any = None
    kept = tmp_path / "said.safetensors"
    again = Teacher(Path("other"), "", nobody, NAMES).judge(texts, kept, Silent())
    assert np.array_equal(again.drawn, said.drawn)  # what is kept is read, not computed again
    # What was said of other texts, by another teacher or of other labels is not taken for it.
    for sha256, names, others in (("", NAMES, texts[:5]), ("other", NAMES, texts), ("", NAMES[:1], texts)):
        with pytest.raises(InputError, match="said.safetensors is damaged .it is about other texts"):
            Teacher(Path("other"), sha256, nobody, names).judge(others, kept, Silent())


def test_a_text_without_a_known_word_is_noticed(tmp_path: Path) -> None:
    texts = ["wheat", "λέξη", ""]
    for model in ("seq2set-simp", "cnn"):
        tagger = trained(tmp_path / model, tiny_config(model=model))
        said = Teacher(Path("teacher"), "", tagger, NAMES).judge(texts, tmp_path / f"{model}.st", Silent())
        assert said.known.tolist() == [True, False, False]


def test_scores_that_are_too_sure_are_made_less_so() -> None:
    scores = np.array([[0.9, 0.1]] * 4, np.float32)
    gold = np.array([[True, False], [True, False], [True, False], [False, True]])
    said = Opinion(scores, np.zeros((4, SETS, 2), bool), np.ones(4, bool))
    found = said.calibrate(fit_confidence(said, gold)).scores[0]
    # Three of four are right, smoothed as Platt does with four of each kind: 3/4 x 5/6 + 1/4 x 1/6 = 2/3.
    assert found == pytest.approx([2 / 3, 1 / 3], abs=1e-4)


def test_a_label_that_cannot_be_given_stays_so() -> None:
    said = Opinion(np.array([[0.0, 0.5]], np.float32), np.zeros((1, SETS, 2), bool), np.ones(1, bool))
    assert said.calibrate(Sigmoid(1.0, 2.0)).scores[0, 0] == 0
