"""Words as numbers in descending training frequency, ties by name.

Number 0 is `pad`, 1 is `unk`, the words follow. The size of a vocabulary counts words only, so that a size of
50,000 makes 50,002 numbers.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, trainers

from seq2set.core.errors import ModelFolderError
from seq2set.core.text_utils import replace_surrogates
from seq2set.text.slices import SLICE, encode_slices
from seq2set.text.spans import Spans
from seq2set.text.tokenizer import (
    UNKNOWN,
    UnicodeForm,
    Unit,
    build_tokenizer,
    read_tokenizer,
    widen_spans,
)

PAD, UNK = 0, 1
"""The numbers of padding and of words that are not in the vocabulary."""

_SPECIALS = ["[pad]", UNKNOWN]
_CHUNK, _TEXT = 2**16, 64
"""Characters that are encoded at a time, and how many a text counts for beside its own."""
_ASCII = "".join(map(chr, range(128)))

# The library's threads do not survive a fork, and unless told what to do it prints a warning there. Saying
# that parallelism is wanted keeps it quiet; switching it off in a child keeps the child from waiting for
# threads that it does not have.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
if sys.platform != "win32":
    os.register_at_fork(after_in_child=lambda: os.environ.update(TOKENIZERS_PARALLELISM="false"))


class FlatIds(NamedTuple):
    """Many encoded texts in one array: text i is `ids[offsets[i]:offsets[i + 1]]`."""

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]


class Words:
    """The words that a model knows, and how a text becomes numbers; `len` counts `pad` and `unk` too."""

    def __init__(self, tokenizer: Tokenizer, words: list[str] | None = None):
        self._tokenizer = tokenizer
        self._words = _list_words(tokenizer) if words is None else words
        if self._words[: len(_SPECIALS)] != _SPECIALS:
            raise ModelFolderError(
                f"the tokeniser's vocabulary begins with {self._words[:2]}; it must begin with {_SPECIALS}"
            )
        self._fold = _find_ascii_folding(tokenizer)
        self._bare = _drop_normaliser(tokenizer)

    @classmethod
    def build(
        cls,
        texts: Iterable[str],
        *,
        vocabulary_size: int,
        min_frequency: int,
        lowercase: bool,
        unicode_form: UnicodeForm,
        strip_accents: bool,
        unit: Unit = "word",
    ) -> Words:
        """Keep the most frequent words of the training texts, in one pass that holds only counts."""
        tokenizer = build_tokenizer(
            {}, lowercase=lowercase, unicode_form=unicode_form, strip_accents=strip_accents, unit=unit
        )
        words = _SPECIALS + _count_words(tokenizer, texts, vocabulary_size, min_frequency)
        numbers = {word: number for number, word in enumerate(words)}
        tokenizer.model = models.WordLevel(numbers, unk_token=UNKNOWN)
        return cls(tokenizer)

    def __len__(self) -> int:
        return len(self._words)

    def word(self, number: int) -> str:
        """Return the word of a number."""
        return self._words[number]

    @cached_property
    def is_word(self) -> NDArray[np.bool_]:
        """Whether each number stands for a word, which has a letter: not for padding, a mark or a number.

        Where most of the vocabulary has no letter, as in texts whose words were replaced by numbers, all of
        it counts as words.
        """
        spelled = np.array([word.isalpha() or any(map(str.isalpha, word)) for word in self._words])
        spelled[: len(_SPECIALS)] = False
        if 2 * spelled.sum() < len(spelled) - len(_SPECIALS):
            spelled[len(_SPECIALS) :] = True
        return spelled

    def encode(self, texts: Iterable[str]) -> list[NDArray[np.int32]]:
        """Return the numbers of each text's words; a text without words gives an empty array."""
        return list(chain.from_iterable(self._encode_chunks(texts)))

    def flat_encode(self, texts: Iterable[str]) -> FlatIds:
        """Encode many texts into one array, without an object per text."""
        ids, lengths = [np.zeros(0, np.int32)], [np.zeros(1, np.int64)]
        for chunk in self._encode_chunks(texts):
            lengths.append(np.fromiter(map(len, chunk), np.int64, len(chunk)))
            ids.append(np.concatenate(chunk))
        return FlatIds(np.concatenate(ids), np.cumsum(np.concatenate(lengths)))

    def spans(self, text: str) -> Spans:
        """Return where in a text each of its words stands, whatever normalising did to its length."""
        slices = encode_slices(self._tokenizer, text)
        return widen_spans(text, np.concatenate([one.places for one in slices]))

    def to_json(self) -> str:
        """Return all of it as the tokenizers library's own JSON."""
        return str(self._tokenizer.to_str())

    @classmethod
    def from_json(cls, text: str) -> Words:
        """Read back what `to_json` gave."""
        try:
            tokenizer, words = read_tokenizer(text)
        except Exception as error:  # the library raises nothing narrower
            raise ModelFolderError(f"the tokeniser cannot be read from its JSON: {error}") from None
        return cls(tokenizer, words)

    def _encode_chunks(self, texts: Iterable[str]) -> Iterator[list[NDArray[np.int32]]]:
        """Encode chunk by chunk; ASCII, which normalising only lower-cases, is twice as fast without it."""
        for chunk in _chunk_texts(texts):
            ascii_texts = [self._fold(text) for text in chunk if text.isascii()]
            others = [replace_surrogates(text) for text in chunk if not text.isascii()]
            fast = iter(_encode_all(self._bare, ascii_texts))
            full = iter(_encode_all(self._tokenizer, others))
            yield [next(fast if text.isascii() else full) for text in chunk]


def _chunk_texts(texts: Iterable[str]) -> Iterator[list[str]]:
    """Give as many texts at a time as the tokeniser should hold, or one that is longer."""
    chunk, size = list[str](), 0
    for text in texts:
        if chunk and size + len(text) > _CHUNK:
            yield chunk
            chunk, size = [], 0
        chunk.append(text)
        size += len(text) + _TEXT
    if chunk:
        yield chunk


def _encode_all(tokenizer: Tokenizer, texts: Sequence[str]) -> Iterator[NDArray[np.int32]]:
    """Encode texts at once, or slice by slice where it is a long one."""
    if any(len(text) > SLICE for text in texts):
        for text in texts:
            yield np.concatenate([np.array(one.ids, np.int32) for one in encode_slices(tokenizer, text)])
    else:
        for encoding in tokenizer.encode_batch_fast(texts, add_special_tokens=False):
            yield np.array(encoding.ids, np.int32)


def _list_words(tokenizer: Tokenizer) -> list[str]:
    numbers: dict[str, int] = tokenizer.get_vocab(with_added_tokens=False)
    return sorted(numbers, key=numbers.__getitem__)


def _drop_normaliser(tokenizer: Tokenizer) -> Tokenizer:
    bare = Tokenizer(tokenizer.model)
    bare.pre_tokenizer = tokenizer.pre_tokenizer
    return bare


def _find_ascii_folding(tokenizer: Tokenizer) -> Callable[[str], str]:
    """Return what the normaliser does to ASCII texts: it lower-cases them, or leaves them as they are."""
    foldings: dict[str, Callable[[str], str]] = {_ASCII: str, _ASCII.lower(): str.lower}
    folded = tokenizer.normalizer.normalize_str(_ASCII) if tokenizer.normalizer else _ASCII
    if folded not in foldings:
        raise ModelFolderError(f"the tokeniser turns ASCII into {folded!r}; it may only lower-case it")
    return foldings[folded]


def _count_words(tokenizer: Tokenizer, texts: Iterable[str], size: int, min_frequency: int) -> list[str]:
    """Count in Rust; the trainer sorts by count, then by the word's bytes, the order of its code points."""
    trainer = trainers.WordLevelTrainer(
        vocab_size=size, min_frequency=min_frequency, special_tokens=[], show_progress=False
    )
    fold, normaliser = _find_ascii_folding(tokenizer), tokenizer.normalizer
    normalised = (
        fold(text) if text.isascii() else normaliser.normalize_str(replace_surrogates(text)) for text in texts
    )
    counter = _drop_normaliser(tokenizer)
    counter.train_from_iterator(normalised, trainer)
    return _list_words(counter)
