"""What a network reads of texts: the numbers of their words or, of some encoders, of tokens of their own.

Words are those of the vocabulary either way where they are counted: for how much of a text is read, whether a
word of it is known, and what speaks for a label.

Letters: N texts, S labels, T tokens, W words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from seq2set.config import Config
from seq2set.config.catalog import ENCODERS, find_model
from seq2set.core.names import find_named, load_named
from seq2set.text.cut_texts import Cut, count_cut, cut_at_subwords, cut_at_words
from seq2set.text.spans import Spans
from seq2set.text.vocabulary import UNK, Words

if TYPE_CHECKING:
    from seq2set.nn.encoders import OwnTokens  # loads torch

Ids = npt.NDArray[np.int32]
Reals = npt.NDArray[np.float32]

TOKENS_PER_WORD = 8
"""The most per word on average; the rest of a text is not read, since a single word can have any length."""


class Reading(NamedTuple):
    """What a network reads of texts."""

    tokens: list[Ids]
    known: npt.NDArray[np.bool_]
    """Whether a word of each is known, of those that are read, (N,)"""
    cut: Cut
    """How many texts are not read to their end"""


@dataclass(frozen=True)
class TextReader:
    """Texts in, numbers out."""

    words: Words
    most: int
    """How many words of a text are read"""
    vectors: int
    """How many words an encoder has vectors of"""
    own: OwnTokens | None
    """The encoder's own tokens, where it has some"""

    @classmethod
    def build(cls, config: Config, words: Words, own: OwnTokens | None) -> TextReader:
        """Build the reader of the settings."""
        return cls(words, config.encoder.max_words, config.encoder.words, own)

    def read(self, texts: Sequence[str], encoded: Sequence[Ids] | None = None) -> Reading:
        """Read texts, of which the vocabulary's numbers may be there already."""
        encoded = self.words.encode(texts) if encoded is None else encoded
        tokens = [limit_words(one, self.most, self.vectors) for one in encoded]
        known = has_words(tokens, self.words)
        cut = count_cut(sum(len(one) > self.most for one in encoded), cut_at_words(self.most))
        if self.own is not None:
            parts = [self._cut(text, len(one)) for text, one in zip(texts, encoded, strict=True)]
            most, found = TOKENS_PER_WORD * self.most, self.own.encode(parts)
            cut += count_cut(sum(len(one) > most for one in found), cut_at_subwords(most))
            tokens = [one[:most] for one in found]
        return Reading(tokens, known, cut)

    def add_up(self, text: str, spans: Spans, added: Reals) -> Reals:
        """Turn what each token adds to labels (S, T) into what each word adds (S, W)."""
        if self.own is None:
            return added
        tokens = self.own.spans(self._cut(text, len(spans)))[: added.shape[1]]
        starts, ends = spans.places.astype(np.int64).T
        # The first word that ends behind where a token begins, if it begins before the token ends.
        word = np.searchsorted(ends, [one.start for one in tokens], side="right")
        stop = np.array([one.end for one in tokens], np.int64)
        inside = np.append(starts, np.iinfo(np.int64).max)[word] < stop
        summed = np.zeros((len(spans), len(added)), added.dtype)
        np.add.at(summed, word[inside], added.T[: len(tokens)][inside])
        return np.asarray(summed.T)

    def _cut(self, text: str, words: int) -> str:
        """Return a text of `words` words up to the last one that is read."""
        return text if words <= self.most else text[: self.words.spans(text)[self.most - 1].end]


def open_tokens(config: Config) -> OwnTokens | None:
    """Open the tokens of the encoder that the settings name, if they are not the vocabulary's words."""
    row = find_named("encoder", find_model(config.model).encoder or config.encoder.kind, ENCODERS)
    found: OwnTokens | None = load_named(row.tokens)(config) if row.tokens else None
    return found


def limit_words(ids: Ids, most: int, known: int) -> Ids:
    """Keep the first words of a text, and make those that the encoder has no vector for unknown."""
    ids = ids[:most]
    return np.where(ids < known + 2, ids, np.int32(UNK))


def has_words(encoded: Sequence[Ids], words: Words) -> npt.NDArray[np.bool_]:
    """Say of each text, as the encoder reads it, whether a word of it is known (N,)."""
    return np.array([words.is_word[one].any() for one in encoded], bool)
