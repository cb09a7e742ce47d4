"""Prepared corpora of a few documents, written as files, for tests."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from seq2set.core.files import compute_sha256
from seq2set.corpora.documents import SPLITS, Document
from seq2set.corpora.prepared import FACTS, FORMAT, SCHEMA, PreparedCorpus, name_split_file


def write_corpus(
    folder: Path, splits: Mapping[str, Sequence[Document]], name: str = "small"
) -> PreparedCorpus:
    """Write a prepared corpus as it stands, with whatever faults it has, and open it."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for split in SPLITS:
        path = folder / name_split_file(split)
        rows = [{"id": d.id, "text": d.text, "labels": list(d.labels)} for d in splits.get(split, ())]
        pq.write_table(pa.Table.from_pylist(rows, SCHEMA), path)
        files[path.name] = {"sha256": compute_sha256(path), "bytes": path.stat().st_size}
    (folder / FACTS).write_text(
        json.dumps({"format": FORMAT, "name": name, "source": "made", "licence": "none", "files": files}),
        encoding="utf-8",
    )
    return PreparedCorpus.open(folder)


def healthy(split: str, count: int) -> list[Document]:
    """Make documents that share no run of words with one another, labels x and y in turn."""
    return [
        Document(
            f"{split}{i}", f"{split} text {i} with words of {split}-{i} alone", ("x",) if i % 2 else ("y",)
        )
        for i in range(count)
    ]


def healthy_corpus() -> dict[str, list[Document]]:
    """Make a corpus in which nothing is to be found."""
    return {"train": healthy("train", 20), "valid": healthy("valid", 4), "test": healthy("test", 4)}
