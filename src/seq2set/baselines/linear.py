"""One linear classifier a label, fitted in parallel by scikit-learn.

Shapes: N documents, F terms, L labels.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from scipy.sparse import csc_matrix, csr_matrix
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from seq2set.progress import Advance

Reals = npt.NDArray[np.float32]

WORTH_PROCESSES = 20_000_000
"""From this much work on (stored features times labels), starting processes pays."""


@dataclass(frozen=True)
class LinearScorer:
    """The weights of all labels: a margin is positive where the classifier says yes."""

    weights: Reals  # (F, L)
    bias: Reals  # (L,)

    def margins(self, features: csr_matrix) -> Reals:
        """Return every label's signed distance for every document: (N, L)."""
        return np.asarray(features @ self.weights + self.bias, dtype=np.float32)


def fit_linear(
    features: csr_matrix,
    targets: csr_matrix,
    *,
    c: float,
    tolerance: float,
    seed: int,
    threads: int,
    advance: Advance,
) -> LinearScorer:
    """Fit a support vector machine for each column of `targets` (N, L)."""
    # Double precision and 32-bit indices are what liblinear reads: converted once, not once a label.
    wide = csr_matrix(features, dtype=np.float64)
    by_label = csc_matrix(targets)
    columns = (by_label[:, [label]].toarray().ravel().astype(bool) for label in range(targets.shape[1]))
    # Processes, not threads: liblinear draws from one random state a process, so that threads would
    # disturb each other's numbers and no run could be repeated.
    workers = threads if features.nnz * targets.shape[1] > WORTH_PROCESSES else 1
    fitted = Parallel(n_jobs=workers, return_as="generator")(
        delayed(_fit_one)(wide, column, c=c, tolerance=tolerance, seed=seed) for column in columns
    )
    rows = []
    for row in fitted:
        rows.append(row)
        advance(1)
    stacked = np.stack(rows)  # (L, F + 1)
    return LinearScorer(np.ascontiguousarray(stacked[:, :-1].T), np.ascontiguousarray(stacked[:, -1]))


def _fit_one(
    features: csr_matrix, target: npt.NDArray[np.bool_], *, c: float, tolerance: float, seed: int
) -> npt.NDArray[np.float32]:
    """Return one label's weights, its bias last."""
    if target.all() or not target.any():
        # Nothing to tell apart: the label is always, or never, given.
        return np.append(np.zeros(features.shape[1]), 1.0 if target.all() else -1.0).astype(np.float32)
    machine = LinearSVC(C=c, tol=tolerance, random_state=seed, dual=True)
    with warnings.catch_warnings():
        # A machine stopped at its iteration limit is still judged by its validation score like any other.
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(features, target)
    return np.append(machine.coef_.ravel(), machine.intercept_).astype(np.float32)
