"""How a server listens and what it allows."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from pathlib import Path

from seq2set.core.errors import InputError

KEY_VARIABLE = "SEQ2SET_API_KEY"
"""The environment variable that holds the key which clients must send; without it none is asked for."""

_MIB = 2**20


@dataclass(frozen=True)
class ServeSettings:
    """Every limit of a server, each with its default."""

    host: str = "127.0.0.1"
    """The address to listen on; the default can be reached from this machine only."""
    port: int = 8000
    """The port to listen on; 0 takes a free one."""
    key: str | None = field(default=None, repr=False)
    """The key that clients must send, if any."""
    feedback: Path | None = None
    """The database that keeps feedback; none is kept where none is named."""
    max_batch: int = 64
    """At most so many texts share a forward pass."""
    window_ms: float = 5.0
    """So long a text waits for others to share a forward pass with."""
    queue_texts: int = 512
    """At most so many texts wait; beyond them requests are refused with 429."""
    max_texts: int = 64
    """At most so many texts a request."""
    max_text_chars: int = 100_000
    """At most so many characters a text."""
    max_body_bytes: int = 8 * _MIB
    """At most so many bytes a request."""
    max_upload_bytes: int = 50 * _MIB
    """At most so many bytes a file sent to be labelled."""
    max_uploads: int = 4
    """At most so many files at a time."""
    max_connections: int = 512
    """At most so many connections at a time."""
    answer_seconds: float = 30.0
    """So long a request may wait for its answer, and a reader of results may stall."""
    header_seconds: float = 10.0
    """So long a client may take to send a request's head."""
    body_seconds: float = 20.0
    """So long a client may take to send a request's body."""
    upload_seconds: float = 600.0
    """So long a client may take to send a file."""
    shutdown_seconds: int = 30
    """So long a server that was told to stop finishes what it has accepted."""

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            if limit.name.startswith(("max_", "queue_")) and value < 1:
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


def key_from_environment() -> str | None:
    """Return the key that clients must send, or nothing where none is set.

    Clients send UTF-8, so the variable's bytes are read as that, whatever the locale makes of them.
    """
    try:
        return os.fsencode(os.environ.get(KEY_VARIABLE, "")).decode("utf-8") or None
    except UnicodeDecodeError as error:
        raise InputError(f"{KEY_VARIABLE} is not UTF-8; it must be, as clients send it so") from error
