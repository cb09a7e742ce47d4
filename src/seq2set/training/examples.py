"""Examples as tensors, one batch at a time, from numbers that lie in files: memory hardly grows with them.

Letters: N documents in all, B of them, T words, L labels, S labels of the longest set in a batch.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from seq2set.config import Config
from seq2set.core.files import report_output_errors
from seq2set.core.flat_arrays import StoredLists
from seq2set.labels.labels import Labels, order_labels, rank_labels
from seq2set.models.tagger import Examples
from seq2set.nn.decoding.prefixes import Symbols
from seq2set.nn.encoders import OwnTokens
from seq2set.nn.text_reader import TextReader
from seq2set.text.batches import collate
from seq2set.text.cut_texts import Cut
from seq2set.text.tfidf import DOCUMENTS_PER_BLOCK
from seq2set.text.vocabulary import Words

Ints = npt.NDArray[np.int64]


class TrainingBatch(NamedTuple):
    """What one update, or a part of one, learns from."""

    ids: Tensor  # (B, T)
    lengths: Tensor  # (B,)
    gold: Tensor  # (B, L) true where a label is right
    sequences: Tensor  # (B, S) the right labels in the order to learn, padded
    margins: Tensor | None  # (B, L) of the linear prior

    def to(self, device: torch.device) -> TrainingBatch:
        """Put all of it on a device."""
        margins = None if self.margins is None else self.margins.to(device)
        ids, lengths, gold, sequences = (part.to(device) for part in self[:4])
        return TrainingBatch(ids, lengths, gold, sequences, margins)


@dataclass(frozen=True)
class EncodedExamples:
    """All examples as numbers."""

    words: Sequence[npt.NDArray[np.int32]]
    sequences: Sequence[npt.NDArray[Any]]
    """One per document or, where a teacher drew several sets of each, those of a document side by side"""
    labels: int
    ids: Sequence[str]
    margins: npt.NDArray[np.float32] | None
    cut: Cut = field(default_factory=Counter)
    """How many of them are not read to their end"""
    known: npt.NDArray[np.bool_] | None = None
    """(N,) whether a word of each is known, of those that are read"""

    def __len__(self) -> int:
        return len(self.words)

    @property
    def lengths(self) -> npt.NDArray[Any]:
        """Words of each document, at least 1."""
        if isinstance(self.words, StoredLists):
            return np.asarray(np.maximum(self.words.lengths, 1))
        return np.array([max(1, len(one)) for one in self.words])

    def batch(self, index: Ints, turn: int = 0) -> TrainingBatch:
        """Put the examples of these numbers side by side; another turn may bring other sets of theirs."""
        read, sets = collate(self.words, index), len(self.sequences) // len(self.words)
        chosen = [torch.from_numpy(self.sequences[i * sets + turn % sets].astype(np.int64)) for i in index]
        pad = Symbols(self.labels).pad
        sequences = torch.nn.utils.rnn.pad_sequence(chosen, batch_first=True, padding_value=pad)
        gold = torch.zeros(len(index), pad + 1, dtype=torch.bool).scatter(1, sequences, True)
        margins = None if self.margins is None else torch.from_numpy(self.margins[index])
        return TrainingBatch(read.ids, read.lengths, gold[:, : self.labels], sequences, margins)


def encode_examples(
    examples: Examples,
    config: Config,
    words: Words,
    labels: Labels,
    margins: npt.NDArray[np.float32] | None,
    folder: Path | None = None,
    own: OwnTokens | None = None,
) -> EncodedExamples:
    """Turn texts into word numbers and label sets into sequences in the order to learn.

    With `own` tokens of the encoder, those are the numbers. They go to files without a name in `folder`, by
    default the system's for what is temporary.
    """
    settings = config.label_order
    rank = rank_labels(settings.kind, labels.names, settings.given, examples.depths)
    # One shuffle per document, the same in every epoch: the order is unknown, not ever-changing.
    shuffle = np.random.default_rng(config.seed) if settings.kind == "shuffled" else None
    reader, known = TextReader.build(config, words, own), [np.zeros(0, bool)]
    cut: Cut = Counter()
    ids, sequences = StoredLists(folder), StoredLists(folder)
    with report_output_errors(folder or Path(tempfile.gettempdir())):
        for start in range(0, len(examples), DOCUMENTS_PER_BLOCK):
            block = slice(start, start + DOCUMENTS_PER_BLOCK)
            read = reader.read(examples.texts[block])
            cut += read.cut
            known.append(read.known)
            ids.extend(read.tokens)
            if examples.lessons is None:
                rows = labels.rows(examples.label_sets[block])
                sets = np.split(rows.indices.astype(np.int64), rows.indptr[1:-1])
                sequences.extend(order_labels(row, rank, shuffle) for row in sets)
        if examples.lessons is not None:  # in each of the sets that a teacher drew
            drawn = (one for sets in examples.lessons.rows(labels) for one in sets)
            sequences.extend(order_labels(row, rank, shuffle) for row in drawn)
    return EncodedExamples(ids, sequences, len(labels), examples.ids, margins, cut, np.concatenate(known))
