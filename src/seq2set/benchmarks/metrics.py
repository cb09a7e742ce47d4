"""Metrics from additive counts, against scikit-learn's functions."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.metrics import f1_score, hamming_loss, precision_recall_fscore_support

from seq2set.benchmarks.ratio import Ratio, measure
from seq2set.labels.metrics import Counts


def run(documents: int = 20_000, labels: int = 130) -> Ratio:
    """All set metrics of the same predictions."""
    random = np.random.default_rng(1)
    actual = csr_matrix(random.random((documents, labels)) < 0.035, dtype=np.uint8)
    predicted = csr_matrix(random.random((documents, labels)) < 0.035, dtype=np.uint8)

    def ours() -> None:
        Counts.of(predicted, actual).metrics()

    def theirs() -> None:
        for average in ("micro", "macro", "samples"):
            f1_score(actual, predicted, average=average, zero_division=0)
        precision_recall_fscore_support(actual, predicted, zero_division=0)
        hamming_loss(actual, predicted)

    shapes = {"documents": documents, "labels": labels}
    return measure("metrics", "scikit-learn f1_score and hamming_loss", ours, theirs, shapes)
