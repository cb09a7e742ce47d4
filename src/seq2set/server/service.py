"""What the routes share: the model, its batcher, and where feedback goes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from fastapi import Request

from seq2set.server.answering import Answerer
from seq2set.server.batching import DynamicBatcher
from seq2set.server.errors import ApiError, busy
from seq2set.server.feedback import FeedbackStore
from seq2set.server.metrics import ServerMetrics
from seq2set.server.opening import ServedModel
from seq2set.server.schemas import LabelRow
from seq2set.server.settings import ServeSettings


@dataclass
class Service:
    """One server's parts."""

    model: ServedModel
    settings: ServeSettings
    rows: list[LabelRow]
    answerer: Answerer
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


def service_of(request: Request) -> Service:
    """Return the parts of the server that a request came to."""
    service = request.app.state.service
    assert isinstance(service, Service)
    return service
