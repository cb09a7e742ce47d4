"""The paper's "Comparison between Two Proposed Methods": one of them makes use of an order, one needs none.

The paper compares its tables with one another. Here both models learn the same corpus in one order after
another: by descending frequency, by ascending frequency, parents first where the corpus has a tree of labels,
and shuffled.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial

from seq2set.config import Config
from seq2set.config.catalog import MODELS
from seq2set.core.errors import InputError
from seq2set.experiments import LABEL_ORDERS
from seq2set.experiments.analysis.comparison import Comparison
from seq2set.experiments.analysis.margins import ABOVE, BELOW, Margin, Pair, format_points
from seq2set.experiments.analysis.published import AAPD, RCV1, SHUFFLED, UNCORRELATED
from seq2set.experiments.options import Options
from seq2set.experiments.studies.compare import note_single_labels
from seq2set.experiments.studies.study import ClaimRule, MarginTable, Study, StudyData, Variant, make_variant
from seq2set.workflows.training_data import read_label_depths

_KNOWN = {"descending": (RCV1, AAPD), "tree": (RCV1,)}
_UNKNOWN = {"shuffled": (SHUFFLED, UNCORRELATED)}
"""What the paper calls a known order and an unknown one, and the tables that it measured them in."""

_FULL, _SIMPLE = "seq2set", "seq2set-simp"


def make_order_variant(options: Options, model: str, order: str) -> Variant:
    """Return a model that learns labels in an order; one that never reads it is the same in every order."""
    setting = f"label_order.kind={order}"
    found = make_variant(options, model, order, setting)
    if never_reads_order(options.config(model, 1)):
        return found._replace(cells=make_variant(options, model).cells)
    return found


def never_reads_order(config: Config) -> bool:
    """Say whether the simplified model is trained without any likelihood of labels in order.

    Other models that read no order, such as BR, are not meant: they are trained again, to see that nothing
    moves.
    """
    likelihood = config.warm_start.epochs or config.objective.likelihood_share
    free = config.warm_start.likelihood == "order-free" or not likelihood
    return config.model == _SIMPLE and free


def note_order_free(options: Options) -> list[str]:
    """Say which of the models cannot depend on the order as they are trained here."""
    if not any(never_reads_order(options.config(model, 1)) for model in options.models):
        return []
    return [
        "With warm_start.likelihood = order-free, Seq2Set (simp.) never learns labels in an order: one "
        "training stands for every order."
    ]


def _make_variants(options: Options) -> list[Variant]:
    orders = _list_orders(options)
    return [make_order_variant(options, model, order) for order in orders for model in options.models]


def _list_orders(options: Options) -> tuple[str, ...]:
    """Return the orders that are asked for; a tree only where the corpus has one."""
    asked: tuple[str, ...] = options.read("orders") or LABEL_ORDERS
    if "tree" not in asked or read_label_depths(options.open_corpus()):
        return asked
    if "orders" in options.extra:
        raise InputError(f"--option orders has 'tree'; the corpus {options.data} has no tree of labels")
    return tuple(order for order in asked if order != "tree")


def _remark(data: StudyData) -> Iterator[str]:
    yield from note_order_free(data.options)
    yield from note_single_labels(data.comparison)
    if "tree" not in _list_orders(data.options) and "orders" not in data.options.extra:
        yield "The corpus has no tree of labels, so that there is no order by tree."


def _pair_by_order(comparison: Comparison) -> list[Pair]:
    """Pair the full model with the simplified one, order by order, where both are done."""
    orders = dict.fromkeys(one.key.variant for one in comparison.summaries)
    found = [(comparison.find(_FULL, order), comparison.find(_SIMPLE, order)) for order in orders]
    return [Pair(full, simple) for full, simple in found if full and simple]


def _select(orders: Collection[str], data: StudyData) -> list[Margin]:
    found = {one.pair.ours.key.variant: one for one in data.margins["full-over-simple"]}
    return [found[order] for order in orders if order in found]


def _find_published(margin: Margin) -> float | None:
    tables = (_KNOWN | _UNKNOWN).get(margin.pair.ours.key.variant)
    return tables[0].measure_margin(_FULL, _SIMPLE) if tables else None


def _remark_beside(data: StudyData) -> Iterator[str]:
    done = {one.pair.ours.key.variant for one in data.margins["full-over-simple"]}
    tables = [table for order, some in (_KNOWN | _UNKNOWN).items() if order in done for table in some]
    full, simple = MODELS[_FULL].title, MODELS[_SIMPLE].title
    for table in dict.fromkeys(tables):
        points = format_points(table.measure_margin(_FULL, _SIMPLE))
        yield f"In the paper's {table.name}, {table.short}, {full} lies {points} points over {simple}."


STUDY = Study(
    title="The two proposed models under different label orders",
    variants=_make_variants,
    question=(
        "Label orders",
        "Is the full model better where an order of labels is known, and the simplified one where not?",
    ),
    remarks=_remark,
    claims=(
        ClaimRule("the full model is better where an order is known", ABOVE, partial(_select, _KNOWN)),
        ClaimRule(
            "the simplified model is better where no order is known", BELOW, partial(_select, _UNKNOWN)
        ),
    ),
    margins=(
        MarginTable(
            "full-over-simple",
            "The full model over the simplified one",
            _pair_by_order,
            {"paper, RCV1-V2": _find_published},
        ),
    ),
    beside="How does the margin of the full model compare with the published ones?",
    beside_remarks=_remark_beside,
)
