from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import InputError
from seq2set.evaluation.faithfulness import (
    Figure,
    Ranking,
    WordedText,
    measure_faithfulness,
    measure_rankings,
    rank_random,
)
from seq2set.inference.model_folder import load_model, read_metadata
from seq2set.models.predictions import Request
from seq2set.models.tagger import Tagger
from seq2set.text.reasons import Evidence
from seq2set.workflows.evaluate import evaluate

TEXT = "Wheat, a wheat harvest; the oil."


@pytest.fixture(scope="module")
def tagger(br_run: RunFolder) -> Tagger:
    return load_model(br_run.path)


def read(tagger: Tagger, text: str = TEXT) -> WordedText:
    return WordedText.read(tagger.state().words, text)


def test_words_are_taken_away_with_all_their_occurrences(tagger: Tagger) -> None:
    text = read(tagger)
    assert text.different == ["wheat", "a", "harvest", "the", "oil"]
    assert text.erase({"wheat", "the"}) == ", a  harvest;  oil."
    assert text.erase(set()) == TEXT


def test_a_phrase_names_its_words_one_by_one(tagger: Tagger) -> None:
    evidence = [Evidence("oil", 28, 31, 0.5), Evidence("wheat harvest", 9, 22, 0.25)]
    assert read(tagger).list_named(evidence) == ["oil", "wheat", "harvest"]


def test_falls_are_the_means_over_the_curve(tagger: Tagger) -> None:
    # Of five words 1, 5, 10 and 20 % are one word, and 50 % are two: the first four points are the same.
    text, grain = read(tagger), tagger.labels.names.index("grain")
    found = measure_rankings(tagger, [text], [Ranking(0, grain, ["wheat", "harvest"])], Request())
    texts = [
        TEXT,
        ", a  harvest; the oil.",
        ", a  ; the oil.",
        "Wheat,  wheat ;  .",
        "Wheat,  wheat harvest;  .",
    ]
    whole, no_wheat, neither, wheat, both = tagger.infer(texts, Request()).scores[:, grain].astype(float)
    assert found.comprehensiveness == pytest.approx([whole - (4 * no_wheat + neither) / 5])
    assert found.sufficiency == pytest.approx([whole - (4 * wheat + both) / 5])
    assert found.comprehensiveness[0] > 0.1


def test_a_document_with_many_labels_weighs_no_more_than_another() -> None:
    # Document 3 has the mean of 0 and 1, document 5 has 2.
    figure = Figure.of(np.array([0.0, 1.0, 2.0]), np.array([3, 3, 5]))
    assert figure.value == 1.25
    # By t with one degree of freedom: the standard error of 0.5 and 2.0 is 0.75.
    assert figure.interval == pytest.approx((1.25 - 12.7062 * 0.75, 1.25 + 12.7062 * 0.75), rel=1e-4)
    assert Figure.of(np.array([0.0, 1.0]), np.array([3, 3])).interval.list_bounds() is None


def test_random_words_are_as_many_and_of_the_same_text(tagger: Tagger) -> None:
    text = read(tagger)
    (drawn,) = rank_random([text], [Ranking(0, 1, ["oil", "wheat"])], np.random.default_rng(1))
    assert (drawn.document, drawn.label) == (0, 1)
    assert len(set(drawn.words)) == 2
    assert set(drawn.words) <= set(text.different)


def test_reasons_of_a_linear_model_are_far_better_than_random(br_run: RunFolder, tmp_path: Path) -> None:
    run = Path(shutil.copytree(br_run.path, tmp_path / "run"))
    report = evaluate(run, evidence_documents=30)
    found = report.evidence
    assert found is not None
    assert 20 <= found.documents <= 30  # a document without a label has no reasons
    assert found.comprehensiveness.value > 2 * found.random_comprehensiveness.value
    assert found.sufficiency.value < found.random_sufficiency.value
    assert found.comprehensiveness.interval.low > found.random_comprehensiveness.interval.high
    assert found.cost > 1
    summary = report.summary()["evidence"]
    assert summary["comprehensiveness"] == pytest.approx(found.comprehensiveness.value, abs=1e-6)
    assert summary["intervals"].keys() == {
        "comprehensiveness",
        "sufficiency",
        "random_comprehensiveness",
        "random_sufficiency",
    }
    # They stand on the model card, and the model answers as before.
    assert read_metadata(run)["evidence"] == {"data": "small", "split": "test", **summary}
    card = (run / "model/README.md").read_text(encoding="utf-8")
    assert "## Reasons" in card
    assert f"{summary['labels']} labels of {found.documents} documents" in card
    load_model(run)


def test_a_model_that_names_no_words_is_not_measured(tagger: Tagger) -> None:
    assert measure_faithfulness(tagger, ["zzz", ""]) is None


def test_a_number_of_documents_below_one_is_refused(br_run: RunFolder) -> None:
    with pytest.raises(InputError, match="evidence_documents is 0; it must be >= 1"):
        evaluate(br_run.path, evidence_documents=0)
