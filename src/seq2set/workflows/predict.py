"""Prediction as one call: texts in, rows out, by any engine, into one file or into a folder of shards.

Reading, computing and writing overlap: an engine computes some blocks ahead while the rows of earlier ones
are written. A file appears whole or not at all.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, NamedTuple, TypeVar

from seq2set.core.errors import InputError, OutputError
from seq2set.core.files import write_aside
from seq2set.core.names import find_named
from seq2set.core.outputs import refuse_existing
from seq2set.core.progress import Advance, Progress
from seq2set.corpora.documents import Document
from seq2set.corpora.readers import ReadOptions
from seq2set.inference.engines.blocks import BlockResult, Engine, EngineSettings, Texts, open_engine
from seq2set.inference.model_folder import read_confidence
from seq2set.inference.prediction_files import OUTPUTS, Layout, PredictedDocument, choose_output, open_writer
from seq2set.text.cut_texts import Cut
from seq2set.workflows.prediction_input import STANDARD, InputFile, PredictionInput, read_blocks
from seq2set.workflows.shards import ShardJob, open_shards

Key = TypeVar("Key")


@dataclass(frozen=True)
class PredictionJob:
    """What to predict with, and how."""

    settings: EngineSettings
    options: ReadOptions
    engine: str = "local"

    @property
    def explain(self) -> bool:
        """Whether evidence is wanted."""
        return self.settings.request.explain

    @property
    def marks(self) -> bool:
        """Whether the model says which labels may be accepted without a look."""
        return read_confidence(self.settings.model).acceptance is not None

    @contextmanager
    def open(self, documents: int | None) -> Iterator[Engine]:
        """Open the engine for a number of documents, where that is known."""
        with open_engine(self.engine, replace(self.settings, documents=documents)) as engine:
            yield engine


@dataclass
class Totals:
    """What was predicted so far."""

    texts: int = 0
    cut: Cut = field(default_factory=Cut)

    def add(self, result: BlockResult) -> None:
        """Count a block."""
        self.texts += len(result.predictions)
        self.cut += result.cut


class _Speed:
    """Advances a stage and says how many documents per second it does."""

    def __init__(self, advance: Advance):
        self.advance, self.began, self.done = advance, time.monotonic(), 0

    def __call__(self, documents: int) -> None:
        self.done += documents
        rate = self.done / max(time.monotonic() - self.began, 1e-9)
        self.advance(documents, f"{rate:,.0f} documents per second")


def predict_rows(
    job: PredictionJob, source: PredictionInput, totals: Totals
) -> Iterator[list[PredictedDocument]]:
    """Predict documents in their order, and give them block by block."""
    with job.open(source.documents) as engine:
        for _, rows in _predict_blocks(engine, source.blocks, totals):
            yield rows


def _predict_blocks(
    engine: Engine, blocks: Iterable[tuple[Key, list[Document]]], totals: Totals
) -> Iterator[tuple[Key, list[PredictedDocument]]]:
    """Predict blocks, each with a key of the caller's."""
    ahead: deque[tuple[Key, list[Document]]] = deque()

    def hand_over() -> Iterator[Texts]:
        for key, block in blocks:
            ahead.append((key, block))
            yield [document.text for document in block]

    for result in engine.map(hand_over()):
        key, block = ahead.popleft()
        totals.add(result)
        yield key, list(map(PredictedDocument, block, result.predictions))


class OutputPlan(NamedTuple):
    """Where predictions go and in which format; a folder gets shards."""

    path: Path
    format: str
    folder: bool = False


def plan_output(out: str, form: str | None, files: Sequence[InputFile], *, force: bool) -> OutputPlan:
    """Decide on the output by its name; refuse what would write over something."""
    if form is not None:
        find_named("format", form, OUTPUTS)
    path = Path(out)
    if out == STANDARD:
        form = form or "jsonl"
        if not OUTPUTS[form].streams:
            raise InputError(f"{OUTPUTS[form].title} cannot be written to standard output; name a file")
        return OutputPlan(path, form)
    if out.endswith("/") or path.is_dir() or not path.suffix:
        if not files:
            raise InputError(f"{path} is a folder of shards, which are made of files; pass --input")
        if path.is_file():
            raise OutputError(f"{path} is a file; a folder is expected here")
        return OutputPlan(path, form or "jsonl", folder=True)
    name = choose_output(path)
    if form not in (None, name):
        raise InputError(
            f"format is {form}, but {path} ends in {path.suffix}; leave --format out, or rename it"
        )
    local = [Path(one.name) for one in files if one.remote is None]
    if path.exists() and any(path.samefile(one) for one in local):
        raise OutputError(f"{path} is the input itself; name another file for the output")
    refuse_existing(path, force=force)
    return OutputPlan(path, name)


@contextmanager
def _open_target(output: OutputPlan) -> Iterator[IO[bytes]]:
    if str(output.path) == STANDARD:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with write_aside(output.path) as aside, aside.open("wb") as stream:
        yield stream


def write_predictions(
    job: PredictionJob, source: PredictionInput, output: OutputPlan, progress: Progress
) -> Totals:
    """Predict documents into one file, or to standard output."""
    totals = Totals()
    layout = Layout(source.columns, job.explain, source.types, job.marks, source.delimiter)
    with progress.stage("predict", source.documents) as advance, _open_target(output) as stream:
        speed = _Speed(advance)
        with open_writer(output.format, stream, layout) as writer:
            for rows in predict_rows(job, source, totals):
                writer.write(rows)
                speed(len(rows))
            note = writer.close()
    if note:
        progress.note(note)
    return totals


def write_shards(
    job: PredictionJob,
    files: Sequence[InputFile],
    output: OutputPlan,
    progress: Progress,
    *,
    size: int,
    force: bool,
) -> Totals:
    """Predict the documents of files into shards, but for those that an earlier call has finished."""
    totals = Totals()
    described = ShardJob.describe(job.settings, job.options, files, output.format, size)
    with open_shards(output.path, described, marks=job.marks, force=force) as shards:
        if shards.done:
            progress.note(f"{len(shards.done):,} shards are done already")
        with progress.stage("predict") as advance, job.open(None) as engine:
            speed = _Speed(advance)
            left = shards.list_left(read_blocks(files, job.options))
            for key, rows in _predict_blocks(engine, left, totals):
                shards.write(key, rows)
                speed(len(rows))
        shards.finish()
    return totals
