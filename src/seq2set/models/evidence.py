"""Attention as evidence: the words that a decoder looked at when it gave a label."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from seq2set.predictions import Evidence
from seq2set.text import Span


def attention_evidence(
    text: str, spans: Sequence[Span], weights: npt.NDArray[np.float32], most: int
) -> tuple[Evidence, ...]:
    """Return the words of the most weight (T,), the heaviest first, without punctuation and repetitions."""
    named: dict[str, Evidence] = {}
    read = weights[: len(spans)]
    for place in np.argsort(-read, kind="stable"):
        if len(named) == most or read[place] <= 0:
            break
        start, end = spans[place]
        word = text[start:end]
        if any(map(str.isalnum, word)):
            named.setdefault(word.lower(), Evidence(word, start, end, float(read[place])))
    return tuple(named.values())
