"""A training step of the encoder on a CPU, forward and backward, against the library's packed LSTM.

Both sides use the same weights, read the same batch and send the same gradients back; the run fails where
their outputs or gradients differ. Lengths differ from batch to batch in training, and a library may prepare
code for each new shape: `checks.new_shapes` compares steps on bucketed batches seen for the first time with
steps on the same batches seen again.

Each side has its own process: half of the packed side's time goes into buffers that are paged in anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from seq2set.benchmarks.inputs import AAPD, DocumentShape, make_documents
from seq2set.benchmarks.plain import PlainEncoded, encode_packed
from seq2set.benchmarks.ratio import Ratio, TimedResult, call_apart, time_call
from seq2set.core.errors import WorkError
from seq2set.core.hardware import limit_threads
from seq2set.nn.encoders.bilstm import BiLSTMEncoder
from seq2set.text.batches import bucket_by_length
from seq2set.training.examples import EncodedExamples, TrainingBatch

OPPONENT = "nn.LSTM with pack_padded_sequence"

LIMIT = 8
"""How many times as fast as the opponent it must be."""

TOLERANCE = 1e-5
"""How far outputs and gradients of the two sides may lie apart."""

EncodeFunction = Callable[[BiLSTMEncoder, Tensor, Tensor], PlainEncoded]


class StepResult(NamedTuple):
    """What a training step gave."""

    outputs: PlainEncoded
    gradients: tuple[Tensor, ...]


class EncoderCase(NamedTuple):
    """What both sides train, and on how many documents."""

    documents: int
    shape: DocumentShape
    embedding: int
    hidden: int
    layers: int

    def build_encoder(self) -> BiLSTMEncoder:
        """Return the same weights each time."""
        torch.manual_seed(1)
        return BiLSTMEncoder(self.shape.vocabulary + 2, self.embedding, self.hidden, self.layers)

    def to_dict(self) -> dict[str, Any]:
        """Return the shapes that `bench --json` prints."""
        sizes = self._asdict()
        return {"documents": sizes.pop("documents"), **sizes.pop("shape").to_dict(), **sizes}


def measure_encoder(
    documents: int = 64,
    *,
    shape: DocumentShape = AAPD,
    embedding: int = 256,
    hidden: int = 256,
    layers: int = 2,
    batches: int = 4,
    rounds: int = 2,
) -> Ratio:
    """Train on one batch of `documents` both ways, then our way on `batches` batches of other lengths."""
    shape = DocumentShape(*shape)
    work = EncoderCase(documents, shape, embedding, hidden, layers)
    ours, theirs = call_apart(
        partial(time_step, work, encode_by_us), partial(time_step, work, encode_packed), rounds
    )
    difference = compare_sides(ours.result, theirs.result)
    new = _time_new_shapes(
        work.build_encoder(), make_documents(documents * batches, shape, seed=2), documents
    )
    checks = {"limit": LIMIT, "largest_difference": difference, "new_shapes": new}
    return Ratio("encoder", OPPONENT, ours.seconds, theirs.seconds, work.to_dict(), checks)


def time_step(work: EncoderCase, read: EncodeFunction) -> TimedResult[StepResult]:
    """Time one training step of a side."""
    limit_threads(1)  # in a process of its own
    encoder = work.build_encoder()
    batch = make_documents(work.documents, work.shape).batch(np.arange(work.documents))
    began = time.process_time()
    found = train_step(encoder, batch, read)
    return TimedResult(time.process_time() - began, found)


def encode_by_us(encoder: BiLSTMEncoder, ids: Tensor, lengths: Tensor) -> PlainEncoded:
    """Encode by the route that our encoder takes on a CPU."""
    encoded = encoder(ids, lengths)
    return PlainEncoded(encoded.states, encoded.summary)


def train_step(encoder: BiLSTMEncoder, batch: TrainingBatch, read: EncodeFunction) -> StepResult:
    """Go forward, and backward from gradients that are the same for both sides."""
    encoder.zero_grad(set_to_none=True)
    outputs = read(encoder, batch.ids, batch.lengths)
    torch.autograd.backward(outputs, [torch.cos(part.detach() * 9) for part in outputs])
    gradients = tuple(part.grad for part in encoder.parameters() if part.grad is not None)
    return StepResult(PlainEncoded(*(part.detach() for part in outputs)), gradients)


def compare_sides(ours: StepResult, theirs: StepResult) -> dict[str, float]:
    """Say how far the sides lie apart, and fail where that is too far.

    Outputs lie between -1 and 1; gradients count as a share of the largest one of the same weights.
    """
    pairs = list(zip(ours.gradients, theirs.gradients, strict=True))
    outputs = max(_find_largest(a - b) for a, b in zip(ours.outputs, theirs.outputs, strict=True))
    gradients = max(_find_largest(a - b) / _find_largest(b) for a, b in pairs)
    if max(outputs, gradients) > TOLERANCE:
        raise WorkError(
            f"the encoder's outputs differ from the packed LSTM's by {outputs:.1e} and its "
            f"gradients by {gradients:.1e}; at most {TOLERANCE:.0e} is allowed"
        )
    return {"outputs": outputs, "gradients": gradients}


def _find_largest(values: Tensor) -> float:
    return float(values.abs().max())


def _time_new_shapes(encoder: BiLSTMEncoder, examples: EncodedExamples, size: int) -> dict[str, float]:
    """Time steps on bucketed batches, all for the first time and then all again."""
    places = bucket_by_length(examples.lengths, size, seed=1, epoch=0)
    steps = [partial(train_step, encoder, examples.batch(one), encode_by_us) for one in places]
    first, again = (sum(map(time_call, steps)) / len(steps) for _ in range(2))
    return {"first_seconds": first, "again_seconds": again, "cost": round(first / again, 3)}
