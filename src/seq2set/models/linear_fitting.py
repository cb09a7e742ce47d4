"""How the linear models are fitted: matrices, a search over C, and classifiers in parallel.

For each C of the settings the model's own function fits classifiers and scores the validation split, where
the decision threshold is tuned; the best C is kept. What a stopped run has fitted already is read back.

Shapes: N documents, F terms, L labels.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from seq2set.config import Config
from seq2set.config.catalog import is_better
from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import InputError
from seq2set.core.files import write_aside
from seq2set.core.hardware import count_processes
from seq2set.core.processes import run_in_processes
from seq2set.core.progress import Advance, Progress
from seq2set.core.seals import UNSEALED, check_seal, seal_file
from seq2set.core.sparse import SparseRows
from seq2set.core.tensor_files import check_forms, read_header, refuse_not_finite
from seq2set.labels.best_rule import TunedRule, find_best_rule
from seq2set.labels.calibration import Sigmoid
from seq2set.labels.labels import Labels
from seq2set.labels.metrics import Counts
from seq2set.labels.rules import Rule, make_global_rule
from seq2set.labels.thresholds import find_threshold
from seq2set.models.linear import LinearScorer, list_scorer_forms
from seq2set.models.predictions import Scores, withhold_scores
from seq2set.models.tagger import Examples
from seq2set.nn.pretrained.encoder_folder import find_encoder
from seq2set.nn.pretrained.vector_features import Standard, TextVectors, VectorFeatures, append_columns
from seq2set.text.memory_need import describe_need
from seq2set.text.tfidf import StoredBlocks, TfidfFeatures, encode_blocks
from seq2set.text.vocabulary import FlatIds, Words

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix, csr_matrix

WORTH_PROCESSES = 20_000_000
"""From this much work on (stored features times labels), starting processes pays."""

VISITS = 1
"""The random state of liblinear, which visits the documents in a random order. The optimum does not depend on
it, so it is none of a run's seeds: one training stands for all of them."""

Machine = TypeVar("Machine")


@dataclass(frozen=True)
class LinearTraining:
    """Features and targets of both splits, made once for all values of C, and where fitted ones are kept."""

    config: Config
    run: RunFolder
    progress: Progress
    features: TfidfFeatures
    labels: Labels
    train: csr_matrix
    train_targets: csr_matrix
    """What each label's classifier learns: yes or no, or how likely yes is"""
    valid: csr_matrix
    valid_targets: csr_matrix
    valid_actual: csr_matrix
    """The same, with the labels that `train` does not have behind the others"""
    valid_known: npt.NDArray[np.bool_]
    """Whether a word of each is known"""
    weights: npt.NDArray[np.float64] | None = None
    """How much each document of `train` counts, 1 on average; None where all count the same"""
    terms: str = ""
    """Which of several kinds of terms these are, where they are compared"""

    def weigh(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.float64] | None:
        """Return how much some documents of `train` count."""
        return None if self.weights is None else self.weights[rows]

    def fit_or_resume(
        self,
        name: str,
        c: float,
        title: str,
        features: csr_matrix | None = None,
        targets: csr_matrix | None = None,
        seen: Sequence[int] | None = None,
        weights: npt.NDArray[np.float64] | None = None,
    ) -> LinearScorer:
        """Read classifiers from the checkpoint of this name, or fit one for each target and keep them.

        Without `features` all documents of `train` are taken, with their weights.
        """
        if features is None:
            features, weights = self.train, self.weights
        targets = self.train_targets if targets is None else targets
        if self.terms:
            name, title = f"{name}-{self.terms}", f"{title}, {self.terms}"
        checkpoint = self.run.checkpoints / f"{name}-c-{c:g}.safetensors"
        if checkpoint.is_file():
            return _read_scorer(checkpoint, features, targets)
        with self.progress.stage(f"{title}, C = {c:g}", targets.shape[1]) as advance:
            scorer = fit_linear(self.config, features, targets, c, advance, seen, weights)
        with write_aside(checkpoint) as aside:
            save_file({"weights": scorer.weights, "bias": scorer.bias}, aside, metadata=UNSEALED)
            seal_file(aside)
        return scorer


def _read_scorer(checkpoint: Path, features: csr_matrix, targets: csr_matrix) -> LinearScorer:
    try:
        check_seal(checkpoint)
        entries = read_header(checkpoint)
        check_forms(entries, list_scorer_forms("", "F", "L"), {"F": features.shape[1], "L": targets.shape[1]})
        refuse_not_finite(checkpoint, entries)
        return LinearScorer(**load_file(checkpoint))
    except (OSError, SafetensorError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"{checkpoint} is damaged ({reason}); delete it, and --resume fits it again"
        ) from error


class ReadTexts(NamedTuple):
    """What is the same for all terms of the training documents."""

    labels: Labels
    words: Words
    encoded: StoredBlocks


def read_texts(config: Config, train: Examples, run: RunFolder) -> ReadTexts:
    """Find words and labels in `train`, and encode its texts."""
    words = Words.build(train.texts, **config.text.model_dump())
    encoded = StoredBlocks(encode_blocks(words, train.texts), run.path)
    return ReadTexts(Labels.build(train.label_sets), words, encoded)


def prepare_matrices(
    config: Config,
    train: Examples,
    valid: Examples,
    run: RunFolder,
    progress: Progress,
    most_terms: int | None = None,
    read: ReadTexts | None = None,
) -> LinearTraining:
    """Find words, labels and terms in `train`, and turn both splits into matrices.

    Where there are more than `most_terms`, those that occur in the most documents are kept. What was `read`
    of the texts before is not read again.
    """
    with progress.stage("features", 3) as advance:
        labels, words, encoded = read or read_texts(config, train, run)
        advance(1)
        features = fit_terms(config, words, encoded)
        if most_terms is not None and len(features) > most_terms:
            progress.note(f"the {most_terms:,} most frequent of {len(features):,} terms are kept")
            features = _keep_frequent(features, most_terms)
        if (said := describe_need(config, features, encoded, len(train), len(labels))) is not None:
            progress.note(said)
        advance(1)
        learnt, tuned = features.transform_blocks(encoded), features.transform(valid.texts)
        advance(1)
    if (wide := add_vectors(config, features, train.texts, progress)) is not None:
        learnt, tuned = wide.append(learnt), append_columns(tuned, wide.prepare(valid.texts))
        features = wide.features
    train_matrix, valid_matrix = learnt.to_scipy(), tuned.to_scipy()
    return LinearTraining(
        config,
        run,
        progress,
        features,
        labels,
        train_matrix,
        train.targets(labels),
        valid_matrix,
        labels.indicator(valid.label_sets),
        labels.with_unseen(valid.label_sets).indicator(valid.label_sets),
        features.has_words(valid_matrix),
        None if train.weights is None else train.weights / train.weights.mean(),
    )


def fit_terms(config: Config, words: Words, encoded: Iterable[FlatIds]) -> TfidfFeatures:
    """Choose the terms of encoded training documents."""
    own = {"ngrams", "min_documents", "max_terms", "sublinear", "run_weight"}
    return TfidfFeatures.fit(words, encoded, **config.features.model_dump(include=own))


def list_term_kinds(config: Config) -> dict[str, Config]:
    """Return the settings of each kind of terms that is to be compared, the cheapest first."""
    longest = max(config.features.ngrams, 2)
    kinds = {
        "words": {"ngrams": 1, "run_weight": 0.0},
        "weighed": {"ngrams": longest, "run_weight": 0.5},
        "together": {"ngrams": longest, "run_weight": 0.0},
    }
    own = {name: config.features.model_copy(update=changes) for name, changes in kinds.items()}
    return {name: config.model_copy(update={"features": features}) for name, features in own.items()}


@dataclass(frozen=True)
class WideFeatures:
    """Terms with vectors beside them, and the vectors (N, E) of the training documents."""

    features: VectorFeatures
    learnt: npt.NDArray[np.float32]
    workers: int
    progress: Progress

    def append(self, matrix: SparseRows) -> SparseRows:
        """Put the training documents' vectors beside their terms."""
        return append_columns(matrix, self.features.standard(self.learnt))

    def prepare(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the standardised vectors of another split, which the cache keeps too."""
        found = self.features.vectors.prepare(texts, self.workers, self.progress)
        return self.features.standard(found)


def add_vectors(
    config: Config, terms: TfidfFeatures, texts: Sequence[str], progress: Progress
) -> WideFeatures | None:
    """Compute the vectors that the settings ask for, and put them beside the terms; None where none are."""
    if not config.features.vectors:
        return None
    vectors = TextVectors(find_encoder(config.features.vectors), config.features.vector_words)
    workers = count_processes(config.workers, config.threads)
    learnt = vectors.prepare(texts, workers, progress)
    standard = Standard.fit(learnt, config.features.vector_scale)
    return WideFeatures(VectorFeatures.extend(terms, vectors, standard), learnt, workers, progress)


def _keep_frequent(features: TfidfFeatures, most: int) -> TfidfFeatures:
    # The more documents a term occurs in, the smaller is its inverse document frequency.
    kept = np.sort(np.argsort(features.idf, kind="stable")[:most])
    return replace(features, terms=features.terms[kept], idf=features.idf[kept])


@dataclass(frozen=True)
class ScoredFit(Generic[Machine]):
    """What was fitted with one C, and its scores of the validation split."""

    machine: Machine
    scores: Scores  # (N, L)
    boundary: float
    """The score of a label that the classifiers are undecided about."""


@dataclass(frozen=True)
class FittedCandidate(Generic[Machine]):
    """What was fitted with one C, its decision rule, and what it reached on validation."""

    c: float
    machine: Machine
    rule: Rule
    reached: float
    scores: Scores
    """Of the validation split (N, L), -inf in documents without a known word"""
    tuned: TunedRule | None = None
    """The rule with what each kind reached, where kinds were compared"""


def score_zero_margin(sigmoid: Sigmoid) -> float:
    """Return the score of a margin of zero."""
    return float(sigmoid(np.zeros(1, np.float32))[0])


def find_best_c(data: LinearTraining, fit: Callable[[float], ScoredFit[Machine]]) -> FittedCandidate[Machine]:
    """Fit for each C of the settings until the next does no better on the validation split.

    As in every evaluation, labels that training never saw count as missed, and documents without a known word
    are given none.
    """
    return try_rules(data, search_c(data, fit))


def search_c(
    data: LinearTraining, fit: Callable[[float], ScoredFit[Machine]], least: float = 0.0
) -> FittedCandidate[Machine]:
    """Do so from a `least` C on, and leave the threshold as it is tuned for each."""
    best: FittedCandidate[Machine] | None = None
    for c in sorted(data.config.linear.c):
        if c < least:
            continue
        candidate = _try_c(data, c, fit)
        if best is not None and not is_better(candidate.reached, best.reached, data.config.decision.metric):
            # Quality rises with C and then falls, while the time only rises: the rest would be for nothing.
            break
        best = candidate
    assert best is not None  # the settings hold at least one C
    return best


def has_open_rule(config: Config) -> bool:
    """Say whether the kind of rule is to be chosen on validation."""
    return config.decision.rule != "global" and config.decision.threshold == "tuned"


def try_rules(data: LinearTraining, best: FittedCandidate[Machine]) -> FittedCandidate[Machine]:
    """Choose the kind of rule on validation, where the settings leave it open."""
    if not has_open_rule(data.config):
        return best
    wanted, frequencies = data.config.decision, data.labels.frequencies
    actual = data.valid_actual
    found = find_best_rule(wanted.rule, best.scores, actual, wanted.metric, frequencies=frequencies)
    return replace(best, rule=found.rule, tuned=found)


def _try_c(
    data: LinearTraining, c: float, fit: Callable[[float], ScoredFit[Machine]]
) -> FittedCandidate[Machine]:
    config, began = data.config, time.perf_counter()
    scored = fit(c)
    scores = withhold_scores(scored.scores, data.valid_known)
    threshold = _choose_threshold(config, scores, scored.boundary, data.valid_actual)
    rule = make_global_rule(threshold)
    reached = Counts.of_known(rule.decide(scores), data.valid_actual).metrics()
    which = {"terms": data.terms, "c": c} if data.terms else {"c": c}
    if not any(which.items() <= record.items() for record in data.run.records()):
        seconds = round(time.perf_counter() - began, 3)
        data.run.log({"phase": "linear", **which, "threshold": threshold, "seconds": seconds, **reached})
    return FittedCandidate(c, scored.machine, rule, reached[config.decision.metric], scores)


def _choose_threshold(config: Config, scores: Scores, boundary: float, actual: csr_matrix) -> float:
    wanted = config.decision.threshold
    if wanted == "boundary":
        return boundary
    if wanted == "tuned":
        return find_threshold(scores, actual, config.decision.metric).value
    return wanted


def fit_linear(
    config: Config,
    features: csr_matrix,
    targets: csr_matrix,
    c: float,
    advance: Advance,
    seen: Sequence[int] | None = None,
    weights: npt.NDArray[np.float64] | None = None,
) -> LinearScorer:
    """Fit a support vector machine for each column of `targets` (N, L), which may be probabilities.

    `seen` says how many of the features, the first ones, each machine sees; all where it is not told. C is
    multiplied by a document's weight, where there are any.
    """
    # Late, as below: a model in use needs neither joblib nor SciPy nor scikit-learn.
    from joblib import delayed
    from scipy.sparse import csc_matrix, csr_matrix

    # Double precision and 32-bit indices are what liblinear reads: converted once, not once per label.
    wide = csr_matrix(features, dtype=np.float64)
    by_label = csc_matrix(targets)
    widths = [features.shape[1]] * targets.shape[1] if seen is None else seen
    # Processes, not threads: liblinear draws from one random state per process, so that threads would
    # disturb each other's numbers and no run could be repeated.
    workers = (
        count_processes(config.workers, config.threads)
        if features.nnz * targets.shape[1] > WORTH_PROCESSES
        else 1
    )
    tolerance = config.linear.tolerance
    jobs = (
        delayed(_fit_one)(wide, _take_column(by_label, label), width, weights, c=c, tolerance=tolerance)
        for label, width in enumerate(widths)
    )
    # Filled label by label: many classes on many terms fit into memory once, not twice.
    columns = np.zeros((features.shape[1], targets.shape[1]), np.float32)
    bias = np.zeros(targets.shape[1], np.float32)
    with run_in_processes(jobs, workers) as fitted:
        for label, row in enumerate(fitted):
            columns[: len(row) - 1, label], bias[label] = row[:-1], row[-1]
            advance(1)
    return LinearScorer(columns, bias)


def _take_column(targets: csc_matrix, label: int) -> npt.NDArray[Any]:
    """Return a label's targets (N,): yes or no, unless some are probabilities."""
    column = targets[:, [label]].toarray().ravel()
    return np.asarray(column if ((column > 0) & (column < 1)).any() else column.astype(bool))


class NoTermsError(InputError, ValueError):
    """There is no term to learn from; scikit-learn wants a ValueError of these words."""

    def __init__(self, documents: int):
        super().__init__(
            "no word that is known stands in as many training documents as it must (features.min_documents, "
            f"text.min_frequency): 0 feature(s) (shape=({documents}, 0)) while a minimum of 1 is required."
        )


def _fit_one(
    features: csr_matrix,
    target: npt.NDArray[Any],
    width: int,
    weights: npt.NDArray[np.float64] | None,
    *,
    c: float,
    tolerance: float,
) -> npt.NDArray[np.float32]:
    """Return one label's weights, its bias last."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    if target.dtype != bool:
        features, target, weights = _weigh(features, target, weights)
    if weights is not None:
        features, target, weights = features[weights > 0], target[weights > 0], weights[weights > 0]
    if target.all() or not target.any():
        # Nothing to tell apart: the label is always, or never, given.
        return np.append(np.zeros(width), 1.0 if target.all() else -1.0).astype(np.float32)
    if width < features.shape[1]:
        features = features[:, :width]
    if not width:
        raise NoTermsError(features.shape[0])
    machine = LinearSVC(C=c, tol=tolerance, random_state=VISITS, dual=True)
    with warnings.catch_warnings():
        # A machine stopped at its iteration limit is still judged by its validation score like any other.
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(features, target, sample_weight=weights)
    return np.append(machine.coef_.ravel(), machine.intercept_).astype(np.float32)


class _Weighted(NamedTuple):
    features: csr_matrix
    target: npt.NDArray[np.bool_]
    weights: npt.NDArray[np.float64]


def _weigh(
    features: csr_matrix, likely: npt.NDArray[np.float32], weights: npt.NDArray[np.float64] | None
) -> _Weighted:
    """Let a document that has the label with a probability count in part as one that has it, in part not."""
    yes, no = np.flatnonzero(likely > 0), np.flatnonzero(likely < 1)
    rows, share = np.concatenate([yes, no]), np.concatenate([likely[yes], 1 - likely[no]]).astype(np.float64)
    counts = share if weights is None else share * weights[rows]
    return _Weighted(features[rows], np.arange(len(rows)) < len(yes), counts)
