"""A pretrained transformer: the states of sub-words, as it is or tuned with the rest of the network.

A text is read in windows that overlap; a sub-word's state comes from the window in which it stands further
from an end. The transformer's own dropout is off, since its random numbers would depend on the batch that a
document is read in; dropout by document acts on the states.

Letters: B documents, T sub-words, W windows, P places in a window with its marks, E numbers per state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from seq2set.config import Config
from seq2set.nn.encoders import Encoded, Encoder, OwnRate
from seq2set.nn.noise import DocumentDropout
from seq2set.nn.pretrained.encoder_folder import CONFIG
from seq2set.nn.pretrained.encoder_parts import Marks, build_network, open_network
from seq2set.nn.pretrained.encoder_source import OWN_CONFIG, EncoderSource, find_source
from seq2set.nn.pretrained.subwords import FIRST, Subwords

OVERLAP = 32
"""How many sub-words a window shares with the one before it, where it is long enough"""


class Window(NamedTuple):
    """A stretch of a document that is read together."""

    document: int
    start: int
    end: int
    kept: int
    """The first sub-word whose state is taken from it; from there on up to the next window's"""


class Tuning(NamedTuple):
    """How the encoder learns."""

    layers: int | Literal["all"]
    """How many of them, from the top; all and the embeddings"""
    rate: float
    decay: float
    """What the learning rate is multiplied by from a layer to the one below"""
    warm_up: float


class TransformerEncoder(Encoder):
    """A transformer that reads windows of sub-words; without `tuning` its weights are not the network's."""

    def __init__(
        self,
        body: Any,
        marks: Marks,
        *,
        nothing: int,
        window: int,
        dropout: float = 0.0,
        tuning: Tuning | None = None,
    ):
        super().__init__()
        self.marks, self.nothing, self.tuning = marks, nothing, tuning
        longest = min(window, body.config.max_position_embeddings - 2)
        self.room = max(1, longest - len(marks.before) - len(marks.behind))
        self.pad = int(body.config.pad_token_id or 0)
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
        windows = list(cut_windows(lengths.tolist(), self.room))
        read = self._read_windows(tokens, windows)  # (W, P, E)
        places = self._find_places(windows, tokens.shape, read.shape[1]).to(tokens.device)  # (B, T)
        mask = torch.arange(tokens.shape[1], device=tokens.device) < lengths[:, None]
        states = read.flatten(0, 1)[places].masked_fill(~mask[..., None], 0.0)  # (B, T, E)
        summary = states.sum(1) / lengths[:, None]
        return Encoded(self.dropout(states), mask, summary)

    def list_rates(self) -> list[OwnRate]:
        """Return the parts that learn at a rate of their own: each layer, the lower the slower."""
        if self.tuning is None:
            return []
        depths: dict[int, list[nn.Parameter]] = {}
        for depth, weight in _find_depths(self.body):
            if weight.requires_grad:
                depths.setdefault(depth, []).append(weight)
        rate, decay, warm_up = self.tuning[1:]
        return [OwnRate(depths[depth], rate * decay**depth, warm_up) for depth in sorted(depths)]

    def _read_windows(self, tokens: Tensor, windows: Sequence[Window]) -> Tensor:
        before, behind = self.marks
        width = max(one.end - one.start for one in windows) + len(before) + len(behind)
        ids = torch.full((len(windows), width), self.pad, device=tokens.device)
        mask = torch.zeros_like(ids)
        inner = torch.where(tokens < FIRST, self.nothing, tokens - FIRST)  # (B, T)
        marks = [torch.tensor(one, dtype=torch.long, device=tokens.device) for one in self.marks]
        for row, one in enumerate(windows):
            whole = torch.cat([marks[0], inner[one.document, one.start : one.end], marks[1]])
            ids[row, : len(whole)], mask[row, : len(whole)] = whole, 1
        if self.tuning:
            return self._run(self.body, ids, mask)
        with torch.no_grad():
            return self._run(self._still[0].to(tokens.device), ids, mask)

    @staticmethod
    def _run(body: Any, ids: Tensor, mask: Tensor) -> Tensor:
        states: Tensor = body(input_ids=ids, attention_mask=mask).last_hidden_state
        return states

    def _find_places(self, windows: Sequence[Window], shape: Sequence[int], width: int) -> Tensor:
        """Return the rows (B, T) of windows (W * P,) that the sub-words' states are taken from."""
        places = torch.zeros(tuple(shape), dtype=torch.long)
        for row, one in enumerate(windows):
            first = row * width + len(self.marks.before) - one.start
            places[one.document, one.kept : one.end] = torch.arange(first + one.kept, first + one.end)
        return places


def cut_windows(lengths: Sequence[int], room: int) -> Iterator[Window]:
    """Cut documents of these lengths into windows of up to `room` sub-words that overlap.

    The last one is as long as the others, rather than a few sub-words with no surroundings.
    """
    step = room - min(OVERLAP, room // 4)
    for document, length in enumerate(lengths):
        end = 0
        for start in sorted({*range(0, max(1, length - room), step), max(0, length - room)}):
            yield Window(document, start, min(start + room, length), start + max(0, end - start) // 2)
            end = start + room


def build_transformer(config: Config, tokens: int) -> TransformerEncoder:  # noqa: ARG001 (it has its own)
    """Build the encoder that the settings name; that of a saved model has random weights at first."""
    source, chosen = find_source(config), config.encoder
    subwords = Subwords(source)
    tuning = None
    if chosen.tune != "none":
        tuning = Tuning(chosen.tune, chosen.learning_rate, chosen.layer_decay, chosen.warm_up)
    return TransformerEncoder(
        _open_body(source),
        subwords.marks,
        nothing=subwords.nothing,
        window=source.window,
        dropout=chosen.dropout,
        tuning=tuning,
    )


def _open_body(source: EncoderSource) -> Any:
    """Open the network, without weights where only the shapes are wanted or others come."""
    path = source.folder.path
    if not source.tuned:
        with torch.device("cpu"):  # shared, also by those who want the shapes of the rest alone
            return _open_still(path, source.folder.sha256)
    if not source.has_weights:
        return _drop_pooler(build_network(source.settings, Path(OWN_CONFIG)))
    only_shapes = torch.get_default_device().type == "meta"
    return _drop_pooler(build_network(source.settings, path / CONFIG) if only_shapes else open_network(path))


@lru_cache(maxsize=1)
def _open_still(path: Path, sha256: str) -> Any:  # noqa: ARG001 (other files are another encoder)
    """Open a network that stays as it is: all that read with it share one."""
    return _drop_pooler(open_network(path)).eval().requires_grad_(False)


def _drop_pooler(body: Any) -> Any:
    """Drop what makes one vector of the first state, which nothing here reads and so nothing would train."""
    if getattr(body, "pooler", None) is not None:
        body.pooler = None
    return body


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
