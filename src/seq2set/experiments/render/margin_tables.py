"""Margins as a table, with the paper's beside them, and how intervals and p are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from seq2set.experiments.analysis.comparison import Summary
from seq2set.experiments.analysis.estimates import SIGNIFICANT
from seq2set.experiments.analysis.margins import Contrast, Margin
from seq2set.experiments.render.tables import Chance, Column, Entry, Quantity, Range, Row, Table

METHOD = (
    "Intervals (95 %) and p are by t on the variance over {units} and over seeds (docs/experiments.md); p "
    "two-sided, Holm-adjusted for {tests}; * below {level}."
)


def make_margin_table(
    name: str, title: str, found: Sequence[Margin], published: Mapping[str, Sequence[float | None]]
) -> Table:
    """Return a row per margin, with columns of points that the paper has, an entry per margin."""
    heads = ("points of F1", "95 % of it", "p", "seeds", *published)
    rows = [
        Row(one.title, (*_margin_entries(one), *(_to_points(column[place]) for column in published.values())))
        for place, one in enumerate(found)
    ]
    tests = sum(one.difference.chance is not None for one in found)
    caption = [
        "Differences in micro-F1, in hundredths.",
        describe_method(tests, [found[0].pair.ours] if found else []),
        "Seeds: trainings of each side; – where a model draws nothing at random and is trained once.",
        *note_few_seeds(found),
    ]
    return Table(name, title, tuple(map(Column, heads)), tuple(rows), " ".join(caption), "Margins")


def _margin_entries(margin: Margin) -> tuple[Entry, ...]:
    chance = margin.difference.chance
    return (
        _to_points(margin.points),
        Range(margin.interval, 1, signed=True),
        None if chance is None else Chance(chance, margin.difference.significant),
        " / ".join(_count_seeds(one) for one in margin.pair),
    )


def _to_points(value: float | None) -> Entry:
    return None if value is None else Quantity(value, 1, signed=True)


def _count_seeds(summary: Summary) -> str:
    return str(len(summary.results)) if summary.f1.random else "–"


def describe_method(tests: int, rows: Sequence[Summary]) -> str:
    """Say how intervals and p are made."""
    units = _describe_units(rows[0]) if rows else "documents"
    if not tests:
        return f"Intervals (95 %) are by t on the variance over {units} and over seeds (docs/experiments.md)."
    counted = f"{tests} test{'s' if tests != 1 else ''}"
    return METHOD.format(units=units, tests=counted, level=SIGNIFICANT)


def _describe_units(summary: Summary) -> str:
    """Name what the variance over documents is taken over."""
    documents, units = summary.results[0].facts["documents"], len(summary.f1.units)
    return (
        f"{documents:,} documents" if units >= documents else f"{units:,} groups of {documents:,} documents"
    )


def note_few_seeds(found: Sequence[Contrast]) -> list[str]:
    """Say what an interval covers where a model has few seeds."""
    if not any(one.few for one in found):
        return []
    return [
        "With fewer than three seeds of a model that draws at random the interval is of these trained "
        "models, and there is no p."
    ]
