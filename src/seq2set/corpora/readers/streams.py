"""Files as streams, plain or compressed (.gz, .xz, .zst), with every fault named by file and line.

A mark at the start of a file says whether it is UTF-8, UTF-16 or UTF-32; without one the encoding is the one
that was named, and where its bytes do not fit, the sentence says which encoding they look like.
"""

from __future__ import annotations

import codecs
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

from seq2set.core.errors import CorpusError, InputError
from seq2set.corpora.readers.limits import XzStream, refuse_long

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


def find_file(folder: Path, *names: str) -> Path | None:
    """Return the first of some files of a folder that is there, plain or compressed."""
    places = (folder / (name + suffix) for name in names for suffix in ("", *COMPRESSIONS))
    return next((place for place in places if place.is_file()), None)


def check_file(path: Path) -> None:
    """Refuse what is missing or is no file."""
    if path.is_dir():
        raise CorpusError("this is a folder; a file is expected here", path)
    if not path.exists():
        raise CorpusError("the file does not exist", path)
    if not path.is_file():
        raise CorpusError(
            "this is a pipe or a device; a file is expected here, since it is read more than once", path
        )


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

    Lines end in LF or CR LF, so that a rare separator inside a text breaks no document in two; in a file
    whose beginning has no LF they end in CR, as old spreadsheet programs write them.
    """
    number = 0
    for number, text in enumerate(_split_lines(read_text(path, encoding), path), start=1):
        yield NumberedLine(number, text)
    if number == 0:
        raise CorpusError("the file is empty", path)


def read_text(path: Path, encoding: str = "utf-8") -> Iterator[str]:
    """Yield a text file block by block, without its byte order mark."""
    with open_binary(path) as stream:
        blocks = _decode(stream, path, encoding)
        yield next(blocks, "").removeprefix("\ufeff")
        yield from blocks


def _open(path: Path) -> Any:
    if path.suffix.lower() == ".gz":
        return gzip.open(path)
    if path.suffix.lower() == ".xz":
        return io.BufferedReader(XzStream(path))
    if path.suffix.lower() == ".zst":
        import pyarrow as pa  # only here: it is slow to load, and few files are compressed so

        return pa.input_stream(str(path), compression="zstd")
    return path.open("rb")


def _split_lines(blocks: Iterator[str], path: Path) -> Iterator[str]:
    # The pieces of an unfinished line are joined once, or a very long line would be copied at each block.
    pieces: list[str] = []
    end, length, line = "", 0, 1
    for block in blocks:
        end = end or ("\r" if "\r" in block[:-1] and "\n" not in block else "\n")
        first, *others = block.split(end)
        pieces.append(first)
        length += len(first)
        for other in others:
            yield "".join(pieces).removesuffix("\r")
            pieces, length, line = [other], len(other), line + 1
        refuse_long(length, path, line)
    if last := "".join(pieces):
        yield last.removesuffix("\r")


def _decode(stream: IO[bytes], path: Path, encoding: str) -> Iterator[str]:
    """Decode block by block; the first block decides by its mark."""
    name = check_encoding(encoding)
    lines, first = 0, b""
    while True:
        block = stream.read(_BLOCK)
        if not first:
            first = block
            for start, remedy in _SIGNATURES.items():
                if first.startswith(start):
                    raise CorpusError(f"this is not a text file but {remedy}", path)
            decoder = codecs.getincrementaldecoder(_find_marked(first) or name)()
            _refuse_unmarked(first, encoding, path)
        state = decoder.getstate()
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeDecodeError:
            decoder.setstate(state)
            bad = lines + _count_lines_before_fault(decoder, block) + 1
            guess = guess_encoding(first + block)
            named = "to name another encoding" if guess is None else f"{guess}, which its bytes look like"
            what = f"the line is not valid {encoding}; pass --encoding {named}"
            raise CorpusError(what, path, bad) from None
        lines += text.count("\n")
        yield text
        if not block:
            return


_ENCODINGS = re.compile(
    r"utf-8(-sig)?|utf-(16|32)(-[bl]e)?|ascii|iso8859-\d+|cp\d+|koi8-[rtu]|mac-\w+|kz1048|ptcp154|tis-620"
    r"|big5(hkscs)?|gb2312|gbk|gb18030|hz|euc_\w+|johab|shift_jis\w*|iso2022_\w+"
)
"""Encodings of text files, by Python's names; others, such as `punycode`, are for other uses."""

_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark begins alike
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_USUAL = "cp1252 cp1250 cp1251 gb18030 cp932 euc_kr big5 euc_jp cp1253 cp1254 cp1255 cp1256 cp1257 koi8_r"
_USUAL += " mac_roman cp437"


def check_encoding(name: str) -> str:
    """Return the name under which Python knows an encoding of texts; refuse any other."""
    try:
        known = codecs.lookup(name).name
    except (LookupError, ValueError):
        known = ""
    if not _ENCODINGS.fullmatch(known):
        raise InputError(f"encoding '{name}' is not known; name one such as utf-8, latin-1 or cp1252")
    return known


def guess_encoding(content: bytes) -> str | None:
    """Return the encoding that bytes look like, or None where they look like none."""
    from charset_normalizer import from_bytes  # only here: it is needed for faults alone

    found = list(from_bytes(content, cp_isolation=_USUAL.split()))
    # Of encodings that fit equally well, the more usual one.
    fits = {
        name
        for one in found
        if (one.chaos, one.coherence) == (found[0].chaos, found[0].coherence)
        for name in one.could_be_from_charset
    }
    return next((name for name in _USUAL.split() if name in fits), None)


def _find_marked(block: bytes) -> str | None:
    return next((name for mark, name in _MARKS.items() if block.startswith(mark)), None)


_SIGNATURES = {
    b"\x1f\x8b": "gzip data; put .gz behind its name",
    b"\xfd7zXZ": "xz data; put .xz behind its name",
    b"\x28\xb5\x2f\xfd": "zstd data; put .zst behind its name",
    b"PAR1": "Parquet; give it a name that ends in .parquet",
    b"PK\x03\x04": "Excel or a zip archive; give it a name that ends in .xlsx, or unpack it",
    b"\xd0\xcf\x11\xe0": "old Excel; save it as .xlsx or .csv",
}
"""How files begin that are not texts, and what makes them readable"""


def _refuse_unmarked(block: bytes, encoding: str, path: Path) -> None:
    """Refuse UTF-16 without a mark, which is valid UTF-8 with a zero after each letter."""
    name = check_encoding(encoding)
    if block and name in ("utf-16", "utf-32") and not _find_marked(block):
        raise CorpusError(f"the file has no byte order mark; pass --encoding {name}-le or {name}-be", path)
    if name != "utf-8" or _find_marked(block):
        return
    even, odd = block[::2], block[1::2]
    for zeros, letters, name in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
        if len(zeros) > 8 and zeros.count(0) > 0.6 * len(zeros) and not letters.count(0):
            raise CorpusError(f"the file looks like {name}; pass --encoding {name}", path)


def _count_lines_before_fault(decoder: codecs.IncrementalDecoder, block: bytes) -> int:
    """Count the line ends before the fault byte by byte, because decoders do not say where they stopped."""
    lines = 0
    with suppress(UnicodeDecodeError):
        for byte in block:
            lines += decoder.decode(bytes([byte])).count("\n")
    return lines
