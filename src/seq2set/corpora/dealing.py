"""The second pass over a corpus: texts are dealt out to the files of the three splits."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from seq2set.corpora.document import SPLITS
from seq2set.corpora.prepared import SCHEMA, split_file

REMOVED = -1
"""Stands in the place of a split's index for a document that goes to none."""

_GROUP_ROWS = 1 << 14
_GROUP_BYTES = 1 << 23
# Texts and ids never repeat: a dictionary, or their extremes, would cost memory and space for nothing.
_REPEATED = ["labels.list.element"]


def deal(
    texts: Path, folder: Path, parts: NDArray[np.int8], labels: csr_matrix[Any], label_names: list[str]
) -> None:
    """Write the three files from `texts`; `parts` has a row a text, `labels` a row a text that is kept."""
    names = pa.array(label_names, pa.string())
    row = first = 0
    with ExitStack() as stack:
        files = [stack.enter_context(_SplitFile(folder / split_file(name))) for name in SPLITS]
        source = stack.enter_context(pq.ParquetFile(texts))
        for group in range(source.num_row_groups):
            table = source.read_row_group(group)
            part = parts[row : row + table.num_rows]
            row += table.num_rows
            kept = part != REMOVED
            lists = _lists(labels[first : first + int(kept.sum())], names)
            first += len(lists)
            table = table.filter(pa.array(kept)).append_column(SCHEMA.field("labels"), lists)
            for index, file in enumerate(files):
                file.add(table.filter(pa.array(part[kept] == index)))


def _lists(labels: csr_matrix[Any], names: Any) -> Any:
    offsets = pa.array(labels.indptr, pa.int32())
    return pa.ListArray.from_arrays(offsets, names.take(pa.array(labels.indices)))


class _SplitFile:
    """A file of one split; small tables are joined, for small row groups read slowly."""

    def __init__(self, path: Path):
        self._writer = pq.ParquetWriter(
            path, SCHEMA, compression="zstd", use_dictionary=_REPEATED, write_statistics=False
        )
        self._waiting: list[Any] = []

    def __enter__(self) -> _SplitFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._flush()
        self._writer.close()

    def add(self, table: Any) -> None:
        self._waiting.append(table)
        rows = sum(waiting.num_rows for waiting in self._waiting)
        if rows >= _GROUP_ROWS or sum(waiting.nbytes for waiting in self._waiting) >= _GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.concat_tables(self._waiting))
        self._waiting = []
