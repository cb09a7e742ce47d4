"""The estimator itself: parameters in, predictions out, in the habit of scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from seq2set.config.catalog import SCORING, find_model
from seq2set.core.errors import ModelFolderError, StoppedError
from seq2set.core.progress import Silent, StderrProgress
from seq2set.estimator.inputs import (
    EstimatorInputError,
    LabelFormat,
    check_targets,
    check_texts,
    check_weights,
    take_targets,
)
from seq2set.estimator.settings import configure, find_changes, to_python
from seq2set.inference.given_texts import infer_given
from seq2set.inference.model_folder import read_seen
from seq2set.inference.predictor import BATCH, Predictor
from seq2set.labels.indicator import build_indicator
from seq2set.models.predictions import Inference, Request, Scores, Suggestion
from seq2set.models.tagger import Examples
from seq2set.workflows.starting_model import StartingModel
from seq2set.workflows.train import TrainedModel, train_in_memory
from seq2set.workflows.training_data import TrainingData, carve_validation

Labelling = list[tuple[Any, ...]] | npt.NDArray[np.int64] | csr_matrix
"""Label sets, or a matrix of zeros and ones: the form that `fit` was given."""

_KEPT = ("threshold", "top_k", "max_labels", "min_labels", "search", "validation_fraction")
"""Parameters that are saved with the model, beside its settings."""


class Seq2SetClassifier(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Assign sets of labels to texts, in the habit of scikit-learn.

    Texts are a list, tuple, array or Series of strings, or a table (a DataFrame of pandas or polars, a
    `datasets.Dataset`, a table of Arrow) with a column of them. Labels are a list, tuple, array or Series of
    label sets (lists, tuples or sets of strings, or of whole numbers), an indicator matrix, dense or sparse,
    or a table of zeros and ones whose columns are named by the labels; predictions have the form that `fit`
    was given. scikit-learn's cross-validation refuses label sets for estimators that call themselves
    classifiers, so the tags of this one leave its type open.

    Parameters
    ----------
    model, preset
        Which model to train, from which preset; the names are those of the command line.
    settings
        Further settings over the preset, such as `{"encoder.hidden": 128}`.
    random_state
        The seed of everything random: a whole number, a `RandomState`, or None for another one in each fit.
    threads
        How many CPU threads a process uses; with "auto", training starts one process of one thread per core
        where that pays (`settings={"workers": 1}` keeps it in this one), and prediction takes one thread.
    validation_fraction
        The share of the documents that is set aside to choose weights, settings and threshold by.
    threshold, top_k, max_labels, min_labels, search
        How labels are chosen at prediction; what is None is as the model was trained.
    verbose
        Whether to tell on standard error how training goes on.

    Attributes
    ----------
    classes_
        The labels in ascending order, or the columns of the indicator matrix by name or number.
    n_labels_
        How many there are.
    tagger_
        The trained model.
    metadata_
        What training recorded: data, validation metrics, seconds.
    history_
        What happened in training, as in a run's `history.jsonl`; empty in a model that was loaded.

    """

    def __init__(
        self,
        model: str = "seq2set",
        preset: str = "compact",
        settings: Mapping[str, Any] | None = None,
        random_state: int | np.random.RandomState | None = 1,
        threads: int | str = "auto",
        validation_fraction: float = 0.1,
        threshold: float | None = None,
        max_labels: int | None = None,
        min_labels: int = 0,
        search: str | None = None,
        verbose: bool = False,
        top_k: int | None = None,
    ):
        self.model = model
        self.preset = preset
        self.settings = settings
        self.random_state = random_state
        self.threads = threads
        self.validation_fraction = validation_fraction
        self.threshold = threshold
        self.max_labels = max_labels
        self.min_labels = min_labels
        self.search = search
        self.verbose = verbose
        self.top_k = top_k

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        text: str = "text",
        init: Seq2SetClassifier | str | Path | None = None,
        sample_weight: Any = None,
        **others: Any,
    ) -> Seq2SetClassifier:
        """Learn from texts and their labels, some of which are set aside for tuning.

        Of a table `X` the column `text` holds the texts, and `y` names the column of label sets (by default
        `labels`) or a list of columns of zeros and ones. A network begins with the weights and words of
        `init`, a fitted estimator, a run or a model folder; labels are matched by name. `sample_weight` says
        how much each text counts in what a linear model minimises; validation counts each text once.
        """
        _refuse_others(others)
        texts = check_texts(X, text)
        targets = check_targets(take_targets(X, y), len(texts))
        if not any(targets.sets):
            raise EstimatorInputError(
                f"y holds no label for any of {len(texts)} texts; at least one text must have one"
            )
        self._request()  # so that a wrong parameter is found before the training, not after it
        weights = check_weights(sample_weight, len(texts))
        if weights is not None and find_model(self.model).family != "linear":
            raise EstimatorInputError(
                f"sample_weight is given, and the model is '{self.model}'; only br, cc and lp weigh texts, "
                "so leave some out or repeat some"
            )
        config = configure(self.model, self.preset, self.settings, self.random_state, self.threads)
        data = self._set_aside(Examples(texts, targets.sets, weights=weights))
        if data.learn.weights is not None and not data.learn.weights.any():
            raise EstimatorInputError("sample_weight is 0 for all texts to learn from; some must count")
        try:
            progress = StderrProgress("[Seq2SetClassifier] ") if self.verbose else Silent()
            trained = train_in_memory(config, data, progress, None if init is None else _open_start(init))
        except StoppedError as stopped:
            # Here nothing can be resumed, and a search over settings must not go on with the next fit.
            raise KeyboardInterrupt from stopped
        self._text = text
        return self._take(trained, targets.form)

    def predict(self, X: Any) -> Labelling:
        """Return each text's labels: tuples in the order in which the model gives them, or a matrix.

        A text without a word that the model knows gets none, unless `top_k` or `min_labels` asks for some.
        """
        check_is_fitted(self)
        texts, request = check_texts(X, self._text), self._request()
        chosen = [self._columns[row] for batch in self._infer(texts, request) for row in batch.chosen]
        if self._form.kind == "sets":
            labels = self.classes_.tolist()
            return [tuple(labels[column] for column in row) for row in chosen]
        matrix = build_indicator(chosen, self.n_labels_, np.int64)
        matrix.sort_indices()
        result: Labelling = matrix if self._form.kind == "sparse" else matrix.toarray()
        return result

    def predict_proba(self, X: Any) -> Scores:
        """Return each label's probability (documents, labels), in columns as in `classes_`.

        They are what the model computes, also for a text without a word that it knows. A decoder's are
        marginals over sampled sets, unless the parameter `search` names another search.
        """
        check_is_fitted(self)
        request = Request(search=self._request().search or SCORING)
        scores = [batch.scores for batch in self._infer(check_texts(X, self._text), request)]
        result = np.zeros((sum(map(len, scores)), self.n_labels_), np.float32)
        if scores:
            result[:, self._columns] = np.concatenate(scores)
        return result

    def decision_function(self, X: Any) -> Scores:
        """Return how far each label's probability lies above its threshold, in columns as in `classes_`.

        From 0 on a label is given. Where no threshold decides, but a search or a number of labels, it is the
        distance from 0.5.
        """
        probabilities, rule = self.predict_proba(X), self.tagger_.rule
        limits = np.full(self.n_labels_, 0.5, np.float32)
        if self.threshold is not None:
            limits[:] = self.threshold
        elif rule.thresholds and self.top_k is None:
            limits[self._columns] = rule.thresholds
        return probabilities - limits

    def explain(self, X: Any) -> list[tuple[Suggestion, ...]]:
        """Return the labels of each text with their scores and the words for and against each of them."""
        check_is_fitted(self)
        request, labels = replace(self._request(), explain=True), self.classes_[self._columns].tolist()
        return [
            suggestions
            for batch in self._infer(check_texts(X, self._text), request)
            for suggestions in batch.suggestions(labels)
        ]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, **others: Any) -> float:
        """Return the micro-F1 of the predictions; labels that training never saw count as missed.

        With `sample_weight` each text's labels count as often as its weight says.
        """
        check_is_fitted(self)
        _refuse_others(others)
        texts = check_texts(X, self._text)
        if not texts:
            raise EstimatorInputError("X is empty; at least one text must be there to measure on")
        targets = check_targets(take_targets(X, y), len(texts), self._form)
        weighed = check_weights(sample_weight, len(texts))
        weights = np.ones(len(texts)) if weighed is None else weighed
        batches, decode = self._infer(texts, self._request()), self.tagger_.labels.decode
        given = [set(decode(row)) for batch in batches for row in batch.chosen]
        right = [len(one & set(true)) for one, true in zip(given, targets.sets, strict=True)]
        total = [len(one) + len(true) for one, true in zip(given, targets.sets, strict=True)]
        # Of nothing given and nothing true it is 0, as the metric is in reports.
        return float(2 * weights @ right / most) if (most := weights @ total) else 0.0

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Write a model folder, the same as the command line's; `force` replaces one that is there."""
        check_is_fitted(self)
        parameters = {name: to_python(getattr(self, name)) for name in _KEPT}
        form = {"form": self._form._asdict(), "parameters": parameters, "text": self._text}
        metadata = self.metadata_ | {"estimator": form}
        TrainedModel(self.tagger_, metadata, self.history_, self._seen).save(Path(folder), force=force)

    @classmethod
    def load(cls, folder: str | Path) -> Seq2SetClassifier:
        """Open a run or a model folder, written by `save` or by the command line."""
        predictor = Predictor.open(Path(folder))
        config = predictor.tagger.config
        saved: dict[str, Any] = {"form": {}, "parameters": {}, "text": "text"}
        saved |= predictor.metadata.get("estimator", {})
        try:
            loaded = cls(config.model, config.preset, find_changes(config), config.seed, config.threads)
            loaded.set_params(**saved["parameters"])
            loaded._text = saved["text"]
            trained = TrainedModel(predictor.tagger, predictor.metadata, [], read_seen(Path(folder)))
            return loaded._take(trained, LabelFormat(**saved["form"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFolderError(
                f"{folder} does not hold an estimator that can be opened: {error}"
            ) from error

    @property
    def about_(self) -> dict[str, Any]:
        """The former name of `metadata_`."""
        return self.metadata_

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags  # as new as this method: earlier versions never call it

        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags(multi_class=False, multi_label=True)
        tags.input_tags.one_d_array, tags.input_tags.two_d_array = True, False
        tags.input_tags.string = True
        tags.target_tags.required, tags.target_tags.two_d_labels = True, True
        tags.target_tags.multi_output, tags.target_tags.single_output = True, False
        return tags

    def _set_aside(self, examples: Examples) -> TrainingData:
        share = self.validation_fraction
        if not 0 < share < 1:
            raise EstimatorInputError(f"validation_fraction is {share}; it must lie between 0 and 1")
        data = carve_validation(examples, share)
        if not data.is_carved:
            warnings.warn(
                f"none of the {len(examples)} texts could be set aside for tuning without losing a label, so "
                "the model is tuned on the texts that it learns from; give more texts a label",
                stacklevel=3,  # the line that calls fit
            )
        return data

    def _take(self, trained: TrainedModel, form: LabelFormat) -> Seq2SetClassifier:
        names = trained.tagger.labels.names
        classes = form.classes(names)
        places = {str(label): column for column, label in enumerate(classes)}
        self._columns, self._form = np.array([places[name] for name in names]), form
        self.tagger_, self.metadata_, self.history_, self._seen = trained
        self.classes_, self.n_labels_ = classes, len(classes)
        return self

    def _infer(self, texts: list[str], request: Request) -> Iterator[Inference]:
        for start in range(0, len(texts), BATCH):
            yield infer_given(self.tagger_, texts[start : start + BATCH], request)

    def _request(self) -> Request:
        return Request(self.threshold, self.max_labels, self.min_labels, self.search, top_k=self.top_k)


def _refuse_others(others: Mapping[str, Any]) -> None:
    for name in others:
        raise EstimatorInputError(f"{name} is given, and there is no such parameter")


def _open_start(init: Seq2SetClassifier | str | Path) -> StartingModel:
    """Return the model that a fit begins from."""
    if isinstance(init, str | Path):
        return StartingModel.open(Path(init))
    if not isinstance(init, Seq2SetClassifier):
        raise EstimatorInputError(
            f"init is of type {type(init).__name__}; it must be a fitted Seq2SetClassifier, a run or a model "
            "folder"
        )
    check_is_fitted(init)
    return StartingModel.of(init.tagger_, init.metadata_["corpus"]["name"], init._seen)
