"""How large what is read may become: a small file can be made to hold a text of gigabytes.

A record (a line, a row, an object) has up to `LONGEST` characters. Compressed files are unpacked block by
block; what cannot be, such as a part of a workbook, is measured before it is unpacked.
"""

from __future__ import annotations

import io
import lzma
import zipfile
from pathlib import Path
from typing import Any

from seq2set.core.errors import CorpusError

LONGEST = 1 << 24
"""How many characters a record may have"""

_UNPACKING = 1 << 28
"""How many bytes of memory unpacking may take"""
_BLOCK = 1 << 16
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
