"""Blocks of texts: what one process computes at a time, and the plain form that travels to it and back.

What is predicted for a text can depend on the texts beside it by the last bits of its scores. Blocks are cut
by the input alone, never by how many processes there are, so that the same input gives the same bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from seq2set.core.errors import InputError
from seq2set.core.names import find_named, load_named
from seq2set.inference.engines import ENGINES
from seq2set.inference.given_texts import infer_given, strip_texts
from seq2set.inference.predictor import Predictor
from seq2set.models.predictions import Request, Suggestion
from seq2set.models.tagger import count_cut_texts
from seq2set.text.cut_texts import Cut
from seq2set.text.reasons import Evidence

BLOCK = 512
"""Texts per block: enough for batches of like lengths, and little memory."""

Texts = Sequence[str]


@dataclass(frozen=True)
class EngineSettings:
    """What an engine needs to know before it starts."""

    model: Path
    request: Request
    workers: int | None = None
    """How many processes; by default as many as pay"""
    documents: int | None = None
    """How many texts will come, where that is known"""
    address: str | None = None
    """The cluster, for an engine that has one"""
    runtime: str = "auto"
    """What runs the model"""

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise InputError(f"workers is {self.workers}; it must be >= 1")


class TextPrediction(NamedTuple):
    """What a model says of one text."""

    suggestions: tuple[Suggestion, ...]
    note: str | None


class BlockResult(NamedTuple):
    """The predictions of a block, and how many of its texts were not read to their end."""

    predictions: list[TextPrediction]
    cut: Cut


class Engine(Protocol):
    """Computes blocks; it is open for as long as its context is."""

    def map(self, blocks: Iterable[Texts]) -> Iterator[BlockResult]:
        """Compute blocks as they come, some ahead of what is taken, and return the results in their order."""


def open_engine(name: str, settings: EngineSettings) -> AbstractContextManager[Engine]:
    """Return an engine by name."""
    row = find_named("engine", name, ENGINES)
    engine: AbstractContextManager[Engine] = load_named(row.open)(settings)
    return engine


def predict_block(predictor: Predictor, texts: Texts, request: Request) -> BlockResult:
    """Compute one block here."""
    found = infer_given(predictor.tagger, texts, request)
    suggestions = found.suggestions(predictor.tagger.labels.names)
    cut = count_cut_texts(predictor.tagger, strip_texts(predictor.tagger, texts, request))
    return BlockResult(list(map(TextPrediction, suggestions, found.notes())), cut)


def to_plain(result: BlockResult) -> dict[str, Any]:
    """Return a result as plain JSON; no digit of a score is lost."""
    return result._asdict()


def from_plain(plain: dict[str, Any]) -> BlockResult:
    """Read a result back."""
    predictions = [
        TextPrediction(tuple(map(_read_suggestion, one)), note) for one, note in plain["predictions"]
    ]
    return BlockResult(predictions, Counter(plain["cut"]))


def _read_suggestion(plain: Any) -> Suggestion:
    label, score, evidence, against, mark = plain
    for_it, against_it = (tuple(Evidence(*word) for word in words) for words in (evidence, against))
    return Suggestion(label, score, for_it, against_it, mark)


def request_to_plain(request: Request) -> dict[str, Any]:
    """Return a request as plain JSON, from which `Request(**plain)` makes it again."""
    return asdict(request)
