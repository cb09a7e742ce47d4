"""The paper's "Shuffled Labels" (Table 6): what is lost where the order of labels is unknown.

Each training document's labels are shuffled once. BR has no order to lose, and must not move at all.
"""

from __future__ import annotations

from collections.abc import Iterator

from seq2set.config.catalog import MODELS
from seq2set.core.errors import InputError
from seq2set.experiments.analysis.comparison import Comparison, Summary
from seq2set.experiments.analysis.margins import (
    ABOVE,
    BELOW,
    NOT_BELOW,
    Contrast,
    Pair,
    estimate_contrasts,
    format_points,
    subtract_pairs,
    summarize_margins,
)
from seq2set.experiments.analysis.published import RCV1, SHUFFLED
from seq2set.experiments.options import Options
from seq2set.experiments.studies.compare import note_single_labels
from seq2set.experiments.studies.label_order import make_order_variant, note_order_free
from seq2set.experiments.studies.study import (
    ClaimRule,
    MarginTable,
    Study,
    StudyData,
    Variant,
    make_plain_variants,
)
from seq2set.experiments.studies.table_results import find_margin

_ORDER = "shuffled"


def _make_variants(options: Options) -> list[Variant]:
    """Return the models in their order, which other studies share, and with labels shuffled."""
    for model in options.models:
        if options.config(model, 1).label_order.kind == _ORDER:
            raise InputError(
                f"label_order.kind is '{_ORDER}' for {model}; it must be an order to compare shuffling with"
            )
    shuffled = [make_order_variant(options, model, _ORDER) for model in options.models]
    return make_plain_variants(options) + shuffled


def _pair_with_order(comparison: Comparison) -> list[Pair]:
    """Pair each model under shuffling with itself in order, where both are done."""
    found = [(comparison.find(one.model, _ORDER), one) for one in comparison.summaries if not one.key.variant]
    return [Pair(shuffled, ordered) for shuffled, ordered in found if shuffled is not None]


def _pair_with_rivals(comparison: Comparison) -> list[Pair]:
    """Pair the Seq2Sets under shuffling with Seq2Seq and BR under it."""
    shuffled = [one for one in comparison.summaries if one.key.variant == _ORDER]
    ours = [one for one in shuffled if not one.is_baseline]
    return [Pair(one, other) for other in shuffled if other.model in ("seq2seq", "br") for one in ours]


def _compare_losses(data: StudyData) -> list[Contrast]:
    """Test whether shuffling changes the Seq2Sets otherwise than Seq2Seq."""
    wanted = []
    for other in data.select_margins("drops", "seq2seq"):
        for one in data.select_margins("drops"):
            title = f"the change of {one.pair.theirs.title} over that of {other.pair.theirs.title}"
            wanted.append((title, subtract_pairs(one.pair, other.pair)))
    return estimate_contrasts(wanted)


def _remark(data: StudyData) -> Iterator[str]:
    ordered, shuffled = data.comparison.find("br"), data.comparison.find("br", _ORDER)
    if ordered is not None and shuffled is not None:
        yield _describe_br(ordered, shuffled)
    yield from note_order_free(data.options)
    yield from note_single_labels(data.comparison)


def _describe_br(ordered: Summary, shuffled: Summary) -> str:
    """Say whether BR gave every document the same labels in both."""
    documents = int(ordered.results[0].facts["documents"])
    answers = [summary.results[0].answers for summary in (ordered, shuffled)]
    moved = sum(
        len({frozenset(each.names[label] for label in each.chosen.row(document)) for each in answers}) > 1
        for document in range(len(answers[0].ids))
    )
    if moved:
        return (
            f"Unexpected: BR gives other labels to {moved:,} of {documents:,} documents. BR does not use "
            "label order, so that something else differs between the two trainings."
        )
    return f"BR does not move at all: all {documents:,} documents get the same labels from it."


def _remark_beside(data: StudyData) -> Iterator[str]:
    yield summarize_margins([*data.margins["drops"], *data.margins["leads"]])
    lost = {MODELS[model].title: SHUFFLED.measure_margin(model, model, RCV1) for model in SHUFFLED.rows}
    changes = ", ".join(f"{title} {format_points(points)}" for title, points in lost.items())
    yield f"In the paper, from Table 3 to Table 6, the points of micro-F1 change so: {changes}."


STUDY = Study(
    title="Shuffled labels",
    variants=_make_variants,
    question=(
        "Shuffled labels",
        "What does each model lose where the order of labels is unknown, and who is best then?",
    ),
    remarks=_remark,
    claims=(
        ClaimRule(
            "Seq2Seq loses where labels are shuffled",
            BELOW,
            lambda data: data.select_margins("drops", "seq2seq"),
        ),
        ClaimRule("the Seq2Sets hardly lose", NOT_BELOW, lambda data: data.select_margins("drops")),
        ClaimRule("the Seq2Sets lose less than Seq2Seq", ABOVE, _compare_losses),
        ClaimRule(
            "both Seq2Sets still lie above BR and Seq2Seq then", ABOVE, lambda data: data.margins["leads"]
        ),
    ),
    margins=(
        MarginTable(
            "drops",
            "What shuffling costs, beside the paper's Tables 3 and 6",
            _pair_with_order,
            {"paper, RCV1-V2": find_margin(SHUFFLED, RCV1)},
        ),
        MarginTable(
            "leads",
            "Margins with labels shuffled, beside Table 6",
            _pair_with_rivals,
            {"paper, RCV1-V2": find_margin(SHUFFLED)},
        ),
    ),
    beside="How do the losses and the margins compare with the published ones?",
    beside_remarks=_remark_beside,
    published=(SHUFFLED,),
    has_reference=False,  # each row is paired with its own
)
