"""The tables in which `seq2set serve` keeps what people say of its labels, one table a concern.

::

    schema_version    the version of these tables, one row
    texts             each text once, known again by its SHA-256
    feedback          each time that somebody spoke of a text, and the model whose labels were spoken of
    feedback_labels   what was said of each label: accepted, rejected or added, in the order given
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from seq2set.errors import CorpusError

VERSION = 1
"""Raised when tables made from now on could not be read by earlier versions."""

VERDICTS = ("accepted", "rejected", "added")
"""What can be said of a label; the first and the last make it one of the text's labels."""

CREATE = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL);
INSERT INTO schema_version SELECT {VERSION} WHERE NOT EXISTS (SELECT 1 FROM schema_version);
CREATE TABLE IF NOT EXISTS texts (
    id INTEGER PRIMARY KEY,
    sha256 BLOB NOT NULL UNIQUE,
    text TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS feedback (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    text_id INTEGER NOT NULL REFERENCES texts (id),
    model TEXT NOT NULL,
    received TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS feedback_of_a_text ON feedback (text_id, id);
CREATE TABLE IF NOT EXISTS feedback_labels (
    feedback_id INTEGER NOT NULL REFERENCES feedback (id),
    place INTEGER NOT NULL,
    label TEXT NOT NULL,
    verdict TEXT NOT NULL CHECK (verdict IN ({", ".join(f"'{one}'" for one in VERDICTS)})),
    PRIMARY KEY (feedback_id, label)
) WITHOUT ROWID;
COMMIT;
"""  # noqa: S608 (nothing in it comes from outside)


def check_version(connection: sqlite3.Connection, path: Path) -> bool:
    """Say whether the tables are there; refuse those of another version, or of other software."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        return False
    if "schema_version" not in tables or not tables >= {"texts", "feedback", "feedback_labels"}:
        raise CorpusError("the database holds other tables; a feedback database is wanted", path)
    version = connection.execute("SELECT max(version) FROM schema_version").fetchone()[0]
    if version != VERSION:
        raise CorpusError(
            f"the feedback database has version {version}, and this version of seq2set reads {VERSION}", path
        )
    return True
