"""Results in the format in which the texts came."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence

from seq2set.corpora.document import Document
from seq2set.errors import InputError
from seq2set.predictor import Prediction
from seq2set.server.answering import Answer
from seq2set.server.errors import INTERNAL, error_body

_DELIMITERS = {"csv": ",", "tsv": "\t"}


class JsonRows:
    """One object a line, as `seq2set predict --json` prints them."""

    head = b""
    failure = json.dumps(error_body("internal", INTERNAL)).encode() + b"\n"
    """The last line of results that break off."""

    def __init__(self, *, explain: bool):
        self._explain = explain

    def rows(self, documents: Sequence[Document], answers: Sequence[Answer]) -> bytes:
        """Write results."""
        pairs = zip(documents, answers, strict=True)
        found = (Prediction(one.id, one.text, answer.labels, answer.note) for one, answer in pairs)
        lines = (json.dumps(one.to_dict(explain=self._explain), ensure_ascii=False) + "\n" for one in found)
        return "".join(lines).encode("utf-8", "replace")


class DelimitedRows:
    """A table with the columns id, labels, scores and note; labels and scores are joined by a separator."""

    failure = b""

    def __init__(self, delimiter: str, separator: str):
        self._delimiter, self._separator = delimiter, separator
        self.head = self._written([("id", "labels", "scores", "note")])

    def rows(self, documents: Sequence[Document], answers: Sequence[Answer]) -> bytes:
        """Write results."""
        pairs = zip(documents, answers, strict=True)
        return self._written([self._row(document, answer) for document, answer in pairs])

    def _row(self, document: Document, answer: Answer) -> tuple[str, str, str, str]:
        labels = self._separator.join(one.label for one in answer.labels)
        scores = self._separator.join(f"{one.score:.6g}" for one in answer.labels)
        return document.id, labels, scores, answer.note or ""

    def _written(self, rows: Sequence[Sequence[str]]) -> bytes:
        stream = io.StringIO()
        csv.writer(stream, delimiter=self._delimiter).writerows(rows)
        return stream.getvalue().encode("utf-8", "replace")


def row_writer(
    name: str, separator: str, labels: Sequence[str], *, explain: bool
) -> JsonRows | DelimitedRows:
    """Return what writes results in a format; refuse what the format cannot hold."""
    if name not in _DELIMITERS:
        return JsonRows(explain=explain)
    if explain:
        raise InputError(
            f"explain is true, but a {name.upper()} file has no place for words; send JSON lines"
        )
    unclear = next((label for label in labels if separator in label), None)
    if unclear is not None:
        raise InputError(f"separator is '{separator}', which stands in the label '{unclear}'; name another")
    return DelimitedRows(_DELIMITERS[name], separator)
