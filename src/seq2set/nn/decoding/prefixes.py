"""The rows that every search of prediction grows: distinct beginnings of label sequences, in numpy alone.

A runtime (torch, ONNX) brings a `StepDecoder`: its decoder, opened for a batch of documents. It knows rows,
not searches: a row belongs to a document and stands after some labels. Here all the rest is done once, for
all runtimes and searches: the prior's bias, the temperature and the mask of eq. 6-7, and which rows there
are. Hypotheses that begin alike share a row, and one that has ended has none, so that no row is computed
twice, and none that nobody reads.

Letters: B documents, R rows, N hypotheses, L labels, H hidden units.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from seq2set.core.errors import InputError

# Arrays, named by what is in them; a runtime may compute in 32 bits or in 64.
Ints = npt.NDArray[Any]
Bools = npt.NDArray[Any]
Reals = npt.NDArray[Any]


class Symbols:
    """The numbers of the ends of a label sequence, beside the labels 0 .. L-1 themselves.

    `eos` comes right after the labels, so that a decoder's outputs are the first L + 1 symbols; `bos`, which
    is read before the first label, and `pad` come after it and so can be read but never be generated.
    """

    def __init__(self, labels: int):
        self.labels = self.eos = labels
        self.bos, self.pad = labels + 1, labels + 2
        self.outputs, self.inputs = labels + 1, labels + 3


class StepOutput(NamedTuple):
    """What a decoder makes of one more symbol per row."""

    state: Any
    """Where it stands then, R rows; only the runtime looks into it"""
    logits: Reals
    """(R, L + 1) of eq. 5, without bias, temperature and mask"""


class StepDecoder(Protocol):
    """A runtime's decoder, opened for a batch of documents."""

    @property
    def labels(self) -> int:
        """How many labels there are."""

    @property
    def documents(self) -> int:
        """How many documents there are."""

    @property
    def bias(self) -> Reals | None:
        """What is added to the logits of each document (B, L + 1), if anything."""

    def start(self) -> Any:
        """Return the state before `bos` is read, one row per document."""

    def step(self, state: Any, rows: Ints, documents: Ints, previous: Ints) -> StepOutput:
        """Go on from rows (R,) of a state, any number of times from each, each with its symbol (R,).

        `documents` (R,) are those of the rows, ascending.
        """

    def outputs(self, state: Any) -> Reals:
        """Return s_t of each row (R, H), which another decoder may attend to."""


class Grown(NamedTuple):
    """Prefixes of one symbol more, and the row (N,) among them at which each hypothesis stands."""

    prefixes: Prefixes
    at: Ints


@dataclass(frozen=True)
class Prefixes:
    """Distinct beginnings of sequences, sorted by document, with what may come next."""

    decoder: StepDecoder
    temperature: float
    documents: Ints
    """(R,)"""
    emitted: Bools
    """(R, L + 1) the mask of eq. 7; never true for `eos`"""
    state: Any
    log_probs: Reals
    """(R, L + 1) eq. 6"""

    def grow(self, rows: Ints, symbols: Ints) -> Grown:
        """Let hypotheses at rows (N,) go on with labels (N,); those that do the same share a row."""
        outputs = self.emitted.shape[1]
        codes, at = np.unique(rows * outputs + symbols, return_inverse=True)
        rows, symbols = np.divmod(codes, outputs)
        emitted = self.emitted[rows]
        emitted[np.arange(len(rows)), symbols] = True
        return Grown(self._step(self.state, rows, self.documents[rows], symbols, emitted), at)

    def _step(self, state: Any, rows: Ints, documents: Ints, symbols: Ints, emitted: Bools) -> Prefixes:
        state, logits = self.decoder.step(state, rows, documents, symbols)
        bias = self.decoder.bias
        logits = logits if bias is None else logits + bias[documents]
        log_probs = log_softmax(np.where(emitted, -np.inf, logits / self.temperature))
        return Prefixes(self.decoder, self.temperature, documents, emitted, state, log_probs)


def begin(decoder: StepDecoder, temperature: float = 1.0) -> Prefixes:
    """Read `bos`: one empty prefix per document, in their order."""
    every, symbols = np.arange(decoder.documents), Symbols(decoder.labels)
    emitted = np.zeros((decoder.documents, symbols.outputs), bool)
    nothing = np.zeros(emitted.shape, np.float32)
    before = Prefixes(decoder, temperature, every, emitted, decoder.start(), nothing)
    return before._step(before.state, every, every, np.full(len(every), symbols.bos), emitted)


def log_softmax(logits: Reals) -> Reals:
    """Return log-probabilities of the last axis; what is -inf stays so."""
    shifted: Reals = logits - logits.max(-1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(-1, keepdims=True))
    return shifted


def log_sum(log_probs: Reals) -> Reals:
    """Return the log of the summed probabilities of the last axis."""
    top = log_probs.max(-1, keepdims=True)
    top[np.isneginf(top)] = 0
    with np.errstate(divide="ignore"):  # the log of nothing is -inf
        total: Reals = np.log(np.exp(log_probs - top).sum(-1)) + top[..., 0]
    return total


def limit_steps(labels: int, most: int | None) -> int:
    """Return the maximum number of labels that a search may emit."""
    if most is not None and most < 1:
        raise InputError(f"max_steps is {most}; it must be >= 1")
    return labels if most is None else min(most, labels)


def draw_noise(samples: int, outputs: int, seed: int = 1) -> Iterator[Reals]:
    """Give for each step noise (K, L + 1) after which the likeliest symbol is a draw from the distribution.

    The numbers are those of `torch.rand` with the same seed, from which models of all versions draw.
    """
    stream = np.random.RandomState(seed)
    while True:
        bits = stream.randint(0, 2**32, (samples, outputs), np.uint32) & 0xFFFFFF
        uniform = np.clip(bits * np.float32(2**-24), np.float32(1e-20), np.float32(1 - 1e-7))
        yield -np.log(-np.log(uniform))
