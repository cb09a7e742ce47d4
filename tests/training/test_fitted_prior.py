"""The linear model behind the prior: nobody is judged by a model that saw the answer."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from seq2set.core.progress import Progress, Silent
from seq2set.labels.calibration import fit_sigmoid
from seq2set.labels.labels import Labels
from seq2set.models.linear.matrices import list_term_kinds
from seq2set.models.linear.scorer import Reals
from seq2set.models.prior import PriorModel, fold_documents
from seq2set.models.tagger import Examples
from seq2set.text.vocabulary import Words
from seq2set.training.fitted_prior import FittedPrior, fit_prior
from tiny_networks import tiny_config, tiny_examples


class Noted(Silent):
    """What was said."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def fitted(
    examples: Examples,
    *settings: str,
    labels: Labels | None = None,
    targets: csr_matrix | None = None,
    progress: Progress | None = None,
) -> FittedPrior:
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
    targets = labels.indicator(examples.label_sets) if targets is None else targets
    return fit_prior(config, words, examples.texts, targets, progress or Silent())


def margins(prior: PriorModel, texts: list[str]) -> Reals:
    return prior.read([prior.features.words.flat_encode(texts)], texts).margins


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
    whole = [margins(prior.model, examples.texts[place : place + 1]) for prior in (before, after)]
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


RARE = Examples(
    ["wheat here", "wheat there", "wheat and crude", "crude there", "tariff here", "bank there"] * 2,
    [("grain",), ("grain",), ("grain", "oil"), ("oil",), ("trade",), ()] * 2,
)
"""12 documents: 6 with grain, 4 with oil, 2 with trade."""


def test_labels_beyond_the_most_frequent_stand_at_their_share_of_the_documents() -> None:
    prior = fitted(RARE, "prior.labels=2", "prior.folds=3")
    # trade is in 2 of 12 documents, and every document's margin says so.
    assert prior.sigmoid(prior.margins[:, 2]) == pytest.approx([2 / 12] * 12, abs=1e-6)
    assert prior.sigmoid(margins(prior.model, ["wheat", "tariff"])[:, 2]) == pytest.approx(
        [2 / 12] * 2, abs=1e-6
    )
    assert prior.model.scorer.weights.shape[1] == 2
    assert prior.margins.dtype == np.float32
    assert prior.margins.flags.c_contiguous


def test_leaving_rare_labels_out_moves_no_other() -> None:
    every, two = fitted(RARE), fitted(RARE, "prior.labels=2")
    assert np.array_equal(every.margins[:, :2], two.margins[:, :2])
    assert np.array_equal(every.model.scorer.weights[:, :2], two.model.scorer.weights)
    assert not np.array_equal(every.margins[:, 2], two.margins[:, 2])


def test_a_label_in_no_document_or_in_all_stays_finite() -> None:
    always = Examples(["wheat", "crude", "bank"], [("money", "grain"), ("money", "oil"), ("money",)])
    names = Labels.build([("money", "trade"), ("money", "trade"), ("money", "trade"), ("money",)])
    prior = fitted(always, "prior.labels=1", labels=names)
    # Half a document of 3: trade, which none of them has, stands at 1/6.
    assert prior.sigmoid(prior.margins[:, 1]) == pytest.approx([1 / 6] * 3, abs=1e-6)


def test_no_word_speaks_for_a_label_without_a_classifier() -> None:
    prior = fitted(RARE, "prior.labels=2")
    assert next(prior.model.attributions("wheat here", [0])).argmax() == 0
    assert next(prior.model.attributions("tariff here", [2])).tolist() == [0, 0]


def test_the_sigmoid_is_that_of_the_labels_with_a_classifier() -> None:
    prior = fitted(RARE, "prior.labels=2")
    right = Labels.build(RARE.label_sets).indicator(RARE.label_sets).toarray()
    assert prior.sigmoid == fit_sigmoid(prior.margins[:, :2], right[:, :2])


def test_twenty_thousand_labels() -> None:
    sets = [tuple(f"label {place}" for place in range(start, start + 100)) for start in range(0, 20_000, 100)]
    sets = [("common", *one) if number % 2 else one for number, one in enumerate(sets)]
    examples = Examples([f"word{number % 50} and more" for number in range(len(sets))], sets)
    prior = fitted(examples, "prior.labels=10", "prior.folds=2")
    assert prior.margins.shape == (200, 20_001)
    assert prior.model.scorer.weights.shape[1] == 10
    # Every label but the first is in 1 of 200 documents.
    assert prior.sigmoid(prior.margins[0, 10:]) == pytest.approx([1 / 200] * 19_991, abs=1e-6)


def test_documents_without_groups_are_folded_as_they_ever_were() -> None:
    expected = np.random.default_rng(7).permutation(10) % 4
    assert fold_documents(4, 10, 7).tolist() == expected.tolist()
    assert fold_documents(4, 10, 7, ["one"] * 10).tolist() == expected.tolist()
    assert sorted(set(fold_documents(4, 3, 7))) == [0, 1, 2]


def test_a_group_is_in_one_fold_and_folds_are_level() -> None:
    # Groups of 1 to 8 documents, 36 in all: four folds of 9 can be filled exactly.
    groups = [f"g{size}" for size in range(1, 9) for _ in range(size)]
    fold = fold_documents(4, 36, 1, groups)
    assert all(len({int(fold[n]) for n in range(36) if groups[n] == one}) == 1 for one in set(groups))
    assert np.bincount(fold).tolist() == [9, 9, 9, 9]
    assert fold.tolist() == fold_documents(4, 36, 1, groups).tolist()


def draw_texts(documents: int, tell: Callable[[bool], str]) -> Examples:
    """Texts of which every other one has the label."""
    marks = [number % 2 == 0 for number in range(documents)]
    return Examples([tell(mark) for mark in marks], [("grain",) if mark else () for mark in marks])


@pytest.mark.parametrize(
    ("tell", "kind"),
    [
        (lambda mark: "wheat then oil" if mark else "oil then wheat", "weighed"),  # the order alone tells
        (lambda mark: "wheat here" if mark else "oil here", "words"),  # all kinds tell: the first stays
    ],
)
def test_terms_are_chosen_by_what_they_reach_on_a_fold(tell: Callable[[bool], str], kind: str) -> None:
    examples, noted = draw_texts(40, tell), Noted()
    prior = fitted(examples, "prior.terms=best", "linear.c=[1, 10]", progress=noted)
    assert prior.features == list_term_kinds(tiny_config())[kind].features
    assert prior.settings.c == 1  # a larger one reaches no more
    assert noted.notes == [
        f"linear prior: {kind}, C = 1, micro-F1 1.0000 on a fold of the training documents"
    ]


def test_the_larger_c_is_taken_where_it_reaches_more() -> None:
    # Nine documents in ten have "wheat", and of these the label those without "oil": with a C of next to
    # nothing no word has a weight that tells, and one threshold gives the label to all or to none.
    texts = ["wheat oil" if number % 10 < 4 else "wheat" for number in range(200)]
    examples = Examples(texts, [() if "oil" in text else ("grain",) for text in texts])
    small = fitted(examples, "prior.terms=best", "linear.c=[0.000001]")
    assert small.settings.c == 0.000001
    assert fitted(examples, "prior.terms=best", "linear.c=[1, 10]").settings.c == 1


def test_documents_of_the_held_out_fold_are_not_learnt_from_when_terms_are_chosen() -> None:
    # Each word stands in one document alone, so nothing can be known of a document that was held out: its
    # label is a guess, and the best that one threshold reaches gives the label to all of them.
    examples = Examples([f"word{number}" for number in range(40)], [("grain",), ()] * 20)
    noted = Noted()
    fitted(examples, "prior.terms=best", progress=noted)
    reached = float(re.findall(r"micro-F1 (\d\.\d+)", noted.notes[-1])[0])
    assert reached < 0.9


def test_terms_stay_as_they_are_given_where_the_fold_tells_nothing() -> None:
    # The one document that has the label is in one of four folds, so that no classifier can find it in any.
    examples = Examples([f"word{number} wheat" for number in range(40)], [("grain",), *[()] * 39])
    noted = Noted()
    prior = fitted(examples, "prior.terms=best", "prior.c=3", progress=noted)
    assert (prior.features, prior.settings.c) == (tiny_config().features, 3)
    assert noted.notes == []


def test_likely_labels_count_as_given_when_terms_are_chosen() -> None:
    examples = draw_texts(40, lambda mark: "wheat then oil" if mark else "oil then wheat")
    sure = Labels.build(examples.label_sets).indicator(examples.label_sets).astype(np.float32)
    unsure = sure * 0.6 + csr_matrix(np.full(sure.shape, 0.2, np.float32))
    found = fitted(examples, "prior.terms=best", "linear.c=[1]", targets=unsure)
    assert found.features.ngrams == 2
