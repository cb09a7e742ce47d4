"""The label set of the highest expected F1, given each label's probability.

Were the labels of a document independent, with probabilities p_1 >= p_2 >= ..., the best set of k labels
would be the first k. Their expected F1 is a sum over how many of them, and of the others, are right:

    E_k = sum over i of  P(i of the first k are right) * 2 i * s_k(k + i)
    s_k(a) = the mean of 1 / (a + j), where j is how many of the labels after the k-th are right

With s_{k-1}(a) = p_k s_k(a + 1) + (1 - p_k) s_k(a), all E_k together take a time quadratic in the number
of labels (Ye, Chai, Lee and Chieu, 2012). Nothing is given where that is best: two empty sets
have an F1 of 1.

Letters: N documents, M labels of each that count.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float64]

MOST = 100
"""How many labels of a document, the likeliest ones, count; all the others are taken for absent."""

AT_A_TIME = 1024
"""Documents that are computed together, to bound the memory."""


def choose_best_sets(scores: npt.NDArray[np.float32]) -> npt.NDArray[np.bool_]:
    """Say which labels of probabilities (N, L) are in the set of the highest expected F1.

    Of equally good sets the smallest is taken. A label that scores -inf is never given.
    """
    chosen = np.zeros(scores.shape, bool)
    for start in range(0, len(scores), AT_A_TIME):
        block = scores[start : start + AT_A_TIME]
        best_first = np.argsort(-block, axis=1, kind="stable")[:, :MOST]  # (N, M)
        ordered = np.take_along_axis(block, best_first, axis=1).astype(np.float64)
        sizes = compute_expected_f1(np.clip(ordered, 0, 1)).argmax(axis=1)
        given = (np.arange(best_first.shape[1]) < sizes[:, None]) & (ordered > -np.inf)
        np.put_along_axis(chosen[start : start + AT_A_TIME], best_first, given, axis=1)
    return chosen


def compute_expected_f1(probabilities: Reals) -> Reals:
    """Return the expected F1 of no label, the first, the first two, and so on: (N, M) -> (N, M + 1).

    The probabilities of each document are in descending order.
    """
    documents, labels = probabilities.shape
    present, absent = probabilities[:, :, None], 1 - probabilities[:, :, None]
    right = np.zeros((labels + 1, documents, labels + 1))  # [k, :, i]: P(i of the first k are right)
    right[0, :, 0] = 1
    for k in range(1, labels + 1):
        right[k] = absent[:, k - 1] * right[k - 1]
        right[k, :, 1:] += present[:, k - 1] * right[k - 1, :, :-1]
    expected = np.empty((documents, labels + 1))
    expected[:, 0] = right[labels, :, 0]  # right where the document has no label at all
    share = np.tile(1 / np.arange(1, 2 * labels + 1), (documents, 1))  # [:, a - 1]: s_k(a)
    for k in range(labels, 0, -1):
        hits = np.arange(1, k + 1)
        expected[:, k] = (2 * hits * right[k, :, 1 : k + 1] * share[:, k + hits - 1]).sum(axis=1)
        share = present[:, k - 1] * share[:, 1:] + absent[:, k - 1] * share[:, :-1]
    return expected
