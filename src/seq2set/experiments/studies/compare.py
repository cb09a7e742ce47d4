"""The paper's comparison on any corpus: every model, several seeds, and a test against the best baseline."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from seq2set.core.text_utils import join_groups, join_names
from seq2set.experiments.analysis.comparison import Comparison, Difference, Summary
from seq2set.experiments.analysis.margins import NOT_TESTED
from seq2set.experiments.render.comparison_tables import make_cost_table
from seq2set.experiments.render.report import Section
from seq2set.experiments.render.tables import Chance, Quantity, Range, to_quantity
from seq2set.experiments.studies.study import Study, StudyData, make_plain_variants

FEW = 0.25
"""Where fewer of the documents have more than one label, an order of labels has little to say."""


def describe_comparison(comparison: Comparison) -> list[str]:
    """Say what came out, a sentence per finding."""
    shown = {one.key: to_quantity(one.metrics["micro_f1"]).text() for one in comparison.summaries}
    top = max(comparison.summaries, key=lambda one: one.metrics["micro_f1"].mean)
    equal = [one.title for one in comparison.summaries if shown[one.key] == shown[top.key]]
    says = "reaches a micro-F1 of" if len(shown) == 1 else "has the highest micro-F1:"
    says = "share the highest micro-F1:" if len(equal) > 1 else says
    where = f" of {top.title}" if len(equal) > 1 else ""
    interval = Range(top.interval).text()
    found = [f"{join_names(equal)} {says} {shown[top.key]} (95 % interval{where} {interval})."]
    if (reference := comparison.reference) is not None:
        value = reference.validation["micro_f1"].mean
        found.append(f"The best baseline on validation is {reference.title} (micro-F1 {value:.3f} there).")
        found += _describe_differences(comparison, reference)
    if names := [one.title for one in comparison.summaries if not one.f1.random]:
        verb = "is" if len(names) == 1 else "are"
        found.append(f"{join_names(names)} {verb} deterministic: one run covers all seeds.")
    return found


def _describe_differences(comparison: Comparison, reference: Summary) -> list[str]:
    """Say which rows are better than the reference, which worse, and which neither; a table has the rest."""
    found = [(one, comparison.differences[one.key]) for one in comparison.summaries if one is not reference]
    if len(found) < 2:
        return [_describe_difference(row, reference, difference) for row, difference in found]
    shown = [(one, f"{row.title} ({Quantity(one.estimate.value, signed=True).text()})") for row, one in found]
    return [group_by_side(shown, "Significantly above it", "significantly below it")]


def group_by_side(found: Iterable[tuple[Difference, str]], above: str, below: str) -> str:
    """Say of which differences, each with its text, it is sure on which side they lie, and of which not."""
    sides = {1: above, -1: below, 0: "not significantly different", None: NOT_TESTED}
    groups: dict[str, list[str]] = {head: [] for head in sides.values()}
    for one, text in found:
        groups[sides[None if one.chance is None else one.side]].append(text)
    return join_groups(groups)


def _describe_difference(row: Summary, reference: Summary, difference: Difference) -> str:
    value, interval = difference.estimate.value, difference.estimate.interval
    side = "above" if value >= 0 else "below"
    lies = (
        f"{row.title} lies {abs(value):.3f} {side} {reference.title} "
        f"(95 % interval of the difference {Range(interval, signed=True).text()}"
    )
    if difference.chance is None:
        return f"{lies}); it is not tested, with fewer than three seeds."
    chance = Chance(difference.chance, False).text()
    verdict = "a significant difference" if difference.significant else "not significant"
    return f"{lies}, p {chance if chance.startswith('<') else f'= {chance}'}), {verdict}."


def note_single_labels(comparison: Comparison) -> list[str]:
    """Say that order can hardly matter, where few documents have labels to put in order."""
    sizes = np.diff(comparison.summaries[0].results[0].answers.actual.ends)
    share = float((sizes > 1).mean())
    if share >= FEW:
        return []
    return [
        f"Only {100 * share:.0f} % of the documents have more than one label ({sizes.mean():.2f} per "
        "document; the paper's corpora have 3.24 and 2.41), so that the order of labels can hardly matter "
        "here."
    ]


def show_other_metrics(data: StudyData) -> list[Section]:
    """Show what the paper's table has no room for."""
    asked = "What do measures say that weigh all labels or all documents alike, and what does a model cost?"
    return [Section("Other measures and cost", asked, tables=(make_cost_table(data.comparison),))]


STUDY = Study(
    title="How the models compare",
    variants=make_plain_variants,
    question=(
        "Results",
        "Which model gives the best sets of labels on {corpus}, and is it really better than the rest?",
    ),
    remarks=lambda data: describe_comparison(data.comparison),
    more=show_other_metrics,
)
