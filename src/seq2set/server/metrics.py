"""The counters of a server in the format of Prometheus; each app has its own."""

from __future__ import annotations

from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_TEXTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class ServerMetrics:
    """The counters of one app."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        counter, gauge = partial(Counter, registry=self.registry), partial(Gauge, registry=self.registry)
        histogram = partial(Histogram, registry=self.registry)
        self.requests = counter("seq2set_requests", "Requests answered", ["method", "route", "status"])
        self.seconds = histogram("seq2set_request_seconds", "Time to answer", ["route"], buckets=_SECONDS)
        self.batch_texts = histogram("seq2set_batch_texts", "Texts per forward pass", buckets=_TEXTS)
        self.queue_texts = gauge("seq2set_queue_texts", "Texts that wait")
        self.refused = counter("seq2set_refused", "Requests refused for a full queue")
        self.dropped = counter("seq2set_dropped", "Requests dropped because the client had left")
        self.processes = gauge("seq2set_model_processes", "Model processes that can answer")
        self.restarts = counter("seq2set_model_restarts", "Model processes that ended and were replaced")
        self.feedback = counter("seq2set_feedback", "Feedback kept")
