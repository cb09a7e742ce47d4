"""What comparing rewards came to, a sentence a model."""

from __future__ import annotations

from collections.abc import Sequence

from seq2set.experiments.lineup import title_of
from seq2set.experiments.margins import Margin, signed
from seq2set.experiments.summaries import Summary
from seq2set.experiments.wording import parted
from seq2set.metrics import is_better

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
    return parted(told)


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
    return parted(
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
