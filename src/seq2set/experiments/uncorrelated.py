"""The paper's "Uncorrelated Labels" (Table 5): a corpus rebuilt from labels that hardly go together.

`uncorrelated_labels` chooses the labels; the documents stay, in all splits, whose labels are all among them.
A document without labels stays as well. The reduced corpus lies under OUT as a prepared corpus of its own,
and all models are trained on it anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

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
from seq2set.experiments.published import UNCORRELATED
from seq2set.experiments.sections import Section, every_training
from seq2set.experiments.uncorrelated_corpus import Reduction, about_the_corpus, reduction
from seq2set.experiments.variants import Variant, all_cells, rows_of

TITLE = "Uncorrelated labels"


def cells(options: Options) -> list[Cell]:
    """Return the models, each trained on the reduced corpus."""
    return all_cells(_variants(options, reduction(options)))


def _variants(options: Options, reduced: Reduction) -> list[Variant]:
    on_part = replace(options, data=str(reduced.part.folder))
    mark = f"uncorrelated-{reduced.threshold:g}"
    return [
        Variant(title_of(model), tuple(row_cells(on_part, model, f"{model}-{mark}")))
        for model in options.models
    ]


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
            tuple(few_labels(comparison.summaries[0])),
            (paper_table(comparison),),
            (f1_plot(comparison),),
            tuple(_judgements(found)),
        )
    ]
    if found:
        answers.append(_beside_the_paper(found))
    return [*answers, about_the_corpus(reduced), every_training(results)]


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
