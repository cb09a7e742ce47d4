"""The classifiers of a linear model as weights: margins, and what each word adds to one.

Shapes: N documents, F terms, L labels, K of them with weights, T words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from seq2set.core.sparse import CompressedRows, multiply
from seq2set.core.tensor_files import TensorForm, TensorRows
from seq2set.models.tagger import Tensors
from seq2set.text.tfidf import TfidfFeatures, find_occurrences

Reals = npt.NDArray[np.float32]


def list_scorer_forms(
    prefix: str, rows: str, columns: str, biases: str | None = None
) -> dict[str, TensorForm]:
    """Return the forms of what `LinearScorer.from_tensors` reads."""
    weights, bias = TensorForm("F32", (rows, columns)), TensorForm("F32", (biases or columns,))
    return {prefix + "weights": weights, prefix + "bias": bias}


@dataclass(frozen=True)
class LinearScorer:
    """The weights of the labels: a margin is positive where the classifier says yes.

    Where there are fewer weights than labels, the last labels have their bias alone, in every document.
    """

    weights: Reals | TensorRows  # (F, K)
    bias: Reals  # (L,)

    @classmethod
    def from_tensors(cls, tensors: Tensors, prefix: str = "linear.") -> LinearScorer:
        """Read back what `tensors` gave."""
        return cls(tensors[prefix + "weights"], tensors[prefix + "bias"])

    def tensors(self, prefix: str = "linear.") -> dict[str, npt.NDArray[Any]]:
        """Return what is saved of it."""
        return {prefix + "weights": np.asarray(self.weights), prefix + "bias": self.bias}

    def margins(self, features: CompressedRows) -> Reals:
        """Return every label's signed distance for every document: (N, L)."""
        weighed = multiply(features, self.weights)  # (N, F) x (F, K) -> (N, K)
        if missing := len(self.bias) - weighed.shape[1]:
            weighed = np.pad(weighed, ((0, 0), (0, missing)))  # (N, K) -> (N, L)
        return np.asarray(weighed + self.bias, dtype=np.float32)


def attribute_words(
    text: str, features: TfidfFeatures, weigh: Callable[[npt.NDArray[np.int32]], Iterable[Reals]]
) -> Iterator[npt.NDArray[np.float64]]:
    """Yield what each word (T,) contributes to a label's margin; `weigh` gives a label's weights of terms.

    A term's contribution is shared by its occurrences, and an occurrence's by its words. All together they
    are the margin without its bias, and without what a pretrained encoder's vector adds. The text is read
    once, however many labels there are.
    """
    ids = features.words.flat_encode([text])
    vector = features.transform_blocks([ids])
    found = find_occurrences(ids, len(features.words), features.ngrams)
    column = features.columns(found.code)
    known = column >= 0
    column, place, width = column[known], found.place[known], found.width[known]
    term = np.searchsorted(vector.indices, column)
    times = np.bincount(term, minlength=len(vector.indices))[term]
    for one in weigh(vector.indices):
        share = (vector.data * one).astype(np.float64)[term] / times / width
        laid = np.zeros(len(ids.ids))
        for step in range(features.ngrams):
            covers = width > step
            laid += np.bincount(place[covers] + step, share[covers], minlength=len(laid))
        yield laid
