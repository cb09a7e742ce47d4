"""How large what is read may become: a small file can be made to hold a text of gigabytes.

A record (a line, a row, an object) has up to `LONGEST` characters. Compressed files are unpacked block by
block; what cannot be, such as a page of a Parquet file, is measured before it is unpacked.
"""

from __future__ import annotations

import io
import lzma
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

from seq2set.core.errors import CorpusError

LONGEST = 1 << 24
"""How many characters a record may have"""

_LARGEST_PAGE = 1 << 29
_MOST_VALUES = 1 << 26
BATCH_BYTES = 1 << 26
"""How many bytes of rows are held at a time"""
_MOST_ROWS = 1024
_UNPACKING = 1 << 28
"""How many bytes of memory unpacking may take"""
_BLOCK = 1 << 16
_PAGES, _PAGE = 100_000, 1000
"""Maximum pages of a small file, and bytes per further page of a larger one: reading a header takes time"""
_SMALL = 1 << 26
_DENSEST = 200
"""How many times its size a large part of a workbook may unpack to"""


def refuse_long(characters: int, path: Path, line: int | None = None) -> None:
    """Refuse a record of too many characters."""
    if characters > LONGEST:
        raise CorpusError(f"the record has more than {LONGEST:,} characters, which is the limit", path, line)


class XzStream(io.RawIOBase):
    """An .xz file, unpacked in bounded memory, whatever dictionary it asks for."""

    def __init__(self, path: Path):
        self._file = path.open("rb")
        self._unpacker, self._waiting = self._begin(), b""

    def _begin(self) -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(lzma.FORMAT_AUTO, memlimit=_UNPACKING)

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Unpack as much as fits, through all streams that stand one after the other."""
        while True:
            if self._unpacker.eof:
                self._waiting = (self._unpacker.unused_data or self._file.read(_BLOCK)).lstrip(b"\0")
                if not self._waiting:
                    return 0
                self._unpacker = self._begin()
            elif self._unpacker.needs_input and not self._waiting:
                self._waiting = self._file.read(_BLOCK)
                if not self._waiting:
                    raise EOFError("the file ends before its end was marked")
            found = self._unpacker.decompress(self._waiting, len(buffer))
            self._waiting = b""
            if found:
                buffer[: len(found)] = found
                return len(found)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


def check_workbook(path: Path) -> None:
    """Refuse a zipped workbook of which a part would unpack to far more than itself."""
    with zipfile.ZipFile(path) as packed:
        for part in packed.infolist():
            if part.file_size > max(_SMALL, _DENSEST * part.compress_size):
                raise CorpusError(
                    f"the part {part.filename} of the workbook would unpack from {part.compress_size:,} to "
                    f"{part.file_size:,} bytes, which no table does",
                    path,
                )


def check_pages(path: Path, metadata: Any) -> int:
    """Measure the pages of a Parquet file; return how many rows may be read at a time."""
    largest, chunks = 1, _list_chunks(path, metadata)
    pages = _PAGES + path.stat().st_size // _PAGE
    with path.open("rb") as stream:
        for chunk in chunks:
            found = _check_chunk(path, stream, chunk, pages)
            largest, pages = max(largest, found.largest), pages - found.pages
    return max(1, min(_MOST_ROWS, BATCH_BYTES // largest))


def _list_chunks(path: Path, metadata: Any) -> list[Any]:
    """Return all columns of all groups of rows; refuse those that share bytes, which would be read again."""
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    chunks = [group.column(number) for group in groups for number in range(metadata.num_columns)]
    if any(one.total_compressed_size < 0 or one.data_page_offset < 0 for one in chunks):
        raise CorpusError("the file is damaged: a column has a size below 0", path)
    if sum(one.total_compressed_size for one in chunks) > path.stat().st_size:
        raise CorpusError("the file is damaged: its columns take more bytes than it has", path)
    return chunks


class _Pages(NamedTuple):
    largest: int
    """How many bytes the largest unpacks to"""
    pages: int


def _check_chunk(path: Path, stream: Any, chunk: Any, most: int) -> _Pages:
    """Go from page to page of a column, up to `most`, and measure them."""
    place, largest, pages = chunk.data_page_offset, 0, 0
    if not chunk.num_values:  # of which no page is read
        return _Pages(0, 0)
    if chunk.has_dictionary_page and 0 < (chunk.dictionary_page_offset or 0) < place:
        place = chunk.dictionary_page_offset
    end = place + chunk.total_compressed_size
    while place < end:
        stream.seek(place)
        reader = _ThriftReader(stream.read(_BLOCK))
        try:
            page = reader.read_struct()
            unpacked, packed = page[2], page[3]
            values = max([one[1] for key in (5, 7, 8) if isinstance(one := page.get(key), dict)] or [0])
            if not all(type(one) is int for one in (unpacked, packed, values)):
                raise TypeError("a size is no number")
        except (IndexError, KeyError, RecursionError, TypeError, ValueError) as error:
            raise CorpusError(
                "the file is damaged, or not a Parquet file: a page has no header", path
            ) from error
        if packed < 0 or not 0 <= unpacked <= _LARGEST_PAGE or not 0 <= values <= _MOST_VALUES:
            raise CorpusError(
                f"a page of the column '{chunk.path_in_schema}' unpacks to {unpacked:,} bytes and {values:,} "
                f"values; at most {_LARGEST_PAGE:,} and {_MOST_VALUES:,} are read",
                path,
            )
        place, largest, pages = place + reader.place + packed, max(largest, unpacked), pages + 1
        if pages > most:
            raise CorpusError("the file has more pages than files of its size have", path)
    return _Pages(largest, pages)


class _ThriftReader:
    """Reads a structure in Thrift's compact protocol, as headers of Parquet's pages are written."""

    def __init__(self, data: bytes):
        self.data, self.place = data, 0

    def _number(self) -> int:
        value = shift = 0
        while True:
            byte = self.data[self.place]
            self.place += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > 63:
                raise ValueError("a number has no end")

    def _signed(self) -> int:
        value = self._number()
        return (value >> 1) ^ -(value & 1)

    def read_struct(self, depth: int = 0) -> dict[int, Any]:
        """Return its fields by their numbers."""
        found: dict[int, Any] = {}
        field = 0
        if depth > 8:
            raise ValueError("too deep")
        while head := self._byte():
            field = field + (head >> 4) if head >> 4 else self._signed()
            found[field] = self._value(head & 15, depth)
        return found

    def _byte(self) -> int:
        self.place += 1
        return self.data[self.place - 1]

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._signed()
        if kind == 7:
            self.place += 8
            return None
        if kind == 8:
            length = self._number()
            self.place += length
            return None
        if kind in (9, 10):
            return self._read_list(depth + 1)
        if kind == 12:
            return self.read_struct(depth + 1)
        raise ValueError("a type that no page header has")

    def _read_list(self, depth: int) -> list[Any]:
        """Return its elements, of which each takes a byte at least; there are no more than the bytes say."""
        head = self._byte()
        count, kind = self._number() if head >> 4 == 15 else head >> 4, head & 15
        if depth > 8 or count > len(self.data):
            raise ValueError("too deep or too long")
        # Alone a truth is a part of its field's number; in a list it is a byte.
        return [self._byte() == 1 if kind in (1, 2) else self._value(kind, depth) for _ in range(count)]
