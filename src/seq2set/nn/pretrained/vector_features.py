"""TF-IDF features with a pretrained encoder's vectors beside them.

The vectors are standardised by the training documents and multiplied by a small number: the regularisation of
linear classifiers is a matter of scale, and 384 numbers of length 1 would drown the terms.

Letters: N documents, F terms, E numbers per vector.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from seq2set.core.progress import Progress
from seq2set.core.sparse import SparseRows
from seq2set.nn.pretrained.encoder_folder import EncoderFolder, find_encoder
from seq2set.nn.pretrained.pooled_vectors import FORMER_WINDOW, OVERLAP, WINDOW, open_encoder
from seq2set.nn.pretrained.vector_cache import Pooled, TextBlock, VectorCache, digest_text
from seq2set.text.cut_texts import Cut, count_cut, cut_vectors
from seq2set.text.tfidf import TfidfFeatures

Reals = npt.NDArray[np.float32]

BLOCK = 512
"""Texts that a process works on at a time; they are kept whenever a block is done."""
WORTH_PROCESSES = 2 * BLOCK


@dataclass(frozen=True)
class TextVectors:
    """What makes vectors of texts: an encoder, and how many words of a text it reads."""

    encoder: EncoderFolder
    words: int
    window: int = WINDOW

    @cached_property
    def cache(self) -> VectorCache:
        """The vectors of this encoder that are on disk."""
        source = f"{self.encoder.sha256} {self.words} {self.window} {OVERLAP} mean 1"
        return VectorCache(source, open_encoder(self.encoder.path, self.encoder.sha256).size)

    def compute(self, texts: Sequence[str]) -> Reals:
        """Return the vectors (N, E) of texts in use: from the cache where they are there; none are kept."""
        vectors = np.zeros((len(texts), self.cache.size), np.float32)
        missing = []
        for row, text in enumerate(texts):
            if (found := self.cache.get(digest_text(text))) is None:
                missing.append(row)
            else:
                vectors[row] = found.vector
        if missing:
            opened = open_encoder(self.encoder.path, self.encoder.sha256)
            vectors[missing] = opened.embed([texts[row] for row in missing], self.words, self.window).vectors
        return vectors

    def prepare(self, texts: Sequence[str], workers: int, progress: Progress) -> Reals:
        """Return the vectors (N, E) of a split; those that are not in the cache are put there."""
        keys = [digest_text(text) for text in texts]
        missing = set(self.cache.list_missing(keys))
        if dropped := self.cache.drop_unusable():
            progress.note(
                f"files of vectors in {self.cache.folder} that are cut short, damaged or another encoder's: "
                f"{dropped}; what they should hold is computed again"
            )
        if missing:
            chosen = {text: key for text, key in zip(texts, keys, strict=True) if key in missing}
            self._fill(sorted(sorted(chosen), key=len), workers, progress)
        found = [self.cache.get(key) for key in keys]
        cut = [one.cut for one in found if one is not None and one.cut]
        if cut:
            progress.note(
                f"{len(cut):,} of {len(texts):,} texts have more than {self.words} words; their vectors "
                f"leave out {sum(cut):,} words (features.vector_words)"
            )
        return np.stack([one.vector for one in found if one is not None])

    def _fill(self, texts: Sequence[str], workers: int, progress: Progress) -> None:
        blocks = [texts[start : start + BLOCK] for start in range(0, len(texts), BLOCK)]
        embed = partial(_embed_alone, encoder=self.encoder, words=self.words, window=self.window)
        self.cache.fill(
            "vectors",
            [TextBlock([digest_text(text) for text in block], block) for block in blocks],
            embed,
            workers if len(texts) > WORTH_PROCESSES else 1,
            progress,
        )


def _embed_alone(texts: Sequence[str], encoder: EncoderFolder, words: int, window: int) -> Pooled:
    """Embed with one thread: several processes, one per core, are not in each other's way then."""
    from seq2set.core.hardware import limit_threads

    opened = open_encoder(encoder.path, encoder.sha256)  # torch is loaded now, so that the limit is undone
    with limit_threads(1):
        return opened.embed(texts, words, window)


class Standard(NamedTuple):
    """How vectors are standardised: what is taken away, and what the rest is multiplied by, (E,) each."""

    mean: Reals
    factor: Reals

    @classmethod
    def fit(cls, vectors: Reals, scale: float) -> Standard:
        """Learn from the training documents' vectors (N, E)."""
        spread = vectors.std(axis=0)
        factor = np.where(spread > 0, scale / np.maximum(spread, np.finfo(np.float32).tiny), 0)
        return cls(vectors.mean(axis=0).astype(np.float32), factor.astype(np.float32))

    def __call__(self, vectors: Reals) -> Reals:
        """Standardise vectors (N, E)."""
        return np.asarray((vectors - self.mean) * self.factor, np.float32)


@dataclass(frozen=True)
class VectorFeatures(TfidfFeatures):
    """Terms, and behind them the numbers of a vector: (N, F + E). Its length is that of the terms."""

    vectors: TextVectors
    standard: Standard

    @classmethod
    def extend(cls, terms: TfidfFeatures, vectors: TextVectors, standard: Standard) -> VectorFeatures:
        """Put vectors beside terms."""
        counting = terms.words, terms.ngrams, terms.sublinear, terms.run_weight
        return cls(*counting, terms.terms, terms.idf, vectors, standard)

    def tensors(self, prefix: str) -> dict[str, npt.NDArray[Any]]:
        """Return what is saved of it."""
        return {**super().tensors(prefix), **{prefix + k: v for k, v in self.standard._asdict().items()}}

    def transform(self, texts: Sequence[str]) -> SparseRows:
        """Return the documents' terms and vectors as sparse rows (N, F + E)."""
        return self.append_vectors(super().transform(texts), texts)

    def append_vectors(self, matrix: SparseRows, texts: Sequence[str]) -> SparseRows:
        """Put the texts' vectors beside their terms: (N, F) -> (N, F + E)."""
        return append_columns(matrix, self.standard(self.vectors.compute(texts)))


def append_columns(matrix: SparseRows, dense: Reals) -> SparseRows:
    """Put a dense matrix (N, E) to the right of sparse rows (N, F)."""
    rows, size = dense.shape
    sizes = np.diff(matrix.indptr)
    ends = np.concatenate([[0], np.cumsum(sizes + size)])
    behind = (ends[1:, None] - size + np.arange(size)).ravel()
    data = np.zeros(int(ends[-1]), np.float32)
    indices = np.zeros(int(ends[-1]), np.int32)
    front = np.ones(len(data), bool)
    front[behind] = False
    data[front], indices[front] = matrix.data, matrix.indices
    data[behind], indices[behind] = dense.ravel(), np.tile(matrix.shape[1] + np.arange(size), rows)
    return SparseRows(data, indices, ends, matrix.shape[1] + size)


def describe_vectors(features: TfidfFeatures) -> dict[str, Any]:
    """Return what a model records of the encoder beside its terms, if there is one; plain JSON."""
    if not isinstance(features, VectorFeatures):
        return {}
    vectors, encoder = features.vectors, features.vectors.encoder
    facts = {"encoder": encoder.name, "sha256": encoder.sha256, "revision": encoder.revision}
    return {"vectors": {**facts, "words": vectors.words, "window": vectors.window}}


def count_cut_vectors(features: TfidfFeatures, texts: Sequence[str]) -> Cut:
    """Count the texts whose vectors leave words out, where there are vectors."""
    if not isinstance(features, VectorFeatures):
        return Cut()
    words, encoder = features.vectors.words, features.vectors.encoder
    opened = open_encoder(encoder.path, encoder.sha256)
    return count_cut(opened.count_longer(texts, words), cut_vectors(words))


def restore_vectors(
    terms: TfidfFeatures,
    tensors: Mapping[str, npt.NDArray[Any]],
    facts: Mapping[str, Any] | None,
    prefix: str,
) -> TfidfFeatures:
    """Put the recorded encoder's vectors beside the terms again; a changed encoder is refused."""
    if facts is None:
        return terms
    encoder = find_encoder(facts["encoder"], facts["sha256"], facts["revision"])
    standard = Standard(tensors[prefix + "mean"], tensors[prefix + "factor"])
    return VectorFeatures.extend(
        terms, TextVectors(encoder, facts["words"], facts.get("window") or FORMER_WINDOW), standard
    )
