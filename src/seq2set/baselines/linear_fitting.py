"""One linear classifier a label, fitted in parallel by scikit-learn.

Scoring lies elsewhere, so that a model in use does not load scikit-learn, which takes a second.

Shapes: N documents, F terms, L labels.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from scipy.sparse import csc_matrix, csr_matrix
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from seq2set.baselines.linear import LinearScorer
from seq2set.progress import Advance
from seq2set.workers import quiet_pool, starting_a_pool

WORTH_PROCESSES = 20_000_000
"""From this much work on (stored features times labels), starting processes pays."""

VISITS = 1
"""The random state of liblinear, which visits the documents in a random order. The optimum does not depend on
it, so it is none of a run's seeds: one training stands for all of them."""


def fit_linear(
    features: csr_matrix,
    targets: csr_matrix,
    *,
    c: float,
    tolerance: float,
    threads: int,
    advance: Advance,
    seen: Sequence[int] | None = None,
) -> LinearScorer:
    """Fit a support vector machine for each column of `targets` (N, L).

    `seen` says how many of the features, the first ones, each machine sees; all where it is not told.
    """
    # Double precision and 32-bit indices are what liblinear reads: converted once, not once a label.
    wide = csr_matrix(features, dtype=np.float64)
    by_label = csc_matrix(targets)
    widths = [features.shape[1]] * targets.shape[1] if seen is None else seen
    # Processes, not threads: liblinear draws from one random state a process, so that threads would
    # disturb each other's numbers and no run could be repeated.
    workers = threads if features.nnz * targets.shape[1] > WORTH_PROCESSES else 1
    with starting_a_pool():
        fitted = Parallel(n_jobs=workers, return_as="generator")(
            delayed(_fit_one)(wide, _column(by_label, label), width, c=c, tolerance=tolerance)
            for label, width in enumerate(widths)
        )
    # Filled label by label: many classes on many terms fit into memory once, not twice.
    weights = np.zeros((features.shape[1], targets.shape[1]), np.float32)
    bias = np.zeros(targets.shape[1], np.float32)
    with quiet_pool(), _closed_in_the_end(fitted):
        for label, row in enumerate(fitted):
            weights[: len(row) - 1, label], bias[label] = row[:-1], row[-1]
            advance(1)
    return LinearScorer(weights, bias)


@contextmanager
def _closed_in_the_end(fitted: Generator[object]) -> Iterator[None]:
    """Let nobody fit on for a training that was stopped, without the warning that some of it was in vain."""
    try:
        yield
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            fitted.close()


def _column(targets: csc_matrix, label: int) -> npt.NDArray[np.bool_]:
    return np.asarray(targets[:, [label]].toarray().ravel().astype(bool))


def _fit_one(
    features: csr_matrix, target: npt.NDArray[np.bool_], width: int, *, c: float, tolerance: float
) -> npt.NDArray[np.float32]:
    """Return one label's weights, its bias last."""
    if target.all() or not target.any():
        # Nothing to tell apart: the label is always, or never, given.
        return np.append(np.zeros(width), 1.0 if target.all() else -1.0).astype(np.float32)
    if width < features.shape[1]:
        features = features[:, :width]
    machine = LinearSVC(C=c, tol=tolerance, random_state=VISITS, dual=True)
    with warnings.catch_warnings():
        # A machine stopped at its iteration limit is still judged by its validation score like any other.
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(features, target)
    return np.append(machine.coef_.ravel(), machine.intercept_).astype(np.float32)
