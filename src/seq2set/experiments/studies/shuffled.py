"""The paper's "Shuffled Labels" (Table 6): what is lost where the order of labels is unknown.

Each training document's labels are shuffled once. BR has no order to lose, and must not move at all.
"""

from __future__ import annotations

from collections.abc import Sequence

from seq2set.core.errors import InputError
from seq2set.experiments.analysis.comparison import Comparison, Summary, summarise
from seq2set.experiments.analysis.margins import (
    ABOVE,
    BELOW,
    NOT_BELOW,
    Claim,
    Contrast,
    Margin,
    Pair,
    contrasts,
    difference,
    few_labels,
    in_short,
    judged,
    margin_table,
    margins,
    minus,
    signed,
)
from seq2set.experiments.analysis.published import RCV1, SHUFFLED
from seq2set.experiments.cells.cell import Cell, CellResult
from seq2set.experiments.cells.plan import Variant, all_cells, plain, rows_of
from seq2set.experiments.model_names import baselines, title_of
from seq2set.experiments.options import Options
from seq2set.experiments.render.comparison_tables import f1_plot, paper_table, published_table
from seq2set.experiments.render.report import Section, every_training
from seq2set.experiments.studies.label_order import order_remarks, order_variant

TITLE = "Shuffled labels"

_KIND = "shuffled"


def cells(options: Options) -> list[Cell]:
    """Return the models in their order, which other experiments share, and with labels shuffled."""
    return all_cells(_variants(options))


def _variants(options: Options) -> list[Variant]:
    for model in options.models:
        if options.config(model, 1).label_order.kind == _KIND:
            raise InputError(
                f"label_order.kind is '{_KIND}' for {model}; it must be an order to compare shuffling with"
            )
    ordered = [plain(options, model) for model in options.models]
    return ordered + [order_variant(options, model, _KIND) for model in options.models]


def sections(options: Options, results: Sequence[CellResult]) -> list[Section]:
    """Compare every model with itself under shuffling, and all of them under it."""
    rows = summarise(rows_of(_variants(options), results))
    # No row is the one that all are compared with: each is paired with its own below.
    comparison = Comparison(rows, None, {})
    drops = margins(_drops(comparison))
    leads = margins(_leads(comparison))
    found = [*_br_stays(comparison), *order_remarks(options), *few_labels(comparison.summaries[0])]
    answers = [
        Section(
            "Shuffled labels",
            "What does each model lose where the order of labels is unknown, and who is best then?",
            tuple(found),
            (paper_table(comparison),),
            (f1_plot(comparison),),
            tuple(_judgements(drops, leads)),
        )
    ]
    if drops:
        answers.append(_beside_the_paper(drops, leads))
    return [*answers, every_training(results)]


def _judgements(drops: Sequence[Margin], leads: Sequence[Margin]) -> list[Claim]:
    sequences = [one for one in drops if one.pair.ours.model == "seq2seq"]
    sets = [one for one in drops if one.pair.ours.model not in baselines()]
    return [
        *judged("Seq2Seq loses where labels are shuffled", sequences, BELOW),
        *judged("the Seq2Sets hardly lose", sets, NOT_BELOW),
        *judged("the Seq2Sets lose less than Seq2Seq", _beside_seq2seq(sequences, sets), ABOVE),
        *judged("both Seq2Sets still lie above BR and Seq2Seq then", leads, ABOVE),
    ]


def _beside_seq2seq(sequences: Sequence[Margin], sets: Sequence[Margin]) -> list[Contrast]:
    """Test whether shuffling changes the Seq2Sets otherwise than Seq2Seq: differences of differences."""
    return contrasts(
        {
            f"the change of {title_of(one.pair.theirs.row)} over that of {title_of(other.pair.theirs.row)}": [
                *difference(*one.pair),
                *minus(difference(*other.pair)),
            ]
            for other in sequences
            for one in sets
        }
    )


def _beside_the_paper(drops: Sequence[Margin], leads: Sequence[Margin]) -> Section:
    paper = {
        "paper, RCV1-V2": [SHUFFLED.change(one.pair.ours.model, RCV1) for one in drops],
    }
    beside = {
        "paper, RCV1-V2": [SHUFFLED.margin(one.pair.ours.model, one.pair.theirs.model) for one in leads],
    }
    lost = ", ".join(f"{title_of(model)} {signed(SHUFFLED.change(model, RCV1))}" for model in SHUFFLED.rows)
    tables = [margin_table("drops", "What shuffling costs, beside the paper's Tables 3 and 6", drops, paper)]
    if leads:
        tables.append(margin_table("leads", "Margins with labels shuffled, beside Table 6", leads, beside))
    return Section(
        "Beside the paper",
        "How do the losses and the margins compare with the published ones?",
        (
            in_short([*drops, *leads]),
            f"In the paper, from Table 3 to Table 6, the points of micro-F1 change so: {lost}.",
        ),
        (*tables, published_table(SHUFFLED)),
    )


def _drops(comparison: Comparison) -> list[Pair]:
    """Pair each model under shuffling with itself in order, where both are done."""
    found = {one.row: one for one in comparison.summaries}
    usual = [one for one in comparison.summaries if f"{one.row}, {_KIND}" in found]
    return [Pair(found[f"{one.row}, {_KIND}"], one) for one in usual]


def _leads(comparison: Comparison) -> list[Pair]:
    """Pair the Seq2Sets under shuffling with Seq2Seq and BR under it."""
    shuffled = [one for one in comparison.summaries if one.row.endswith(f", {_KIND}")]
    ours = [one for one in shuffled if one.model not in baselines()]
    return [Pair(one, other) for other in shuffled if other.model in ("seq2seq", "br") for one in ours]


def _br_stays(comparison: Comparison) -> list[str]:
    """Say whether BR gave every document the same labels in both."""
    both = [one for one in comparison.summaries if one.model == "br"]
    if len(both) < 2:
        return []
    moved = _moved(*both)
    documents = int(both[0].results[0].facts["documents"])
    if moved:
        return [
            f"BR gives other labels to {moved:,} of {documents:,} documents, which must not be: it has no "
            "order of labels to lose, so that something else differs between the two trainings."
        ]
    return [f"BR does not move at all: all {documents:,} documents get the same labels from it."]


def _moved(one: Summary, other: Summary) -> int:
    """Count the documents that two rows give different labels."""
    answers = [summary.results[0].answers for summary in (one, other)]
    return sum(
        len({frozenset(each.names[label] for label in each.chosen.row(document)) for each in answers}) > 1
        for document in range(len(answers[0].ids))
    )
