"""What a linear model's matrix will take of memory, said before it is made.

The examples of a network stay in files; liblinear wants the features of all documents in memory, in double
precision, and copies them in every process that fits classifiers.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from seq2set.config import Config
from seq2set.core.hardware import count_processes, read_free_memory
from seq2set.text.tfidf import TfidfFeatures
from seq2set.text.vocabulary import FlatIds

WORTH_SAYING = 1 << 30
"""From this many bytes on it is said."""

SAMPLED_BLOCKS = 4
"""From how many blocks of documents it is estimated how many terms a document has."""

_HELD, _COPIED = 8 + 12, 16
"""Bytes for each term of a document: the matrix in single and in double precision, and a process's copy"""


def describe_need(
    config: Config,
    features: TfidfFeatures,
    encoded: Iterable[FlatIds],
    documents: int,
    labels: int,
    *,
    margins: int = 0,
) -> str | None:
    """Say how much memory fitting will need, and what to do where that is more than there is.

    `labels` have classifiers; of as many labels as `margins` every document keeps a margin. None where it is
    little.
    """
    sample = features.transform_blocks(islice(encoded, SAMPLED_BLOCKS))
    cells = documents * sample.nnz / max(sample.shape[0], 1)
    processes = count_processes(config.workers, config.threads)
    need = cells * (_HELD + _COPIED * processes) + 4 * labels * len(features) + 8 * margins * documents
    free = read_free_memory()
    if need < WORTH_SAYING and (free is None or need < free):
        return None
    many = f"{documents:,} documents"
    said = f"the linear model's features of {many} will need about {_format_size(need)} of memory"
    if free is None:
        return said
    if need < free:
        return f"{said}; {_format_size(free)} are free"
    return (
        f"{said} and {_format_size(free)} are free; if memory runs out, lower features.max_terms, "
        "features.ngrams or workers, learn from fewer documents, or train a network without a linear prior "
        "(--model seq2seq, or --set prior.enabled=false), whose examples stay in files"
    )


def _format_size(size: float) -> str:
    return f"{size / 2**30:.1f} GB"
