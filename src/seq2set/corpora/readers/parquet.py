"""Parquet: one document per row, read in batches, or columns that stay in their file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from seq2set.core.errors import CorpusError
from seq2set.corpora.documents import ColumnView, Value
from seq2set.corpora.readers.limits import LONGEST, refuse_long
from seq2set.corpora.readers.options import ReadOptions, choose_columns
from seq2set.corpora.readers.parquet_format.footer import BYTE_ARRAY, Footer, Leaf, read_footer
from seq2set.corpora.readers.parquet_format.pages import BATCH_BYTES, check_pages
from seq2set.corpora.readers.records import Record, RecordTable
from seq2set.corpora.readers.streams import check_file

AT_A_TIME = 4096
"""How many values of a column become Python's at a time."""


def read_parquet(path: Path, options: ReadOptions) -> RecordTable:
    """Return the rows of a Parquet file; errors count rows as lines."""
    with open_parquet(path) as source:
        names = list(source.file.schema_arrow.names)
        if twice := next((name for name, count in Counter(names).items() if count > 1), None):
            raise CorpusError(f"the file has the column '{twice}' twice; names must differ", path)
        rows = check_pages(path, source.footer)
        # They repeat, so that a page can stand for far more than it holds.
        leaves = [leaf for leaf in source.footer.leaves if leaf.repeats]
        nested = [leaf for leaf in leaves if leaf.physical_type == BYTE_ARRAY]
        if strange := next((one.column for one in nested if one.column not in names), None):
            raise CorpusError(f"the file is damaged: its schema has no column '{strange}'", path)
    if nested:
        rows = min(rows, _check_lists(path, nested))
    return RecordTable(names, _read_records(path, choose_columns(names, options), rows))


def _check_lists(path: Path, nested: list[Leaf]) -> int:
    """Refuse a list whose texts together are too long; return how many rows may be read at a time.

    Each text is read once and counted as often as it stands there.
    """
    longest, before = 1, 0
    with open_parquet(path, [one.path for one in nested]) as source:
        for group, stored in enumerate(source.footer.groups):
            for name in dict.fromkeys(one.column for one in nested):
                sizes = _measure_lists(source.file, group, name)
                if len(sizes) and sizes.max() > LONGEST:
                    refuse_long(int(sizes.max()), path, before + int(sizes.argmax()) + 1)
                longest = max(longest, int(sizes.max(initial=0)))
            before += stored.rows
    return max(1, BATCH_BYTES // longest)


def _measure_lists(file: Any, group: int, name: str) -> NDArray[np.int64]:
    """Return the characters of each row's list; none where it is no plain list of texts."""
    try:
        column = file.read_row_group(group, columns=[name], use_threads=False).column(name)
    except pa.ArrowNotImplementedError:  # of dictionaries that change within a group
        return np.zeros(0, np.int64)
    parts = [np.zeros(0, np.int64)]
    for lists in column.chunks:
        if not pa.types.is_list(lists.type) or not pa.types.is_dictionary(lists.type.value_type):
            return np.zeros(0, np.int64)
        values = lists.flatten()
        each = pc.binary_length(values.dictionary).take(values.indices).fill_null(0)
        before = np.concatenate([[0], np.cumsum(each.to_numpy(zero_copy_only=False).astype(np.int64) + 1)])
        ends = np.cumsum(pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False))
        parts.append(np.diff(before[np.concatenate([[0], ends])]))
    return np.concatenate(parts)


def _read_records(path: Path, columns: list[str], rows: int) -> Iterator[Record]:
    number = 0
    with open_parquet(path) as source:
        for batch in source.file.iter_batches(rows, columns=columns):
            for values in _list_rows(batch, path, number):
                number += 1
                yield Record(values, number, number)


def _list_rows(batch: Any, path: Path, before: int) -> Iterator[Any]:
    """Turn a batch into rows: at once, or one by one where it holds much."""
    if _count_cells(batch) <= LONGEST:
        yield from batch.to_pylist()
        return
    for row in range(batch.num_rows):
        one = batch.slice(row, 1)
        refuse_long(_count_cells(one), path, before + row + 1)
        yield one.to_pylist()[0]


def _count_cells(batch: Any) -> int:
    return sum(_count_content(column) for column in batch.columns)


def _count_content(array: Any) -> int:
    """Return about how many bytes the values of a column have, each one counted."""
    kind = array.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _count_content(array.flatten()) + len(array)
    if pa.types.is_struct(kind):
        return sum(_count_content(part) for part in array.flatten())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind):
        return int(pc.sum(pc.binary_length(array)).as_py() or 0) + len(array)
    return len(array)


class ParquetSource(NamedTuple):
    """An open Parquet file.

    `file.metadata` and `file.schema` are not to be asked: damage that PyArrow meets there ends the process.
    """

    file: Any
    """PyArrow's"""
    footer: Footer


@contextmanager
def open_parquet(path: Path, dictionaries: Sequence[str] = ()) -> Iterator[ParquetSource]:
    """Open a Parquet file; damage met while reading names the file."""
    check_file(path)
    if path.stat().st_size == 0:
        raise CorpusError("the file is empty", path)
    with name_damage(path), pa.OSFile(os.fsencode(path)) as stream:
        yield _read_source(stream, path, dictionaries)


def _read_source(stream: Any, path: Path, dictionaries: Sequence[str] = ()) -> ParquetSource:
    footer = read_footer(stream, path)
    repeated = list(dictionaries)
    return ParquetSource(
        pq.ParquetFile(stream, page_checksum_verification=True, read_dictionary=repeated), footer
    )


@contextmanager
def name_damage(path: Path) -> Iterator[None]:
    """Turn what is met in reading a Parquet file into a sentence that names it."""
    try:
        yield
    except PermissionError as error:
        raise CorpusError("the file cannot be read: permission is denied", path) from error
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
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
            source = _read_source(pa.OSFile(os.fsencode(path)), path)
        self._file = source.file
        self._starts = np.cumsum([0, *(group.rows for group in source.footer.groups)])
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
            with name_damage(self._path):
                found = self._load(int(group)).take(rows[groups == group] - self._starts[group]).to_pylist()
            yield from found

    def _load(self, group: int) -> Any:
        if group != self._held:
            table = self._file.read_row_group(group, columns=[self._name], use_threads=False)
            self._held, self._values = group, table.column(self._name)
        return self._values
