"""scikit-learn's own checks.

They fit on matrices of numbers and leave alone estimators whose tags say that they take texts. So they run
twice: those that fit nothing on the estimator itself, and all of them on a subclass that spells each row of
numbers out as words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator

from seq2set import Seq2SetClassifier

FIT_NOTHING = (
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
)

MULTI_LABEL = (
    "check_classifiers_multilabel_output_format_decision_function",
    "check_classifiers_multilabel_output_format_predict",
    "check_classifiers_multilabel_output_format_predict_proba",
    "check_classifiers_multilabel_representation_invariance",
)
"""Checks of several labels per text."""

SKIPPED = {
    "check_array_api_input": "texts are no numeric arrays, so there is no array API for them",
    "check_complex_data": "there are no complex numbers among texts",
    "check_dtype_object": "an object array of texts is what the estimator is for",
    "check_estimators_nan_inf": "there is no infinity among texts; what is no string is refused",
    "check_fit1d": "one dimension is right for texts",
    "check_fit2d_predict1d": "one dimension is right for texts",
    "check_n_features_in": "a text has no number of features",
    "check_n_features_in_after_fitting": "a text has no number of features",
}

SKIPPED_OF_CLASSIFIERS = SKIPPED | {
    "check_classifier_multioutput": "a rule tuned on validation decides, not a probability of 0.5",
    "check_classifiers_multilabel_output_format_decision_function": "runs among MULTI_LABEL",
    "check_classifiers_regression_target": "fractions are refused, in words of the estimator's own",
    "check_classifiers_train": "a text has no number of features",
}


class OnNumbers(Seq2SetClassifier):
    """Spells rows of numbers out as words, and takes one number a row for its label."""

    def __init__(self, model="br", threads=1, random_state=1, max_labels=1, min_labels=1):
        super().__init__(
            model, random_state=random_state, threads=threads, max_labels=max_labels, min_labels=min_labels
        )

    def fit(self, X, y):
        return super().fit(spelled(X), labelled(y))

    def predict(self, X):
        found = super().predict(spelled(X))
        return np.array([one[0] for one in found]) if isinstance(found, list) else found

    def predict_proba(self, X):
        return super().predict_proba(spelled(X))

    @property
    def decision_function(self):
        raise AttributeError("with one label per row no threshold decides, but the highest probability")

    def score(self, X, y):
        return super().score(spelled(X), labelled(y))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array, tags.input_tags.two_d_array = False, True
        tags.input_tags.string = False
        tags.target_tags.single_output = True
        return tags


class ByThreshold(OnNumbers):
    """Any number of labels per row, each by its threshold."""

    decision_function = Seq2SetClassifier.decision_function


class OfClassifierType(OnNumbers):
    """Calls itself a classifier, as the estimator does not, for the checks that only those get."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags.multi_class = "classifier", True
        return tags


def spelled(X: Any) -> Any:
    if issparse(X):
        return X
    return [" ".join(f"column{c}is{round(2 * v)}" for c, v in enumerate(row)) for row in np.asarray(X)]


def labelled(y: Any) -> Any:
    shape = () if y is None else np.asarray(y).shape
    if y is None or (len(shape) == 2 and shape[1] > 1):
        return y
    return [[_label(one)] for one in np.asarray(y).ravel().tolist()]


def _label(one: Any) -> Any:
    if isinstance(one, str):
        return one
    return int(one) if float(one).is_integer() else one


def name_of(check: Any) -> str:
    return str(getattr(check, "func", check).__name__)


CHECKS = [check for _, check in estimator_checks_generator(OnNumbers())]


@pytest.mark.parametrize("name", FIT_NOTHING)
def test_checks_of_the_estimator_itself(name: str) -> None:
    check: Callable[..., None] = getattr(estimator_checks, name)
    check("Seq2SetClassifier", Seq2SetClassifier())


@pytest.mark.parametrize("check", [c for c in CHECKS if name_of(c) not in SKIPPED], ids=name_of)
@pytest.mark.filterwarnings("ignore:none of the .* texts could be set aside:UserWarning")
def test_checks_on_numbers_as_words(check: Any) -> None:
    check(OnNumbers())


@pytest.mark.parametrize("name", MULTI_LABEL)
def test_checks_of_multi_label_output(name: str) -> None:
    check: Callable[..., None] = getattr(estimator_checks, name)
    check("ByThreshold", ByThreshold(max_labels=None, min_labels=0))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_all_checks_of_a_classifier_pass_but_those_with_a_reason() -> None:
    expected = SKIPPED_OF_CLASSIFIERS
    found = check_estimator(OfClassifierType(), expected_failed_checks=expected, on_fail=None, on_skip=None)
    assert {one["check_name"]: repr(one["exception"]) for one in found if one["status"] == "failed"} == {}
    # What is skipped for a reason must not be able to run; older versions do not have all of them.
    skipped = {one["check_name"] for one in found if one["status"] in ("xfail", "skipped")}
    assert skipped == set(expected) & {one["check_name"] for one in found}
    assert sum(one["status"] == "passed" for one in found) >= 40


def test_what_is_skipped_exists() -> None:
    assert [name for name in SKIPPED_OF_CLASSIFIERS if not hasattr(estimator_checks, name)] == []
    assert len(CHECKS) - len(SKIPPED) >= 30


def test_the_tags_say_texts_and_many_labels() -> None:
    tags = Seq2SetClassifier().__sklearn_tags__()
    assert (tags.input_tags.string, tags.input_tags.one_d_array, tags.input_tags.two_d_array) == (
        True,
        True,
        False,
    )
    assert tags.classifier_tags.multi_label
    assert tags.target_tags.required
