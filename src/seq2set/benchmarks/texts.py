"""Texts for benchmarks: made up, but with the word frequencies and lengths of real ones."""

from __future__ import annotations

import numpy as np


def zipf_texts(documents: int, *, words: int = 130, vocabulary: int = 30_000, seed: int = 1) -> list[str]:
    """Return texts of about `words` words whose frequencies fall as in natural language."""
    random = np.random.default_rng(seed)
    names = np.array([f"w{number}" for number in range(vocabulary)])
    chances = 1 / np.arange(1, vocabulary + 1)
    lengths = np.maximum(1, random.lognormal(np.log(words), 0.4, documents)).astype(int)
    drawn = random.choice(vocabulary, size=int(lengths.sum()), p=chances / chances.sum())
    parts = np.split(names[drawn], np.cumsum(lengths)[:-1])
    return [" ".join(part) for part in parts]
