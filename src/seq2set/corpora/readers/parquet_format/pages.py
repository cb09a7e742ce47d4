"""Pages of a Parquet file, measured before they are unpacked: a small one can stand for gigabytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from seq2set.core.errors import CorpusError
from seq2set.corpora.readers.parquet_format.footer import Chunk, Footer
from seq2set.corpora.readers.parquet_format.thrift import FAULTS, I32, Shape, ThriftReader

BATCH_BYTES = 1 << 26
"""How many bytes of rows are held at a time"""

_LARGEST_PAGE = 1 << 29
_MOST_VALUES = 1 << 26
_MOST_ROWS = 1024
_PAGES, _PAGE = 100_000, 1000
"""Maximum pages of a small file, and bytes per further page of a larger one: reading a header takes time"""
_LONGEST_HEADER = 1 << 16

_HEADER: dict[int, Shape] = {1: I32, 2: I32, 3: I32, 4: I32, 5: {1: I32}, 6: {}, 7: {1: I32}, 8: {1: I32}}
_COUNTED_BY = {0: 5, 2: 7, 3: 8}
"""By the kind of a page: the field that says how many values it has"""
_DICTIONARY = 2


class _Page(NamedTuple):
    kind: int
    unpacked: int
    packed: int
    values: int
    header: int
    """How many bytes it takes"""


class _Measured(NamedTuple):
    largest: int
    """How many bytes the largest page unpacks to"""
    pages: int


def check_pages(path: Path, footer: Footer) -> int:
    """Measure the pages of a Parquet file; return how many rows may be read at a time."""
    largest, pages = 1, _PAGES + path.stat().st_size // _PAGE
    with path.open("rb") as stream:
        for chunk in (chunk for group in footer.groups for chunk in group.chunks):
            found = _check_chunk(path, stream, chunk, pages)
            largest, pages = max(largest, found.largest), pages - found.pages
    return max(1, min(_MOST_ROWS, BATCH_BYTES // largest))


def _check_chunk(path: Path, stream: Any, chunk: Chunk, most: int) -> _Measured:
    """Go from page to page of a column, up to `most`, and measure them."""
    place, largest, pages, values = chunk.start, 0, 0, 0
    if not chunk.values:  # of which no page is read
        return _Measured(0, 0)
    while place < chunk.start + chunk.size:
        stream.seek(place)
        page = _read_header(path, stream.read(_LONGEST_HEADER))
        _check_page(path, chunk, page)
        place, largest, pages = place + page.header + page.packed, max(largest, page.unpacked), pages + 1
        values += page.values if page.kind != _DICTIONARY else 0
        if pages > most:
            raise CorpusError("the file has more pages than files of its size have", path)
    if values < chunk.values:  # for which memory would be taken
        raise CorpusError(
            f"the file is damaged: the column '{chunk.path}' has {chunk.values:,} values, and its pages "
            f"{values:,}",
            path,
        )
    return _Measured(largest, pages)


def _read_header(path: Path, content: bytes) -> _Page:
    reader = ThriftReader(content, len(content))
    try:
        found = reader.read_struct(_HEADER)
        counted = _COUNTED_BY.get(found[1])
        values = 0 if counted is None else found[counted][1]
        return _Page(found[1], found[2], found[3], values, reader.place)
    except FAULTS as error:
        raise CorpusError("the file is damaged, or not a Parquet file: a page has no header", path) from error


def _check_page(path: Path, chunk: Chunk, page: _Page) -> None:
    if page.packed < 0 or not 0 <= page.unpacked <= _LARGEST_PAGE or not 0 <= page.values <= _MOST_VALUES:
        raise CorpusError(
            f"a page of the column '{chunk.path}' unpacks to {page.unpacked:,} bytes and {page.values:,} "
            f"values; at most {_LARGEST_PAGE:,} and {_MOST_VALUES:,} are read",
            path,
        )
