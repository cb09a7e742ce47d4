"""What people said of the labels that `seq2set serve` suggested, as a corpus to train the next model on.

A text's labels are those that were accepted and those that were added. Where something was said of a text
more than once, the last word counts. A text of which every label was rejected has no label.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from seq2set.corpora.document import Document
from seq2set.corpora.readers.records import folded, tidied
from seq2set.corpora.sources.feedback_schema import check_version
from seq2set.corpora.sources.options import SourceOptions
from seq2set.corpora.sources.source import Notes, Reading, Source
from seq2set.corpora.splits import SplitPlan
from seq2set.corpora.streams import check_file
from seq2set.errors import CorpusError

_LAST_WORDS = """
SELECT text_id, text, last FROM texts
JOIN (SELECT text_id, max(id) AS last FROM feedback GROUP BY text_id) ON text_id = texts.id
ORDER BY text_id
"""
_LABELS = """
SELECT label FROM feedback_labels WHERE feedback_id = ? AND verdict IN ('accepted', 'added') ORDER BY place
"""


def read_feedback(path: Path, notes: Notes) -> Iterator[Document]:
    """Give each text once with the labels that it was last said to have; `notes` is told how many."""
    check_file(path)
    texts = 0
    try:
        # Read only, so that a server may go on writing to it; what it writes meanwhile is not seen.
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            if not check_version(connection, path):
                raise CorpusError("the database is empty; a feedback database is wanted", path)
            connection.execute("BEGIN")
            for number, text, last in connection.execute(_LAST_WORDS):
                texts += 1
                labels = folded(label for (label,) in connection.execute(_LABELS, (last,)))
                yield Document(f"text-{number}", tidied(text), labels)
            notes["feedback"] = {
                "texts": texts,
                "times": connection.execute("SELECT count(*) FROM feedback").fetchone()[0],
            }
    except sqlite3.DatabaseError as error:
        raise CorpusError(f"the file cannot be read as a feedback database: {error}", path) from error


def _read(path: Path | None, options: SourceOptions) -> Reading:
    options.chosen_split("feedback")
    if path is None:
        raise CorpusError("feedback needs the database that `seq2set serve` wrote: name it with --from")
    notes: Notes = {}
    return Reading(read_feedback(path, notes), options.plan(FEEDBACK.plan), notes)


FEEDBACK = Source(
    name="feedback",
    title="What people said of suggested labels, as `seq2set serve` kept it",
    obtained="the database that `seq2set serve RUN --feedback DB` writes",
    licence="that of the texts which were sent to the server",
    needs_path=True,
    read=_read,
    plan=SplitPlan("random", valid=0.1, test=0.1),
    max_words=None,
)
