"""Why a linear model gives a label: each term's share of the margin, laid on the words it covers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from seq2set.features import TfidfFeatures, occurrences
from seq2set.predictions import Evidence


def linear_evidence(
    text: str, features: TfidfFeatures, weights: npt.NDArray[np.float32], most: int
) -> tuple[Evidence, ...]:
    """Return the words that speak most for a label, the strongest first; their weights sum to at most 1.

    A term's contribution to the margin is shared by its occurrences, and an occurrence's by its words.
    Left out are words that speak against the label, punctuation, and repetitions of a word named already.
    """
    place_weights = _place_weights(text, features, weights)
    total = place_weights[place_weights > 0].sum()
    spans = features.words.encode_with_spans(text).spans
    named: dict[str, Evidence] = {}
    for place in np.argsort(-place_weights, kind="stable"):
        if place_weights[place] <= 0 or len(named) == most:
            break
        start, end = spans[place]
        word = text[start:end]
        if not any(map(str.isalnum, word)):
            continue
        named.setdefault(word.lower(), Evidence(word, start, end, float(place_weights[place] / total)))
    return tuple(named.values())


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
