"""What a teacher says of examples: how likely labels are, and sets that are drawn accordingly."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.svm import LinearSVC

from seq2set.labels.calibration import fit_sigmoid
from seq2set.labels.labels import Labels
from seq2set.labels.lessons import Lessons, make_lessons
from seq2set.models.linear.classifiers import fit_linear
from seq2set.models.tagger import Examples
from seq2set.text.vocabulary import Words
from seq2set.training.examples import encode_examples
from tiny_networks import tiny_config

NAMES = ("a", "b", "c")
GOLD = np.array([[True, False, True]])


def teach(likely: list[list[float]], *, drawn: bool = False, share: float = 0.5, seed: int = 1) -> Lessons:
    scores = np.array(likely, np.float32)
    sets = np.full((len(scores), 4, 3), drawn)
    return make_lessons(NAMES, scores, sets, GOLD, share, np.random.default_rng(seed))


def test_a_teacher_and_a_person_are_mixed() -> None:
    found = teach([[0.8, 0.2, 0.004], [0.4, 0.004, 0.996]])
    # The first document has labels: 0.5 x 0.8 + 0.5, 0.5 x 0.2, and of the faint third the person's half.
    # The second has none: what is faint or nearly sure counts as absent or present.
    assert np.allclose(found.likely.toarray(), [[0.9, 0.1, 0.5], [0.4, 0, 1]])
    assert found.labelled == 1
    assert [one.toarray()[1, 1:].tolist() for one in found.sets] == [[False, True]] * 4


def test_without_a_share_labels_are_as_a_person_gave_them() -> None:
    found = teach([[0.2, 0.9, 0.1]], share=0.0)
    assert np.array_equal(found.likely.toarray(), GOLD)
    assert all(np.array_equal(one.toarray(), GOLD) for one in found.sets)


@pytest.mark.parametrize("drawn", [False, True])
def test_a_label_is_in_as_many_sets_as_it_is_likely(drawn: bool) -> None:
    found = make_lessons(
        NAMES,
        np.tile(np.float32([0.3, 0.7, 0.5]), (4000, 1)),
        np.full((4000, 4, 3), drawn),
        np.zeros((0, 3), bool),
        0.5,
        np.random.default_rng(2),
    )
    often = np.mean([one.toarray().mean(axis=0) for one in found.sets], axis=0)
    assert np.allclose(often, [0.3, 0.7, 0.5], atol=0.011)  # three standard errors of 16,000 draws


def test_sets_that_are_as_frequent_as_they_are_likely_stay_as_they_were_drawn() -> None:
    drawn = np.array([[[True, True, False], [False, False, True], [True, True, False], [False, False, True]]])
    found = make_lessons(
        NAMES, np.float32([[0.5, 0.5, 0.5]]), drawn, np.zeros((0, 3), bool), 0.5, np.random.default_rng(3)
    )
    assert [one.toarray()[0].tolist() for one in found.sets] == drawn[0].tolist()


def test_lessons_come_in_the_order_of_the_students_labels() -> None:
    lessons = teach([[0.8, 0.2, 0.0], [0.0, 1.0, 1.0]], share=1.0)
    labels = Labels(("c", "a", "b"), (1, 1, 1))
    assert np.allclose(lessons.targets(labels).toarray(), [[0, 0.8, 0.2], [1, 0, 1]])
    assert [one.tolist() for one in lessons.rows(labels)[1]] == [[0, 2]] * 4
    picked = lessons.pick(np.array([1]))
    assert picked.labelled == 0
    assert np.allclose(picked.targets(labels).toarray(), [[1, 0, 1]])


def test_other_lessons_are_other_examples() -> None:
    one, two, three = (teach([[p, 0.2, 0.0]], seed=seed) for p, seed in ((0.8, 1), (0.7, 1), (0.8, 1)))
    digests = [Examples(["x"], [("a",)], lessons=lessons).digest() for lessons in (one, two, three)]
    assert digests[0] != digests[1]
    assert digests[0] == digests[2] != Examples(["x"], [("a",)]).digest()


def test_each_turn_brings_another_set() -> None:
    drawn = np.zeros((1, 4, 3), bool)
    drawn[0, [0, 1, 2], [0, 1, 2]] = True
    likely = drawn.mean(axis=1, dtype=np.float32)
    lessons = make_lessons(NAMES, likely, drawn, np.zeros((0, 3), bool), 0.5, np.random.default_rng(4))
    examples = Examples(["wheat"], [()], lessons=lessons)
    config = tiny_config()
    words = Words.build(["wheat"], **config.text.model_dump())
    encoded = encode_examples(examples, config, words, Labels(NAMES, (1, 1, 1)), None)
    turns = [encoded.batch(np.array([0]), turn).gold[0].tolist() for turn in range(5)]
    assert turns == [*drawn[0].tolist(), drawn[0, 0].tolist()]
    assert len(encoded) == 1


def test_a_classifier_learns_how_likely_a_label_is() -> None:
    features = csr_matrix(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, 0.2]]))
    likely = np.array([1.0, 0.0, 0.25, 0.75], np.float32)
    found = fit_linear(tiny_config(), features, csr_matrix(likely[:, None]), 1.0, lambda _: None)
    # The third counts a quarter as one that has the label and three quarters as one that has not, and so on.
    rows, target, weight = [0, 2, 3, 1, 2, 3], [1, 1, 1, 0, 0, 0], [1, 0.25, 0.75, 1, 0.75, 0.25]
    machine = LinearSVC(C=1.0, tol=0.01, random_state=1, dual=True).fit(features[rows], target, weight)
    assert np.allclose(found.weights[:, 0], machine.coef_[0], atol=1e-6)
    assert np.allclose(found.bias, machine.intercept_, atol=1e-6)


def test_targets_that_are_certain_are_labels() -> None:
    features = csr_matrix(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    target = np.array([[1.0], [0.0], [1.0]], np.float32)
    soft, hard = (
        fit_linear(tiny_config(), features, csr_matrix(one), 1.0, lambda _: None)
        for one in (target, target.astype(bool))
    )
    assert np.array_equal(soft.weights, hard.weights)


def test_a_sigmoid_is_fitted_to_probabilities() -> None:
    found = fit_sigmoid(np.float32([[-1.0], [1.0]]), np.float32([[0.25], [0.75]]))
    # Smoothed as Platt does, with one label in all: 0.25 x 2/3 + 0.75 x 1/3 = 5/12 and 7/12.
    assert found.slope == pytest.approx(np.log(7 / 5), abs=1e-5)
    assert found.offset == pytest.approx(0, abs=1e-5)
