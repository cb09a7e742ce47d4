"""A set of labels that go together no more than a threshold says, chosen so that many documents stay.

The correlation of two labels is phi, Pearson's coefficient of their indicator columns on the training split.
A document stays where all its labels are in the set, so that many labels alone do not help. The choice is
greedy: the set begins empty, and as long as there are labels that correlate too much with none in it, the one
comes in that brings the most documents with it, those that lack nothing but this label; in a tie, the more
frequent label. No label can be added to the set at the end.

Negative correlations are allowed, as in the paper, which speaks of the largest coefficient: labels that avoid
each other have no order among them to learn.

Shapes: N documents, L labels.

A corpus rebuilt from labels that hardly go together, and what became of it.

The paper's "Uncorrelated Labels" (Table 5): a corpus rebuilt from labels that hardly go together.

`uncorrelated_labels` chooses the labels; the documents stay, in all splits, whose labels are all among them.
A document without labels stays as well. The reduced corpus lies under OUT as a prepared corpus of its own,
and all models are trained on it anew. As in the paper, the labels of the training documents are out of order:
shuffled once for each document, or descending by option.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from seq2set.config.catalog import reads
from seq2set.core.errors import InputError
from seq2set.corpora.documents import SPLITS
from seq2set.corpora.label_table import LabelTable
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.corpora.subset import open_reduced_corpus
from seq2set.experiments.analysis.comparison import Comparison, compare_rows
from seq2set.experiments.analysis.margins import (
    ABOVE,
    NOT_ABOVE,
    Claim,
    Margin,
    Pair,
    few_labels,
    in_short,
    judged,
    margin_table,
    margins,
)
from seq2set.experiments.analysis.published import UNCORRELATED
from seq2set.experiments.cells.cell import Cell, CellResult
from seq2set.experiments.cells.plan import Variant, all_cells, rows_of
from seq2set.experiments.model_names import baselines, title_of
from seq2set.experiments.options import Options, own_choice, own_share
from seq2set.experiments.render.comparison_tables import f1_plot, paper_table, published_table
from seq2set.experiments.render.report import Section, every_training
from seq2set.experiments.render.tables import Column, Entry, Quantity, Row, Table
from seq2set.experiments.run import asked_corpus
from seq2set.experiments.studies.compare import row_cells
from seq2set.labels.correlation import compute_phi


class Selection(NamedTuple):
    """The labels that were chosen, and how it looks among them."""

    labels: tuple[str, ...]
    largest: float
    """The largest correlation between two of them; -1 where there are no two"""
    documents: int
    """How many documents have no other labels"""


def uncorrelated_labels(label_sets: Iterable[Iterable[str]], threshold: float) -> Selection:
    """Choose labels of the training documents whose correlations are at most `threshold`."""
    table = _table(label_sets)
    matrix = table.matrix()  # (N, L)
    phi = _correlations(matrix)
    chosen = _chosen(matrix, phi > threshold)
    names = tuple(name for name, stays in zip(table.names, chosen, strict=True) if stays)
    among = phi[np.ix_(chosen, chosen)]
    return Selection(names, float(among.max(initial=-1.0)), int((_missing(matrix, chosen) == 0).sum()))


def largest_correlation(label_sets: Iterable[Iterable[str]]) -> float:
    """Return the largest correlation between any two labels; -1 where there are no two."""
    return float(_correlations(_table(label_sets).matrix()).max(initial=-1.0))


def _table(label_sets: Iterable[Iterable[str]]) -> LabelTable:
    table = LabelTable()
    for labels in label_sets:
        table.add("train", labels)
    return table


def _correlations(matrix: csr_matrix) -> npt.NDArray[np.float64]:
    """Return phi between all labels, (L, L); the diagonal is of no interest and holds the least there is."""
    together = csr_matrix(matrix.T @ matrix).toarray().astype(np.int64)
    phi = compute_phi(together, matrix.shape[0])
    np.fill_diagonal(phi, -1.0)
    return phi


def _chosen(matrix: csr_matrix, conflicts: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Say which labels are in the set, (L,); no two of them are in conflict, (L, L)."""
    chosen = np.zeros(matrix.shape[1], bool)
    frequencies = np.asarray(matrix.sum(axis=0)).ravel()
    while (free := ~chosen & ~conflicts[:, chosen].any(axis=1)).any():
        brought = (_missing(matrix, chosen) == 1) @ matrix  # (N,) x (N, L) -> (L,)
        chosen[np.lexsort((frequencies, brought, free))[-1]] = True
    return chosen


def _missing(matrix: csr_matrix, chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Count each document's labels that are not in the set, (N,)."""
    missing: npt.NDArray[np.int64] = matrix @ (~chosen).astype(np.int64)  # (N, L) x (L,) -> (N,)
    return missing


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
    part = open_reduced_corpus(
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


TITLE = "Uncorrelated labels"

ORDERS = ("shuffled", "descending")
"""The orders that the labels of training documents may be in; the paper has them out of order."""


def cells(options: Options) -> list[Cell]:
    """Return the models, each trained on the reduced corpus."""
    return all_cells(_variants(options, reduction(options)))


def _variants(options: Options, reduced: Reduction) -> list[Variant]:
    on_part = replace(options, data=str(reduced.part.folder))
    order, mark = own_choice(options, "order", ORDERS), f"uncorrelated-{reduced.threshold:g}"
    return [
        Variant(title_of(model), tuple(_row(on_part, model, f"{model}-{mark}", order)))
        for model in options.models
    ]


def _row(options: Options, model: str, row: str, order: str) -> list[Cell]:
    """Return the cells of a model; those that learn in descending order keep the folders they always had."""
    if not reads(model, "label_order.kind"):
        return row_cells(options, model, row)
    row = row if order == "descending" else f"{row}-{order}"
    return row_cells(options, model, row, f"label_order.kind={order}")


def sections(options: Options, results: Sequence[CellResult]) -> list[Section]:
    """Compare the models on the reduced corpus, and their margins with the paper's."""
    reduced = reduction(options)
    comparison = compare_rows(rows_of(_variants(options, reduced), results))
    found = margins(_pairs(comparison))
    answers = [
        Section(
            "Uncorrelated labels",
            "Does Seq2Seq lose its advantage over BR where labels have nothing to do with each other, "
            "and do the Seq2Sets keep theirs?",
            (order_remark(own_choice(options, "order", ORDERS)), *few_labels(comparison.summaries[0])),
            (paper_table(comparison),),
            (f1_plot(comparison),),
            tuple(_judgements(found)),
        )
    ]
    if found:
        answers.append(_beside_the_paper(found))
    return [*answers, about_the_corpus(reduced), every_training(results)]


def order_remark(order: str) -> str:
    """Say in which order labels were learned."""
    if order == "shuffled":
        return "Labels were learned shuffled, once for each training document, as in the paper."
    return f"Labels were learned in {order} order of frequency, where the paper has them out of order."


def _pairs(comparison: Comparison) -> list[Pair]:
    """Pair what is above in the paper with what is below: Seq2Seq with BR, the Seq2Sets with both."""
    rows = {one.model: one for one in comparison.summaries}
    names = [
        (ours, theirs) for theirs in ("br", "seq2seq") for ours in ("seq2seq", "seq2set-simp", "seq2set")
    ]
    return [
        Pair(rows[ours], rows[theirs])
        for ours, theirs in names
        if ours != theirs and {ours, theirs} <= rows.keys()
    ]


def _judgements(found: Sequence[Margin]) -> list[Claim]:
    sequences = [one for one in found if one.pair.ours.model == "seq2seq"]
    sets = [one for one in found if one.pair.ours.model not in baselines()]
    return [
        *judged("Seq2Seq has no advantage over BR on uncorrelated labels", sequences, NOT_ABOVE),
        *judged("both Seq2Sets lie above BR and Seq2Seq there", sets, ABOVE),
    ]


def _beside_the_paper(found: Sequence[Margin]) -> Section:
    published = [UNCORRELATED.margin(one.pair.ours.model, one.pair.theirs.model) for one in found]
    return Section(
        "Beside the paper",
        "How do the margins compare with the published ones?",
        (in_short(found),),
        (
            margin_table(
                "margins",
                "Margins on uncorrelated labels, beside Table 5",
                found,
                {"paper, RCV1-V2": published},
            ),
            published_table(UNCORRELATED),
        ),
    )
