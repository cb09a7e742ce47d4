"""What the verbs show in a terminal: progress bars and errors on standard error, results as tables."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from seq2set.core.progress import Advance, StderrProgress
from seq2set.core.text_utils import count_things, show_controls

if TYPE_CHECKING:
    from seq2set.evaluation.results import Report
    from seq2set.inference.predictor import Prediction
    from seq2set.models.predictions import Suggestion
    from seq2set.text.reasons import Evidence


class RichProgress(StderrProgress):
    """Draws a bar per stage on standard error, so that standard output stays clean for results.

    Where that is no terminal, lines say how a stage stands.
    """

    @contextmanager
    def stage(self, title: str, total: int | None = None) -> Iterator[Advance]:
        """Draw a bar for as long as the block runs."""
        console = Console(stderr=True)
        if not console.is_terminal:
            with super().stage(title, total) as lines:
                yield lines
            return
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            ProgressColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        columns: list[ProgressColumn] = [TextColumn("{task.description}")]
        if total is None:
            columns += [TextColumn("{task.completed:,.0f}"), TimeElapsedColumn()]
        else:
            columns += [BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()]
            columns += [TextColumn("left"), TimeRemainingColumn(), TextColumn("{task.fields[status]}")]
        with Progress(*columns, console=console) as bars:
            task = bars.add_task(title, total=total, status="")

            def advance(done: int, status: str = "", /) -> None:
                bars.advance(task, done)
                if status:
                    bars.update(task, status=status)

            yield advance


LINE_SECONDS = 10.0
"""Seconds between lines about a stage, where they go to a file."""


class PlainProgress(StderrProgress):
    """Prints a line every few seconds, where there is no terminal to draw bars in."""

    @contextmanager
    def stage(self, title: str, total: int | None = None) -> Iterator[Advance]:
        """Print lines for as long as the block runs."""
        began = told = time.monotonic()
        count = 0

        def advance(done: int, status: str = "", /) -> None:
            nonlocal count, told
            count, now = count + done, time.monotonic()
            if now - told >= LINE_SECONDS:
                told = now
                of, left = "", ""
                if total is not None and count:
                    of, left = f" of {total:,}", f", {(now - began) / count * (total - count):,.0f} s left"
                self.note(f"{title}: {count:,}{of}, {status}{left}")

        yield advance


Cell = str | Text

SHORT_NAME = 16
"""Characters of a name up to which its column is not cut, like `Seq2Set (simp.)`."""


def print_table(
    heads: Sequence[str], rows: Iterable[Sequence[Cell]], *, numbers: Collection[str] = (), title: str = ""
) -> None:
    """Print a table; columns headed by `numbers` are aligned right and, like short names, never cut."""
    console = Console()
    roomy = console.options.update(max_width=1_000)
    above = Text(title, style="bold") if title else None
    table = Table(title=above, box=box.SIMPLE_HEAD, title_justify="left", collapse_padding=True)
    # As plain text: brackets, as in seq2set[demo], are not markup here.
    shown = [[cell if isinstance(cell, Text) else Text(show_controls(cell)) for cell in row] for row in rows]
    for head, *cells in zip(map(Text, heads), *shown, strict=True):
        is_number = head.plain in numbers
        widest = max(Measurement.get(console, roomy, cell).maximum for cell in (head, *cells))
        is_whole = is_number or widest <= SHORT_NAME
        justify: Literal["left", "right"] = "right" if is_number else "left"
        least = widest if is_whole else None
        table.add_column(head, justify=justify, no_wrap=is_whole, min_width=least, overflow="fold")
    for row in shown:
        table.add_row(*row)
    # A line that the terminal wraps, or a file keeps whole, is better than a number without its end.
    width = max(console.width, Measurement.get(console, roomy, table).minimum)
    Console(highlight=False, width=width).print(table)


def print_evaluation(*reports: Report) -> None:
    """Print a row per report in the form of the paper's tables, and what is to be known of the figures."""
    from seq2set.config.catalog import list_shown

    several, first = len(reports) > 1, reports[0]
    # As in the paper: (+) higher is better, (-) lower.
    metrics = {
        f"{row.short or row.title}({'-' if row.better == 'lower' else '+'})": (name, row.digits)
        for name, row in list_shown().items()
    }
    speed = f"{first.result.documents_per_second:,.0f} documents per second"
    labels = count_things(first.result.labels, "label")
    title = "" if several else f"{_describe_split(first)}, {labels}; {speed}"
    heads = ("Run", "Models", "Measured on") if several else ("Models",)
    numbers = (*metrics, *(["docs/s"] if several else []))
    rows = []
    for report in reports:
        values = [_format_figure(report, name, digits) for name, digits in metrics.values()]
        if several:
            rate = f"{report.result.documents_per_second:,.0f}"
            rows.append([report.run, report.model, _describe_split(report), *values, rate])
        else:
            rows.append([report.model, *values])
    print_table((*heads, *numbers), rows, numbers=numbers, title=title)
    others = "".join(f"; of {one.run} over {one.unit}s" for one in reports if one.unit != first.unit)
    below = f"± reaches the farther end of the 95 % interval (bootstrap over {first.unit}s{others})"
    scores = [
        (f"{report.run}: " if several else "")
        + f"scores are {'' if report.result.calibrated else 'not '}calibrated: "
        + report.result.reliability.describe()
        for report in reports
    ]
    for sentence in (below, *scores, *list_remarks(reports)):
        Console(highlight=False).print(Text(sentence))


def print_evidence(*reports: Report) -> None:
    """Print how faithful the reasons are, beside words drawn at random, where that was measured."""
    measured = [(report, report.evidence) for report in reports if report.evidence]
    if not measured:
        return
    heads = ("comprehensiveness(+)", "random", "sufficiency(-)", "random", "cost")
    rows = []
    for report, found in measured:
        own, drawn = found.comprehensiveness, found.random_comprehensiveness
        figures = (own, drawn, found.sufficiency, found.random_sufficiency)
        shown = (f"{mean:.3f}\n±{ends.half_width(mean):.3f}".replace("inf", "–") for mean, ends in figures)
        rows.append([report.run if len(reports) > 1 else report.model, *shown, f"{found.cost:.1f}x"])
    first = measured[0][1]
    labels, documents = count_things(first.labels, "label"), count_things(first.documents, "document")
    title = f"reasons for {labels} of {documents}"
    print_table(("Run" if len(reports) > 1 else "Models", *heads), rows, numbers=heads, title=title)
    Console(highlight=False).print(Text(_EVIDENCE))


_EVIDENCE = (
    "comprehensiveness: how far a score falls without the words named for it; sufficiency: with them alone; "
    "random: with as many words drawn from the text; cost: CPU time with reasons in that without"
)


def _format_figure(report: Report, name: str, digits: int) -> str:
    value = report.result.metrics[name]
    half = f"{report.intervals[name].half_width(value):.{digits}f}".replace("inf", "–")
    return f"{value:.{digits}f}\n±{half.removeprefix('0')}"  # so that the table fits into 80 columns


def print_per_label(report: Report) -> None:
    """Print the figures of each label, the most frequent in training first."""
    numbers = ("P", "R", "F1", "true", "given")
    rows = [
        (row.label, *(f"{value:.3f}" for value in (row.precision, row.recall, row.f1)), *counts)
        for row in report.result.per_label
        for counts in [(f"{row.support:,}", f"{row.predicted:,}")]
    ]
    title = f"{report.run}: {_describe_split(report)}"
    print_table(("Label", *numbers), rows, numbers=numbers, title=title)


def list_remarks(reports: Sequence[Report]) -> list[str]:
    """Return what is to be known of the figures, by run where there are several."""
    from seq2set.evaluation.results import have_same_documents

    said = [
        f"{report.run}: {sentence}" if len(reports) > 1 else sentence
        for report in reports
        for sentence in report.remarks()
    ]
    if not have_same_documents(reports):
        said.append("the rows were not measured on the same documents: their figures cannot be compared")
    return said


def _describe_split(report: Report) -> str:
    return f"{report.data}, {report.split}: {count_things(report.result.documents, 'document')}"


WORDS_SHOWN = 5
AGAINST_SHOWN = 2
"""A reader wants the strongest reasons; `--json` has them all."""


def print_prediction(prediction: Prediction, actual: tuple[str, ...] | None = None) -> None:
    """Print a text, its labels and, where there is any, the evidence marked in the text."""
    console = Console(highlight=False)
    console.print(Text.assemble((show_controls(f"{prediction.id} "), "dim"), _mark_evidence(prediction)))
    if prediction.note:
        console.print(Text(f"  {prediction.note}", style="yellow"))
    if not prediction.suggestions:
        console.print("  no label")
    for suggestion in sorted(prediction.suggestions, key=lambda one: -one.score):
        sign = "" if actual is None else "✓ " if suggestion.label in actual else "✗ "
        label = Text(show_controls(f"  {sign}{suggestion.label} "))
        reasons = Text(show_controls(_describe_reasons(suggestion)), style="dim")
        mark = f" {suggestion.mark}" if suggestion.mark else ""
        console.print(label + Text(f"{suggestion.score:.2f}{mark}", style="cyan") + reasons)
    missed = [label for label in actual or () if label not in {one.label for one in prediction.suggestions}]
    if missed:
        console.print(Text(show_controls(f"  missed: {'; '.join(missed)}"), style="yellow"))


def _describe_reasons(suggestion: Suggestion) -> str:
    reasons, against = suggestion.evidence[:WORDS_SHOWN], suggestion.against[:AGAINST_SHOWN]
    parts = [("because of", reasons), ("against it", against)]
    listed = [f"{head} {', '.join(map(_name_word, words))}" for head, words in parts if words]
    return f"  {'; '.join(listed)}" if listed else ""


def _name_word(word: Evidence) -> str:
    return f"{word.word} (its name)" if word.names_label else word.word


def _mark_evidence(prediction: Prediction, most: int = 600) -> Text:
    shown = show_controls(prediction.text[:most].replace("\n", " "))  # of the same length
    text = Text(shown + ("…" if len(prediction.text) > most else ""))
    for suggestion in prediction.suggestions:
        for word in suggestion.evidence:
            if word.end <= most:
                text.stylize("bold underline", word.start, word.end)
    return text
