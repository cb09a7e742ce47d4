"""The reward of the self-critical phase: the paper's F1 against others that do not depend on order either."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from seq2set.config.catalog import METRICS, MODELS, REWARDS, is_better
from seq2set.core.text_utils import join_groups
from seq2set.experiments.analysis.comparison import Comparison, Summary
from seq2set.experiments.analysis.margins import Pair, format_points
from seq2set.experiments.options import Options, refuse_other_models, refuse_without_self_critical_phase
from seq2set.experiments.render.comparison_tables import make_cost_table
from seq2set.experiments.render.report import Section
from seq2set.experiments.studies.compare import group_by_side
from seq2set.experiments.studies.study import MarginTable, Study, StudyData, Variant, make_variant

_PAPERS = "f1"


def _make_variants(options: Options) -> list[Variant]:
    """Return each model with each reward; the preset's own is shared with other studies."""
    refuse_other_models(options, ("seq2set-simp", "seq2set"), "the others are not trained by a reward")
    refuse_without_self_critical_phase(options, "objective.reward")
    return [
        make_variant(options, model, name, f"objective.reward={name}", folder=f"reward-{name}")
        for model in options.models
        for name in options.read("rewards") or REWARDS
    ]


def _pair_with_papers(comparison: Comparison) -> list[Pair]:
    found = [(one, comparison.find(one.model, _PAPERS)) for one in comparison.summaries]
    return [Pair(one, papers) for one, papers in found if papers is not None and one is not papers]


def _describe_margins(data: StudyData) -> Iterator[str]:
    """Say for each model which rewards are better than the paper's, which worse, and which neither."""
    for model, found in groupby(data.margins["margins"], key=lambda one: one.pair.ours.model):
        shown = [(one, f"{one.pair.ours.key.variant} ({format_points(one.points)} points)") for one in found]
        better = f"{MODELS[model].title}, significantly better than {_PAPERS}"
        yield group_by_side(shown, better, "significantly worse")


def _show_metrics(data: StudyData) -> list[Section]:
    by_model = groupby(data.comparison.summaries, key=lambda one: one.model)
    rivals = {model: list(rows) for model, rows in by_model}
    told = {model: rows for model, rows in rivals.items() if len(rows) > 1 and any(map(_find_metric, rows))}
    asked = "Does a reward pay on the measure that it is made of?"
    found = tuple(_describe_own_metrics(model, rows) for model, rows in told.items())
    return [Section("Other measures and cost", asked, found, (make_cost_table(data.comparison),))]


def _describe_own_metrics(model: str, rows: Sequence[Summary]) -> str:
    """Say which rewards come first on the metric that they pay for; no test backs it."""
    first, behind = [], []
    for own in rows:
        if not (name := _find_metric(own)):
            continue
        reached = f"{own.key.variant} ({METRICS[name].title} {_format_metric(own, name)}"
        best = own  # where none is better
        for one in rows:
            best = one if is_better(one.metrics[name].mean, best.metrics[name].mean, name) else best
        if best is own:
            first.append(f"{reached})")
        else:
            behind.append(f"{reached}; {best.key.variant} {_format_metric(best, name)})")
    head = f"{MODELS[model].title}, first on the measure that it rewards (not tested)"
    return join_groups({head: first, "behind another on it": behind})


def _find_metric(row: Summary) -> str:
    return REWARDS[row.key.variant].metric


def _format_metric(row: Summary, name: str) -> str:
    return f"{row.metrics[name].mean:.{METRICS[name].digits}f}"


STUDY = Study(
    title="The paper's reward against others",
    variants=_make_variants,
    question=(
        "Rewards",
        "Is the F1 of each document, which the paper rewards a sampled set by, the best reward?",
    ),
    remarks=_describe_margins,
    margins=(MarginTable("margins", "Other rewards over the paper's", _pair_with_papers),),
    more=_show_metrics,
)
