"""Rows of trainings: means, deviations and intervals over seeds, and differences between rows.

A row is a model in one of its variants; its trainings differ in their seeds alone. Rows are told apart by
their keys. Their titles are for print.

Shapes: S seeds, N documents.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from seq2set.config import validate
from seq2set.config.catalog import MODELS
from seq2set.core.errors import InputError
from seq2set.experiments.analysis.estimates import (
    FEWEST_SEEDS,
    SIGNIFICANT,
    Estimate,
    Interval,
    Spread,
    adjust_by_holm,
    compute_spread,
)
from seq2set.experiments.analysis.statistics import Floats, MeasuredRatio, combine, compute_f1_parts
from seq2set.experiments.cells.cell import CellResult
from seq2set.experiments.options import is_deterministic


class RowKey(NamedTuple):
    """What tells a row from others: its model, and which of the model's variants it is."""

    model: str
    variant: str = ""


class RowResults(NamedTuple):
    """The finished trainings of a row."""

    key: RowKey
    title: str
    results: tuple[CellResult, ...]


@dataclass(frozen=True, eq=False)
class Summary:
    """What the trainings of one row came to."""

    key: RowKey
    title: str
    results: tuple[CellResult, ...]
    metrics: dict[str, Spread]
    validation: dict[str, Spread]
    f1: MeasuredRatio
    """The micro-F1 of each training, document by document"""
    minutes: Spread
    speed: Spread
    """Documents per second"""

    @property
    def model(self) -> str:
        """The name of the row's model."""
        return self.key.model

    @property
    def is_baseline(self) -> bool:
        """Whether the model is none of the paper's own."""
        return MODELS[self.model].is_baseline

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
class Difference:
    """A difference, or a difference of differences, in micro-F1, adjusted for the number of tests."""

    estimate: Estimate
    chance: float | None
    """p after Holm's adjustment; None where a model that draws at random has too few seeds"""

    @property
    def significant(self) -> bool:
        """Whether p is small enough."""
        return self.chance is not None and self.chance < SIGNIFICANT

    @property
    def side(self) -> int:
        """1 where the row is significantly better, -1 where it is worse, 0 where neither can be said."""
        return int(np.sign(self.estimate.value)) if self.significant else 0


@dataclass(frozen=True)
class Comparison:
    """The rows of a table, and what they are compared with."""

    summaries: Sequence[Summary]
    reference: Summary | None
    """The best baseline on validation, where there is a baseline"""
    differences: Mapping[RowKey, Difference]
    """Each other row against it"""

    @property
    def ruled(self) -> list[bool]:
        """Say above which rows a line is drawn: where the baselines end, as in the paper."""
        kinds = [one.is_baseline for one in self.summaries]
        return [before and not kind for before, kind in zip([False, *kinds], kinds, strict=False)]

    def find(self, model: str, variant: str = "") -> Summary | None:
        """Return a row, where its trainings are done."""
        return next((one for one in self.summaries if one.key == (model, variant)), None)


def compare_rows(rows: Sequence[RowResults], *, has_reference: bool = True) -> Comparison:
    """Compare rows with the best baseline, unless they have no reference."""
    summaries = summarize_rows(rows)
    reference = find_best_on_validation([one for one in summaries if one.is_baseline and has_reference])
    return Comparison(summaries, reference, compare_with(reference, summaries))


def summarize_rows(rows: Sequence[RowResults], *, labels: Collection[str] | None = None) -> list[Summary]:
    """Put the trainings of each row together; where labels are named, as if there were no others."""
    results = [one for row in rows for one in row.results]
    refuse_different_documents(results)
    units = list_units(results)
    return [_summarize(row, labels, units) for row in rows]


def _summarize(row: RowResults, labels: Collection[str] | None, units: Sequence[str]) -> Summary:
    counts = [np.stack(one.answers.counts(labels), axis=1) for one in row.results]  # (N, 3) each
    return Summary(
        *row,
        metrics=_spread_metrics([one.answers.metrics(labels) for one in row.results]),
        validation=_spread_metrics([one.validation for one in row.results]),
        f1=measure_ratio(row.results, [compute_f1_parts(one) for one in counts], units),
        minutes=compute_spread([one.seconds / 60 for one in row.results]),
        speed=compute_spread([one.facts["documents_per_second"] for one in row.results]),
    )


def _spread_metrics(metrics: Sequence[dict[str, float]]) -> dict[str, Spread]:
    return {name: compute_spread([one[name] for one in metrics]) for name in metrics[0]}


def list_units(results: Sequence[CellResult]) -> Sequence[str]:
    """Return what each document counts under: its group, or itself where it has none.

    Cells of one corpus have the same documents; older ones do not tell the groups.
    """
    ids = results[0].answers.ids
    told = (one.answers.groups for one in results)
    groups = next((one for one in told if one is not None), [None] * len(ids))
    return [f"group {group}" if group else f"document {own}" for group, own in zip(groups, ids, strict=True)]


def measure_ratio(
    results: Sequence[CellResult], parts: Sequence[Floats], units: Sequence[str]
) -> MeasuredRatio:
    """Return a ratio of sums over the documents of a row's cells; what is divided and by what are (N, 2)."""
    return MeasuredRatio.of(
        np.stack(parts),
        units,
        [str(one.folder) for one in results],
        random=not is_deterministic(validate(results[0].facts["config"])),
    )


def adjust_differences(estimates: Sequence[Estimate]) -> list[Difference]:
    """Test differences that stand side by side."""
    chances = adjust_by_holm([one.compute_p() for one in estimates])
    return [Difference(*one) for one in zip(estimates, chances, strict=True)]


def compare_with(reference: Summary | None, summaries: Sequence[Summary]) -> dict[RowKey, Difference]:
    """Compare each other row with the reference; nothing where there is none."""
    if reference is None:
        return {}
    others = [one for one in summaries if one is not reference]
    found = adjust_differences([combine([(1.0, one.f1), (-1.0, reference.f1)]) for one in others])
    return dict(zip([one.key for one in others], found, strict=True))


def find_best_on_validation(summaries: Sequence[Summary]) -> Summary | None:
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
