"""The paper's "Uncorrelated Labels" (Table 5): a corpus rebuilt from labels that hardly go together.

The correlation of two labels is phi, Pearson's coefficient of their indicator columns on the training split.
A document stays, in all splits, where all its labels are in the chosen set, so that many labels alone do not
help. The choice is greedy: the set begins empty, and as long as there are labels that correlate too much with
none in it, the one comes in that brings the most documents with it, those that lack nothing but this label;
in a tie, the more frequent label. No label can be added to the set at the end. Negative correlations are
allowed, as in the paper, which speaks of the largest coefficient: labels that avoid each other have no order
among them to learn.

The reduced corpus lies under OUT as a prepared corpus of its own, and all models are trained on it anew. As
in the paper, the labels of the training documents are out of order: shuffled once for each document, or
descending by option.

Shapes: N documents, L labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
from seq2set.experiments.analysis.comparison import Comparison, RowKey
from seq2set.experiments.analysis.margins import ABOVE, NOT_ABOVE, Pair, summarize_margins
from seq2set.experiments.analysis.published import UNCORRELATED
from seq2set.experiments.options import Options
from seq2set.experiments.render.report import Section
from seq2set.experiments.render.tables import Column, Quantity, Row, Table
from seq2set.experiments.studies.compare import note_single_labels
from seq2set.experiments.studies.study import ClaimRule, MarginTable, Study, StudyData, Variant, make_cells
from seq2set.experiments.studies.table_results import find_margin
from seq2set.labels.correlation import compute_phi


class UncorrelatedTexts(NamedTuple):
    """The labels that were chosen, and how it looks among them."""

    labels: tuple[str, ...]
    largest: float
    """The largest correlation between two of them; -1 where there are no two"""


def choose_uncorrelated(label_sets: Iterable[Iterable[str]], threshold: float) -> UncorrelatedTexts:
    """Choose labels of the training documents whose correlations are at most `threshold`."""
    table = _make_table(label_sets)
    matrix = table.matrix()  # (N, L)
    phi = _correlate(matrix)
    chosen = _choose(matrix, phi > threshold)
    names = tuple(name for name, stays in zip(table.names, chosen, strict=True) if stays)
    return UncorrelatedTexts(names, float(phi[np.ix_(chosen, chosen)].max(initial=-1.0)))


def find_largest_correlation(label_sets: Iterable[Iterable[str]]) -> float:
    """Return the largest correlation between any two labels; -1 where there are no two."""
    return float(_correlate(_make_table(label_sets).matrix()).max(initial=-1.0))


def _make_table(label_sets: Iterable[Iterable[str]]) -> LabelTable:
    table = LabelTable()
    for labels in label_sets:
        table.add("train", labels)
    return table


def _correlate(matrix: csr_matrix) -> npt.NDArray[np.float64]:
    """Return phi between all labels, (L, L); the diagonal is of no interest and holds the least there is."""
    together = csr_matrix(matrix.T @ matrix).toarray().astype(np.int64)
    phi = compute_phi(together, matrix.shape[0])
    np.fill_diagonal(phi, -1.0)
    return phi


def _choose(matrix: csr_matrix, conflicts: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Say which labels are in the set, (L,); no two of them are in conflict, (L, L)."""
    chosen = np.zeros(matrix.shape[1], bool)
    frequencies = np.asarray(matrix.sum(axis=0)).ravel()
    while (free := ~chosen & ~conflicts[:, chosen].any(axis=1)).any():
        missing = matrix @ (~chosen).astype(np.int64)  # (N, L) x (L,) -> (N,), each document's other labels
        gained = (missing == 1) @ matrix  # (N,) x (N, L) -> (L,)
        chosen[np.lexsort((frequencies, gained, free))[-1]] = True
    return chosen


class Reduction(NamedTuple):
    """A corpus, the part of it that has uncorrelated labels only, and these labels."""

    whole: PreparedCorpus
    part: PreparedCorpus
    selection: UncorrelatedTexts
    threshold: float


def reduce_corpus(options: Options) -> Reduction:
    """Choose the labels and build the reduced corpus, or open it where it has been built."""
    threshold: float = options.read("threshold")
    whole = options.open_corpus()
    selection = choose_uncorrelated(whole.split("train").labels(), threshold)
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


def describe_reduction(reduced: Reduction) -> Section:
    """Say which labels stay, and what stays of the corpus."""
    selection = reduced.selection
    labels = [one.facts["counts"]["labels"] for one in (reduced.whole, reduced.part)]
    left = find_largest_correlation(reduced.part.split("train").labels())
    return Section(
        "The reduced corpus",
        f"Which labels hardly go together: no two correlate by more than {reduced.threshold:g}?",
        (
            f"{len(selection.labels)} of the {labels[0]} labels are chosen; {labels[1]} of them occur in the "
            f"documents that stay. On the training split of {reduced.whole.name} the largest correlation "
            f"between two of the chosen is {selection.largest:.3f}.",
            f"On the documents that stay it is {left:.3f}: leaving documents out moves correlations.",
        ),
        (_make_counts_table(reduced, left),),
    )


def _make_counts_table(reduced: Reduction, left: float) -> Table:
    counts = [one.facts["counts"] for one in (reduced.whole, reduced.part)]
    before = find_largest_correlation(reduced.whole.split("train").labels())
    shown = {f"documents, {split}": [one["documents"][split] for one in counts] for split in SPLITS}
    for name in ("labels", "labels per document", "documents without labels"):
        shown[name] = [one[name.replace(" ", "_")] for one in counts]
    shown["largest correlation, train"] = [before, left]
    digits = {"labels per document": 2, "largest correlation, train": 3}
    rows = [
        Row(name, tuple(Quantity(value, digits.get(name, 0)) for value in values))
        for name, values in shown.items()
    ]
    title = "The corpus and the part of it with uncorrelated labels"
    columns = Column(reduced.whole.name), Column(reduced.part.name)
    return Table("reduction", title, columns, tuple(rows), rows_are="Counts")


def _make_variants(options: Options) -> list[Variant]:
    reduced = reduce_corpus(options)
    on_part = replace(options, data=str(reduced.part.folder))
    order, found = options.read("order"), []
    for model in options.models:
        row, settings = f"{model}-uncorrelated-{reduced.threshold:g}", []
        if reads(model, "label_order.kind"):
            # Those that learn in descending order keep the folders they always had.
            row = row if order == "descending" else f"{row}-{order}"
            settings = [f"label_order.kind={order}"]
        found.append(Variant(RowKey(model), make_cells(on_part, model, row, *settings)))
    return found


def describe_order(order: str) -> str:
    """Say in which order labels were learned."""
    if order == "shuffled":
        return "Labels were learned shuffled, once for each training document, as in the paper."
    return f"Labels were learned in {order} order of frequency, where the paper has them out of order."


def _remark(data: StudyData) -> Iterator[str]:
    yield describe_order(data.options.read("order"))
    yield from note_single_labels(data.comparison)


def _pair_as_published(comparison: Comparison) -> list[Pair]:
    """Pair what is above in the paper with what is below: Seq2Seq with BR, the Seq2Sets with both."""
    above = [comparison.find(model) for model in ("seq2seq", "seq2set-simp", "seq2set")]
    below = [comparison.find(model) for model in ("br", "seq2seq")]
    return [Pair(one, other) for other in below for one in above if one and other and one is not other]


STUDY = Study(
    title="Uncorrelated labels",
    variants=_make_variants,
    question=(
        "Uncorrelated labels",
        "Does Seq2Seq lose its advantage over BR where labels have nothing to do with each other, "
        "and do the Seq2Sets keep theirs?",
    ),
    remarks=_remark,
    claims=(
        ClaimRule(
            "Seq2Seq has no advantage over BR on uncorrelated labels",
            NOT_ABOVE,
            lambda data: data.select_margins("margins", "seq2seq"),
        ),
        ClaimRule(
            "both Seq2Sets lie above BR and Seq2Seq there", ABOVE, lambda data: data.select_margins("margins")
        ),
    ),
    margins=(
        MarginTable(
            "margins",
            "Margins on uncorrelated labels, beside Table 5",
            _pair_as_published,
            {"paper, RCV1-V2": find_margin(UNCORRELATED)},
        ),
    ),
    beside="How do the margins compare with the published ones?",
    beside_remarks=lambda data: [summarize_margins(data.margins["margins"])],
    published=(UNCORRELATED,),
    more=lambda data: [describe_reduction(reduce_corpus(data.options))],
)
