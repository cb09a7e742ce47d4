"""The paper's main tables (Table 3, RCV1-V2, and Table 4, AAPD): eight models, and the published beside ours.

Binary relevance stands there twice. The paper's is far below its networks on AAPD; a good part of that is the
threshold, which `decision.threshold=boundary` leaves where the classifiers have it, and tuning moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from seq2set.config.catalog import MODELS
from seq2set.experiments.analysis.comparison import Comparison, RowKey
from seq2set.experiments.analysis.margins import ABOVE, Margin, Pair, compare_pairs, summarize_margins
from seq2set.experiments.analysis.published import AAPD, RCV1, PublishedTable, find_published
from seq2set.experiments.options import Options
from seq2set.experiments.studies.compare import describe_comparison, note_single_labels, show_other_metrics
from seq2set.experiments.studies.study import (
    ClaimRule,
    MarginTable,
    Study,
    StudyData,
    Variant,
    make_plain_variants,
    make_variant,
)

_THRESHOLDS = {"boundary": "default threshold", "tuned": "tuned threshold"}


def _make_variants(options: Options) -> list[Variant]:
    found = make_plain_variants(options)
    if "br" in options.models:  # twice
        place = options.models.index("br")
        found[place : place + 1] = [
            make_variant(options, "br", kind, f"decision.threshold={kind}") for kind in _THRESHOLDS
        ]
    return found


def _name_row(key: RowKey) -> str:
    return f"{MODELS[key.model].title}{f' ({_THRESHOLDS[key.variant]})' if key.variant else ''}"


def _pair_with_all_baselines(comparison: Comparison) -> list[Pair]:
    """Pair each Seq2Set with each baseline, none of which is chosen by what it reached."""
    rows = comparison.summaries
    return [Pair(a, b) for a in rows if not a.is_baseline for b in rows if b.is_baseline]


def _pair_with_rivals(comparison: Comparison) -> list[Pair]:
    """Pair the Seq2Sets with Seq2Seq and BR, whose margins the paper has."""
    ours = [one for one in comparison.summaries if not one.is_baseline]
    theirs = [one for one in comparison.summaries if one.model in ("seq2seq", "br")]
    return [Pair(one, other) for other in reversed(theirs) for one in ours]


def _remark_beside(data: StudyData) -> Iterator[str]:
    if (own := find_published(data.corpus)) is not None:
        yield f"This is the corpus of the paper's {own.name}, so that the rows can be compared."
    else:
        yield "The corpus is not one of the paper's, so that only margins can be compared."
    if found := data.margins["margins"]:
        yield summarize_margins(found)


def find_margin(
    table: PublishedTable, there: PublishedTable | None = None
) -> Callable[[Margin], float | None]:
    """Return what finds the published margin of the same two models, the second perhaps in another table."""
    return lambda margin: table.measure_margin(margin.pair.ours.model, margin.pair.theirs.model, there)


STUDY = Study(
    title="The paper's main table",
    variants=_make_variants,
    name_row=_name_row,
    question=("Results", "Do the two Seq2Sets give better sets of labels on {corpus} than every baseline?"),
    remarks=lambda data: [*note_single_labels(data.comparison), *describe_comparison(data.comparison)],
    claims=(
        ClaimRule(
            "both Seq2Sets lie above all baselines",
            ABOVE,
            lambda data: compare_pairs(_pair_with_all_baselines(data.comparison)),
        ),
    ),
    margins=(
        MarginTable(
            "margins",
            "Margins beside those of the paper's Tables 3 and 4",
            _pair_with_rivals,
            {f"paper, {table.short}": find_margin(table) for table in (RCV1, AAPD)},
        ),
    ),
    beside="How do the margins of the Seq2Sets over Seq2Seq and BR compare with the published ones?",
    beside_remarks=_remark_beside,
    has_published_rows=True,
    more=show_other_metrics,
)
