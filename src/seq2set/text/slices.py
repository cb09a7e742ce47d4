"""Long texts cut into slices for the tokeniser, which takes hundreds of bytes per character while it works.

The words of all slices are those of the whole text. A word depends on few words behind it, so of each slice
but the last the final words are left to the next one, which begins with the first of them. It begins where
normalising the text in two parts gives the same as normalising it whole: not within what was composed of
several characters, nor within what became several words.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from seq2set.core.text_utils import Span, replace_surrogates

SLICE = 2**13
"""Characters per slice; where they hold too few words, a slice has more."""
LOOK_AHEAD = 8
"""How many words are left to the next slice: more than any word's end depends on."""


class TextSlice(NamedTuple):
    """The words of a stretch of a text."""

    encoding: Encoding
    kept: int
    """How many of its words count; the others come again in the next slice"""
    start: int
    """Where in the text it begins"""

    @property
    def ids(self) -> list[int]:
        """The numbers of its words."""
        return self.encoding.ids[: self.kept]

    @property
    def places(self) -> NDArray[np.int32]:
        """Where in the text its words begin and end (n, 2)."""
        places = np.array(self.encoding.offsets[: self.kept], np.int32).reshape(-1, 2)
        places += self.start
        return places


def encode_slices(tokenizer: Tokenizer, text: str) -> Iterator[TextSlice]:
    """Encode a text slice by slice."""
    start, size = 0, SLICE
    while start + size < len(text):
        part = replace_surrogates(text[start : start + size])
        encoding = tokenizer.encode(part, add_special_tokens=False)
        if kept := _count_certain(part, encoding):
            yield TextSlice(encoding, kept, start)
            start, size = start + _find_span(encoding, kept).start, SLICE
        else:
            size *= 2
    rest = tokenizer.encode(replace_surrogates(text[start:]), add_special_tokens=False)
    yield TextSlice(rest, len(rest), start)


def _count_certain(part: str, encoding: Encoding) -> int:
    """Count the words before the last place where a text may be cut; 0 where there is none."""
    for place in range(len(encoding) - LOOK_AHEAD, 0, -1):
        start = _find_span(encoding, place).start
        if _find_span(encoding, place - 1).end <= start and _begins_anew(part[start]):
            return place
    return 0


def _find_span(encoding: Encoding, place: int) -> Span:
    found = encoding.token_to_chars(place)
    assert found is not None  # only words that a tokeniser adds stand nowhere
    return Span(*found)


def _begins_anew(character: str) -> bool:
    """Say whether no normal form joins a character to the one before it."""
    first = unicodedata.normalize("NFKD", character)[0]
    later_jamo = "\u1160" <= first <= "\u11ff"  # vowels and finals of Korean, which make syllables
    return not later_jamo and unicodedata.category(first)[0] not in "MC"
