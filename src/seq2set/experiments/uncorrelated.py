"""The paper's "Uncorrelated Labels" (Table 5): a corpus rebuilt from labels that hardly go together.

`uncorrelated_labels` chooses the labels; the documents stay, in all splits, whose labels are all among them.
A document without labels stays as well. The reduced corpus lies under OUT as a prepared corpus of its own,
and all models are trained on it anew. As in the paper, the labels of the training documents are out of order:
shuffled once for each document, or descending by option.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from seq2set.config.reading import reads
from seq2set.experiments.beside import published_table
from seq2set.experiments.cells import Cell, CellResult
from seq2set.experiments.claim import Claim
from seq2set.experiments.claims import ABOVE, NOT_ABOVE, few_labels, judged
from seq2set.experiments.compare import row_cells
from seq2set.experiments.comparison import Comparison, compare_rows
from seq2set.experiments.comparison_tables import f1_plot, paper_table
from seq2set.experiments.lineup import BASELINES, title_of
from seq2set.experiments.margins import Margin, Pair, in_short, margin_table, margins
from seq2set.experiments.options import Options
from seq2set.experiments.own_numbers import own_choice
from seq2set.experiments.published import UNCORRELATED
from seq2set.experiments.sections import Section, every_training
from seq2set.experiments.uncorrelated_corpus import Reduction, about_the_corpus, reduction
from seq2set.experiments.variants import Variant, all_cells, rows_of

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
    sets = [one for one in found if one.pair.ours.model not in BASELINES]
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
