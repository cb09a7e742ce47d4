"""Parquet: one document per row, read in batches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from seq2set.core.errors import CorpusError
from seq2set.corpora.readers.records import ReadOptions, Record, RecordTable, choose_columns
from seq2set.corpora.readers.streams import check_file

_ROWS = 1024


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
