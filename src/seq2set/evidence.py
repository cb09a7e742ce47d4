"""From a weight a word to the few words that a reader should look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from seq2set.predictions import Evidence
from seq2set.text import Span


def heaviest_words(
    text: str, spans: Sequence[Span], weights: npt.NDArray[Any], most: int
) -> tuple[Evidence, ...]:
    """Return the words of the most weight (T,), the heaviest first, without punctuation and repetitions."""
    named: dict[str, Evidence] = {}
    for place in np.argsort(-weights, kind="stable"):
        if len(named) == most or weights[place] <= 0:
            break
        start, end = spans[place]
        word = text[start:end]
        if any(map(str.isalnum, word)):
            named.setdefault(word.lower(), Evidence(word, start, end, float(weights[place])))
    return tuple(named.values())
