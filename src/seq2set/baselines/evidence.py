"""Why a linear model gives a label: each term's share of the margin, laid on the words it covers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from seq2set.features import TfidfFeatures, occurrences


def linear_shares(
    text: str, features: TfidfFeatures, weights: npt.NDArray[np.float32]
) -> npt.NDArray[np.float64]:
    """Return each word's share (T,) of what speaks for a label; a word that speaks against it has none.

    A term's contribution to the margin is shared by its occurrences, and an occurrence's by its words.
    """
    laid = np.maximum(_place_weights(text, features, weights), 0)
    return np.asarray(laid / max(laid.sum(), np.finfo(np.float64).tiny), np.float64)


def _place_weights(
    text: str, features: TfidfFeatures, weights: npt.NDArray[np.float32]
) -> npt.NDArray[np.float64]:
    vector = features.transform([text])
    contribution = np.zeros(len(features))
    contribution[vector.indices] = vector.data * weights[vector.indices]
    found = occurrences(features.words.flat_encode([text]), len(features.words), features.ngrams)
    column = features.columns(found.code)
    known = column >= 0
    column, place, width = column[known], found.place[known], found.width[known]
    times = np.bincount(column, minlength=len(features))
    share = contribution[column] / times[column] / width
    laid = np.zeros(len(features.words.encode_with_spans(text).ids))
    for step in range(features.ngrams):
        covers = width > step
        np.add.at(laid, place[covers] + step, share[covers])
    return laid
