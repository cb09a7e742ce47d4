"""Cells of several seeds as one row: means, deviations, intervals, and differences to another row.

Shapes: S seeds, N documents.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from seq2set.errors import InputError
from seq2set.experiments.cells import CellResult
from seq2set.experiments.statistics import Difference, Interval, Spread, bootstrap, compare, holm, spread

SIGNIFICANT = 0.05
"""Below this chance of an accident a difference is spoken of as one."""


@dataclass(frozen=True, eq=False)
class Summary:
    """What the trainings of one row came to."""

    row: str
    results: tuple[CellResult, ...]
    metrics: dict[str, Spread]
    validation: dict[str, Spread]
    intervals: dict[str, Interval]
    counts: npt.NDArray[np.int64]  # (S, N, 3)
    minutes: Spread
    speed: Spread
    """Documents a second"""

    @property
    def model(self) -> str:
        """The name of the row's model."""
        return self.results[0].model


@dataclass(frozen=True)
class Compared:
    """A row against another: their difference in micro-F1, adjusted for the number of tests."""

    difference: Difference
    chance: float
    """The chance of an accident after Holm's adjustment"""

    @property
    def significant(self) -> bool:
        """Whether the difference is hardly an accident."""
        return self.chance < SIGNIFICANT

    @property
    def side(self) -> int:
        """1 where the row is significantly better, -1 where it is worse, 0 where neither can be said."""
        if not self.significant:
            return 0
        return 1 if self.difference.value > 0 else -1


def summarise(
    results: Sequence[CellResult], *, resamples: int, labels: Collection[str] | None = None
) -> list[Summary]:
    """Put the cells of each row together; where labels are named, as if there were no others."""
    refuse_different_documents(results)
    rows = dict.fromkeys(result.row for result in results)
    return [_summary(row, tuple(one for one in results if one.row == row), resamples, labels) for row in rows]


def _summary(
    row: str, results: tuple[CellResult, ...], resamples: int, labels: Collection[str] | None
) -> Summary:
    counts = np.stack([np.stack(one.answers.counts(labels), axis=1) for one in results])  # (S, N, 3)
    names = results[0].answers.names
    kept = len(names) if labels is None else len(set(labels) & set(names))
    return Summary(
        row=row,
        results=results,
        metrics=_spreads([one.answers.metrics(labels) for one in results]),
        validation=_spreads([one.validation for one in results]),
        intervals=bootstrap(counts, kept, resamples=resamples),
        counts=counts,
        minutes=spread([one.seconds / 60 for one in results]),
        speed=spread([one.facts["documents_a_second"] for one in results]),
    )


def against(
    summaries: Sequence[Summary], reference: Summary | None, *, resamples: int
) -> dict[str, Compared]:
    """Compare each row with the reference; nothing where there is none."""
    others = [one for one in summaries if one is not reference] if reference is not None else []
    found = [compare(one.counts, reference.counts, resamples=resamples) for one in others if reference]
    chances = holm([one.chance for one in found])
    triples = zip(others, found, chances, strict=True)
    return {one.row: Compared(difference, chance) for one, difference, chance in triples}


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
