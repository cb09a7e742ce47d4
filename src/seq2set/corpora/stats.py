"""What a corpus looks like: the paper's Table 1, label frequencies, label sets and correlations."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seq2set.core.errors import InputError
from seq2set.corpora.label_table import LabelTable
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.labels.correlation import CorrelationMap, Correlations, LabelPair
from seq2set.text.tokenizer import count_words

MAP_LABELS = 30
"""How many labels, the most frequent ones, the map of correlations shows."""

CORRELATED_LABELS = 2000
"""How many labels, the most frequent ones, are compared with one another: it bounds memory to 100 MB."""

QUANTILES = {"min": 0.0, "p5": 0.05, "p25": 0.25, "median": 0.5, "p75": 0.75, "p95": 0.95, "max": 1.0}
"""The quantiles of document length that are reported."""


class LabelFrequency(NamedTuple):
    """In how many documents a label occurs."""

    label: str
    train: int
    total: int


class Cardinality(NamedTuple):
    """How many documents have this many labels."""

    labels: int
    documents: int


class Lengths(NamedTuple):
    """How long the documents are, in words; `longer` are those beyond the last edge of the histogram."""

    mean: float
    quantiles: dict[str, float]
    edges: tuple[int, ...]
    documents: tuple[int, ...]
    longer: int


class LabelSets(NamedTuple):
    """How varied the label sets are; `unique_share` is the share of documents whose set occurs once."""

    distinct: int
    unique: int
    unique_share: float


class Imbalance(NamedTuple):
    """How many times rarer than the most frequent label the mean label and the rarest label are."""

    mean: float
    greatest: float


@dataclass(frozen=True)
class CorpusStatistics:
    """Everything that `data stats` prints."""

    name: str
    documents: int
    splits: dict[str, int]
    labels: int
    words_per_document: float
    labels_per_document: float
    label_frequencies: tuple[LabelFrequency, ...]
    cardinalities: tuple[Cardinality, ...]
    label_sets: LabelSets
    imbalance: Imbalance
    lengths: Lengths
    correlations: tuple[LabelPair, ...]
    correlation_map: CorrelationMap

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as JSON takes them."""
        return {name: _to_plain(value) for name, value in vars(self).items()}


def compute_statistics(
    corpus: PreparedCorpus,
    *,
    top: int = 20,
    min_label_documents: int = 5,
    progress: Callable[[int], None] | None = None,
) -> CorpusStatistics:
    """Read a corpus once and describe it; words are what white space separates.

    The `top` most correlated pairs of labels are kept. Labels with fewer than `min_label_documents`
    documents are not compared: two labels that share their only document would seem to be one.
    `progress` is called with the number of documents read since its last call.
    """
    for name, value in (("top", top), ("min_label_documents", min_label_documents)):
        if value < 1:
            raise InputError(f"{name} is {value}; it must be >= 1")
    table, counts = LabelTable(), array("q")
    for split, document in corpus.iter_documents(progress):
        table.add(split, document.labels)
        counts.append(count_words(document.text))
    words = np.array(counts, np.int64)
    frequencies = _count_frequencies(table)
    correlations = _compare_labels(table, frequencies, min_label_documents)
    cardinalities, documents = table.cardinalities(), len(words)
    return CorpusStatistics(
        name=corpus.name,
        documents=documents,
        splits=table.sizes,
        labels=len(frequencies),
        words_per_document=_compute_mean(words),
        labels_per_document=_compute_mean(cardinalities),
        label_frequencies=frequencies,
        cardinalities=tuple(map(Cardinality._make, sorted(Counter(cardinalities.tolist()).items()))),
        label_sets=_count_label_sets(table),
        imbalance=_compute_imbalance(frequencies),
        lengths=_describe_lengths(words),
        correlations=correlations.find_strongest(top),
        correlation_map=correlations.map(MAP_LABELS),
    )


def _count_frequencies(table: LabelTable) -> tuple[LabelFrequency, ...]:
    train, total = table.frequencies("train").tolist(), table.frequencies().tolist()
    rows = map(LabelFrequency, table.names, train, total)
    return tuple(sorted(rows, key=lambda row: (-row.total, row.label)))


def _compare_labels(table: LabelTable, frequencies: tuple[LabelFrequency, ...], minimum: int) -> Correlations:
    compared = [row.label for row in frequencies if row.total >= minimum][:CORRELATED_LABELS]
    columns = {label: column for column, label in enumerate(table.names)}
    return Correlations(table.matrix()[:, [columns[label] for label in compared]], compared)


def _count_label_sets(table: LabelTable) -> LabelSets:
    counts = Counter(table.label_sets())
    unique = sum(count == 1 for count in counts.values())
    return LabelSets(len(counts), unique, unique / max(counts.total(), 1))


def _compute_imbalance(frequencies: tuple[LabelFrequency, ...]) -> Imbalance:
    totals = np.array([row.total for row in frequencies], np.float64)
    if not len(totals):
        return Imbalance(0.0, 0.0)
    ratios = totals.max() / totals
    return Imbalance(float(ratios.mean()), float(ratios.max()))


def _describe_lengths(words: NDArray[np.int64]) -> Lengths:
    if not len(words):
        return Lengths(0.0, dict.fromkeys(QUANTILES, 0.0), (0, 1), (0,), 0)
    quantiles = np.quantile(words, list(QUANTILES.values())).tolist()
    # A single text of a million words must not press all the others into one bar.
    limit = int(np.quantile(words, 0.995))
    edges = np.arange(0, limit + 1 + (step := limit // 40 + 1), step)
    counts, _ = np.histogram(words, edges)
    named = dict(zip(QUANTILES, quantiles, strict=True))
    longer = int((words > edges[-1]).sum())
    return Lengths(_compute_mean(words), named, tuple(edges.tolist()), tuple(counts.tolist()), longer)


def _compute_mean(values: NDArray[np.int64]) -> float:
    return float(values.mean()) if len(values) else 0.0


def _to_plain(value: Any) -> Any:
    """Turn named tuples into objects and other tuples into lists, at any depth."""
    if isinstance(value, tuple):
        fields = getattr(value, "_fields", None)
        plain = [_to_plain(item) for item in value]
        return dict(zip(fields, plain, strict=True)) if fields else plain
    return value
