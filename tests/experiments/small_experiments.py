"""Small experiments, and progress that tests can listen to or interrupt."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from seq2set.config.catalog import MODELS
from seq2set.core.progress import Advance, Silent
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.experiments.analysis.comparison import RowKey, RowResults
from seq2set.experiments.cells.cell import CellResult
from seq2set.experiments.options import Options
from tiny_networks import TINY

SETTINGS = (*TINY, "prior.enabled=false", "search.name=greedy", "warm_start.epochs=2")


def small_options(corpus: PreparedCorpus, out: Path, models: tuple[str, ...], **more: object) -> Options:
    given = {"seeds": (1, 2), "assignments": SETTINGS, **more}
    return Options(str(corpus.folder), out, models, **given)  # type: ignore[arg-type]


def by_model(results: Sequence[CellResult]) -> list[RowResults]:
    """Return a row per model, as most studies have them."""
    rows: dict[str, list[CellResult]] = {}
    for one in results:
        rows.setdefault(one.model, []).append(one)
    return [RowResults(RowKey(model), MODELS[model].title, tuple(some)) for model, some in rows.items()]


class Noting(Silent):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, sentence: str) -> None:
        self.notes.append(sentence)


class Interrupting(Silent):
    """Presses Ctrl-C after so many steps of a stage."""

    def __init__(self, stage: str, steps: int):
        self.wanted, self.steps = stage, steps

    @contextmanager
    def stage(self, title: str, total: int | None = None) -> Iterator[Advance]:
        def advance(done: int, status: str = "", /) -> None:
            self.steps -= title == self.wanted and done > 0
            if self.steps == 0:
                signal.raise_signal(signal.SIGINT)

        yield advance
