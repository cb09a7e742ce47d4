"""The paper's main tables (Table 3, RCV1-V2, and Table 4, AAPD): eight models, and the published beside ours.

Binary relevance stands there twice. The paper's is far below its networks on AAPD; a good part of that is the
threshold, which `decision.threshold=boundary` leaves where the classifiers have it, and tuning moves.
"""

from __future__ import annotations

from collections.abc import Sequence

from seq2set.experiments.analysis.comparison import Comparison, compare_rows
from seq2set.experiments.analysis.margins import (
    Margin,
    Pair,
    above_all_baselines,
    few_labels,
    in_short,
    margin_table,
    margins,
)
from seq2set.experiments.analysis.published import AAPD, RCV1, published_for
from seq2set.experiments.cells.cell import Cell, CellResult
from seq2set.experiments.cells.plan import Variant, all_cells, plain, rows_of, variant
from seq2set.experiments.model_names import baselines
from seq2set.experiments.options import Options
from seq2set.experiments.render.comparison_tables import f1_plot, paper_table, side_by_side, verdicts
from seq2set.experiments.render.report import Section, every_training
from seq2set.experiments.render.tables import Table
from seq2set.experiments.studies.compare import other_measures

TITLE = "The paper's main table"

_THRESHOLDS = {
    "boundary": "BR (default threshold)",
    "tuned": "BR (tuned threshold)",
}


def cells(options: Options) -> list[Cell]:
    """Return the cells of each model, and of BR with both thresholds."""
    return all_cells(_variants(options))


def _variants(options: Options) -> list[Variant]:
    found = []
    for model in options.models:
        if model == "br":
            found += [
                variant(options, model, kind, title, f"decision.threshold={kind}")
                for kind, title in _THRESHOLDS.items()
            ]
        else:
            found.append(plain(options, model))
    return found


def sections(options: Options, results: Sequence[CellResult]) -> list[Section]:
    """Compare all models, and their margins with the published ones."""
    comparison = compare_rows(rows_of(_variants(options), results))
    corpus = results[0].facts["corpus"]["name"]
    found = (*few_labels(comparison.summaries[0]), *verdicts(comparison))
    return [
        Section(
            "Results",
            f"Do the two Seq2Sets give better sets of labels on {corpus} than every baseline?",
            found,
            (paper_table(comparison),),
            (f1_plot(comparison),),
            tuple(above_all_baselines(comparison)),
        ),
        *_beside_the_paper(comparison),
        other_measures(comparison),
        every_training(results),
    ]


def _beside_the_paper(comparison: Comparison) -> list[Section]:
    """Put the margins beside the published ones, and all rows where the corpus is the paper's own."""
    found = margins(_pairs(comparison))
    own = published_for(comparison.summaries[0].results[0].facts["corpus"])
    tables = [side_by_side(comparison, own)] if own else []
    if found:
        tables.append(_margin_table(found))
    if not tables:
        return []
    lead = (
        f"This is the corpus of the paper's {own.name}, so that the rows can be compared."
        if own
        else "The corpus is not one of the paper's, so that only margins can be compared."
    )
    asked = "How do the margins of the Seq2Sets over Seq2Seq and BR compare with the published ones?"
    said = (lead, in_short(found)) if found else (lead,)
    return [Section("Beside the paper", asked, said, tuple(tables))]


def _pairs(comparison: Comparison) -> list[Pair]:
    ours = [one for one in comparison.summaries if one.model not in baselines()]
    theirs = [one for one in comparison.summaries if one.model in ("seq2seq", "br")]
    return [Pair(one, other) for other in reversed(theirs) for one in ours]


def _margin_table(found: Sequence[Margin]) -> Table:
    beside = {
        f"paper, {table.short}": [table.margin(one.pair.ours.model, one.pair.theirs.model) for one in found]
        for table in (RCV1, AAPD)
    }
    return margin_table("margins", "Margins beside those of the paper's Tables 3 and 4", found, beside)
