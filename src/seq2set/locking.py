"""Locks between processes: held for as long as a block runs, and let go of when its process dies.

SQLite locks its files in this way on every system; nothing is ever written to them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from seq2set.errors import WorkError


@contextmanager
def held(path: Path, *, busy: str, seconds: float, shared: bool = False) -> Iterator[None]:
    """Hold a lock, alone or together with others that share it; say `busy` where it cannot be had in time."""
    with closing(sqlite3.connect(path, timeout=seconds, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN" if shared else "BEGIN EXCLUSIVE")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # sharing begins with reading
        except sqlite3.OperationalError as error:
            raise WorkError(busy) from error
        yield
