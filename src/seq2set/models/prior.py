"""The linear model behind the prior: TF-IDF features and one classifier a label.

Training documents are scored out of fold: a margin from a model that had seen the document would be too
good, and the decoder would learn to trust it more than it deserves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from seq2set.baselines.evidence import linear_shares
from seq2set.baselines.linear import LinearScorer, fit_linear
from seq2set.config import Config
from seq2set.features import TfidfFeatures, encoded_blocks
from seq2set.hardware import thread_count
from seq2set.progress import Progress
from seq2set.vocabulary import Words

Reals = npt.NDArray[np.float32]


@dataclass(frozen=True)
class PriorModel:
    """A fitted linear model."""

    features: TfidfFeatures
    scorer: LinearScorer

    def margins(self, texts: Sequence[str]) -> Reals:
        """Return every label's margin for every text: (N, L)."""
        return self.scorer.margins(self.features.transform(texts))

    def shares(self, text: str, label: int) -> npt.NDArray[np.float64]:
        """Return each word's share (T,) of what speaks for a label."""
        return linear_shares(text, self.features, self.scorer.weights[:, label])


class FittedPrior(NamedTuple):
    """A prior and the margins of its own training documents, out of fold."""

    model: PriorModel
    margins: Reals


def fit_prior(
    config: Config, words: Words, texts: Sequence[str], targets: csr_matrix, progress: Progress
) -> FittedPrior:
    """Fit the prior on all documents, and once more for each fold without its documents."""
    encoded = list(encoded_blocks(words, texts))
    features = TfidfFeatures.fit(words, encoded, **config.features.model_dump())
    matrix = features.transform_blocks(encoded)
    folds = min(config.prior.folds, len(texts))
    fold = np.random.default_rng(config.seed).permutation(len(texts)) % folds
    margins = np.zeros(targets.shape, np.float32)
    with progress.stage("linear prior", (folds + 1) * targets.shape[1]) as advance:

        def fit(rows: npt.NDArray[np.intp]) -> LinearScorer:
            return fit_linear(
                matrix[rows],
                targets[rows],
                c=config.prior.c,
                tolerance=config.linear.tolerance,
                seed=config.seed,
                threads=thread_count(config.threads),
                advance=advance,
            )

        for number in range(folds):
            held = np.flatnonzero(fold == number)
            margins[held] = fit(np.flatnonzero(fold != number)).margins(matrix[held])
        return FittedPrior(PriorModel(features, fit(np.arange(len(texts)))), margins)
