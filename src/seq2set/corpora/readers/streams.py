"""Files as streams, plain or compressed (.gz, .xz, .zst), with every fault named by file and line."""

from __future__ import annotations

import codecs
import gzip
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

from seq2set.core.errors import CorpusError, InputError

COMPRESSIONS = (".gz", ".xz", ".zst")
"""The suffixes of compressed files."""

_BLOCK = 1 << 16
_DAMAGES = (EOFError, OSError, lzma.LZMAError, zlib.error)


class NumberedLine(NamedTuple):
    """A line without its end, and its number, counted from 1."""

    number: int
    text: str


def strip_compression(path: Path) -> str:
    """Return the file's name without the suffix of its compression."""
    return path.stem if path.suffix.lower() in COMPRESSIONS else path.name


def check_file(path: Path) -> None:
    """Refuse what is missing or is no file."""
    if path.is_dir():
        raise CorpusError("this is a folder; a file is wanted here", path)
    if not path.exists():
        raise CorpusError("the file does not exist", path)


@contextmanager
def open_binary(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressed by its suffix; damage met while reading names the file."""
    check_file(path)
    try:
        with _open(path) as stream:
            yield stream
    except PermissionError as error:
        raise CorpusError("the file cannot be read: permission is denied", path) from error
    except _DAMAGES as error:
        kind = path.suffix.lower()
        what = f"damaged, or not a {kind} file" if kind in COMPRESSIONS else "not readable"
        raise CorpusError(f"the file is {what}: {error}", path) from error


def read_lines(path: Path, encoding: str = "utf-8") -> Iterator[NumberedLine]:
    """Yield the lines of a text file one by one; a byte order mark at the start is dropped.

    Lines end in LF or CR LF only, so that a rare separator inside a text breaks no document in two.
    """
    number = 0
    with open_binary(path) as stream:
        for number, text in enumerate(_split_lines(_decode(stream, path, encoding)), start=1):
            yield NumberedLine(number, text.removeprefix("\ufeff") if number == 1 else text)
    if number == 0:
        raise CorpusError("the file is empty", path)


def _open(path: Path) -> Any:
    if path.suffix.lower() == ".gz":
        return gzip.open(path)
    if path.suffix.lower() == ".xz":
        return lzma.open(path)
    if path.suffix.lower() == ".zst":
        import pyarrow as pa  # only here: it is slow to load, and few files are compressed so

        return pa.input_stream(str(path), compression="zstd")
    return path.open("rb")


def _split_lines(blocks: Iterator[str]) -> Iterator[str]:
    # The pieces of an unfinished line are joined once, or a very long line would be copied at each block.
    pieces: list[str] = []
    for block in blocks:
        first, *others = block.split("\n")
        pieces.append(first)
        for other in others:
            yield "".join(pieces).removesuffix("\r")
            pieces = [other]
    if last := "".join(pieces):
        yield last.removesuffix("\r")


def _decode(stream: IO[bytes], path: Path, encoding: str) -> Iterator[str]:
    decoder = _build_decoder(encoding)
    lines = 0
    while True:
        block = stream.read(_BLOCK)
        state = decoder.getstate()
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeDecodeError:
            decoder.setstate(state)
            bad = lines + _count_lines_before_fault(decoder, block) + 1
            raise CorpusError(
                f"the line is not valid {encoding}; pass --encoding to name another encoding", path, bad
            ) from None
        lines += text.count("\n")
        yield text
        if not block:
            return


def _build_decoder(encoding: str) -> codecs.IncrementalDecoder:
    try:
        "a".encode(encoding)  # refuses codecs that give no text, which the lookup alone lets pass
        return codecs.getincrementaldecoder(encoding)()
    except LookupError:
        raise InputError(
            f"encoding '{encoding}' is not known; name one such as utf-8, latin-1 or cp1252"
        ) from None


def _count_lines_before_fault(decoder: codecs.IncrementalDecoder, block: bytes) -> int:
    """Count the line ends before the fault byte by byte, because decoders do not say where they stopped."""
    lines = 0
    try:
        for byte in block:
            lines += decoder.decode(bytes([byte])).count("\n")
    except UnicodeDecodeError:
        pass
    return lines
