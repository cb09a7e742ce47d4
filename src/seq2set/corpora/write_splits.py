"""The second pass over a corpus: the texts are written to the files of the three splits."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from seq2set.corpora.documents import SPLITS
from seq2set.corpora.prepared import GROUPED_SCHEMA, SCHEMA, name_split_file

REMOVED = -1
"""Stands in the place of a split's index for a document that goes to none."""

_GROUP_ROWS = 1 << 14
_GROUP_BYTES = 1 << 23
# Texts and ids never repeat: a dictionary, or their extremes, would cost memory and space for nothing.
_REPEATED = ["labels.list.element"]


class Groups(NamedTuple):
    """The group of each text, as an index into `names`; -1 where it has none."""

    codes: NDArray[np.int64]
    names: list[str]


def write_splits(
    texts: Path,
    folder: Path,
    parts: NDArray[np.int8],
    labels: csr_matrix[Any],
    label_names: list[str],
    groups: Groups | None = None,
) -> None:
    """Write the three files from `texts`; `parts` has a row per text, `labels` a row per text that is kept.

    The files have a column of groups only where there are any.
    """
    names = pa.array(label_names, pa.string())
    schema = SCHEMA if groups is None else GROUPED_SCHEMA
    row = first = 0
    with ExitStack() as stack:
        files = [stack.enter_context(_SplitFile(folder / name_split_file(name), schema)) for name in SPLITS]
        source = stack.enter_context(pq.ParquetFile(texts))
        for group in range(source.num_row_groups):
            table = source.read_row_group(group)
            rows = slice(row, row + table.num_rows)
            part = parts[rows]
            row += table.num_rows
            kept = part != REMOVED
            lists = _build_lists(labels[first : first + int(kept.sum())], names)
            first += len(lists)
            table = table.filter(pa.array(kept)).append_column(SCHEMA.field("labels"), lists)
            if groups is not None:
                column = _name_groups(groups.codes[rows][kept], groups.names)
                table = table.append_column(GROUPED_SCHEMA.field("group"), column)
            for index, file in enumerate(files):
                file.add(table.filter(pa.array(part[kept] == index)))


def _build_lists(labels: csr_matrix[Any], names: Any) -> Any:
    offsets = pa.array(labels.indptr, pa.int32())
    return pa.ListArray.from_arrays(offsets, names.take(pa.array(labels.indices)))


def _name_groups(codes: NDArray[np.int64], names: list[str]) -> Any:
    return pa.array(names, pa.string()).take(pa.array(codes, pa.int64(), mask=codes < 0))


class _SplitFile:
    """A file of one split; small tables are joined, for small row groups read slowly."""

    def __init__(self, path: Path, schema: Any):
        self._writer = pq.ParquetWriter(
            path, schema, compression="zstd", use_dictionary=_REPEATED, write_statistics=False
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
