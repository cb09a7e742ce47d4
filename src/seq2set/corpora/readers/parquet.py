"""Parquet: one document per row, read in batches, or columns that stay in their file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from seq2set.core.errors import CorpusError
from seq2set.corpora.documents import ColumnView, Value
from seq2set.corpora.readers.records import ReadOptions, Record, RecordTable, choose_columns
from seq2set.corpora.readers.streams import check_file

_ROWS = 1024

AT_A_TIME = 4096
"""How many values of a column become Python's at a time."""


def read_parquet(path: Path, options: ReadOptions) -> RecordTable:
    """Return the rows of a Parquet file; errors count rows as lines."""
    with open_parquet(path) as file:
        names = list(file.schema_arrow.names)
    return RecordTable(names, _read_records(path, choose_columns(names, options)))


def _read_records(path: Path, columns: list[str]) -> Iterator[Record]:
    number = 0
    with open_parquet(path) as file:
        for batch in file.iter_batches(_ROWS, columns=columns):
            for values in batch.to_pylist():
                number += 1
                yield Record(values, number, number)


@contextmanager
def open_parquet(path: Path) -> Iterator[Any]:
    """Open a Parquet file; damage met while reading names the file."""
    check_file(path)
    if path.stat().st_size == 0:
        raise CorpusError("the file is empty", path)
    with name_damage(path), pq.ParquetFile(path, page_checksum_verification=True) as file:
        yield file


@contextmanager
def name_damage(path: Path) -> Iterator[None]:
    """Turn what is met in reading a Parquet file into a sentence that names it."""
    try:
        yield
    except PermissionError as error:
        raise CorpusError("the file cannot be read: permission is denied", path) from error
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise CorpusError(f"the file is damaged, or not a Parquet file: {reason}", path) from error


class StoredColumn(ColumnView[Value]):
    """A column of a Parquet file, or the values at some of its rows, which ascend.

    It is read in passes, by stretches or one value at a time; the row group that was read last is kept. The
    file is held open: what began with it reads the same to its end, whatever is put in its place meanwhile.
    """

    def __init__(self, path: Path, name: str, rows: NDArray[np.int64] | None = None):
        self._path, self._name, self._rows = path, name, rows
        with name_damage(path):
            self._file = pq.ParquetFile(path, page_checksum_verification=True)
        groups = range(self._file.metadata.num_row_groups)
        sizes = [self._file.metadata.row_group(group).num_rows for group in groups]
        self._starts = np.cumsum([0, *sizes])
        self._held, self._values = -1, None  # type: int, Any

    def __len__(self) -> int:
        return int(self._starts[-1]) if self._rows is None else len(self._rows)

    @overload
    def __getitem__(self, place: int) -> Value: ...

    @overload
    def __getitem__(self, place: slice) -> list[Value]: ...

    def __getitem__(self, place: int | slice) -> Value | list[Value]:
        wanted = range(len(self))[place]
        if isinstance(wanted, int):
            return next(self._read(np.array([wanted])))
        if wanted.step != 1:
            return list(self)[place]
        return list(self._read(np.arange(wanted.start, wanted.stop)))

    def __iter__(self) -> Iterator[Value]:
        for start in range(0, len(self), AT_A_TIME):
            yield from self[start : start + AT_A_TIME]

    def pick(self, places: NDArray[np.intp]) -> Sequence[Value]:
        """Return the values at some places; they stay in the file where the places ascend."""
        if (np.diff(places) <= 0).any():
            whole = list(self)
            return [whole[place] for place in places]
        return StoredColumn(self._path, self._name, places if self._rows is None else self._rows[places])

    def _read(self, places: NDArray[np.int64]) -> Iterator[Value]:
        rows = places if self._rows is None else self._rows[places]
        groups = np.searchsorted(self._starts, rows, side="right") - 1
        for group in np.unique(groups):
            yield from self._load(int(group)).take(rows[groups == group] - self._starts[group]).to_pylist()

    def _load(self, group: int) -> Any:
        if group != self._held:
            with name_damage(self._path):
                table = self._file.read_row_group(group, columns=[self._name], use_threads=False)
            self._held, self._values = group, table.column(self._name)
        return self._values
