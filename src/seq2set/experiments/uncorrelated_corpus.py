"""A corpus rebuilt from labels that hardly go together, and what became of it."""

from __future__ import annotations

from typing import NamedTuple

from seq2set.corpora.document import SPLITS
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.errors import InputError
from seq2set.experiments.asked import asked_corpus
from seq2set.experiments.options import Options
from seq2set.experiments.own_options import own_share
from seq2set.experiments.reducing import reduced_corpus
from seq2set.experiments.sections import Section
from seq2set.experiments.tables import Column, Entry, Quantity, Row, Table
from seq2set.experiments.uncorrelated_labels import Selection, largest_correlation, uncorrelated_labels

THRESHOLD = 0.28
"""The paper's largest correlation coefficient."""


class Reduction(NamedTuple):
    """A corpus, the part of it that has uncorrelated labels only, and these labels."""

    whole: PreparedCorpus
    part: PreparedCorpus
    selection: Selection
    threshold: float


def reduction(options: Options) -> Reduction:
    """Choose the labels and build the reduced corpus, or open it where it has been built."""
    threshold = own_share(options, "threshold", THRESHOLD)
    whole = asked_corpus(options)
    selection = uncorrelated_labels(whole.split("train").labels(), threshold)
    kept = frozenset(selection.labels)
    for split in ("train", "test"):
        if not any(labels and kept.issuperset(labels) for labels in whole.split(split).labels()):
            raise InputError(
                f"--option threshold is {threshold:g}, which leaves no document with labels in the split "
                f"'{split}' of {whole.name}; it must be higher"
            )
    part = reduced_corpus(
        whole,
        options.out / "corpora" / f"uncorrelated-{threshold:g}",
        lambda document: document if kept.issuperset(document.labels) else None,
        name=f"{whole.name}-uncorrelated",
        how={"largest_correlation": threshold, "labels": len(kept)},
    )
    return Reduction(whole, part, selection, threshold)


def about_the_corpus(reduced: Reduction) -> Section:
    """Say which labels stay, and what stays of the corpus."""
    selection = reduced.selection
    labels = [one.facts["counts"]["labels"] for one in (reduced.whole, reduced.part)]
    left = largest_correlation(reduced.part.split("train").labels())
    return Section(
        "The reduced corpus",
        f"Which labels hardly go together: no two correlate by more than {reduced.threshold:g}?",
        (
            f"{len(selection.labels)} of the {labels[0]} labels are chosen; {labels[1]} of them occur in the "
            f"documents that stay. On the training split of {reduced.whole.name} the largest correlation "
            f"between two of the chosen is {selection.largest:.3f}.",
            f"On the documents that stay it is {left:.3f}: leaving documents out moves correlations.",
        ),
        (_counts_table(reduced, left),),
    )


def _counts_table(reduced: Reduction, left: float) -> Table:
    counts = [one.facts["counts"] for one in (reduced.whole, reduced.part)]
    rows: list[tuple[str, list[Entry]]] = [
        (f"documents, {split}", [Quantity(one["documents"][split], 0) for one in counts]) for split in SPLITS
    ]
    rows += [
        ("labels", [Quantity(one["labels"], 0) for one in counts]),
        ("labels a document", [Quantity(one["labels_per_document"], 2) for one in counts]),
        ("documents without labels", [Quantity(one["documents_without_labels"], 0) for one in counts]),
        (
            "largest correlation, train",
            [Quantity(largest_correlation(reduced.whole.split("train").labels())), Quantity(left)],
        ),
    ]
    columns = (Column(reduced.whole.name), Column(reduced.part.name))
    return Table(
        "reduction",
        "The corpus and the part of it with uncorrelated labels",
        columns,
        tuple(Row(name, tuple(entries)) for name, entries in rows),
        rows_are="Counts",
    )
