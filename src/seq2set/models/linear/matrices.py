"""What the linear models learn from: words, terms and labels of both splits as matrices.

What a stopped run has fitted on them already is read back. Terms may have a pretrained encoder's vectors
beside them, and several kinds of terms may be compared.

Shapes: N documents, F terms, E numbers of a vector, L labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from seq2set.config import Config
from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import InputError
from seq2set.core.files import write_aside
from seq2set.core.hardware import count_processes
from seq2set.core.progress import Progress
from seq2set.core.seals import UNSEALED, check_seal, seal_file
from seq2set.core.sparse import SparseRows
from seq2set.core.tensor_files import check_forms, read_header, refuse_not_finite
from seq2set.labels.labels import Labels
from seq2set.models.linear.classifiers import fit_linear
from seq2set.models.linear.scorer import LinearScorer, list_scorer_forms
from seq2set.models.tagger import Examples
from seq2set.nn.pretrained.encoder_folder import find_encoder
from seq2set.nn.pretrained.vector_features import Standard, TextVectors, VectorFeatures, append_columns
from seq2set.text.memory_need import describe_need
from seq2set.text.tfidf import StoredBlocks, TfidfFeatures, encode_blocks
from seq2set.text.vocabulary import FlatIds, Words

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


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
    valid_groups: Sequence[str] | None = None
    """Which documents of `valid` belong together; None where nothing is known of it"""
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
            save_file(scorer.tensors(""), aside, metadata=UNSEALED)
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
        valid.groups,
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
