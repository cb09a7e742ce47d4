"""The files of a distribution, whether it lies in a folder or in a tar archive."""

from __future__ import annotations

import lzma
import re
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from seq2set.core.errors import CorpusError
from seq2set.corpora.readers.streams import check_encoding, open_binary

_LARGEST = 1 << 28
"""How many bytes a file of a distribution may have, unpacked"""

_DAMAGES = (tarfile.TarError, EOFError, OSError, lzma.LZMAError, zlib.error)


class Member(NamedTuple):
    """A file's name inside the distribution, and its whole content."""

    name: str
    content: bytes


def is_archive(path: Path) -> bool:
    """Return by its name whether a file is a tar archive."""
    return re.search(r"\.(tar(\.(gz|xz|bz2))?|tgz|txz)$", path.name.lower()) is not None


def list_members(path: Path) -> list[str]:
    """List the names of all files in a folder or a tar archive, sorted."""
    if path.is_dir():
        return sorted(file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file())
    if not path.exists():
        raise CorpusError("there is no such file or folder", path)
    try:
        with tarfile.open(path) as archive:
            return sorted(info.name for info in archive if info.isfile())
    except _DAMAGES as error:
        raise _describe_damage(path, error) from error


def read_members(path: Path, names: list[str]) -> Iterator[Member]:
    """Yield the named files one by one, in the order of `names` in a folder and as stored in an archive."""
    if path.is_dir():
        for name in names:
            with open_binary(path / name) as stream:
                yield Member(name, _read_bounded(stream, path / name))
        return
    wanted = set(names)
    try:
        with tarfile.open(path) as archive:
            # As stored, because going back in a compressed archive means to unpack it all again.
            for info in archive:
                content = archive.extractfile(info) if info.name in wanted else None
                if content:
                    yield Member(info.name, _read_bounded(content, path / info.name))
    except _DAMAGES as error:
        raise _describe_damage(path, error) from error


def _read_bounded(stream: IO[bytes], path: Path) -> bytes:
    content = stream.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise CorpusError(f"the file unpacks to more than {_LARGEST:,} bytes, which is the limit", path)
    return content


def decode_member(member: Member, place: str, encoding: str) -> str:
    """Return a file's content as text."""
    try:
        return member.content.decode(check_encoding(encoding))
    except UnicodeDecodeError as error:
        line = member.content.count(b"\n", 0, error.start) + 1
        raise CorpusError(
            f"the line is not valid {encoding}; pass --encoding to name another encoding", place, line
        ) from None


def _describe_damage(path: Path, error: BaseException) -> CorpusError:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return CorpusError(f"the file is no tar archive, or is damaged ({reason})", path)
