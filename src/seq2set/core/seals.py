"""Seals: a safetensors file carries the SHA-256 of itself, so that a flipped bit is noticed when it is read.

The digest stands in the file's own metadata and is computed with zeros in its place. Files that were written
before there were seals have none, and are read as they are.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

UNSEALED = {"sha256": "0" * 64}
"""The metadata that a file must be saved with, so that it can be sealed."""

_SEAL = re.compile(rb'"sha256":"(.{64})"', re.DOTALL)
_BLOCK = 1 << 20
_LONGEST_HEADER = 100_000_000  # the format allows no longer one


def seal_file(path: Path) -> None:
    """Write the digest of a file into it, where its metadata has zeros."""
    place = _find_seal(path)
    assert place is not None  # it was saved with UNSEALED
    digest = _compute(path, place)
    with path.open("r+b") as stream:
        stream.seek(place)
        stream.write(digest)


def check_seal(path: Path) -> None:
    """Raise ValueError where a file is no longer what was sealed; a file without a seal is let pass."""
    place = _find_seal(path)
    if place is None:
        return
    with path.open("rb") as stream:
        stream.seek(place)
        recorded = stream.read(64)
    if _compute(path, place) != recorded:
        raise ValueError("its content is not what was written")


def _find_seal(path: Path) -> int | None:
    with path.open("rb") as stream:
        size = int.from_bytes(stream.read(8), "little")
        header = stream.read(min(size, _LONGEST_HEADER))
    found = _SEAL.search(header)
    return None if found is None else 8 + found.start(1)


def _compute(path: Path, place: int) -> bytes:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        digest.update(stream.read(place) + b"0" * 64)
        stream.seek(place + 64)
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest().encode()
