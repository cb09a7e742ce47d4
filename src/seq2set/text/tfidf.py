"""TF-IDF features of runs of words, computed on word numbers rather than on strings.

A term of words w1 ... wn is one integer: its word numbers plus one as digits to the base of the
vocabulary's size plus one. No digit is zero, so terms of different lengths never collide, and a
fitted vocabulary is two plain arrays: no strings to hash, nothing to pickle.

Shapes: N documents, F terms.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from seq2set.core.errors import InputError
from seq2set.core.files import report_output_errors
from seq2set.core.flat_arrays import StoredLists
from seq2set.core.sparse import CompressedRows, SparseRows, find_rows, stack_rows
from seq2set.text.vocabulary import UNK, FlatIds, Words

Codes = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float32]

DOCUMENTS_PER_BLOCK = 4096
"""Bounds the memory of the intermediate codes, whatever the size of the corpus."""

STRETCH = 1 << 14
"""How many words are looked up at a time, each of which takes some hundred bytes meanwhile."""

TERMS_WAITING = 1 << 20
"""How many terms of blocks wait at least to be joined with those that are known."""


class Occurrences(NamedTuple):
    """Every known term of a block of texts: its document, its code, and its first word's place."""

    row: npt.NDArray[np.int64]
    code: Codes
    place: npt.NDArray[np.int64]
    width: npt.NDArray[np.int64]


@dataclass(frozen=True)
class TfidfFeatures:
    """A fitted set of terms with their inverse document frequencies."""

    words: Words
    ngrams: int
    sublinear: bool
    run_weight: float
    """What runs of several words weigh beside single words; 0 tells no difference"""
    terms: Codes  # (F,) ascending
    idf: Reals  # (F,)

    @classmethod
    def fit(
        cls,
        words: Words,
        blocks: Iterable[FlatIds],
        *,
        ngrams: int = 2,
        min_documents: int = 2,
        max_terms: int = 200_000,
        sublinear: bool = True,
        run_weight: float = 0.0,
    ) -> TfidfFeatures:
        """Choose the terms that occur in the most of the encoded documents."""
        vocabulary = len(words)
        if (vocabulary + 1) ** ngrams * DOCUMENTS_PER_BLOCK >= 2**63:
            raise InputError(
                f"features.ngrams is {ngrams} with {vocabulary:,} words, more terms than can be numbered; "
                "text.vocabulary_size must be smaller"
            )
        terms, documents, total = _count_documents(blocks, len(words), ngrams)
        kept = np.flatnonzero(documents >= min_documents)
        # A stable sort: of two terms as frequent as each other, the one of more frequent words stays.
        kept = np.sort(kept[np.argsort(-documents[kept], kind="stable")[:max_terms]])
        idf = np.log((1 + total) / (1 + documents[kept])) + 1
        return cls(words, ngrams, sublinear, run_weight, terms[kept], idf.astype(np.float32))

    def __len__(self) -> int:
        return len(self.terms)

    def tensors(self, prefix: str) -> dict[str, npt.NDArray[Any]]:
        """Return what is saved of it."""
        return {prefix + "terms": self.terms, prefix + "idf": self.idf}

    def transform(self, texts: Sequence[str]) -> SparseRows:
        """Return the documents' unit vectors as sparse rows (N, F)."""
        return self.transform_blocks(encode_blocks(self.words, texts))

    def transform_blocks(self, blocks: Iterable[FlatIds]) -> SparseRows:
        """Do the same for documents that are encoded already."""
        return stack_rows([self._transform_block(block) for block in blocks], len(self))

    def has_words(self, matrix: CompressedRows) -> npt.NDArray[np.bool_]:
        """Say of each document of `transform` whether it has a term with a word, which has a letter."""
        is_term = matrix.indices < len(self)  # other features may stand behind the terms
        rest, holds = self.terms[matrix.indices[is_term]], np.zeros(len(matrix.indices), bool)
        for _ in range(self.ngrams):
            rest, digit = np.divmod(rest, len(self.words) + 1)
            holds[is_term] |= (digit > 0) & self.words.is_word[digit - 1]
        found = np.concatenate([[0], np.cumsum(holds)])
        return np.asarray(np.diff(found[matrix.indptr]) > 0)

    def columns(self, codes: Codes) -> npt.NDArray[np.int64]:
        """Return each code's column, or -1 where the term is not among the features."""
        if not len(self.terms):
            return np.full(len(codes), -1)
        at = np.minimum(np.searchsorted(self.terms, codes), len(self.terms) - 1)
        return np.where(self.terms[at] == codes, at, -1)

    def _transform_block(self, block: FlatIds) -> SparseRows:
        cells = np.sort(np.concatenate([np.empty(0, np.int64), *self._find_cells(block)]))
        starts = _find_starts(cells)
        row, column = np.divmod(cells[starts], max(len(self), 1))
        counts = np.diff(np.append(starts, len(cells))).astype(np.float32)
        weights = (1 + np.log(counts) if self.sublinear else counts) * self.idf[column]
        ends = np.cumsum(np.bincount(row + 1, minlength=len(block.offsets)))
        matrix = SparseRows(weights, column.astype(np.int32), ends, len(self))
        return self._balance(matrix) if self.run_weight else _normalise_rows(matrix)

    def _find_cells(self, block: FlatIds) -> Iterator[npt.NDArray[np.int64]]:
        """Give the cell of every occurrence of a term; a text may be so long that it is read by stretches."""
        for start in range(0, len(block.ids), STRETCH):
            found = find_occurrences(block, len(self.words), self.ngrams, range(start, start + STRETCH))
            column = self.columns(found.code)
            known = column >= 0
            yield found.row[known] * len(self) + column[known]

    def _balance(self, matrix: SparseRows) -> SparseRows:
        """Bring each document's words to one length, and its runs of words to another.

        A text has more runs than words, and most of them are rare: of one length together, they drown the
        words. A document with terms of both kinds is a unit vector here too.
        """
        is_run = self.terms[matrix.indices] > len(self.words)
        kind = 2 * find_rows(matrix) + is_run
        squares = np.bincount(kind, matrix.data.astype(np.float64) ** 2, 2 * matrix.shape[0])
        share = np.where(is_run, self.run_weight, 1) / np.sqrt(1 + self.run_weight**2)
        matrix.data = (matrix.data * share / np.sqrt(squares)[kind]).astype(np.float32)
        return matrix


def encode_blocks(words: Words, texts: Sequence[str]) -> Iterator[FlatIds]:
    """Encode texts block by block."""
    for start in range(0, len(texts), DOCUMENTS_PER_BLOCK):
        yield words.flat_encode(texts[start : start + DOCUMENTS_PER_BLOCK])


def find_occurrences(
    block: FlatIds, vocabulary: int, ngrams: int, places: range | None = None
) -> Occurrences:
    """Find every run of up to `ngrams` known words in each text; runs never cross an unknown word.

    Only those are given that begin at certain places of the block, which may lie beyond its end.
    """
    first, end = (places.start, places.stop) if places else (0, len(block.ids))
    digit = block.ids[first : end + ngrams - 1].astype(np.int64) + 1
    inside = np.clip(block.offsets, first, first + len(digit))
    row = np.repeat(np.arange(len(block.offsets) - 1), np.diff(inside))
    place = np.arange(first, first + len(digit)) - block.offsets[row]
    live = digit > UNK + 1
    runs, code, whole = [], digit, live
    for width in range(1, ngrams + 1):
        if width > 1:
            code = code[:-1] * (vocabulary + 1) + digit[width - 1 :]
            whole = whole[:-1] & live[width - 1 :] & (row[: len(code)] == row[width - 1 :])
        at = np.flatnonzero(whole[: end - first])
        runs.append(Occurrences(row[at], code[at], place[at], np.full(len(at), width)))
    return Occurrences(*(np.concatenate(parts) for parts in zip(*runs, strict=True)))


class StoredBlocks:
    """Encoded texts in a file, which are read block by block in as many passes as are needed."""

    def __init__(self, blocks: Iterable[FlatIds], folder: Path | None = None):
        self._columns = StoredLists(folder)
        with report_output_errors(folder or Path(tempfile.gettempdir())):
            for block in blocks:
                self._columns.extend([block.ids, np.diff(block.offsets)])

    def __iter__(self) -> Iterator[FlatIds]:
        for place in range(0, len(self._columns), 2):
            ids, lengths = self._columns[place : place + 2]
            yield FlatIds(ids, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))


class _Frequencies(NamedTuple):
    terms: Codes
    counts: npt.NDArray[np.int64]
    """In how many documents each term occurs"""
    documents: int


def _count_documents(blocks: Iterable[FlatIds], vocabulary: int, ngrams: int) -> _Frequencies:
    """Count block by block; what was counted is joined as soon as it outgrows what is known."""
    known, waiting = _Frequencies(np.empty(0, np.int64), np.empty(0, np.int64), 0), list[_Frequencies]()
    for block in blocks:
        waiting.append(_count_block(block, vocabulary, ngrams))
        if sum(len(one.terms) for one in waiting) > max(TERMS_WAITING, len(known.terms)):
            known, waiting = _join([known, *waiting]), []
    return _join([known, *waiting])


def _join(parts: Sequence[_Frequencies]) -> _Frequencies:
    codes, counts = (np.concatenate(column) for column in zip(*(part[:2] for part in parts), strict=True))
    order = np.argsort(codes)
    codes, counts = codes[order], counts[order]
    starts = _find_starts(codes)
    sums = np.add.reduceat(counts, starts) if len(starts) else counts
    return _Frequencies(codes[starts], sums, sum(part.documents for part in parts))


def _count_block(block: FlatIds, vocabulary: int, ngrams: int) -> _Frequencies:
    """Count documents per term: with both in one integer, one plain sort brings them together."""
    found = find_occurrences(block, vocabulary, ngrams)
    pairs = np.sort(found.code * DOCUMENTS_PER_BLOCK + found.row)
    codes = pairs[_find_starts(pairs)] // DOCUMENTS_PER_BLOCK
    starts = _find_starts(codes)
    return _Frequencies(codes[starts], np.diff(np.append(starts, len(codes))), len(block.offsets) - 1)


def _find_starts(ordered: Codes) -> npt.NDArray[np.intp]:
    """Return where each run of equal values begins."""
    return np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])


def _normalise_rows(matrix: SparseRows) -> SparseRows:
    squares, row = np.zeros(matrix.shape[0], np.float32), find_rows(matrix)
    np.add.at(squares, row, matrix.data * matrix.data)
    matrix.data = (matrix.data / np.sqrt(squares)[row]).astype(np.float32)
    return matrix
