"""The seam between texts and networks: what tokens are, and what an encoder makes of them.

An encoder has a file of its own beside this one, with a function `build(config, tokens)` that its row in the
catalog's `ENCODERS` names. Its tokens are the words of the vocabulary, unless the row names others with
`tokens`. Nothing outside of that file knows how it works: decoders read `states`, `mask`
and `summary`, and ask for `size` and `summary_size`. One function does, which the row names with `graph`: it
makes the encoder's ONNX graph of the weights by their names in the model folder, where there may be no torch.

Letters: B documents, T tokens, E numbers per state, F numbers per summary.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from torch import Tensor, nn

from seq2set.core.progress import Progress
from seq2set.core.text_utils import Span


class Tokenization(Protocol):
    """How texts become tokens; the vocabulary `Words` is one."""

    def encode(self, texts: Iterable[str]) -> list[npt.NDArray[np.int32]]:
        """Return the numbers of each text's tokens."""

    def spans(self, text: str) -> Sequence[Span]:
        """Return where in the text each of its tokens stands, so that evidence can name it."""


class OwnTokens(Tokenization, Protocol):
    """Tokens other than the vocabulary's words, and what a saved model needs to have them again."""

    def facts(self) -> dict[str, Any]:
        """Return what `config.json` of the model folder records of them; plain JSON."""

    def files(self) -> dict[str, str]:
        """Return the texts of further files of the model folder, by name."""


class OwnRate(NamedTuple):
    """Weights that learn at a rate of their own."""

    weights: list[nn.Parameter]
    rate: float
    """Adam's learning rate at the beginning of a phase, after the warm-up"""
    warm_up: float
    """In which share of a phase's updates the rate rises to that, from next to nothing"""
    begins: float = 0.0
    """After how many epochs of a run they begin to learn"""


class Encoded(NamedTuple):
    """What an encoder made of a batch of documents."""

    states: Tensor
    """(B, T, E) one per token, zero at padding"""
    mask: Tensor
    """(B, T) true where there is a token"""
    summary: Tensor
    """(B, F) the document as a whole: what decoders begin with"""


class Encoder(nn.Module):
    """Reads documents; token 0 is padding, and each document has at least one token."""

    size: int
    """E, numbers per state"""
    summary_size: int
    """F, numbers per summary"""

    def forward(self, tokens: Tensor, lengths: Tensor) -> Encoded:
        """Encode (B, T) token numbers of documents of `lengths` (B,) tokens."""
        raise NotImplementedError

    def list_rates(self) -> list[OwnRate]:
        """Return the weights that do not learn at the rate of the rest."""
        return []

    def keep_states(
        self,
        splits: Sequence[Sequence[npt.NDArray[np.int32]]],
        workers: int,
        progress: Progress,
        device: str = "cpu",
    ) -> None:
        """Compute what every epoch would compute again of these documents, where there is such."""

    def reuse_states(self) -> AbstractContextManager[None]:
        """Read in the block what was computed once, instead of computing it."""
        return nullcontext()

    def note_precision(self, precision: str) -> str | None:  # noqa: ARG002
        """Say where it computes in another precision than the settings ask for on this CPU, if anywhere."""
        return None
