"""Documents for benchmarks of networks: made up, in the shape of AAPD."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from seq2set.training.examples import EncodedExamples

SET_SIZES = {2: 0.70, 3: 0.22, 4: 0.06, 5: 0.02}
"""How many labels a document has, and how often: 2.4 on average, and never less than 2, as in AAPD."""


class Shape(NamedTuple):
    """What documents look like."""

    shortest: int = 60
    longest: int = 265
    vocabulary: int = 30_000
    labels: int = 54

    def to_dict(self) -> dict[str, Any]:
        """Return it as a benchmark shows it."""
        words = f"{self.shortest}-{self.longest}"
        return {"words": words, "vocabulary": self.vocabulary, "labels": self.labels}


AAPD = Shape()
"""The shape of the paper's second corpus."""


def made_documents(count: int, shape: Shape = AAPD, *, seed: int = 1) -> EncodedExamples:
    """Return documents whose words and labels are as frequent as in natural language.

    All lengths between the shortest and the longest are equally likely. The first word tells how many labels
    a document has, so that a network can learn to give one document more labels than another.
    """
    random = np.random.default_rng(seed)
    lengths = random.integers(shape.shortest, shape.longest, count, endpoint=True)
    # The numbers 0 and 1 stand for padding and for unknown words.
    drawn = 2 + random.choice(shape.vocabulary, int(lengths.sum()), p=_zipf(shape.vocabulary))
    words = np.split(drawn.astype(np.int32), np.cumsum(lengths)[:-1])
    sizes = random.permutation(_set_sizes(count))
    for document, size in zip(words, sizes, strict=True):
        document[0] = size
    chances = _zipf(shape.labels)
    # Labels are numbered by descending frequency, which is the order that is learned.
    sets = [
        np.sort(random.choice(shape.labels, min(size, shape.labels), replace=False, p=chances))
        for size in sizes
    ]
    return EncodedExamples(words, sets, shape.labels, [f"d{number}" for number in range(count)], None)


def mean_labels(examples: EncodedExamples) -> float:
    """Return how many labels a document has on average."""
    return round(float(np.mean([len(one) for one in examples.sequences])), 2)


def _set_sizes(count: int) -> npt.NDArray[np.int64]:
    """Return each size as often as its share says, in order: a small batch then has the right mean too."""
    ends = np.cumsum(list(SET_SIZES.values()))
    return np.array(list(SET_SIZES))[np.searchsorted(ends, (np.arange(count) + 0.5) / count)]


def _zipf(count: int) -> npt.NDArray[np.float64]:
    chances = 1 / np.arange(1, count + 1)
    return np.asarray(chances / chances.sum())
