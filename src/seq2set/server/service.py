"""What the routes share: what is known of the model and its labels, its batcher and the feedback."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import fastapi
from pydantic import BaseModel, Field

from seq2set.server.batching import DynamicBatcher
from seq2set.server.errors import ApiError, refuse_busy
from seq2set.server.feedback_store import FeedbackStore
from seq2set.server.metrics import ServerMetrics
from seq2set.server.served_model import ServedModel
from seq2set.server.settings import ServeSettings


class LabelRow(BaseModel):
    """What is known of one label of the model; figures are of the validation split, where they were kept."""

    label: str
    frequency: int = Field(description="How many training documents have it.")
    threshold: float | None = Field(description="The score from which it is given, if that is the rule.")
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    support: int | None = None


_FIGURES = ("precision", "recall", "f1", "support")


def make_label_rows(model: ServedModel) -> list[LabelRow]:
    """Return a row per label, the most frequent first."""
    known, rule = read_figures(model.metadata), model.rule
    thresholds: Sequence[float | None] = rule.thresholds
    if rule.kind in ("top-k", "expected-f1"):  # no label has a threshold of its own
        thresholds = [None] * len(model.labels)
    elif rule.kind != "per-label":
        thresholds = rule.thresholds * len(model.labels)
    rows = zip(model.labels.names, model.labels.frequencies, thresholds, strict=True)
    return [
        LabelRow(label=label, frequency=frequency, threshold=threshold, **known.get(label, {}))
        for label, frequency, threshold in rows
    ]


def read_figures(metadata: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return each label's figures on the validation split; nothing where training did not keep them."""
    return {row["label"]: {name: row.get(name) for name in _FIGURES} for row in metadata.get("per_label", ())}


def find_labels(rows: Sequence[LabelRow], query: str) -> list[LabelRow]:
    """Find the labels that hold the query, whatever its case; those that begin with it come first."""
    wanted = query.strip().casefold()
    found = [row for row in rows if wanted in row.label.casefold()]
    return sorted(found, key=lambda row: not row.label.casefold().startswith(wanted))


@dataclass
class Service:
    """One server's parts."""

    model: ServedModel
    settings: ServeSettings
    rows: list[LabelRow]
    batcher: DynamicBatcher
    metrics: ServerMetrics
    store: FeedbackStore | None = None
    uploads: int = 0

    @contextmanager
    def upload_slot(self) -> Iterator[None]:
        """Hold one of the few places for files that are being labelled."""
        if self.uploads >= self.settings.max_uploads:
            raise refuse_busy(f"{self.uploads} files are being labelled already; try again later", 10)
        self.uploads += 1
        try:
            yield
        finally:
            self.uploads -= 1

    def check_text(self, text: str, place: str = "text") -> None:
        """Refuse a text that is too long."""
        most = self.settings.max_text_chars
        if len(text) > most:
            raise ApiError(413, f"{place} has {len(text):,} characters; at most {most:,} are allowed")


def get_service(request: fastapi.Request) -> Service:
    """Return the parts of the server that a request came to."""
    service = request.app.state.service
    assert isinstance(service, Service)
    return service
