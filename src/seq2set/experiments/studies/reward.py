"""What comparing rewards came to, a sentence a model.

The reward of the self-critical phase: the paper's F1 against others that do not depend on order either.
"""

from __future__ import annotations

from collections.abc import Sequence

from seq2set.config.catalog import REWARDS, is_better
from seq2set.core.text_utils import join_groups
from seq2set.experiments.analysis.comparison import Comparison, Summary, compare_rows
from seq2set.experiments.analysis.margins import Margin, Pair, margin_table, margins, signed
from seq2set.experiments.cells.cell import Cell, CellResult
from seq2set.experiments.cells.plan import Variant, all_cells, rows_of, variant
from seq2set.experiments.model_names import title_of
from seq2set.experiments.options import (
    Options,
    own_names,
    refuse_other_models,
    refuse_without_self_critical_phase,
)
from seq2set.experiments.render.comparison_tables import cost_table, f1_plot, paper_table
from seq2set.experiments.render.report import Section, every_training

_MEASURES = {
    "f1": ("example_f1", "example F1"),
    "hamming": ("hamming_loss", "hamming loss"),
    "micro_f1": ("micro_f1", "micro-F1"),
    "subset_accuracy": ("subset_accuracy", "subset accuracy"),
}
"""The measure that a reward pays for, and its name in print; there is none for `jaccard`."""


def reward_of(summary: Summary) -> str:
    """Return the reward that a row was trained with."""
    return str(summary.results[0].facts["config"]["objective"]["reward"])


def beside_the_papers(found: Sequence[Margin]) -> list[str]:
    """Say for each model which rewards are better than the paper's, which worse, and which neither."""
    by_model: dict[str, list[Margin]] = {}
    for one in found:
        by_model.setdefault(one.pair.ours.model, []).append(one)
    return [_beside_the_papers(model, margins) for model, margins in by_model.items()]


def _beside_the_papers(model: str, found: Sequence[Margin]) -> str:
    told = {
        f"{title_of(model)}, significantly better than {reward_of(found[0].pair.theirs)}": _told(found, 1),
        "significantly worse": _told(found, -1),
        "not significantly different": _told([one for one in found if not one.compared.difference.few], 0),
        "not tested, with fewer than three seeds": _told(
            [one for one in found if one.compared.difference.few], 0
        ),
    }
    return join_groups(told)


def _told(found: Sequence[Margin], side: int) -> list[str]:
    return [f"{reward_of(one.pair.ours)} ({signed(one.points)} points)" for one in found if one.side == side]


def on_their_own_measures(rows: Sequence[Summary]) -> list[str]:
    """Say for each model which rewards come first on the measure that they are made of; no test backs it."""
    said = []
    for model in dict.fromkeys(one.model for one in rows):
        rivals = [one for one in rows if one.model == model]
        if len(rivals) > 1 and any(reward_of(one) in _MEASURES for one in rivals):
            said.append(_on_their_own(title_of(model), rivals))
    return said


def _on_their_own(title: str, rivals: Sequence[Summary]) -> str:
    first, behind = [], []
    for own in rivals:
        if (reward := reward_of(own)) not in _MEASURES:
            continue
        best = _best(reward, rivals, own)
        if best is own:
            first.append(f"{reward} ({_reached(reward, own)})")
        else:
            _, _, score = _reached(reward, best).rpartition(" ")
            behind.append(f"{reward} ({_reached(reward, own)}; {reward_of(best)} {score})")
    return join_groups(
        {f"{title}, first on the measure that it rewards (not tested)": first, "behind another on it": behind}
    )


def _best(reward: str, rivals: Sequence[Summary], own: Summary) -> Summary:
    """Return the row that is best on what a reward is made of: its own where none is better."""
    name, _ = _MEASURES[reward]
    best = own
    for one in rivals:
        best = one if is_better(one.metrics[name].mean, best.metrics[name].mean, name) else best
    return best


def _reached(reward: str, row: Summary) -> str:
    name, title = _MEASURES[reward]
    return f"{title} {row.metrics[name].mean:.{4 if name == 'hamming_loss' else 3}f}"


TITLE = "The paper's reward against others"

_PAPERS = "f1"


def cells(options: Options) -> list[Cell]:
    """Return each model with each reward; the preset's own is shared with other experiments."""
    return all_cells(_variants(options))


def _variants(options: Options) -> list[Variant]:
    refuse_other_models(options, ("seq2set-simp", "seq2set"), "the others are not trained by a reward")
    refuse_without_self_critical_phase(options, "objective.reward")
    return [
        variant(options, model, f"reward-{name}", _title(model, name), f"objective.reward={name}")
        for model in options.models
        for name in own_names(options, "rewards", REWARDS)
    ]


def _title(model: str, reward: str) -> str:
    return f"{title_of(model)}, {reward}"


def sections(options: Options, results: Sequence[CellResult]) -> list[Section]:
    """Compare the rewards on all measures, and each with the paper's."""
    comparison = compare_rows(rows_of(_variants(options), results))
    found = margins(_pairs(comparison))
    beside = [margin_table("margins", "Other rewards over the paper's", found, {})] if found else []
    return [
        Section(
            "Rewards",
            "Is the F1 of each document, which the paper rewards a sampled set by, the best reward?",
            tuple(beside_the_papers(found)),
            (paper_table(comparison), *beside),
            (f1_plot(comparison),),
        ),
        Section(
            "Other measures and cost",
            "Does a reward pay on the measure that it is made of?",
            tuple(on_their_own_measures(comparison.summaries)),
            (cost_table(comparison),),
        ),
        every_training(results),
    ]


def _pairs(comparison: Comparison) -> list[Pair]:
    """Pair each reward with the paper's on the same model."""
    papers = {one.model: one for one in comparison.summaries if reward_of(one) == _PAPERS}
    return [
        Pair(one, papers[one.model])
        for one in comparison.summaries
        if one.model in papers and reward_of(one) != _PAPERS
    ]
