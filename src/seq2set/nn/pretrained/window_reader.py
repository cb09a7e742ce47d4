"""The states that a pretrained network gives sub-words: of texts of any length, in windows that overlap.

A sub-word's state comes from the window in which it stands further from an end.

Letters: B documents, T sub-words, W windows, P places in a window with its marks, E numbers per state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from seq2set.nn.pretrained.encoder_parts import open_network
from seq2set.nn.pretrained.encoder_source import EncoderSource
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


class WindowReader:
    """Reads sub-words with a network of these `settings`, as transformers has them."""

    def __init__(self, subwords: Subwords, settings: Any, window: int):
        self.marks, self.nothing = subwords.marks, subwords.nothing
        longest = min(window, settings.max_position_embeddings - 2)
        self.room = max(1, longest - len(self.marks.before) - len(self.marks.behind))
        self.pad = int(settings.pad_token_id or 0)

    def read(self, body: Any, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Return the states (B, T, E) of (B, T) numbers of sub-words, zero behind a document's end."""
        windows = list(cut_windows(lengths.tolist(), self.room))
        read = self._read_windows(body, tokens, windows)  # (W, P, E)
        places = self._find_places(windows, tokens.shape, read.shape[1]).to(tokens.device)  # (B, T)
        mask = torch.arange(tokens.shape[1], device=tokens.device) < lengths[:, None]
        return read.flatten(0, 1)[places].masked_fill(~mask[..., None], 0.0)

    def _read_windows(self, body: Any, tokens: Tensor, windows: Sequence[Window]) -> Tensor:
        before, behind = self.marks
        width = max(one.end - one.start for one in windows) + len(before) + len(behind)
        ids = torch.full((len(windows), width), self.pad, device=tokens.device)
        mask = torch.zeros_like(ids)
        inner = torch.where(tokens < FIRST, self.nothing, tokens - FIRST)  # (B, T)
        marks = [torch.tensor(one, dtype=torch.long, device=tokens.device) for one in self.marks]
        for row, one in enumerate(windows):
            whole = torch.cat([marks[0], inner[one.document, one.start : one.end], marks[1]])
            ids[row, : len(whole)], mask[row, : len(whole)] = whole, 1
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


def open_still(source: EncoderSource) -> Any:
    """Open a network that stays as it is: all that read with it share one."""
    with torch.device("cpu"):  # also for those who want the shapes of the rest alone
        return _open_still(source.folder.path, source.folder.sha256)


@lru_cache(maxsize=1)
def _open_still(path: Path, sha256: str) -> Any:  # noqa: ARG001 (other files are another encoder)
    return drop_pooler(open_network(path)).eval().requires_grad_(False)


def drop_pooler(body: Any) -> Any:
    """Drop what makes one vector of the first state, which nothing here reads and so nothing would train."""
    if getattr(body, "pooler", None) is not None:
        body.pooler = None
    return body
