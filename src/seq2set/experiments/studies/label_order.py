"""Rows that differ in the order of labels that a decoder learns.

The paper's "Comparison between Two Proposed Methods": one of them makes use of an order, one needs none.

The paper compares its tables with one another. Here both variants learn the same corpus in one order after
another: by descending frequency, by ascending frequency, parents first where the corpus has a tree of labels,
and shuffled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from seq2set.config import Config
from seq2set.core.errors import InputError
from seq2set.experiments.analysis.comparison import Comparison, compare_rows
from seq2set.experiments.analysis.margins import (
    ABOVE,
    BELOW,
    Claim,
    Margin,
    Pair,
    few_labels,
    judged,
    margin_table,
    margins,
    signed,
)
from seq2set.experiments.analysis.published import AAPD, RCV1, SHUFFLED, UNCORRELATED, PublishedTable
from seq2set.experiments.cells.cell import Cell, CellResult
from seq2set.experiments.cells.plan import Variant, all_cells, plain, rows_of, variant
from seq2set.experiments.model_names import title_of
from seq2set.experiments.options import Options, own_names
from seq2set.experiments.render.comparison_tables import f1_plot, paper_table
from seq2set.experiments.render.report import Section, every_training
from seq2set.experiments.run import asked_corpus
from seq2set.workflows.training_data import read_label_depths


def order_variant(options: Options, model: str, kind: str) -> Variant:
    """Return a model that learns labels in an order; one that never reads it is the same in every order."""
    title = f"{title_of(model)}, {kind}"
    if never_reads_order(options.config(model, 1)):
        return plain(options, model)._replace(title=title)
    return variant(options, model, kind, title, f"label_order.kind={kind}")


def never_reads_order(config: Config) -> bool:
    """Say whether the simplified model is trained without any likelihood of labels in order.

    Other models that read no order, such as BR, are not meant: they are trained again, to see that nothing
    moves.
    """
    likelihood = config.warm_start.epochs or config.objective.likelihood_share
    free = config.warm_start.likelihood == "order-free" or not likelihood
    return config.model == "seq2set-simp" and free


def order_remarks(options: Options) -> list[str]:
    """Say which of the models cannot depend on the order as they are trained here."""
    if not any(never_reads_order(options.config(model, 1)) for model in options.models):
        return []
    return [
        "With warm_start.likelihood = order-free, Seq2Set (simp.) never learns labels in an order: one "
        "training stands for every order."
    ]


TITLE = "The two proposed models under different label orders"

ORDERS = ("descending", "ascending", "tree", "shuffled")
"""The orders that can be asked for."""

_KNOWN = {"descending": (RCV1, AAPD), "tree": (RCV1,)}
_UNKNOWN = {"shuffled": (SHUFFLED, UNCORRELATED)}
"""What the paper calls a known order and an unknown one, and the tables that it measured them in."""

_FULL, _SIMPLE = "seq2set", "seq2set-simp"


def cells(options: Options) -> list[Cell]:
    """Return each model in each order; those of its usual order are shared with other experiments."""
    return all_cells(_variants(options))


def _variants(options: Options) -> list[Variant]:
    return [order_variant(options, model, kind) for kind in _orders(options) for model in options.models]


def _orders(options: Options) -> tuple[str, ...]:
    """Return the orders that are asked for; a tree only where the corpus has one."""
    asked = own_names(options, "orders", ORDERS)
    if "tree" not in asked or read_label_depths(asked_corpus(options)):
        return asked
    if "orders" in options.extra:
        raise InputError(f"--option orders has 'tree'; the corpus {options.data} has no tree of labels")
    return tuple(kind for kind in asked if kind != "tree")


def sections(options: Options, results: Sequence[CellResult]) -> list[Section]:
    """Compare the two models under each order."""
    comparison = compare_rows(rows_of(_variants(options), results))
    pairs = _pairs(comparison, options)
    found = dict(zip(pairs, margins(pairs.values()), strict=True))
    said = [*order_remarks(options), *few_labels(comparison.summaries[0])]
    if "tree" not in _orders(options) and "orders" not in options.extra:
        said.append("The corpus has no tree of labels, so that there is no order by tree.")
    answers = [
        Section(
            "Label orders",
            "Is the full model better where an order of labels is known, and the simplified one where not?",
            tuple(said),
            (paper_table(comparison),),
            (f1_plot(comparison),),
            tuple(_judgements(found)),
        )
    ]
    return [*answers, *_beside_the_paper(found), every_training(results)]


def _pairs(comparison: Comparison, options: Options) -> dict[str, Pair]:
    """Pair the full model with the simplified one, order by order, where both are done."""
    rows = {one.row: one for one in comparison.summaries}
    names = {kind: [f"{title_of(model)}, {kind}" for model in (_FULL, _SIMPLE)] for kind in _orders(options)}
    return {
        kind: Pair(*(rows[name] for name in both)) for kind, both in names.items() if rows.keys() >= set(both)
    }


def _judgements(found: dict[str, Margin]) -> list[Claim]:
    known = [found[kind] for kind in _KNOWN if kind in found]
    unknown = [found[kind] for kind in _UNKNOWN if kind in found]
    return [
        *judged("the full model is better where an order is known", known, ABOVE),
        *judged("the simplified model is better where no order is known", unknown, BELOW),
    ]


def _beside_the_paper(found: dict[str, Margin]) -> list[Section]:
    if not found:
        return []
    tables = {kind: one for kind, one in (_KNOWN | _UNKNOWN).items() if kind in found}
    beside = {
        "paper, RCV1-V2": [
            tables[kind][0].margin(_FULL, _SIMPLE) if kind in tables else None for kind in found
        ]
    }
    table = margin_table(
        "full-over-simple", "The full model over the simplified one", list(found.values()), beside
    )
    asked = "How does the margin of the full model compare with the published ones?"
    return [Section("Beside the paper", asked, tuple(_in_the_paper(tables)), (table,))]


def _in_the_paper(tables: Mapping[str, Sequence[PublishedTable]]) -> Iterator[str]:
    for table in dict.fromkeys(one for several in tables.values() for one in several):
        points = signed(table.margin(_FULL, _SIMPLE))
        yield (
            f"In the paper's {table.name}, {table.short}, {title_of(_FULL)} lies {points} points over "
            f"{title_of(_SIMPLE)}."
        )
