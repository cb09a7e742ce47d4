"""The settings of a server: where it listens and what it allows."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated

from seq2set.core.errors import InputError
from seq2set.core.hardware import count_cores

KEY_VARIABLE = "SEQ2SET_API_KEY"
"""The environment variable that holds the key which clients must send; without it none is asked for."""

_MIB = 2**20


@dataclass(frozen=True)
class ServeSettings:
    """Every limit of a server with its default; the texts are the help of the options of `seq2set serve`."""

    host: Annotated[str, "The address to listen on; the default is this machine only."] = "127.0.0.1"
    port: Annotated[int, "The port to listen on; 0 takes a free one."] = 8000
    key: str | None = field(default=None, repr=False)
    """The key that clients must send, if any; never an option, which other users of the machine could see."""
    allowed_host: Annotated[
        list[str] | None, "A further name by which clients may call the server; may be repeated."
    ] = None
    feedback: Annotated[Path | None, "Keep feedback in this database; without it none is kept."] = None
    workers: Annotated[
        int | None, "Model processes, with one thread each; by default one per core, at most 8."
    ] = None
    max_batch: Annotated[int, "Maximum texts per forward pass."] = 64
    window_ms: Annotated[float, "Batching window in milliseconds."] = 5.0
    queue_texts: Annotated[int, "Maximum texts that wait; more are refused with status 429."] = 512
    max_texts: Annotated[int, "Maximum texts per request."] = 64
    max_text_chars: Annotated[int, "Maximum characters per text."] = 100_000
    max_body_bytes: Annotated[int, "Maximum bytes per request."] = 8 * _MIB
    max_held_bytes: Annotated[int, "Maximum bytes of all requests together."] = 64 * _MIB
    max_upload_bytes: Annotated[int, "Maximum bytes per uploaded file."] = 50 * _MIB
    max_stored_bytes: Annotated[int, "Maximum bytes of all uploaded files together."] = 1024 * _MIB
    max_feedback_bytes: Annotated[int, "Maximum bytes of the database of feedback."] = 4096 * _MIB
    max_uploads: Annotated[int, "Maximum files that are labelled at a time."] = 4
    max_connections: Annotated[int, "Maximum connections at a time."] = 512
    max_client_connections: Annotated[int, "Maximum connections of one client address."] = 256
    answer_seconds: Annotated[float, "Request timeout in seconds; also for clients that stop reading."] = 30.0
    header_seconds: Annotated[float, "Timeout in seconds for the head of a request."] = 10.0
    body_seconds: Annotated[float, "Timeout in seconds for the body of a request."] = 20.0
    upload_seconds: Annotated[float, "Timeout in seconds for an uploaded file."] = 600.0
    shutdown_seconds: Annotated[int, "Seconds to finish accepted requests after a signal to stop."] = 30

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            if value is None:
                continue
            if limit.name.startswith(("max_", "queue_", "workers")) and value < 1:
                raise InputError(f"{limit.name} is {value}; it must be >= 1")
            if limit.name.endswith("_seconds") and value <= 0:
                raise InputError(f"{limit.name} is {value}; it must be > 0")
        if self.window_ms < 0:
            raise InputError(f"window_ms is {self.window_ms:g}; it must be >= 0")
        if not 0 <= self.port <= 65535:
            raise InputError(f"port is {self.port}; it must lie in [0, 65535]")
        if self.queue_texts < max(self.max_texts, self.max_batch):
            raise InputError(
                f"queue_texts is {self.queue_texts}; it must be >= {max(self.max_texts, self.max_batch)}, "
                "so that a whole request and a whole batch can wait"
            )

    def count_workers(self) -> int:
        """Return how many model processes there are to be."""
        return self.workers or min(count_cores(), 8)  # each has a copy of the model in memory


def read_key() -> str | None:
    """Return the key that clients must send, or nothing where none is set.

    Clients send UTF-8, so the variable's bytes are read as that, whatever the locale makes of them.
    """
    try:
        return os.fsencode(os.environ.get(KEY_VARIABLE, "")).decode("utf-8") or None
    except UnicodeDecodeError as error:
        raise InputError(f"{KEY_VARIABLE} is not UTF-8; it must be, as clients send it so") from error
