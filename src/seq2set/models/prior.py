"""The linear model behind the prior: TF-IDF features and one classifier per label, in use and in fitting.

Training documents are scored out of fold: a margin from a model that had seen the document would be too
good, and the decoder would learn to trust it more than it deserves. So would a margin from a model that had
seen others of its group; where documents have groups, each is in one fold.

A classifier costs the same time and memory however rare its label is, and of a rare label there is little to
learn. So only the most frequent labels have one; every other label has one margin for all documents, the one
at which the calibrated probability is the label's share of the training documents.

Shapes: N documents, F terms, L labels, K of them with a classifier.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from seq2set.config import Config
from seq2set.config.catalog import find_model
from seq2set.core.progress import Progress
from seq2set.core.tensor_files import Forms
from seq2set.labels.calibration import Sigmoid, fit_sigmoid
from seq2set.models.linear import (
    LinearScorer,
    Reals,
    attribute_words,
    list_feature_forms,
    list_scorer_forms,
    restore_features,
)
from seq2set.models.tagger import ModelState, Outline
from seq2set.nn.pretrained.vector_features import VectorFeatures
from seq2set.text.memory_need import describe_need
from seq2set.text.tfidf import StoredBlocks, TfidfFeatures, encode_blocks
from seq2set.text.vocabulary import FlatIds, Words

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


def has_prior(config: Config) -> bool:
    """Say whether there is a linear prior: the set decoder's option, which the baselines do not have."""
    return config.prior.enabled and find_model(config.model).family == "set"


class PriorReading(NamedTuple):
    """What the prior makes of texts."""

    margins: Reals
    """Every label's margin for every text, (N, L)"""
    known: npt.NDArray[np.bool_]
    """Whether it knows a word of each text, (N,)"""


@dataclass(frozen=True)
class PriorModel:
    """A fitted linear model; the most frequent labels have a classifier, the rest a margin that stays."""

    features: TfidfFeatures
    scorer: LinearScorer

    @classmethod
    def from_state(cls, state: ModelState) -> PriorModel:
        """Restore from a saved state."""
        scorer = LinearScorer.from_tensors(state.tensors, "prior/")
        if scorer.weights.shape[1] > len(state.labels):
            raise ValueError("the prior has more classifiers than there are labels")
        return cls(restore_features(state, "prior/"), scorer)

    @staticmethod
    def list_forms(outline: Outline) -> Forms:
        """Return the forms of what is saved of it."""
        return {
            **list_feature_forms(outline, "prior/"),
            **list_scorer_forms("prior/", "F+E", "K", "L"),
        }

    def read(self, encoded: Iterable[FlatIds], texts: Sequence[str]) -> PriorReading:
        """Return every label's margin for every text, encoded in blocks, and whether a word is known."""
        features = self.features.transform_blocks(encoded)
        if isinstance(self.features, VectorFeatures):
            features = self.features.append_vectors(features, texts)
        return PriorReading(self.scorer.margins(features), self.features.has_words(features))

    def attributions(self, text: str, labels: Iterable[int]) -> Iterator[npt.NDArray[np.float64]]:
        """Yield what each word (T,) adds to each label's margin; nothing where there is no classifier."""
        terms, classifiers = self.scorer.weights.shape
        nothing = np.zeros(terms, np.float32)
        weights = (self.scorer.weights[:, one] if one < classifiers else nothing for one in labels)
        return attribute_words(text, self.features, weights)


class FittedPrior(NamedTuple):
    """A prior, the margins (N, L) of its own training documents, out of fold, and what they mean."""

    model: PriorModel
    margins: Reals
    sigmoid: Sigmoid


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


class _Scored(NamedTuple):
    """The classifiers of K labels, and the margins (N, K) of their training documents, out of fold."""

    scorer: LinearScorer
    margins: Reals


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
    key = _digest_inputs(config, texts, targets, fold)
    return (cache or PriorCache()).fit_once(
        key, lambda: _fit(config, words, texts, targets, fold, progress, folder)
    )


def fold_documents(
    folds: int, documents: int, seed: int, groups: Sequence[str] | None = None
) -> npt.NDArray[np.int64]:
    """Return the fold of each document: all as large as can be, and none with a part of a group."""
    generator = np.random.default_rng(seed)
    if groups is None or len(set(groups)) < 2:
        return generator.permutation(documents) % min(folds, documents)
    _, of_document, sizes = np.unique(np.array(groups), return_inverse=True, return_counts=True)
    order = generator.permutation(len(sizes))
    # The largest first, each to the smallest fold: what comes last evens the folds out.
    order = order[np.argsort(-sizes[order], kind="stable")]
    fold, filled = np.zeros(len(sizes), np.int64), np.zeros(min(folds, len(sizes)), np.int64)
    for group in order:
        fold[group] = filled.argmin()
        filled[fold[group]] += sizes[group]
    return fold[of_document]


def _digest_inputs(
    config: Config, texts: Sequence[str], targets: csr_matrix, fold: npt.NDArray[np.int64]
) -> str:
    """Return a text that differs where anything that a prior depends on differs."""
    settings = config.model_dump_json(include={"text", "features", "linear", "prior", "seed"})
    seen = hashlib.sha256(settings.encode())
    for part in (targets.indptr, targets.indices, fold):
        seen.update(part.astype(np.int64).tobytes())
    seen.update(targets.data.astype(np.float32).tobytes())
    for text in texts:
        seen.update(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    return seen.hexdigest()


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
    from seq2set.models.linear_fitting import add_vectors, fit_terms  # not loaded for a model in use

    features = fit_terms(config, words, encoded)
    learnt = min(config.prior.labels, targets.shape[1])
    said = describe_need(config, features, encoded, len(texts), learnt, margins=targets.shape[1])
    if said is not None:
        progress.note(said)
    matrix = features.transform_blocks(encoded)
    if (wide := add_vectors(config, features, texts, progress)) is not None:
        features, matrix = wide.features, wide.append(matrix)
    frequent = targets[:, : config.prior.labels]  # (N, L) -> (N, K)
    scored = _fit_in_folds(config, matrix.to_scipy(), frequent, fold, progress)
    sigmoid = fit_sigmoid(scored.margins, frequent.toarray())
    constant = _constant_margins(targets[:, config.prior.labels :], sigmoid)  # (L - K,)
    scorer = LinearScorer(scored.scorer.weights, np.concatenate([scored.scorer.bias, constant]))
    everywhere = np.broadcast_to(constant, (len(texts), len(constant)))
    return FittedPrior(PriorModel(features, scorer), np.hstack([scored.margins, everywhere]), sigmoid)


def _fit_in_folds(
    config: Config,
    matrix: csr_matrix,
    targets: csr_matrix,
    fold: npt.NDArray[np.int64],
    progress: Progress,
) -> _Scored:
    from seq2set.models.linear_fitting import fit_linear  # not loaded for a model in use

    documents, labels = targets.shape
    folds = int(fold.max()) + 1
    margins = np.zeros(targets.shape, np.float32)
    with progress.stage("linear prior", (folds + 1) * labels) as advance:

        def fit(rows: npt.NDArray[np.intp]) -> LinearScorer:
            return fit_linear(config, matrix[rows], targets[rows], config.prior.c, advance)

        for number in range(folds):
            held = np.flatnonzero(fold == number)
            margins[held] = fit(np.flatnonzero(fold != number)).margins(matrix[held])
        return _Scored(fit(np.arange(documents)), margins)


def _constant_margins(targets: csr_matrix, sigmoid: Sigmoid) -> Reals:
    """Return the margin (L - K,) of each label whose probability is its share of the documents."""
    documents = targets.shape[0]
    times = np.asarray(targets.sum(axis=0)).ravel()
    # Half a document more or less keeps the odds of a label that none, or all, of them have finite.
    share = np.clip(times, 0.5, documents - 0.5) / documents
    return np.asarray((np.log(share / (1 - share)) - sigmoid.offset) / sigmoid.slope, np.float32)
