"""Texts in, label sets out: a saved model, opened for use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from seq2set.core.processes import pause_collections
from seq2set.inference.given_texts import infer_given
from seq2set.inference.model_folder import find_model_folder, load_model, read_metadata
from seq2set.models.predictions import Request, Suggestion
from seq2set.models.tagger import Tagger

BATCH = 512
"""Documents handled at a time when streaming: enough to keep the cores busy, little memory."""


class TextItem(NamedTuple):
    """A text with its identifier."""

    id: str
    text: str


class Prediction(NamedTuple):
    """What a model says of one text."""

    id: str
    text: str
    suggestions: tuple[Suggestion, ...]
    note: str | None = None
    """What there is to say beside the labels, such as that the model knows no word of the text"""

    def to_dict(self, *, explain: bool = False) -> dict[str, Any]:
        """Return the prediction as plain JSON, in the form that `predict --json` prints."""
        labels = [_convert_suggestion(one, explain) for one in self.suggestions]
        return {"id": self.id, "labels": labels} | ({"note": self.note} if self.note else {})


class Predictor:
    """A model opened for use."""

    def __init__(self, tagger: Tagger, metadata: dict[str, Any]):
        self.tagger, self.metadata = tagger, metadata

    @classmethod
    def open(cls, path: Path, runtime: str = "auto", threads: int = 1) -> Predictor:
        """Open a run or a model folder on a runtime: `auto`, `torch` or `onnx`."""
        folder = find_model_folder(path)
        with pause_collections():
            return cls(load_model(folder, runtime, threads), read_metadata(folder))

    def predict(self, texts: Sequence[str], request: Request | None = None) -> list[tuple[Suggestion, ...]]:
        """Return each text's labels, in the order in which the model gives them.

        A text without a word that the model knows gets none, unless the request says how many are wanted.
        """
        if not texts:
            return []
        found = infer_given(self.tagger, texts, request or Request())
        return found.suggestions(self.tagger.labels.names)

    def stream(
        self, items: Iterable[TextItem], request: Request | None = None, *, batch: int = BATCH
    ) -> Iterator[Prediction]:
        """Predict one batch at a time, so that any number of texts fits into memory."""
        source = iter(items)
        while block := list(islice(source, batch)):
            found = infer_given(self.tagger, [item.text for item in block], request or Request())
            answers = zip(block, found.suggestions(self.tagger.labels.names), found.notes(), strict=True)
            for item, suggestions, note in answers:
                yield Prediction(item.id, item.text, suggestions, note)


def _convert_suggestion(suggestion: Suggestion, explain: bool) -> dict[str, Any]:
    plain: dict[str, Any] = {"label": suggestion.label, "score": round(suggestion.score, 6)}
    if suggestion.mark is not None:
        plain["mark"] = suggestion.mark
    if explain:
        plain |= suggestion.list_reasons()
    return plain
