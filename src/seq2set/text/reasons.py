"""Words that speak for and against a label, from what each word of a text adds to the label's score.

A word counts once, with all its occurrences. Neighbours that count much and the same way are named together,
as a phrase. The weights of all words for one label, without their signs, add up to 1; small ones are not
named, nor those of function words where another word has a larger one.

Letters: T words of a text with their repetitions and marks, W different words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from seq2set.text.spans import Spans
from seq2set.text.vocabulary import Words

Reals = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

JOINS = 0.25
"""A word joins a phrase that has at least this share of the weight of the heaviest word."""
LONGEST = 4
"""Maximum words of a phrase."""
WEAK = 0.1
"""A word with a smaller share of it is not named, unless every word is asked for."""
EVERY_WORD = 10**6
"""Ask for as many to be told of every word."""
TIE = 1e-3
"""Words whose weights differ by a smaller share are equally heavy: rounding must not choose between them."""


FUNCTION_WORDS = frozenset(
    """
    a about after all also am an and any are as at be because been before being between both but by can
    could did do does during each for from had has have he her here him his how i if in into is it its
    may me might more most my no nor not of on only or other our over she should so some such than that
    the their them then there these they this those to too under up us was we were what when where which
    while who why will with would you your
    dear greetings hello hey hi please regards sincerely thank thanks
    """.split()  # noqa: SIM905 (a hundred quoted words would be harder to read)
)
"""English words that mean little alone, greetings among them: one is named alone where no word is heavier."""


class Evidence(NamedTuple):
    """A word or a phrase that speaks for a label, or against it, and its place in the text."""

    word: str
    start: int
    end: int
    weight: float
    """Its share of the reasons, below 0 where it speaks against the label"""
    names_label: bool = False
    """Whether it is the label's own name"""

    def to_dict(self, digits: int | None = 6) -> dict[str, Any]:
        """Return it as plain JSON, the weight rounded."""
        weight = self.weight if digits is None else round(self.weight, digits)
        return self._asdict() | {"weight": weight}


class _Item(NamedTuple):
    """Some words that are named together."""

    first: int
    last: int
    """The places of its words among all words of the text"""
    weight: float


@dataclass(frozen=True)
class TextWords:
    """A text as a list of words."""

    text: str
    spans: Spans
    """(T,)"""
    number: Ints
    """(T,) which of the different words, in lower case, stands at each place, -1 for a mark"""
    first: Ints
    """(W,) the first place of each different word, ascending"""

    @classmethod
    def read(cls, words: Words, text: str) -> TextWords:
        """Find the words of a text."""
        spans = words.spans(text)
        # Hashes take a tenth of the memory of the words. That two of 100,000 words share one, and count as
        # the same, happens in one of three billion texts.
        codes = np.fromiter((_hash_word(text[start:end]) for start, end in spans), np.int64, len(spans))
        there = np.flatnonzero(codes)
        _, first, which = np.unique(codes[there], return_index=True, return_inverse=True)
        order, number = np.argsort(first), np.full(len(spans), -1)
        number[there] = np.argsort(order)[which]
        return cls(text, spans, number, there[first[order]])

    @cached_property
    def names(self) -> list[str]:
        """The different words (W,)."""
        return [self._read_word(place) for place in self.first.tolist()]

    def _read_word(self, place: int) -> str:
        start, end = self.spans[place]
        return self.text[start:end].lower()

    def sum_words(self, added: npt.NDArray[np.floating]) -> Reals:
        """Add up what is said of places (T,), of which some may be missing at the end, by word (W,)."""
        there = self.number[: len(added)]
        kept = there >= 0
        return np.bincount(there[kept], added[: len(there)][kept], len(self.first)).astype(np.float64)

    def pick_evidence(self, weights: Reals, label: str, most: int) -> tuple[Evidence, ...]:
        """Return up to `most` words or phrases for a label and as many against it, by what words add (W,).

        Those that speak for it come first, the heaviest of either kind before the others.
        """
        whole = np.abs(weights).sum()
        if not 0 < whole < np.inf:  # of weights that overflow there is nothing to say
            return ()
        items = list(self._find_items(weights / whole, most))
        speaking_for = sorted((one for one in items if one.weight > 0), key=lambda one: -one.weight)
        against = sorted((one for one in items if one.weight < 0), key=lambda one: one.weight)
        stems = find_stems(label)
        return tuple(self._make_evidence(one, stems) for one in (*speaking_for[:most], *against[:most]))

    def _find_items(self, weights: Reals, most: int) -> Iterator[_Item]:
        """Give the phrases, and of the words that are in none the heaviest of either sign."""
        left = weights.copy()
        phrases: dict[tuple[int, ...], tuple[int, int]] = {}
        for first, last in self._find_runs(weights):
            phrases.setdefault(self._key(first, last), (first, last))  # its first place, as of a word
        total = {key: float(weights[list(key)].sum()) for key in phrases}
        for key in sorted(phrases, key=lambda key: -abs(total[key])):
            if left[list(key)].all():  # no other phrase has one of its words
                left[list(key)] = 0
                yield _Item(*phrases[key], total[key])
        shares = np.abs(weights) / np.abs(weights).max()
        weak = (shares < WEAK) & (most < EVERY_WORD)
        left[(shares < 1 - TIE) & (weak | self._is_function)] = 0
        order = np.argsort(-left, kind="stable")
        for word in (*order[:most].tolist(), *order[max(most, len(order) - most) :].tolist()):
            if left[word]:
                yield _Item(int(self.first[word]), int(self.first[word]), float(left[word]))

    @cached_property
    def _is_function(self) -> npt.NDArray[np.bool_]:
        """Whether each of the different words means little alone, (W,)."""
        words = (self._read_word(place) in FUNCTION_WORDS for place in self.first.data)
        return np.fromiter(words, bool, len(self.first))

    def _key(self, first: int, last: int) -> tuple[int, ...]:
        return tuple(dict.fromkeys(self.number[first : last + 1].tolist()))

    def _find_runs(self, weights: Reals) -> Iterator[tuple[int, int]]:
        """Give the first and the last place of each run of two or more heavy neighbours of one sign.

        It neither begins nor ends with a function word.
        """
        for start, last in self._find_neighbours(weights):
            telling = [place for place in range(start, last + 1) if not self._is_function_word(place)]
            if telling[-1] > start:
                yield start, telling[-1]

    def _is_function_word(self, place: int) -> bool:
        return bool(self._is_function[self.number[place]])

    def _find_neighbours(self, weights: Reals) -> Iterator[tuple[int, int]]:
        heavy = np.abs(weights) >= JOINS * np.abs(weights).max()
        sign = np.append(np.where(heavy, np.sign(weights), 0), 0)[self.number]  # a mark has the last one
        start = last = -2
        for place in np.flatnonzero(sign).data:
            if last == place - 1 and place - start < LONGEST and self._joins(sign, place):
                last = place
                continue
            if last > start:
                yield start, last
            start = last = -2 if self._is_function_word(place) else place
        if last > start:
            yield start, last

    def _joins(self, sign: Reals, place: int) -> bool:
        between = self.text[self.spans[place - 1].end : self.spans[place].start]
        return bool(sign[place] == sign[place - 1]) and (not between or between.isspace())

    def _make_evidence(self, item: _Item, label: frozenset[str]) -> Evidence:
        start, end = self.spans[item.first].start, self.spans[item.last].end
        word = self.text[start:end]
        return Evidence(word, start, end, item.weight, bool(label) and label <= find_stems(word))


def _hash_word(word: str) -> int:
    """Return a number for a word, whatever its case; 0 for a mark."""
    return hash(word.lower()) or 1 if any(map(str.isalnum, word)) else 0


_PATH = re.compile("::|/|>")
_WORD = re.compile(r"\w+")
_PLURALS = {"ies": "y", "sses": "ss", "xes": "x", "ches": "ch", "shes": "sh", "ss": "ss", "s": ""}


def find_stems(name: str) -> frozenset[str]:
    """Return the words of a label or a phrase, English plurals as singulars; of a path, those of its end."""
    words = _WORD.findall(_PATH.split(name)[-1].casefold().replace("_", " "))
    return frozenset(map(_drop_plural, words))


def _drop_plural(word: str) -> str:
    for ending, instead in _PLURALS.items():
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word.removesuffix(ending) + instead
    return word
