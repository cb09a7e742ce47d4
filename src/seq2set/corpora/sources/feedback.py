"""What people said of the labels that `seq2set serve` suggested, as a corpus to train the next model on.

A text's labels are those that were accepted and those that were added. Where something was said of a text
more than once, the last word counts. A text of which every label was rejected has no label.

The server keeps it in these tables::

    schema_version    the version of these tables, one row
    texts             each text once, known again by its SHA-256
    feedback          each time that somebody spoke of a text, and the model whose labels were spoken of
    feedback_labels   what was said of each label: accepted, rejected or added, in the order given
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from seq2set.core.errors import CorpusError
from seq2set.corpora.documents import Document
from seq2set.corpora.readers.cells.columns import clean_labels, replace_nul
from seq2set.corpora.readers.limits import LONGEST, refuse_long
from seq2set.corpora.readers.streams import check_file
from seq2set.corpora.sources.raw_corpus import Notes, RawCorpus
from seq2set.corpora.splits import SplitPlan

if TYPE_CHECKING:  # it loads PyArrow, which a server has no use for until a file is sent
    from seq2set.corpora.prepare import PrepareOptions

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
    """Return whether the tables are there; refuse those of another version, or of other software."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        return False
    if "schema_version" not in tables or not tables >= {"texts", "feedback", "feedback_labels"}:
        raise CorpusError("the database holds other tables; a feedback database is expected", path)
    for table in ("schema_version", "texts", "feedback", "feedback_labels"):
        made = connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0]
        kinds = {row[6] for row in connection.execute(f"PRAGMA table_xinfo({table})")}
        if kinds != {0} or made.upper().split()[:2] != ["CREATE", "TABLE"]:
            raise CorpusError(f"the table {table} has columns that are computed; none of ours has", path)
    version = connection.execute("SELECT max(version) FROM schema_version").fetchone()[0]
    if version != VERSION:
        raise CorpusError(
            f"the feedback database has version {version}, and this version of seq2set reads {VERSION}", path
        )
    return True


_LAST_WORDS = f"""
SELECT text_id, CASE WHEN length(text) <= {LONGEST} THEN CAST(text AS TEXT) END, last FROM texts
JOIN (SELECT text_id, max(id) AS last FROM feedback GROUP BY text_id) ON text_id = texts.id
ORDER BY text_id
"""  # noqa: S608 (nothing in it comes from outside)
_LABELS = f"""
SELECT CASE WHEN length(label) <= {LONGEST} THEN CAST(label AS TEXT) END FROM feedback_labels
WHERE feedback_id = ? AND verdict IN ('accepted', 'added') ORDER BY place
"""  # noqa: S608 (nothing in it comes from outside)


def _read_texts(path: Path, notes: Notes) -> Iterator[Document]:
    """Yield each text once with the labels that it was last said to have; `notes` says how many."""
    check_file(path)
    if not path.is_file():  # to open a pipe would take for ever
        raise CorpusError("this is no regular file; a feedback database is expected", path)
    texts = 0
    try:
        # Read only, so that a server may go on writing to it; what it writes meanwhile is not seen.
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            if not check_version(connection, path):
                raise CorpusError("the database is empty; a feedback database is expected", path)
            connection.execute("BEGIN")
            for number, text, last in connection.execute(_LAST_WORDS):
                labels = [label for (label,) in connection.execute(_LABELS, (last,))]
                if text is None or None in labels:
                    refuse_long(LONGEST + 1, path, number)
                texts += 1
                yield Document(f"text-{number}", replace_nul(text), clean_labels(labels))
            notes["feedback"] = {
                "texts": texts,
                "times": connection.execute("SELECT count(*) FROM feedback").fetchone()[0],
            }
    except sqlite3.DatabaseError as error:
        raise CorpusError(f"the file cannot be read as a feedback database: {error}", path) from error


def read_feedback(path: Path, options: PrepareOptions) -> RawCorpus:
    """Read the database that `seq2set serve` wrote."""
    notes: Notes = {}
    plan = SplitPlan("random", valid=0.1, test=0.1)
    return RawCorpus(_read_texts(path, notes), options.complete(plan), notes)
