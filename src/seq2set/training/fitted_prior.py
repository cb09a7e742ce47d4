"""How the linear prior is fitted: out of fold, on terms that may be chosen first.

Training documents are scored out of fold: a margin from a model that had seen the document would be too
good, and the decoder would learn to trust it more than it deserves. So would a margin from a model that had
seen others of its group; where documents have groups, each is in one fold.

A classifier costs the same time and memory however rare its label is, and of a rare label there is little to
learn. So only the most frequent labels have one; every other label has one margin for all documents, the one
at which the calibrated probability is the label's share of the training documents.

Shapes: N documents, F terms, L labels, K of them with a classifier, S whose classifiers are compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from seq2set.config import Config
from seq2set.config.schema import FeatureSettings, PriorSettings
from seq2set.core.progress import Progress
from seq2set.labels.calibration import Sigmoid, fit_sigmoid
from seq2set.labels.thresholds import find_threshold
from seq2set.models.linear.classifiers import fit_linear
from seq2set.models.linear.matrices import add_vectors, fit_terms, list_term_kinds
from seq2set.models.linear.scorer import LinearScorer, Reals
from seq2set.models.prior import PriorModel, fold_documents
from seq2set.text.memory_need import describe_need
from seq2set.text.tfidf import StoredBlocks, TfidfFeatures, encode_blocks
from seq2set.text.vocabulary import FlatIds, Words

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

COMPARED_LABELS = 64
"""On how many labels, from the most frequent to the rarest, terms and values of C are compared."""


class FittedPrior(NamedTuple):
    """A prior, the margins (N, L) of its own training documents, out of fold, and what they mean."""

    model: PriorModel
    margins: Reals
    sigmoid: Sigmoid
    features: FeatureSettings
    """The terms, which may have been chosen"""
    settings: PriorSettings
    """The prior's own settings, with the C that was chosen"""

    def settle(self, config: Config) -> Config:
        """Return settings with what was chosen; trainings that share a prior may differ in all others."""
        return config.model_copy(update={"features": self.features, "prior": self.settings})


class PriorCache:
    """Keeps the last prior for trainings that would fit the same one, as those of an experiment do.

    It depends on the training documents and on a few settings, and takes a minute or more to fit. It is
    large, so only one is kept.
    """

    def __init__(self) -> None:
        self._key, self._prior = "", None  # type: str, FittedPrior | None

    def fit_once(self, key: str, fit: Callable[[], FittedPrior]) -> FittedPrior:
        """Return the prior of this key, which says what it depends on; fit it unless it is kept."""
        if self._prior is None or key != self._key:
            self._prior = None  # before the next one takes its memory
            self._key, self._prior = key, fit()
        return self._prior


def fit_prior(
    config: Config,
    words: Words,
    texts: Sequence[str],
    targets: csr_matrix,
    progress: Progress,
    groups: Sequence[str] | None = None,
    cache: PriorCache | None = None,
    folder: Path | None = None,
) -> FittedPrior:
    """Fit the prior on all documents, and once more for each fold without its documents.

    The columns of `targets` (N, L) are in descending frequency, as labels always are. Encoded texts wait in a
    file in `folder`, by default the system's for what is temporary.
    """
    fold = fold_documents(config.prior.folds, len(texts), config.seed, groups)
    # A text that differs where anything that a prior depends on differs.
    settings = config.model_dump_json(include={"text", "features", "linear", "prior", "seed"})
    seen = hashlib.sha256(settings.encode())
    for part in (targets.indptr, targets.indices, fold):
        seen.update(part.astype(np.int64).tobytes())
    seen.update(targets.data.astype(np.float32).tobytes())
    for text in texts:
        seen.update(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    return (cache or PriorCache()).fit_once(
        seen.hexdigest(), lambda: _fit(config, words, texts, targets, fold, progress, folder)
    )


def _fit(
    config: Config,
    words: Words,
    texts: Sequence[str],
    targets: csr_matrix,
    fold: npt.NDArray[np.int64],
    progress: Progress,
    folder: Path | None,
) -> FittedPrior:
    encoded = StoredBlocks(encode_blocks(words, texts), folder)
    features = fit_terms(config, words, encoded)
    learnt = min(config.prior.labels, targets.shape[1])
    said = describe_need(config, features, encoded, len(texts), learnt, margins=targets.shape[1])
    if said is not None:
        progress.note(said)
    frequent = targets[:, : config.prior.labels]  # (N, L) -> (N, K)
    if config.prior.terms == "best":
        config = _choose_terms(config, words, encoded, texts, frequent, fold, progress)
        features = fit_terms(config, words, encoded)
    features, matrix = _read_terms(config, features, encoded, texts, progress)
    machine, scored = _fit_in_folds(config, matrix, frequent, fold, progress)
    sigmoid = fit_sigmoid(scored, frequent.toarray())
    constant = _compute_constant_margins(targets[:, config.prior.labels :], sigmoid)  # (L - K,)
    scorer = LinearScorer(machine.weights, np.concatenate([machine.bias, constant]))
    everywhere = np.broadcast_to(constant, (len(texts), len(constant)))
    margins = np.hstack([scored, everywhere])
    return FittedPrior(PriorModel(features, scorer), margins, sigmoid, config.features, config.prior)


def _read_terms(
    config: Config,
    features: TfidfFeatures,
    encoded: Iterable[FlatIds],
    texts: Sequence[str],
    progress: Progress,
) -> tuple[TfidfFeatures, csr_matrix]:
    """Turn the documents into their terms (N, F), and the vectors that the settings ask for."""
    matrix = features.transform_blocks(encoded)
    if (wide := add_vectors(config, features, texts, progress)) is not None:
        return wide.features, wide.append(matrix).to_scipy()
    return features, matrix.to_scipy()


def _choose_terms(
    config: Config,
    words: Words,
    encoded: Iterable[FlatIds],
    texts: Sequence[str],
    targets: csr_matrix,
    fold: npt.NDArray[np.int64],
    progress: Progress,
) -> Config:
    """Return the settings of the terms and the C that reach the most on the first fold, fitted on the rest.

    Some of the labels (N, K) stand for all. Words alone have the smallest best C, so that the further kinds
    of terms begin at the best one before them. Where the fold tells nothing, as none of its labels was found
    by any, the settings stay as they are given.
    """
    some = np.unique(np.linspace(0, targets.shape[1] - 1, COMPARED_LABELS).round().astype(int))
    compared, best, reached = targets[:, some], config, 0.0  # (N, S)
    for name, own in list_term_kinds(config).items():
        _, matrix = _read_terms(own, fit_terms(own, words, encoded), encoded, texts, progress)
        least = best.prior.c if reached else 0.0
        found, score = _search_c(own, name, matrix, compared, fold, progress, least)
        if score > reached:
            best, reached, kind = found, score, name
    if reached:
        progress.note(
            f"linear prior: {kind}, C = {best.prior.c:g}, micro-F1 {reached:.4f} on a fold of the "
            "training documents"
        )
    return best


def _search_c(
    config: Config,
    name: str,
    matrix: csr_matrix,
    targets: csr_matrix,
    fold: npt.NDArray[np.int64],
    progress: Progress,
    least: float,
) -> tuple[Config, float]:
    """Fit for each C from a `least` one on until the next does no better: settings, and micro-F1 at best."""
    held, rest = np.flatnonzero(fold == 0), np.flatnonzero(fold)
    rest = rest if len(rest) else held  # a single document cannot be held out from itself
    right, best, reached = targets[held].toarray() >= 0.5, config, -1.0  # targets may be probabilities
    for c in (one for one in sorted(config.linear.c) if one >= least):
        with progress.stage(f"linear prior, {name}, C = {c:g}", targets.shape[1]) as advance:
            scorer = fit_linear(config, matrix[rest], targets[rest], c, advance)
        score = find_threshold(scorer.margins(matrix[held]), right, "micro_f1").score
        if score <= reached:
            break
        prior = config.prior.model_copy(update={"c": c})
        best, reached = config.model_copy(update={"prior": prior}), score
    return best, reached


def _fit_in_folds(
    config: Config, matrix: csr_matrix, targets: csr_matrix, fold: npt.NDArray[np.int64], progress: Progress
) -> tuple[LinearScorer, Reals]:
    """Fit the classifiers of K labels, and give the margins (N, K) of their documents, out of fold."""
    documents, labels = targets.shape
    folds = int(fold.max()) + 1
    margins = np.zeros(targets.shape, np.float32)
    with progress.stage("linear prior", (folds + 1) * labels) as advance:

        def fit(rows: npt.NDArray[np.intp]) -> LinearScorer:
            return fit_linear(config, matrix[rows], targets[rows], config.prior.c, advance)

        for number in range(folds):
            held = np.flatnonzero(fold == number)
            margins[held] = fit(np.flatnonzero(fold != number)).margins(matrix[held])
        return fit(np.arange(documents)), margins


def _compute_constant_margins(targets: csr_matrix, sigmoid: Sigmoid) -> Reals:
    """Return the margin (L - K,) of each label whose probability is its share of the documents."""
    documents = targets.shape[0]
    times = np.asarray(targets.sum(axis=0)).ravel()
    # Half a document more or less keeps the odds of a label that none, or all, of them have finite.
    share = np.clip(times, 0.5, documents - 0.5) / documents
    return np.asarray((np.log(share / (1 - share)) - sigmoid.offset) / sigmoid.slope, np.float32)
