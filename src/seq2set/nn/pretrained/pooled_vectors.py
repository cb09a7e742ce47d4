"""Vectors of whole texts by a frozen pretrained encoder.

A text is cut into windows of sub-words that overlap; the mean of a window's states is its vector, and the
mean of the windows' vectors, each counting by its length, brought to length 1, is the text's. Words beyond a
number that can be set are left out, and counted.

Letters: N texts, W windows, T sub-words, E numbers per vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from seq2set.core.errors import InputError
from seq2set.nn.pretrained.encoder_folder import WEIGHTS, read_settings, read_tokenizer
from seq2set.nn.pretrained.encoder_parts import find_marks, open_network, open_tokenizer, report_panics
from seq2set.nn.pretrained.vector_cache import Pooled

WINDOW = 256
"""Sub-words per window, with those that mark its ends; as many as small sentence encoders read by default."""
FORMER_WINDOW = 128
"""What it was when models did not record it yet."""
OVERLAP = 32
"""How many of them a window shares with the one before it."""
TOKENS_AT_A_TIME = 4096
"""Bounds the memory of a batch."""

Vectors = npt.NDArray[np.float32]


class _TokenWindows(NamedTuple):
    ids: list[list[int]]
    text: list[int]
    """The text of each window"""
    cut: list[int]
    """How many words of each text are in no window"""


class PooledEncoder:
    """A frozen encoder in use: texts in, vectors out."""

    def __init__(self, path: Path):
        self.path = path
        settings = read_settings(path)
        self._tokenizer = open_tokenizer(read_tokenizer(path), settings, path)
        self._prefix, self._suffix = find_marks(self._tokenizer)
        self._pad = int(settings.get("pad_token_id") or 0)
        self._longest = int(settings.get("max_position_embeddings") or WINDOW + 2) - 2
        self._network: Any = open_network(path).eval()
        self.size: int = self._network.config.hidden_size

    def embed(self, texts: Sequence[str], most_words: int, window: int = WINDOW) -> Pooled:
        """Return the texts' vectors, of their first `most_words` words, in windows of `window` sub-words."""
        window = min(window, self._longest)
        windows = self._cut_windows(texts, most_words, window)
        sums = np.zeros((len(texts), self.size), np.float32)
        lengths = np.array([len(one) for one in windows.ids])
        order = np.argsort(lengths, kind="stable")
        at_a_time = max(1, TOKENS_AT_A_TIME // window)
        for start in range(0, len(order), at_a_time):
            index = order[start : start + at_a_time]
            vectors = self._encode([windows.ids[one] for one in index])
            np.add.at(sums, np.array(windows.text)[index], vectors * lengths[index, None])
        if not np.isfinite(sums).all():
            raise InputError(
                f"{self.path / WEIGHTS} gives vectors that are not finite numbers; it cannot be used"
            )
        norms = np.linalg.norm(sums, axis=1, keepdims=True)
        return Pooled(sums / np.maximum(norms, np.finfo(np.float32).tiny), np.array(windows.cut, np.int64))

    def count_longer(self, texts: Sequence[str], most_words: int) -> int:
        """Count the texts of more than `most_words` words."""
        return sum(_count_words(one) > most_words for one in self._tokenize(texts))

    def _tokenize(self, texts: Sequence[str]) -> list[Any]:
        with report_panics(self.path):
            encoded: list[Any] = self._tokenizer.encode_batch(texts, add_special_tokens=False)
        return encoded

    def _cut_windows(self, texts: Sequence[str], most_words: int, window: int) -> _TokenWindows:
        room = max(1, window - len(self._prefix) - len(self._suffix))
        step = max(1, room - OVERLAP)
        found = _TokenWindows([], [], [])
        for number, one in enumerate(self._tokenize(texts)):
            words = [-1 if word is None else word for word in one.word_ids]
            kept = [token for token, word in zip(one.ids, words, strict=True) if word < most_words]
            # The last window is as long as the others, rather than a few sub-words with no surroundings.
            starts = [*range(0, max(1, len(kept) - room), step), max(0, len(kept) - room)]
            for start in sorted(set(starts)):
                found.ids.append([*self._prefix, *kept[start : start + room], *self._suffix])
                found.text.append(number)
            found.cut.append(max(0, _count_words(one) - most_words))
        return found

    def _encode(self, windows: Sequence[Sequence[int]]) -> Vectors:
        """Return the mean state of each window: (W, T) -> (W, E)."""
        import torch

        longest = max(1, *map(len, windows))
        ids = torch.full((len(windows), longest), self._pad)
        mask = torch.zeros((len(windows), longest), dtype=torch.long)
        for row, window in enumerate(windows):
            ids[row, : len(window)] = torch.tensor(window, dtype=torch.long)
            mask[row, : max(1, len(window))] = 1
        with torch.inference_mode():
            states = self._network(input_ids=ids, attention_mask=mask).last_hidden_state  # (W, T, E)
            weight = mask[:, :, None].to(states.dtype)
            mean = (states * weight).sum(1) / weight.sum(1)
        return np.asarray(mean.numpy(), np.float32)


def _count_words(encoding: Any) -> int:
    return 1 + max((word for word in encoding.word_ids if word is not None), default=-1)


@lru_cache(maxsize=1)
def open_encoder(path: Path, sha256: str) -> PooledEncoder:  # noqa: ARG001 (other files are another encoder)
    """Open an encoder whose folder was checked; the last one stays open in this process."""
    return PooledEncoder(path)
