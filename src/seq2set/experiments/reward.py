"""The reward of the self-critical phase: the paper's F1 against others that do not depend on order either."""

from __future__ import annotations

from collections.abc import Sequence

from seq2set.experiments.cells import Cell, CellResult
from seq2set.experiments.comparison import Comparison, compare_rows
from seq2set.experiments.comparison_tables import cost_table, f1_plot, paper_table
from seq2set.experiments.lineup import title_of
from seq2set.experiments.margins import Pair, margin_table, margins
from seq2set.experiments.options import Options
from seq2set.experiments.own_options import (
    own_names,
    refuse_other_models,
    refuse_without_self_critical_phase,
)
from seq2set.experiments.reward_verdicts import beside_the_papers, on_their_own_measures, reward_of
from seq2set.experiments.sections import Section, every_training
from seq2set.experiments.variants import Variant, all_cells, rows_of, variant
from seq2set.objectives.rewards import REWARDS

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
