"""The trade-off lambda of the paper's objective, (1 - lambda) L(phi) + lambda L(theta), from 0 to 1.

Lambda is a setting of the full model alone, in its self-critical phase: the warm start before it is the same
for all. With 0, only the sequence decoder and the encoder go on learning, and the set decoder stays as the
warm start left it. With 1, only the policy gradient of the set decoder is left: the encoder follows it, and
the sequence decoder learns nothing more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from seq2set.experiments.analysis.comparison import Comparison, Summary, best_on_validation, compare_rows
from seq2set.experiments.analysis.margins import Margin, Pair, margin_table, margins
from seq2set.experiments.analysis.published import LAMBDAS
from seq2set.experiments.cells.cell import Cell, CellResult
from seq2set.experiments.cells.plan import Variant, all_cells, rows_of, variant
from seq2set.experiments.options import (
    Options,
    own_shares,
    refuse_other_models,
    refuse_without_self_critical_phase,
)
from seq2set.experiments.render.comparison_tables import paper_table
from seq2set.experiments.render.plots import STYLES, UNKNOWN, Axis, Curve, Plot, curve_plot
from seq2set.experiments.render.report import Section, every_training

TITLE = "The trade-off between the two decoders"

DEFAULT = (0.0, 0.2, 0.5, 0.8, 0.95, 1.0)
"""The values of lambda that are tried unless others are named."""

_PREFIX = "λ = "


def cells(options: Options) -> list[Cell]:
    """Return a row for each lambda; the preset's own is shared with other experiments."""
    return all_cells(_variants(options))


def _variants(options: Options) -> list[Variant]:
    refuse_other_models(options, ("seq2set",), "only seq2set has two decoders to weigh")
    refuse_without_self_critical_phase(options, "objective.lambda")
    return [
        variant(options, "seq2set", f"lambda-{value:g}", _title(value), f"objective.lambda={value}")
        for value in own_shares(options, "lambdas", DEFAULT)
    ]


def _title(value: float) -> str:
    return f"{_PREFIX}{value:g}"


def sections(options: Options, results: Sequence[CellResult]) -> list[Section]:
    """Draw micro-F1 over lambda, and compare all with the one that validation would choose."""
    comparison = compare_rows(rows_of(_variants(options), results))
    chosen = best_on_validation(comparison.summaries)
    assert chosen is not None  # there is at least one result
    others = [Pair(one, chosen) for one in comparison.summaries if one is not chosen]
    found = margins(others)
    table = replace(paper_table(comparison), rows_are="Lambda")
    tables = [margin_table("margins", "Against the lambda that validation would choose", found, {})]
    return [
        Section(
            "Lambda",
            "How much does it matter how the losses of the two decoders are weighed?",
            (*_sentences(comparison, chosen, found), *_meanings(comparison)),
            (table, *(tables if found else [])),
            (_curve(comparison),),
        ),
        every_training(results),
    ]


def _sentences(comparison: Comparison, chosen: Summary, found: Sequence[Margin]) -> list[str]:
    ordered = sorted(comparison.summaries, key=_f1)
    said = [
        f"Validation would choose {chosen.row} (micro-F1 {chosen.validation['micro_f1'].mean:.3f} there, "
        f"{_f1(chosen):.3f} on {chosen.results[0].facts['split']}).",
    ]
    if found:
        spread = 100 * (_f1(ordered[-1]) - _f1(ordered[0]))
        said.append(
            f"Between the highest ({ordered[-1].row}) and the lowest ({ordered[0].row}) lie {spread:.1f} "
            f"points; {_worse(chosen, found)}."
        )
    papers = " and ".join(f"{value:.2f} on {corpus}" for corpus, value in LAMBDAS.items())
    return [*said, f"The paper chose {papers}, and shows no curve."]


def _worse(chosen: Summary, found: Sequence[Margin]) -> str:
    if any(one.compared.difference.few for one in found):
        return "fewer than three seeds allow no test of how they differ"
    worse = sum(one.side < 0 for one in found)
    return f"{worse} of the {len(found)} others are significantly worse than {chosen.row}"


def _meanings(comparison: Comparison) -> list[str]:
    """Say what the ends mean, where they are there."""
    rows = {one.row for one in comparison.summaries}
    meanings = {
        0.0: "With λ = 0 the set decoder stays as the warm start left it; only the sequence decoder and the "
        "encoder go on learning.",
        1.0: "With λ = 1 only the policy gradient is left: the sequence decoder learns nothing more.",
    }
    return [meaning for value, meaning in meanings.items() if _title(value) in rows]


def _curve(comparison: Comparison) -> Plot:
    """Draw micro-F1 on the split and on validation; lambdas stand side by side, for most lie close to 1."""
    rows, split = comparison.summaries, comparison.summaries[0].results[0].facts["split"]
    curves = [
        Curve(split, [one.metrics["micro_f1"] for one in rows], STYLES["seq2set"]),
        Curve("validation", [one.validation["micro_f1"] for one in rows], UNKNOWN),
    ]
    several = any(len(one.results) > 1 for one in rows)
    band = "; the bands are a deviation over seeds wide on either side" if several else ""
    axis = Axis("λ", range(len(rows)), [one.row.removeprefix(_PREFIX) for one in rows])
    return curve_plot("lambda", f"Micro-F1 of Seq2Set over λ{band}.", curves, axis, "micro-F1")


def _f1(summary: Summary) -> float:
    return summary.metrics["micro_f1"].mean
