"""A comparison in sentences: who is best, and whether the difference to the best baseline is one."""

from __future__ import annotations

from collections.abc import Mapping

from seq2set.config import validated
from seq2set.experiments.comparison import Comparison
from seq2set.experiments.lineup import is_deterministic, title_of
from seq2set.experiments.summaries import Compared, Summary
from seq2set.experiments.tables import Chance, Quantity, Range, quantity
from seq2set.experiments.wording import listed, parted


def verdicts(comparison: Comparison) -> list[str]:
    """Say what came out, a sentence a finding."""
    top = max(comparison.summaries, key=lambda one: one.metrics["micro_f1"].mean)
    reached = quantity(top.metrics["micro_f1"]).text()
    interval = Range(top.interval).text()
    says = "has the highest micro-F1:" if len(comparison.summaries) > 1 else "reaches a micro-F1 of"
    found = [f"{title_of(top.row)} {says} {reached} (95 % interval {interval})."]
    if (reference := comparison.reference) is not None:
        value = reference.validation["micro_f1"].mean
        found.append(
            f"The best baseline on validation is {title_of(reference.row)} (micro-F1 {value:.3f} there)."
        )
        found += _beside(reference, comparison.compared)
    return found + _trained_once(comparison)


def _beside(reference: Summary, compared: Mapping[str, Compared]) -> list[str]:
    """Say which rows are better than another, which worse, and which neither; a table has the rest."""
    if len(compared) < 2:
        return [_verdict(row, reference, one) for row, one in compared.items()]
    tested = {row: one for row, one in compared.items() if one.chance is not None}
    untested = {row: one for row, one in compared.items() if one.chance is None}
    told = {
        "Significantly above it": _told(tested, 1),
        "significantly below it": _told(tested, -1),
        "not significantly different": _told(tested, 0),
        "not tested, with fewer than three seeds": _told(untested, 0),
    }
    return [parted(told)]


def _told(compared: Mapping[str, Compared], side: int) -> list[str]:
    differences = {row: one.difference.value for row, one in compared.items() if one.side == side}
    return [f"{title_of(row)} ({Quantity(value, signed=True).text()})" for row, value in differences.items()]


def _verdict(row: str, reference: Summary, compared: Compared) -> str:
    value, interval = compared.difference.value, compared.difference.interval
    side = "above" if value >= 0 else "below"
    lies = (
        f"{title_of(row)} lies {abs(value):.3f} {side} {title_of(reference.row)} "
        f"(95 % interval of the difference {Range(interval, signed=True).text()}"
    )
    if compared.chance is None:
        return f"{lies}); it is not tested, with fewer than three seeds."
    chance = Chance(compared.chance, False).text()
    judged = "a significant difference" if compared.significant else "not significant"
    return f"{lies}, p {chance if chance.startswith('<') else f'= {chance}'}), {judged}."


def _trained_once(comparison: Comparison) -> list[str]:
    """Say which rows draw nothing at random, where there are any."""
    settings = {one.row: validated(one.results[0].facts["config"]) for one in comparison.summaries}
    names = [title_of(row) for row, config in settings.items() if is_deterministic(config)]
    verb = "draws" if len(names) == 1 else "draw"
    return [f"{listed(names)} {verb} nothing at random: one training stands for every seed."] if names else []
