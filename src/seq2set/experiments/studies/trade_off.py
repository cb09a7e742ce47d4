"""The trade-off lambda of the paper's objective, (1 - lambda) L(phi) + lambda L(theta), from 0 to 1.

Lambda is a setting of the full model alone, in its self-critical phase: the warm start before it is the same
for all. With 0, only the sequence decoder and the encoder go on learning, and the set decoder stays as the
warm start left it. With 1, only the policy gradient of the set decoder is left: the encoder follows it, and
the sequence decoder learns nothing more.
"""

from __future__ import annotations

from collections.abc import Iterator

from seq2set.config.catalog import MODELS, Style
from seq2set.experiments.analysis.comparison import Comparison, Summary, find_best_on_validation
from seq2set.experiments.analysis.margins import Pair
from seq2set.experiments.analysis.published import LAMBDAS
from seq2set.experiments.options import Options, refuse_other_models, refuse_without_self_critical_phase
from seq2set.experiments.render.plots import Line, Plot, Series, note_shades, plot_series
from seq2set.experiments.studies.study import MarginTable, Study, StudyData, Variant, make_variant

_MEANINGS = {
    "0": "With λ = 0 the set decoder stays as the warm start left it; only the sequence decoder and the "
    "encoder go on learning.",
    "1": "With λ = 1 only the policy gradient is left: the sequence decoder learns nothing more.",
}

_VALIDATION_STYLE = Style("#666666", ":", ".")


def _make_variants(options: Options) -> list[Variant]:
    """Return a row for each lambda; the preset's own is shared with other studies."""
    refuse_other_models(options, ("seq2set",), "only seq2set has two decoders to weigh")
    refuse_without_self_critical_phase(options, "objective.lambda")
    return [
        make_variant(
            options, "seq2set", f"{value:g}", f"objective.lambda={value}", folder=f"lambda-{value:g}"
        )
        for value in options.read("lambdas")
    ]


def _choose(comparison: Comparison) -> Summary:
    chosen = find_best_on_validation(comparison.summaries)
    assert chosen is not None  # there is at least one result
    return chosen


def _pair_with_chosen(comparison: Comparison) -> list[Pair]:
    chosen = _choose(comparison)
    return [Pair(one, chosen) for one in comparison.summaries if one is not chosen]


def _remark(data: StudyData) -> Iterator[str]:
    chosen, found = _choose(data.comparison), data.margins["margins"]
    split = chosen.results[0].facts["split"]
    yield (
        f"Validation would choose {chosen.title} (micro-F1 {chosen.validation['micro_f1'].mean:.3f} there, "
        f"{_get_f1(chosen):.3f} on {split})."
    )
    if found:
        low, *_, high = sorted(data.comparison.summaries, key=_get_f1)
        spread, worse = 100 * (_get_f1(high) - _get_f1(low)), sum(one.side < 0 for one in found)
        verdict = f"{worse} of the {len(found)} others are significantly worse than {chosen.title}"
        if any(one.chance is None for one in found):
            verdict = "fewer than three seeds allow no test of how they differ"
        yield (
            f"Between the highest ({high.title}) and the lowest ({low.title}) lie {spread:.1f} points; "
            f"{verdict}."
        )
    papers = " and ".join(f"{value:.2f} on {corpus}" for corpus, value in LAMBDAS.items())
    yield f"The paper chose {papers}, and shows no curve."
    done = {one.key.variant for one in data.comparison.summaries}
    yield from (meaning for variant, meaning in _MEANINGS.items() if variant in done)


def _plot(comparison: Comparison) -> Plot:
    """Draw micro-F1 on the split and on validation; lambdas stand side by side, for most lie close to 1."""
    rows, split = comparison.summaries, comparison.summaries[0].results[0].facts["split"]
    lines = [
        Line(split, MODELS["seq2set"].style, [one.metrics["micro_f1"] for one in rows]),
        Line("validation", _VALIDATION_STYLE, [one.validation["micro_f1"] for one in rows]),
    ]
    series = Series(lines, "λ", [one.key.variant for one in rows])
    return plot_series("lambda", f"Micro-F1 of Seq2Set over λ.{note_shades(rows)}", series)


def _get_f1(summary: Summary) -> float:
    return summary.metrics["micro_f1"].mean


STUDY = Study(
    title="The trade-off between the two decoders",
    variants=_make_variants,
    name_row=lambda key: f"λ = {key.variant}",
    question=("Lambda", "How much does it matter how the losses of the two decoders are weighed?"),
    remarks=_remark,
    margins=(MarginTable("margins", "Against the lambda that validation would choose", _pair_with_chosen),),
    plot=_plot,
    rows_are="Lambda",
)
