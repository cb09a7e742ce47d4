"""The linear model behind the prior: nobody is judged by a model that saw the answer."""

from __future__ import annotations

import numpy as np
import pytest

from seq2set.models.prior import FittedPrior, fit_prior
from seq2set.progress import Silent
from seq2set.tagger import Examples
from seq2set.vocabulary import Labels, Words
from tiny_networks import tiny_config, tiny_examples


def fitted(examples: Examples, *settings: str, labels: Labels | None = None) -> FittedPrior:
    config = tiny_config("prior.enabled=true", *settings)
    words = Words.build(
        examples.texts,
        vocabulary_size=99,
        min_frequency=1,
        lowercase=True,
        unicode_form="NFKC",
        strip_accents=False,
    )
    labels = labels or Labels.build(examples.label_sets)
    return fit_prior(config, words, examples.texts, labels.indicator(examples.label_sets), Silent())


def changed(examples: Examples, place: int) -> Examples:
    """The same texts, but one document has all the labels that it had not."""
    sets = list(examples.label_sets)
    sets[place] = tuple({"grain", "oil", "trade", "money"} - set(sets[place]))
    return Examples(examples.texts, sets)


@pytest.mark.parametrize("place", [0, 3, 17])
def test_a_documents_own_labels_do_not_move_its_margins(place: int) -> None:
    examples = tiny_examples(20)
    labels = Labels.build(examples.label_sets)
    before, after = fitted(examples), fitted(changed(examples, place), labels=labels)
    assert np.array_equal(before.margins[place], after.margins[place])
    assert not np.array_equal(before.margins, after.margins)  # those of the other folds saw the change
    whole = [prior.model.margins(examples.texts[place : place + 1]) for prior in (before, after)]
    assert not np.allclose(*whole)  # as did the model of all documents


def test_margins_tell_labels_apart_out_of_fold() -> None:
    examples = tiny_examples(200)
    prior = fitted(examples, "prior.folds=5")
    right = Labels.build(examples.label_sets).indicator(examples.label_sets).toarray()
    assert prior.margins.shape == right.shape
    assert prior.margins.dtype == np.float32
    assert ((prior.margins > 0) == right).mean() > 0.95


def test_fewer_documents_than_folds() -> None:
    prior = fitted(tiny_examples(3), "prior.folds=8")
    assert np.isfinite(prior.margins).all()
