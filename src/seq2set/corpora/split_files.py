"""The second pass over a corpus: its texts go from one file to the files of the three splits.

Memory does not grow with the corpus, but for a byte per document that says which split it goes to.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from seq2set.corpora.documents import SPLITS
from seq2set.corpora.first_pass import TEXTS, FirstPass, UniqueIds
from seq2set.corpora.prepared import GROUPED_SCHEMA, SCHEMA, name_split_file
from seq2set.corpora.readers.parquet import ParquetSource, open_parquet
from seq2set.corpora.splits import TRAIN

REMOVED = -1
"""The index of a document that goes to no split."""

_SIGNATURE = f"parquet-cpp-arrow version {pa.cpp_version}".encode()
_KNOWN_SIGNATURE = b"parquet-cpp-arrow version 26.0.1"
"""What PyArrow signs a file with, and what it did when corpora were first known by digests."""

_GROUP_ROWS = 1 << 14
_GROUP_BYTES = 1 << 23
# Texts and ids never repeat: a dictionary, or their extremes, would cost memory and space for nothing.
_REPEATED = ["labels.list.element"]


class Placement(NamedTuple):
    """Where documents go, and which labels they keep."""

    parts: NDArray[np.int8]
    """A split for each document, or `REMOVED`"""
    columns: NDArray[np.int32]
    """A number for each label, or `REMOVED`"""
    label_names: list[str]


@dataclass
class WrittenTotals:
    """What is counted of the documents that are written."""

    documents: int = 0
    words: int = 0
    labels: int = 0
    training_labels: int = 0
    without_text: int = 0
    without_labels: int = 0
    groups: int = 0
    contents: dict[str, str] = field(default_factory=dict)
    """By the name of a split: the SHA-256 that its file would have without page checksums"""


def write_splits(whole: FirstPass, folder: Path, placement: Placement, ids: UniqueIds) -> WrittenTotals:
    """Write the three files; they have a column of groups only where there are any."""
    totals, row = WrittenTotals(), 0
    group_names = pa.array(whole.group_names, pa.string())
    seen = np.zeros(len(group_names), bool)
    schema = GROUPED_SCHEMA if len(group_names) else SCHEMA
    with ExitStack() as stack:
        files = [stack.enter_context(_SplitFile(folder / name_split_file(name), schema)) for name in SPLITS]
        source = stack.enter_context(open_parquet(whole.texts))
        labels = _read_lists(whole, source, placement)
        for group in range(len(source.footer.groups)):
            table = source.file.read_row_group(group, use_threads=False)
            rows = slice(row, row + table.num_rows)
            row += table.num_rows
            part, words, groups = placement.parts[rows], whole.words.read(row - table.num_rows, row), None
            kept = part != REMOVED
            names = pa.array(ids.rename(table.column("id").to_pylist()), pa.string())
            lists = next(labels)
            table = table.set_column(0, TEXTS.field("id"), names)
            table = table.append_column(SCHEMA.field("labels"), lists)
            if len(group_names):
                groups = whole.groups.read(row - table.num_rows, row)
                seen[groups[kept & (groups >= 0)]] = True
                column = group_names.take(pa.array(groups, pa.int64(), mask=groups < 0))
                table = table.append_column(GROUPED_SCHEMA.field("group"), column)
            _count(totals, part, words, np.diff(lists.offsets.to_numpy()))
            for index, file in enumerate(files):
                file.add(table.filter(pa.array(part == index)))
    totals.groups = int(seen.sum())
    totals.contents = {name: file.content for name, file in zip(SPLITS, files, strict=True)}
    return totals


def _read_lists(whole: FirstPass, source: ParquetSource, placement: Placement) -> Iterator[Any]:
    """Yield the labels of each row group as lists of names, without those that are not kept."""
    names = pa.array(placement.label_names, pa.string())
    start = first = 0
    for rows in (group.rows for group in source.footer.groups):
        lengths = whole.labels.lengths.read(start, start + rows)
        values = placement.columns[whole.labels.values.read(first, first + int(lengths.sum()))]
        start, first = start + rows, first + int(lengths.sum())
        before = np.concatenate([[0], np.cumsum(values != REMOVED)])
        offsets = before[np.concatenate([[0], np.cumsum(lengths)])]
        yield pa.ListArray.from_arrays(
            pa.array(offsets, pa.int32()), names.take(pa.array(values[values != REMOVED], pa.int32()))
        )


def _count(totals: WrittenTotals, part: NDArray[np.int8], words: NDArray[Any], labels: NDArray[Any]) -> None:
    kept = part != REMOVED
    totals.documents += int(kept.sum())
    totals.words += int(words[kept].sum())
    totals.labels += int(labels[kept].sum())
    totals.training_labels += int(labels[part == TRAIN].sum())
    totals.without_text += int((words[kept] == 0).sum())
    totals.without_labels += int((labels[kept] == 0).sum())


class _Hashed(io.RawIOBase):
    """A file of which nothing is kept but the SHA-256, the same whichever PyArrow writes it."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.digest.update(bytes(data).replace(_SIGNATURE, _KNOWN_SIGNATURE))
        return len(data)


class _SplitFile:
    """A file of one split; small tables are joined, for small row groups read slowly.

    It is written a second time, to nowhere: a corpus is recognised by the bytes that its files had before
    they got page checksums, so that what was trained, measured and published then is known for the same.
    """

    def __init__(self, path: Path, schema: Any):
        self._plain = _Hashed()
        self._writers = [
            pq.ParquetWriter(
                place,
                schema,
                compression="zstd",
                use_dictionary=_REPEATED,
                write_statistics=False,
                write_page_checksum=checksums,
            )
            for place, checksums in ((path, True), (self._plain, False))
        ]
        self._waiting: list[Any] = []

    @property
    def content(self) -> str:
        return self._plain.digest.hexdigest()

    def __enter__(self) -> _SplitFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._flush()
        for writer in self._writers:
            writer.close()

    def add(self, table: Any) -> None:
        self._waiting.append(table)
        rows = sum(waiting.num_rows for waiting in self._waiting)
        if rows >= _GROUP_ROWS or sum(waiting.nbytes for waiting in self._waiting) >= _GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            joined = pa.concat_tables(self._waiting)
            for writer in self._writers:
                writer.write_table(joined)
        self._waiting = []
        pa.default_memory_pool().release_unused()
