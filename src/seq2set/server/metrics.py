"""The counters of a server in the format of Prometheus; each app has its own."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_TEXTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class ServerMetrics:
    """The counters of one app."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.requests = Counter(
            "seq2set_requests", "Requests answered", ["method", "route", "status"], registry=registry
        )
        self.seconds = Histogram(
            "seq2set_request_seconds", "Time to answer", ["route"], registry=registry, buckets=_SECONDS
        )
        self.batch_texts = Histogram(
            "seq2set_batch_texts", "Texts per forward pass", registry=registry, buckets=_TEXTS
        )
        self.queue_texts = Gauge("seq2set_queue_texts", "Texts that wait", registry=registry)
        self.refused = Counter("seq2set_refused", "Requests refused for a full queue", registry=registry)
        self.dropped = Counter(
            "seq2set_dropped", "Requests dropped because the client had left", registry=registry
        )
        self.processes = Gauge(
            "seq2set_model_processes", "Model processes that can answer", registry=registry
        )
        self.restarts = Counter(
            "seq2set_model_restarts", "Model processes that ended and were replaced", registry=registry
        )
        self.feedback = Counter("seq2set_feedback", "Feedback kept", registry=registry)

    def text(self) -> bytes:
        """Return all counters in the format of Prometheus."""
        return generate_latest(self.registry)
