"""How the classifiers of a linear model are fitted: one support vector machine per label, in parallel.

Shapes: N documents, F terms, L labels.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from seq2set.config import Config
from seq2set.core.errors import InputError
from seq2set.core.hardware import count_processes
from seq2set.core.processes import run_in_processes
from seq2set.core.progress import Advance
from seq2set.models.linear.scorer import LinearScorer

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix, csr_matrix

WORTH_PROCESSES = 20_000_000
"""From this much work on (stored features times labels), starting processes pays."""

VISITS = 1
"""The random state of liblinear, which visits the documents in a random order. The optimum does not depend on
it, so it is none of a run's seeds: one training stands for all of them."""


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
    pays = features.nnz * targets.shape[1] > WORTH_PROCESSES
    workers = count_processes(config.workers, config.threads) if pays else 1
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


def _weigh(
    features: csr_matrix, likely: npt.NDArray[np.float32], weights: npt.NDArray[np.float64] | None
) -> tuple[csr_matrix, npt.NDArray[np.bool_], npt.NDArray[np.float64]]:
    """Let a document that has the label with a probability count in part as one that has it, in part not."""
    yes, no = np.flatnonzero(likely > 0), np.flatnonzero(likely < 1)
    rows, share = np.concatenate([yes, no]), np.concatenate([likely[yes], 1 - likely[no]]).astype(np.float64)
    counts = share if weights is None else share * weights[rows]
    return features[rows], np.arange(len(rows)) < len(yes), counts
