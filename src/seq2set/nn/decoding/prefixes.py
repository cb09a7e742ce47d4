"""One decoding step of prediction, and the two loops of such steps: greedy decoding and sampling.

A search grows rows: distinct beginnings of label sequences, in numpy alone. A runtime (torch, ONNX) brings a
`StepDecoder`: its decoder, opened for a batch of documents. It knows rows, not searches: a row belongs to a
document and stands after some labels. Here all the rest is done once, for all runtimes and searches: the
prior's bias, the temperature and the mask of eq. 6-7, and which rows there are. Hypotheses that begin alike
share a row, and one that has ended has none, so that no row is computed twice, and none that nobody reads.

Letters: B documents, R rows, N hypotheses, K hypotheses per document, S labels, L labels in all, H hidden
units.
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


def estimate_marginals(
    decoder: StepDecoder,
    samples: int,
    *,
    temperature: float = 1.0,
    seed: int = 1,
    max_steps: int | None = None,
    drawn: Bools | None = None,
) -> Reals:
    """Estimate each label's marginal (B, L), its probability of being in the set, from sampled sequences.

    A label is emitted at most once, so that its marginal is the expected sum, over the steps, of its
    probability given the labels before. That sum is averaged over `samples` sequences: the same mean as
    counting in how many samples the label occurs, but with far less noise, and different for labels that no
    sample happened to draw.

    All documents use the same random numbers, drawn from a seed, so that a document's marginals depend
    neither on its batch nor on the run. `drawn` (B, samples, L) is filled with the sampled sets.
    """
    documents, eos = decoder.documents, decoder.labels
    prefixes, sums = begin(decoder, temperature), np.zeros((documents, eos), np.float32)
    at, sample = np.repeat(np.arange(documents), samples), np.tile(np.arange(samples), documents)  # (N,)
    noises = draw_noise(samples, eos + 1, seed)
    for _, noise in zip(range(limit_steps(eos, max_steps)), noises, strict=False):
        shared = np.bincount(at, minlength=len(prefixes.documents)).astype(np.float32)
        chances = np.exp(prefixes.log_probs[:, :eos]) * shared[:, None]  # (R, L)
        first = np.flatnonzero(np.diff(prefixes.documents, prepend=-1))
        sums[prefixes.documents[first]] += np.add.reduceat(chances, first)
        picked = (prefixes.log_probs[at] + noise[sample]).argmax(1)
        live = picked != eos
        if not live.any():
            break
        if drawn is not None:
            drawn[prefixes.documents[at[live]], sample[live], picked[live]] = True
        prefixes, at = prefixes.grow(at[live], picked[live])
        sample = sample[live]
    marginals: Reals = (sums / np.float32(samples)).clip(0, 1)
    return marginals


class GreedyDecoding(NamedTuple):
    """Each document's likeliest label at each step."""

    labels: Ints
    """(B, S) in the order emitted, `pad` after the last"""
    lengths: Ints
    """(B,) how many labels"""
    steps: Reals
    """(B, S + 1) log-probability of each step, `eos` included; 0 after it"""
    outputs: Reals | None = None
    """(B, S + 1, H) the states that emitted, the one of `eos` included; 0 after it"""

    @property
    def mask(self) -> Bools:
        """Return (B, S + 1), true up to and including `eos`: what of `outputs` can be attended to."""
        place: Bools = np.arange(self.steps.shape[1]) <= self.lengths[:, None]
        return place


def decode_greedily(
    decoder: StepDecoder, *, max_steps: int | None = None, keep_outputs: bool = False
) -> GreedyDecoding:
    """Emit the likeliest symbol at each step, at most `max_steps` labels; then `eos` has no alternative."""
    limit, eos, prefixes = limit_steps(decoder.labels, max_steps), decoder.labels, begin(decoder)
    labels = np.full((decoder.documents, limit + 1), Symbols(eos).pad)
    steps, outputs = np.zeros(labels.shape, prefixes.log_probs.dtype), []
    for step in range(limit + 1):
        rows = prefixes.documents  # one row per document
        picked = prefixes.log_probs.argmax(1) if step < limit else np.full(len(rows), eos)
        if step < limit:
            steps[rows, step] = prefixes.log_probs[np.arange(len(rows)), picked]
        if keep_outputs:
            outputs.append(_spread(decoder.outputs(prefixes.state), rows, decoder.documents))
        live = np.flatnonzero(picked != eos)
        labels[rows[live], step] = picked[live]
        if not len(live):
            break
        prefixes, _ = prefixes.grow(live, picked[live])
    lengths = (labels < eos).sum(1)
    longest = int(lengths.max())
    kept = np.stack(outputs, 1) if keep_outputs else None
    return GreedyDecoding(labels[:, :longest], lengths, steps[:, : longest + 1], kept)


def _spread(part: Reals, rows: Ints, documents: int) -> Reals:
    """Put rows (R, H) into their places among all documents (B, H); the others are 0."""
    whole = np.zeros((documents, *part.shape[1:]), part.dtype)
    whole[rows] = part
    return whole
