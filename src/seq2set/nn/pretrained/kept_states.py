"""The states of an encoder that stays as it is: computed once per text, and read again in every epoch.

They lie in the cache as vectors do, by the numbers of a text's sub-words (which depend on the tokenizer and
on how many words are read), the encoder's SHA-256 and its windows, with 16 bits per number. Training and its
looks at validation read them; prediction, and what is tuned after training, computes its own.

Letters: B documents, N texts, T sub-words, E numbers per state.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from seq2set.core.errors import InputError, OutputError
from seq2set.core.hardware import limit_threads
from seq2set.core.progress import Progress
from seq2set.core.text_utils import format_size
from seq2set.nn.pretrained.encoder_folder import WEIGHTS
from seq2set.nn.pretrained.encoder_source import EncoderSource
from seq2set.nn.pretrained.subwords import Subwords
from seq2set.nn.pretrained.vector_cache import HEAD, Pooled, TextBlock, VectorCache, make_room
from seq2set.nn.pretrained.window_reader import OVERLAP, WindowReader, open_still
from seq2set.text.batches import collate
from seq2set.text.vocabulary import UNK

ROOM = "states"
TEXTS_PER_FILE, TOKENS_PER_FILE = 512, 1 << 16
TOKENS_AT_A_TIME = 4096
"""Bounds the memory of a batch."""
SPARE = 1 << 30
"""Bytes that stay free on the disk, for the run's own checkpoints"""
WORTH_PROCESSES = 1024
"""How many texts must be read for the start of other processes to pay."""

Ids = npt.NDArray[np.int32]


class _TooLargeError(Exception):
    """A state does not fit into 16 bits."""


class KeptStates:
    """The states that one encoder has made, up to a number of bytes."""

    def __init__(self, source: EncoderSource, size: int, limit: int):
        self.source, self.size, self.limit = source, size, limit
        self._opened: VectorCache | None = None

    def open_cache(self) -> VectorCache:
        """Open what is on disk now."""
        name = f"{self.source.folder.sha256} {self.source.window} {OVERLAP} states 1"
        return VectorCache(name, self.size, room=ROOM, number="<f2", axes=2)

    @contextmanager
    def reuse(self) -> Iterator[None]:
        """Read in the block what is on disk when it begins."""
        self._opened = self.open_cache()
        try:
            yield
        finally:
            self._opened = None

    def read(self, tokens: Tensor, lengths: Tensor) -> Tensor | None:
        """Return the states (B, T, E) of documents (B, T), or nothing where those of one are not there."""
        if self._opened is None:
            return None
        states = torch.zeros(*tokens.shape, self.size)
        rows = zip(tokens.numpy(force=True), lengths.tolist(), strict=True)
        for number, (row, length) in enumerate(rows):
            if (found := self._opened.get(digest_tokens(row[:length]))) is None:
                return None
            states[number, :length] = torch.from_numpy(found.vector[:length].astype(np.float32))
        return states.to(tokens.device)

    def prepare(
        self, splits: Sequence[Sequence[Ids]], workers: int, progress: Progress, device: str = "cpu"
    ) -> None:
        """Put on disk what is not there of the texts of some splits; where that cannot be, say why."""
        cache, index = self.open_cache(), _index_texts(splits)
        missing = cache.list_missing(index)
        if dropped := cache.drop_unusable():
            progress.note(
                f"files of states in {cache.folder} that are cut short, damaged or another encoder's: "
                f"{dropped}; what they should hold is computed again"
            )
        blocks = list(_cut_blocks({key: index[key] for key in missing}))
        wanted = sum(len(keys) * (HEAD + 2 * self.size * index[keys[-1]].length) for keys in blocks)
        if not self._has_room(wanted, cache.list_files(index), cache.folder, progress) or not missing:
            return
        texts = [TextBlock(keys, _StoredTexts(splits, [index[key] for key in keys])) for keys in blocks]
        compute = partial(_read_alone, source=self.source, device=device)
        workers = workers if device == "cpu" and len(missing) > WORTH_PROCESSES else 1
        try:
            cache.fill("states", texts, compute, workers, progress)
        except (OutputError, _TooLargeError) as error:
            cache.discard_written()
            progress.note(f"{error}; {_ANEW}")

    def _has_room(self, wanted: int, used: set[Path], folder: Path, progress: Progress) -> bool:
        """Say how much disk the states will take, and whether that much is allowed and there."""
        what = f"the encoder's states take {format_size(wanted)} in {folder}"
        allowed = self.limit - sum(path.stat().st_size for path in used)
        if wanted > allowed:
            progress.note(
                f"{what}, and {format_size(max(0, allowed))} are left of encoder.cache_gigabytes; {_ANEW}"
            )
            return False
        make_room(ROOM, self.limit - wanted, used)
        free = shutil.disk_usage(next(one for one in folder.parents if one.is_dir())).free
        if wanted and free < wanted + SPARE:
            spare = f"of which {format_size(SPARE)} stay for the run itself"
            progress.note(f"{what}, where {format_size(free)} are free, {spare}; {_ANEW}")
            return False
        if wanted:
            progress.note(
                f"{what}, where {format_size(free)} are free: they are computed once for all epochs"
            )
        return True


_ANEW = "the states are computed again in every epoch"


def digest_tokens(tokens: npt.NDArray[Any]) -> bytes:
    """Return what stands in the cache for a text's sub-words."""
    return hashlib.sha256(np.asarray(tokens, "<i4").tobytes()).digest()


class _Place(NamedTuple):
    length: int
    split: int
    number: int
    """Of the text in its split"""


class _StoredTexts(Sequence[Ids]):
    """Texts of splits, each read when it is looked at; none is empty, as in a batch."""

    def __init__(self, splits: Sequence[Sequence[Ids]], places: list[_Place]):
        self._splits, self._places = splits, places

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, number: Any) -> Any:
        _, split, place = self._places[number]
        return _fill_empty(self._splits[split][place])


def _fill_empty(tokens: Ids) -> Ids:
    return tokens if len(tokens) else np.array([UNK], np.int32)


def _index_texts(splits: Sequence[Sequence[Ids]]) -> dict[bytes, _Place]:
    """Return where the texts of splits stand, by what stands for them in the cache."""
    found: dict[bytes, _Place] = {}
    for split, texts in enumerate(splits):
        for number in range(len(texts)):
            tokens = _fill_empty(texts[number])
            found.setdefault(digest_tokens(tokens), _Place(len(tokens), split, number))
    return found


def _cut_blocks(index: dict[bytes, _Place]) -> Iterator[list[bytes]]:
    """Put texts of like lengths together, always in the same way; the last of a block is the longest."""
    block: list[bytes] = []
    for key in sorted(index, key=lambda key: (index[key].length, key)):
        most = min(TEXTS_PER_FILE, TOKENS_PER_FILE // index[key].length)
        if block and len(block) >= most:
            yield block
            block = []
        block.append(key)
    if block:
        yield block


def _read_alone(texts: Sequence[Ids], source: EncoderSource, device: str) -> Pooled:
    """Read texts of ascending lengths with one thread, since several processes may do so."""
    body = open_still(source).to(device)
    reader = WindowReader(Subwords(source), body.config, source.window)
    longest = len(texts[-1])
    states = np.zeros((len(texts), longest, body.config.hidden_size), np.float16)
    at_a_time = max(1, TOKENS_AT_A_TIME // longest)
    with limit_threads(1), torch.inference_mode():
        for start in range(0, len(texts), at_a_time):
            read = collate(texts, np.arange(start, min(start + at_a_time, len(texts))))
            exact = reader.read(body, read.ids.to(device), read.lengths.to(device)).numpy(force=True)
            if not np.isfinite(exact).all():
                place = source.folder.path / WEIGHTS
                raise InputError(f"{place} gives states that are not finite numbers; it cannot be used")
            if np.abs(exact).max() > np.finfo(np.float16).max:
                raise _TooLargeError("the encoder's states are too large to be kept with 16 bits")
            states[start : start + at_a_time, : exact.shape[1]] = exact
    return Pooled(states, np.zeros(len(texts), np.int64))
