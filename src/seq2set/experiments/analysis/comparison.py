"""Cells of several seeds as one row: means, deviations, intervals, and differences to another row.

Shapes: S seeds, N documents.

Rows side by side: what each came to, the best baseline, and every row's difference to it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seq2set.config import validate
from seq2set.core.errors import InputError
from seq2set.experiments.analysis.statistics import (
    FEWEST_SEEDS,
    SIGNIFICANT,
    Estimate,
    Floats,
    Interval,
    Measured,
    Spread,
    combine,
    f1_parts,
    holm,
    spread,
)
from seq2set.experiments.cells.cell import CellResult
from seq2set.experiments.model_names import baselines, is_deterministic


@dataclass(frozen=True, eq=False)
class Summary:
    """What the trainings of one row came to."""

    row: str
    results: tuple[CellResult, ...]
    metrics: dict[str, Spread]
    validation: dict[str, Spread]
    f1: Measured
    """The micro-F1 of each training, document by document"""
    minutes: Spread
    speed: Spread
    """Documents a second"""

    @property
    def model(self) -> str:
        """The name of the row's model."""
        return self.results[0].model

    @property
    def few(self) -> bool:
        """Whether the model draws at random and was trained with too few seeds for a test."""
        return self.f1.random and len(self.results) < FEWEST_SEEDS

    @cached_property
    def interval(self) -> Interval:
        """The 95 % interval of micro-F1 over documents and seeds."""
        low, high = found = self.f1.estimate.interval
        if not np.isfinite(found).all():
            return found
        return Interval(max(low, 0.0), min(high, 1.0))


@dataclass(frozen=True)
class Compared:
    """A difference, or a difference of differences, in micro-F1, adjusted for the number of tests."""

    difference: Estimate
    chance: float | None
    """p after Holm's adjustment; None where a model that draws at random has too few seeds"""

    @property
    def significant(self) -> bool:
        """Whether p is small enough."""
        return self.chance is not None and self.chance < SIGNIFICANT

    @property
    def side(self) -> int:
        """1 where the row is significantly better, -1 where it is worse, 0 where neither can be said."""
        if not self.significant:
            return 0
        return 1 if self.difference.value > 0 else -1


def summarise(results: Sequence[CellResult], *, labels: Collection[str] | None = None) -> list[Summary]:
    """Put the cells of each row together; where labels are named, as if there were no others."""
    refuse_different_documents(results)
    rows = dict.fromkeys(result.row for result in results)
    units = units_of(results)
    return [_summary(row, tuple(one for one in results if one.row == row), labels, units) for row in rows]


def _summary(
    row: str, results: tuple[CellResult, ...], labels: Collection[str] | None, units: Sequence[str]
) -> Summary:
    counts = [np.stack(one.answers.counts(labels), axis=1) for one in results]  # (N, 3) each
    return Summary(
        row=row,
        results=results,
        metrics=_spreads([one.answers.metrics(labels) for one in results]),
        validation=_spreads([one.validation for one in results]),
        f1=measured(results, [f1_parts(one) for one in counts], units),
        minutes=spread([one.seconds / 60 for one in results]),
        speed=spread([one.facts["documents_per_second"] for one in results]),
    )


def units_of(results: Sequence[CellResult]) -> Sequence[str]:
    """Return what each document counts under: its group, or itself where it has none.

    Cells of one corpus have the same documents; older ones do not tell the groups.
    """
    ids = results[0].answers.ids
    told = (one.answers.groups for one in results)
    groups = next((one for one in told if one is not None), [None] * len(ids))
    return [f"group {group}" if group else f"document {own}" for group, own in zip(groups, ids, strict=True)]


def measured(results: Sequence[CellResult], parts: Sequence[Floats], units: Sequence[str]) -> Measured:
    """Return a ratio of sums over the documents of a row's cells; what is divided and by what are (N, 2)."""
    return Measured.of(
        np.stack(parts),
        units,
        [str(one.folder) for one in results],
        random=not is_deterministic(validate(results[0].facts["config"])),
    )


def compared(differences: Sequence[Estimate]) -> list[Compared]:
    """Test differences that stand side by side."""
    chances = holm([one.chance() for one in differences])
    return [Compared(*one) for one in zip(differences, chances, strict=True)]


def against(summaries: Sequence[Summary], reference: Summary | None) -> dict[str, Compared]:
    """Compare each row with the reference; nothing where there is none."""
    if reference is None:
        return {}
    others = [one for one in summaries if one is not reference]
    found = compared([combine([(1.0, one.f1), (-1.0, reference.f1)]) for one in others])
    return dict(zip([one.row for one in others], found, strict=True))


def best_on_validation(summaries: Sequence[Summary]) -> Summary | None:
    """Return the row with the highest micro-F1 on validation, where there is any row."""
    return max(summaries, key=lambda one: one.validation["micro_f1"].mean, default=None)


def refuse_different_documents(results: Sequence[CellResult]) -> None:
    """Refuse cells that cannot be compared: trained on another corpus, or measured on other documents."""
    first = results[0]
    for other in results[1:]:
        same_corpus = other.facts["corpus"]["fingerprint"] == first.facts["corpus"]["fingerprint"]
        if not same_corpus or other.answers.ids != first.answers.ids:
            raise InputError(
                f"the cells {first.folder} and {other.folder} were measured on different documents; "
                "remove the older one, or use another --out"
            )


def _spreads(metrics: Sequence[dict[str, float]]) -> dict[str, Spread]:
    return {name: spread([one[name] for one in metrics]) for name in metrics[0]}


@dataclass(frozen=True)
class Comparison:
    """The rows of a table, and what they are compared with."""

    summaries: Sequence[Summary]
    reference: Summary | None
    """The best baseline on validation, where there is a baseline"""
    compared: Mapping[str, Compared]
    """Each other row against it"""

    @property
    def ruled(self) -> list[bool]:
        """Say above which rows a line is drawn: where the baselines end, as in the paper."""
        others = [one.model in baselines() for one in self.summaries]
        return [place > 0 and others[place - 1] and not one for place, one in enumerate(others)]


def compare_rows(results: Sequence[CellResult], *, labels: Collection[str] | None = None) -> Comparison:
    """Compare the rows of finished cells; where labels are named, as if there were no others."""
    summaries = summarise(results, labels=labels)
    reference = best_on_validation([one for one in summaries if one.model in baselines()])
    return Comparison(summaries, reference, against(summaries, reference))
