"""Corpora that change between two commands, and folders that must not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from seq2set.corpora.documents import SPLITS, Document
from seq2set.corpora.prepare import PrepareOptions, prepare
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.corpora.splits import SplitPlan


def all_documents(corpus: PreparedCorpus) -> list[Document]:
    splits = map(corpus.split, SPLITS)
    return [document for split in splits for batch in split.iter_batches(64) for document in batch]


def write_jsonl(path: Path, documents: Sequence[Document]) -> None:
    rows = ({"id": d.id, "text": d.text, "labels": list(d.labels)} for d in documents)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_prepared(folder: Path, documents: Sequence[Document]) -> PreparedCorpus:
    """Write a prepared corpus in the place of the one that is there; documents keep their splits."""
    plan = SplitPlan("given", valid=0, test=0)
    return prepare(
        documents,
        folder,
        name="small",
        source="s",
        licence="l",
        plan=plan,
        options=PrepareOptions(force=True),
    )


def with_one_label_rare(documents: Sequence[Document]) -> list[Document]:
    """Take the most frequent label from most of its documents, so that each label's place changes."""
    given = [label for one in documents for label in one.labels]
    first = max(sorted(set(given)), key=given.count)
    return [
        one if number % 8 == 1 else one._replace(labels=tuple(x for x in one.labels if x != first))
        for number, one in enumerate(documents)
    ]


def contents(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return every file with the time that it was written and its bytes."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}
