"""What the routes share: the opened model, what is known of its labels, its batcher and the feedback."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import fastapi
from pydantic import BaseModel, Field

from seq2set.inference.manifest import TENSORS, find_model_folder, read_card, read_manifest
from seq2set.inference.predictor import Predictor
from seq2set.labels.labels import Labels
from seq2set.labels.rules import Rule
from seq2set.models.predictions import Request
from seq2set.server.batching import DynamicBatcher
from seq2set.server.errors import ApiError, busy
from seq2set.server.feedback_store import FeedbackStore
from seq2set.server.metrics import ServerMetrics
from seq2set.server.settings import ServeSettings


@dataclass(frozen=True)
class ServedModel:
    """What the front knows of a model, which itself is open in other processes."""

    kind: str
    card: str
    manifest: dict[str, Any]
    metadata: dict[str, Any]
    labels: Labels
    rule: Rule
    decodes: bool
    rule_decides: bool

    @property
    def fingerprint(self) -> str:
        """A short text that differs where the model's numbers differ."""
        recorded = self.manifest["files"][TENSORS]
        return str(recorded["sha256"])[:16]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return {**vars(self), "labels": self.labels.to_dict(), "rule": self.rule.to_dict()}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> ServedModel:
        """Read back what `to_dict` returned."""
        labels, rule = Labels.from_dict(plain["labels"]), Rule.from_dict(plain["rule"])
        return cls(**{**plain, "labels": labels, "rule": rule})


class OpenedModel(NamedTuple):
    """A model opened for use, and what a front has to know of it."""

    predictor: Predictor
    served: ServedModel


def open_served(path: Path, runtime: str = "auto") -> OpenedModel:
    """Open a run or a model folder, checked against its manifest."""
    folder = find_model_folder(path)
    predictor = Predictor.open(folder, runtime)
    tagger = predictor.tagger
    served = ServedModel(
        kind=tagger.config.model,
        card=read_card(folder),
        manifest=read_manifest(folder),
        metadata=predictor.metadata,
        labels=tagger.labels,
        rule=tagger.rule,
        decodes=tagger.decodes,
        rule_decides=tagger.rule_decides(Request()),
    )
    return OpenedModel(predictor, served)


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
    known = read_figures(model.metadata)
    thresholds = _list_thresholds(model.rule, len(model.labels))
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


def _list_thresholds(rule: Rule, labels: int) -> Sequence[float | None]:
    if rule.kind in ("top-k", "expected-f1"):  # no label has a threshold of its own
        return [None] * labels
    return rule.thresholds if rule.kind == "per-label" else rule.thresholds * labels


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
            raise busy(f"{self.uploads} files are being labelled already; try again later", 10)
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
