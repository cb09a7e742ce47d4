"""Words and labels as numbers, both in descending training frequency, ties by name.

Words: number 0 is `pad`, 1 is `unk`, the words follow. The size of a vocabulary counts words only, so that a
size of 50,000 makes 50,002 numbers.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from tokenizers import Encoding, Tokenizer, models, trainers

from seq2set.errors import CorpusError, ModelFolderError
from seq2set.text import UNKNOWN, Span, UnicodeForm, new_tokenizer, whole_spans, without_surrogates

PAD, UNK = 0, 1
"""The numbers of padding and of words that are not in the vocabulary."""

_SPECIALS = ["[pad]", UNKNOWN]
_CHUNK = 1024
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


class SpannedIds(NamedTuple):
    """One encoded text, with the place of each word in the original text."""

    ids: NDArray[np.int32]
    spans: list[Span]


class Words:
    """The words that a model knows, and how a text becomes numbers; `len` counts `pad` and `unk` too."""

    def __init__(self, tokenizer: Tokenizer):
        self._tokenizer = tokenizer
        self._words = _by_number(tokenizer)
        if self._words[: len(_SPECIALS)] != _SPECIALS:
            raise ModelFolderError(
                f"the tokeniser's vocabulary begins with {self._words[:2]}; it must begin with {_SPECIALS}"
            )
        self._fold = _ascii_folding(tokenizer)
        self._bare = _without_normaliser(tokenizer)

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
    ) -> Words:
        """Keep the most frequent words of the training texts, in one pass that holds only counts."""
        tokenizer = new_tokenizer(
            {}, lowercase=lowercase, unicode_form=unicode_form, strip_accents=strip_accents
        )
        words = _SPECIALS + _frequent_words(tokenizer, texts, vocabulary_size, min_frequency)
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
        spelled = np.array([any(map(str.isalpha, word)) for word in self._words])
        spelled[: len(_SPECIALS)] = False
        if 2 * spelled.sum() < len(spelled) - len(_SPECIALS):
            spelled[len(_SPECIALS) :] = True
        return spelled

    def encode(self, texts: Iterable[str]) -> list[NDArray[np.int32]]:
        """Return the numbers of each text's words; a text without words gives an empty array."""
        return [np.array(e.ids, dtype=np.int32) for chunk in self._encoded(texts) for e in chunk]

    def flat_encode(self, texts: Iterable[str]) -> FlatIds:
        """Encode many texts into one array, without an object a text."""
        ids, lengths = [np.zeros(0, np.int32)], [np.zeros(1, np.int64)]
        for chunk in self._encoded(texts):
            lengths.append(np.fromiter(map(len, chunk), np.int64, len(chunk)))
            numbers = chain.from_iterable(encoding.ids for encoding in chunk)
            ids.append(np.fromiter(numbers, np.int32, int(lengths[-1].sum())))
        return FlatIds(np.concatenate(ids), np.cumsum(np.concatenate(lengths)))

    def encode_with_spans(self, text: str) -> SpannedIds:
        """Encode one text and say where in it each word stands, whatever normalising did to its length."""
        encoding = self._tokenizer.encode(without_surrogates(text), add_special_tokens=False)
        return SpannedIds(np.array(encoding.ids, dtype=np.int32), whole_spans(text, encoding.offsets))

    def to_json(self) -> str:
        """Return all of it as the tokenizers library's own JSON."""
        return str(self._tokenizer.to_str())

    @classmethod
    def from_json(cls, text: str) -> Words:
        """Read back what `to_json` gave."""
        try:
            tokenizer = Tokenizer.from_str(text)
        except Exception as error:  # the library raises nothing narrower
            raise ModelFolderError(f"the tokeniser cannot be read from its JSON: {error}") from None
        return cls(tokenizer)

    def _encoded(self, texts: Iterable[str]) -> Iterator[list[Encoding]]:
        """Encode chunk by chunk; ASCII, which normalising only lower-cases, is twice as fast without it."""
        remaining = iter(texts)
        while chunk := list(islice(remaining, _CHUNK)):
            ascii_texts = [self._fold(text) for text in chunk if text.isascii()]
            others = [without_surrogates(text) for text in chunk if not text.isascii()]
            fast = iter(self._bare.encode_batch_fast(ascii_texts, add_special_tokens=False))
            full = iter(self._tokenizer.encode_batch_fast(others, add_special_tokens=False))
            yield [next(fast if text.isascii() else full) for text in chunk]


def _by_number(tokenizer: Tokenizer) -> list[str]:
    numbers: dict[str, int] = tokenizer.get_vocab(with_added_tokens=False)
    return sorted(numbers, key=numbers.__getitem__)


def _without_normaliser(tokenizer: Tokenizer) -> Tokenizer:
    bare = Tokenizer(tokenizer.model)
    bare.pre_tokenizer = tokenizer.pre_tokenizer
    return bare


def _ascii_folding(tokenizer: Tokenizer) -> Callable[[str], str]:
    """Return what the normaliser does to ASCII texts: it lower-cases them, or leaves them as they are."""
    foldings: dict[str, Callable[[str], str]] = {_ASCII: str, _ASCII.lower(): str.lower}
    folded = tokenizer.normalizer.normalize_str(_ASCII) if tokenizer.normalizer else _ASCII
    if folded not in foldings:
        raise ModelFolderError(f"the tokeniser turns ASCII into {folded!r}; it may only lower-case it")
    return foldings[folded]


def _frequent_words(tokenizer: Tokenizer, texts: Iterable[str], size: int, min_frequency: int) -> list[str]:
    """Count in Rust; the trainer sorts by count, then by the word's bytes, the order of its code points."""
    trainer = trainers.WordLevelTrainer(
        vocab_size=size, min_frequency=min_frequency, special_tokens=[], show_progress=False
    )
    fold, normaliser = _ascii_folding(tokenizer), tokenizer.normalizer
    normalised = (
        fold(text) if text.isascii() else normaliser.normalize_str(without_surrogates(text)) for text in texts
    )
    counter = _without_normaliser(tokenizer)
    counter.train_from_iterator(normalised, trainer)
    return _by_number(counter)


class Labels:
    """The labels of the training split: number 0 is the most frequent one."""

    def __init__(self, names: Iterable[str], frequencies: Iterable[int]):
        self.names, self.frequencies = tuple(names), tuple(frequencies)
        self._numbers = {name: number for number, name in enumerate(self.names)}

    @classmethod
    def build(cls, label_sets: Iterable[Iterable[str]]) -> Labels:
        """Count in how many documents each label occurs, and number them."""
        counts = Counter(label for labels in label_sets for label in set(labels))
        if not counts:
            raise CorpusError("the training split has no label at all; at least one document needs a label")
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return cls((name for name, _ in ranked), (count for _, count in ranked))

    def __len__(self) -> int:
        return len(self.names)

    def index(self, name: str) -> int | None:
        """Return the number of a label, or nothing where training never saw it."""
        return self._numbers.get(name)

    def indicator(self, label_sets: Iterable[Iterable[str]]) -> sparse.csr_matrix[np.bool_]:
        """Return a (documents, labels) matrix; labels that training never saw are left out."""
        rows = [
            sorted({self._numbers[name] for name in labels if name in self._numbers}) for labels in label_sets
        ]
        ends = np.cumsum([0, *map(len, rows)])
        columns = np.fromiter(chain.from_iterable(rows), np.int32, int(ends[-1]))
        cells = (np.ones(len(columns), dtype=bool), columns, ends)
        return sparse.csr_matrix(cells, shape=(len(rows), len(self)))

    def with_unseen(self, label_sets: Iterable[Iterable[str]]) -> Labels:
        """Add the labels that training never saw, behind those that it saw: nobody can give them."""
        unseen = sorted({name for labels in label_sets for name in labels} - self._numbers.keys())
        return Labels((*self.names, *unseen), (*self.frequencies, *(0 for _ in unseen)))

    def decode(self, numbers: Iterable[int]) -> tuple[str, ...]:
        """Return the names of label numbers, in the order given."""
        return tuple(self.names[number] for number in numbers)

    def to_dict(self) -> dict[str, Any]:
        """Return what `labels.json` holds."""
        return {"names": list(self.names), "frequencies": list(self.frequencies)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Labels:
        """Read back what `to_dict` gave."""
        names: Any = values.get("names")
        frequencies: Any = values.get("frequencies")
        if not (_all_are(str, names) and _all_are(int, frequencies) and len(names) == len(frequencies)):
            raise ModelFolderError(
                f"the labels hold {sorted(values)}; they must hold names and as many whole-number frequencies"
            )
        if len(set(names)) < len(names):
            raise ModelFolderError("the labels name one label twice; each must stand there once")
        return cls(names, frequencies)


def _all_are(kind: type, values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, kind) for value in values)
