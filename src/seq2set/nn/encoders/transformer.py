"""A pretrained transformer: the states of sub-words, as it is or tuned with the rest of the network.

The transformer's own dropout is off, since its random numbers would depend on the batch that a document is
read in; dropout by document acts on the states.

Letters: B documents, T sub-words, E numbers per state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from seq2set.config import Config
from seq2set.core.progress import Progress
from seq2set.nn.encoders import Encoded, Encoder, OwnRate
from seq2set.nn.noise import DocumentDropout
from seq2set.nn.pretrained.encoder_folder import CONFIG
from seq2set.nn.pretrained.encoder_parts import build_network, open_network
from seq2set.nn.pretrained.encoder_source import OWN_CONFIG, EncoderSource, find_source
from seq2set.nn.pretrained.kept_states import KeptStates
from seq2set.nn.pretrained.subwords import Subwords
from seq2set.nn.pretrained.window_reader import WindowReader, drop_pooler, open_still

GIGABYTE = 10**9


class Tuning(NamedTuple):
    """How the encoder learns."""

    layers: int | Literal["all"]
    """How many of them, from the top; all and the embeddings"""
    rate: float
    decay: float
    """What the learning rate is multiplied by from a layer to the one below"""
    warm_up: float
    unfreeze_every: float = 0.0
    """After how many epochs a further layer begins to learn"""


class TransformerEncoder(Encoder):
    """A transformer that reads windows of sub-words; without `tuning` its weights are not the network's."""

    def __init__(
        self,
        body: Any,
        reader: WindowReader,
        *,
        dropout: float = 0.0,
        tuning: Tuning | None = None,
        kept: KeptStates | None = None,
    ):
        super().__init__()
        self.reader, self.tuning, self.kept = reader, tuning, kept
        self.dropout = DocumentDropout(dropout, along=True)
        self.size = self.summary_size = int(body.config.hidden_size)
        self._still: tuple[Any, ...] = () if tuning else (body,)  # no module of ours: not saved, not trained
        if tuning:
            self.body = body
            _select_layers(body, tuning.layers)

    def train(self, mode: bool = True) -> TransformerEncoder:
        """Switch training on or off; the transformer itself has no dropout in either."""
        super().train(mode)
        if self.tuning:
            self.body.eval()
        return self

    def forward(self, tokens: Tensor, lengths: Tensor) -> Encoded:
        """Encode (B, T) numbers of sub-words."""
        states = self._read(tokens, lengths)  # (B, T, E)
        mask = torch.arange(tokens.shape[1], device=tokens.device) < lengths[:, None]
        summary = states.sum(1) / lengths[:, None]
        return Encoded(self.dropout(states), mask, summary)

    def _read(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        if self.tuning:
            return self.reader.read(self.body, tokens, lengths)
        if self.kept is not None and (kept := self.kept.read(tokens, lengths)) is not None:
            return kept
        with torch.no_grad():
            return self.reader.read(self._still[0].to(tokens.device), tokens, lengths)

    def keep_states(
        self,
        splits: Sequence[Sequence[npt.NDArray[np.int32]]],
        workers: int,
        progress: Progress,
        device: str = "cpu",
    ) -> None:
        """Compute the states of documents once, where the encoder stays as it is."""
        if self.kept is not None:
            self.kept.prepare(splits, workers, progress, device)

    def reuse_states(self) -> AbstractContextManager[None]:
        """Read in the block what was computed once."""
        return nullcontext() if self.kept is None else self.kept.reuse()

    def list_rates(self) -> list[OwnRate]:
        """Return the parts that learn at a rate of their own: each layer, the lower the slower."""
        if self.tuning is None:
            return []
        depths: dict[int, list[nn.Parameter]] = {}
        for depth, weight in _find_depths(self.body):
            if weight.requires_grad:
                depths.setdefault(depth, []).append(weight)
        _, rate, decay, warm_up, every = self.tuning
        return [
            OwnRate(depths[depth], rate * decay**depth, warm_up, every * depth) for depth in sorted(depths)
        ]


def build_transformer(config: Config, tokens: int) -> TransformerEncoder:  # noqa: ARG001 (it has its own)
    """Build the encoder that the settings name; that of a saved model has random weights at first."""
    source, chosen = find_source(config), config.encoder
    subwords, tuning, kept = Subwords(source), None, None
    body = _open_body(source)
    if chosen.tune != "none":
        tuning = Tuning(
            chosen.tune, chosen.learning_rate, chosen.layer_decay, chosen.warm_up, chosen.unfreeze_every
        )
    elif limit := int(chosen.cache_gigabytes * GIGABYTE):
        kept = KeptStates(source, body.config.hidden_size, limit)
    reader = WindowReader(subwords, body.config, source.window)
    return TransformerEncoder(body, reader, dropout=chosen.dropout, tuning=tuning, kept=kept)


def _open_body(source: EncoderSource) -> Any:
    """Open the network, without weights where only the shapes are wanted or others come."""
    path = source.folder.path
    if not source.tuned:
        return open_still(source)
    if not source.has_weights:
        return drop_pooler(build_network(source.settings, Path(OWN_CONFIG)))
    only_shapes = torch.get_default_device().type == "meta"
    return drop_pooler(build_network(source.settings, path / CONFIG) if only_shapes else open_network(path))


def _select_layers(body: Any, layers: int | str) -> None:
    if layers == "all":
        return
    assert isinstance(layers, int)
    for depth, weight in _find_depths(body):
        weight.requires_grad_(depth < layers)


def _find_depths(body: Any) -> Iterator[tuple[int, nn.Parameter]]:
    """Give each weight with how many layers lie above its own; the embeddings are below all layers."""
    count = int(body.config.num_hidden_layers)
    stack = next(
        (f"{name}." for name, one in body.named_modules() if _is_stack(one, count)), "no stack of layers"
    )
    for name, weight in body.named_parameters():
        if name.startswith(stack):
            yield count - 1 - int(name.removeprefix(stack).partition(".")[0]), weight
        else:
            yield count if name.startswith("embeddings") else 0, weight


def _is_stack(module: nn.Module, count: int) -> bool:
    return isinstance(module, nn.ModuleList) and len(module) == count
