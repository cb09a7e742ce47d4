"""What the verbs share: consoles, progress bars, and errors as sentences.

Results as tables for a terminal.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from seq2set.core.progress import Advance

if TYPE_CHECKING:
    from seq2set.evaluation.measure import Report
    from seq2set.inference.predictor import Prediction


class RichProgress:
    """Draws a bar a stage on standard error, so that standard output stays clean for results."""

    @contextmanager
    def stage(self, title: str, total: int | None = None) -> Iterator[Advance]:
        """Draw a bar for as long as the block runs."""
        from rich.console import Console
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
        with Progress(*columns, console=Console(stderr=True)) as bars:
            task = bars.add_task(title, total=total, status="")

            def advance(done: int, status: str = "", /) -> None:
                bars.advance(task, done)
                if status:
                    bars.update(task, status=status)

            yield advance

    def note(self, sentence: str) -> None:
        """Print a sentence on standard error."""
        sys.stderr.write(sentence + "\n")


def say_error(message: str) -> None:
    """Print an error on standard error, one sentence a line."""
    for line in message.splitlines():
        sys.stderr.write(f"seq2set: {line}\n")


PAPER_COLUMNS = (
    ("HL(-)", "hamming_loss", 4),
    ("P(+)", "micro_precision", 3),
    ("R(+)", "micro_recall", 3),
    ("F1(+)", "micro_f1", 3),
    ("macro-F1(+)", "macro_f1", 3),
    ("subset(+)", "subset_accuracy", 3),
)
"""The columns of the paper's tables, and two more; (+) higher is better, (-) lower."""


WORDS_SHOWN = 5
"""A reader wants the strongest reasons; `--json` has them all."""


def print_evaluation(*reports: Report) -> None:
    """Print a row a report in the form of the paper's tables, and what is to be known of the figures."""
    several, first = len(reports) > 1, reports[0]
    title = None if several else f"{_measured_on(first)}, {first.result.labels:,} labels"
    heads = ("Run", "Models", "Measured on") if several else ("Models",)
    table = Table(*heads, title=title, box=box.SIMPLE_HEAD, title_justify="left")
    for head, _, _ in PAPER_COLUMNS:
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("docs/s", justify="right")
    for report in reports:
        values = [f"{report.result.metrics[key]:.{digits}f}" for _, key, digits in PAPER_COLUMNS]
        names = (report.run, report.model, _measured_on(report)) if several else (report.model,)
        table.add_row(*names, *values, f"{report.result.documents_per_second:,.0f}")
    console = Console(highlight=False)
    console.print(table)
    for sentence in remarks(reports):
        console.print(Text(sentence))


def remarks(reports: Sequence[Report]) -> list[str]:
    """Return what is to be known of the figures, by run where there are several."""
    from seq2set.evaluation.measure import same_documents

    said = [
        f"{report.run}: {sentence}" if len(reports) > 1 else sentence
        for report in reports
        for sentence in report.remarks()
    ]
    if not same_documents(reports):
        said.append("the rows were not measured on the same documents: their figures cannot be compared")
    return said


def _measured_on(report: Report) -> str:
    return f"{report.data}, {report.split}: {report.result.documents:,} documents"


def print_prediction(prediction: Prediction, actual: tuple[str, ...] | None = None) -> None:
    """Print a text, its labels and, where there is any, the evidence marked in the text."""
    console = Console(highlight=False)
    console.print(Text.assemble((f"{prediction.id} ", "dim"), _marked(prediction)))
    if prediction.note:
        console.print(Text(f"  {prediction.note}", style="yellow"))
    if not prediction.suggestions:
        console.print("  no label")
    for suggestion in prediction.suggestions:
        sign = "" if actual is None else "✓ " if suggestion.label in actual else "✗ "
        words = ", ".join(word.word for word in suggestion.evidence[:WORDS_SHOWN])
        reason = Text(f"  because of {words}", style="dim") if words else Text()
        console.print(
            Text(f"  {sign}{suggestion.label} ") + Text(f"{suggestion.score:.2f}", style="cyan") + reason
        )
    missed = [label for label in actual or () if label not in {one.label for one in prediction.suggestions}]
    if missed:
        console.print(Text(f"  missed: {'; '.join(missed)}", style="yellow"))


def _marked(prediction: Prediction, most: int = 600) -> Text:
    text = Text(prediction.text[:most].replace("\n", " ") + ("…" if len(prediction.text) > most else ""))
    for suggestion in prediction.suggestions:
        for word in suggestion.evidence:
            if word.end <= most:
                text.stylize("bold underline", word.start, word.end)
    return text
