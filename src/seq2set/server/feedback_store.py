"""Where feedback is kept: an SQLite database; what was acknowledged survives a kill or a power cut."""

from __future__ import annotations

import asyncio
import hashlib
import os
import sqlite3
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from seq2set.core.disk import make_folder
from seq2set.core.errors import CorpusError, OutputError
from seq2set.core.files import report_output_errors
from seq2set.corpora.sources.feedback import CREATE, check_version

_SETTINGS = ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "busy_timeout = 5000")
"""In write-ahead mode readers do not block; with full synchronisation a commit is on the disk."""


@dataclass(frozen=True)
class Feedback:
    """What somebody says of a text's labels."""

    text: str
    accepted: Sequence[str] = ()
    rejected: Sequence[str] = ()
    added: Sequence[str] = ()

    def verdicts(self) -> list[tuple[str, str]]:
        """Return each label with what is said of it, in the order given."""
        named = (("accepted", self.accepted), ("rejected", self.rejected), ("added", self.added))
        return [(label, verdict) for verdict, labels in named for label in labels]


class FeedbackStore:
    """A database of feedback; one thread writes, so that the event loop never waits for the disk."""

    def __init__(self, path: Path, model: str, most_bytes: int = 2**32):
        self.path, self.model, self._most_bytes = path, model, most_bytes
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="seq2set-feedback")
        try:
            self._connection = self._thread.submit(_open, path, most_bytes).result()
            self._identity = _identify(path)
        except OutputError:
            self._thread.shutdown()
            raise

    async def add(self, feedback: Feedback) -> int:
        """Keep feedback and return its number, once it is on the disk."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._add, feedback)

    def close(self) -> None:
        """Finish what is being written and close the database."""
        self._thread.submit(self._connection.close).result()
        self._thread.shutdown()

    def _add(self, feedback: Feedback) -> int:
        self._check_place()
        try:
            number = self._insert(feedback)
        except sqlite3.OperationalError as error:
            if "full" not in str(error):
                raise
            raise sqlite3.OperationalError(f"{error}; max_feedback_bytes is {self._most_bytes:,}") from error
        self._check_place()  # it may have gone in the meantime
        return number

    def _check_place(self) -> None:
        """Refuse to write into a database that nobody will find again."""
        if _identify(self.path) != self._identity:
            raise sqlite3.OperationalError(f"{self.path} was deleted or replaced; restart the server")

    def _insert(self, feedback: Feedback) -> int:
        with self._connection as transaction:  # commits, or takes everything back
            transaction.execute("BEGIN IMMEDIATE")
            digest = hashlib.sha256(feedback.text.encode()).digest()
            transaction.execute(
                "INSERT OR IGNORE INTO texts (sha256, text) VALUES (?, ?)", (digest, feedback.text)
            )
            (text,) = transaction.execute("SELECT id FROM texts WHERE sha256 = ?", (digest,)).fetchone()
            now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
            done = transaction.execute(
                "INSERT INTO feedback (text_id, model, received) VALUES (?, ?, ?)", (text, self.model, now)
            )
            number = int(done.lastrowid or 0)
            rows = [(number, place, *one) for place, one in enumerate(feedback.verdicts())]
            transaction.executemany(
                "INSERT INTO feedback_labels (feedback_id, place, label, verdict) VALUES (?, ?, ?, ?)", rows
            )
        return number


def _identify(path: Path) -> list[tuple[int, int]] | None:
    """Return what tells the database and its write-ahead log from others in the same place."""
    try:
        found = [one.stat() for one in (path, path.with_name(path.name + "-wal"))]
    except OSError:
        return None
    return [(one.st_dev, one.st_ino) for one in found]


def _open(path: Path, most_bytes: int) -> sqlite3.Connection:
    with report_output_errors(path):
        make_folder(path.parent)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # it holds texts; its log gets the same mode
    connection = None
    try:
        connection = sqlite3.connect(path, isolation_level=None)
        for setting in _SETTINGS:
            connection.execute(f"PRAGMA {setting}")
        (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
        connection.execute(f"PRAGMA max_page_count = {max(1, most_bytes // page_bytes)}")
        check_version(connection, path)
        connection.executescript(CREATE)
    except (sqlite3.Error, CorpusError) as error:
        if connection is not None:
            connection.close()
        raise OutputError(f"cannot keep feedback in {path}: {error}") from error
    return connection
