"""The documents that a model got wrong, as a CSV file to read."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from seq2set.core.files import write_aside
from seq2set.corpora.documents import Document
from seq2set.evaluation.measure import Keep
from seq2set.models.predictions import Inference

COLUMNS = ("id", "text", "true", "given", "scores")
SEPARATOR = ";"
"""Between labels, as `train` reads them."""


@contextmanager
def write_errors(path: Path, names: Sequence[str]) -> Iterator[Keep]:
    """Give a function that takes batches; those documents whose labels differ from the given are written.

    `scores` has the score of each label that was given or should have been; one that the model does not know
    has none.
    """
    known = {name: column for column, name in enumerate(names)}
    with write_aside(path) as aside, aside.open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(COLUMNS)

        def keep(documents: Sequence[Document], answer: Inference) -> None:
            for document, chosen, scores in zip(documents, answer.chosen, answer.scores, strict=True):
                given = [names[column] for column in chosen]
                if set(given) == set(document.labels):
                    continue
                told = [name for name in dict.fromkeys([*given, *document.labels]) if name in known]
                listed = (f"{name}={scores[known[name]]:.4f}" for name in told)
                labels = (SEPARATOR.join(one) for one in (document.labels, given, listed))
                rows.writerow((document.id, document.text, *labels))

        yield keep
