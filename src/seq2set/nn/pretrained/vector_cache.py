"""Vectors of texts on disk, so that a second training does not wait for them again.

A file holds the vectors of some texts, each with a digest of the text, one of what computed it (the encoder,
how it reads) and a checksum. Files are written aside and mapped into memory; deleting any of them is safe.
What is cut short, damaged or another encoder's is not used.

Letters: N texts, E numbers per vector.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from seq2set.core.files import write_aside
from seq2set.corpora.cache import get_cache_folder


class CachedVector(NamedTuple):
    """A text's vector (E,), and how many words of the text it leaves out."""

    vector: npt.NDArray[np.float32]
    cut: int


class VectorCache:
    """The vectors that one encoder, read in one way, has made."""

    def __init__(self, source: str, size: int):
        self.source = hashlib.sha256(source.encode()).digest()
        self.folder = get_cache_folder() / "vectors" / self.source.hex()[:16]
        self.size = size
        self._kind = np.dtype(
            [
                ("text", "u1", (32,)),
                ("source", "u1", (32,)),
                ("check", "<u4"),
                ("cut", "<i4"),
                ("vector", "<f4", (size,)),
            ]
        )
        self._found: dict[bytes, tuple[Any, int]] = {}
        self.unusable: list[Path] = []
        """Files that are cut short, damaged or another encoder's"""
        for path in sorted(self.folder.glob("*.npy")):
            self._read(path)

    def _read(self, path: Path) -> None:
        try:
            records = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError):  # cut short, or no such file at all
            self.unusable.append(path)
            return
        if records.dtype != self._kind or records.ndim != 1:
            self.unusable.append(path)
            return
        right = [
            row["source"].tobytes() == self.source and zlib.crc32(row["vector"].tobytes()) == row["check"]
            for row in records
        ]
        if not all(right):
            self.unusable.append(path)
            return
        for number, row in enumerate(records):
            self._found[row["text"].tobytes()] = (records, number)

    def drop_unusable(self) -> int:
        """Delete the files that cannot be used, and return how many they were."""
        dropped = len(self.unusable)
        for path in self.unusable:
            path.unlink(missing_ok=True)
        self.unusable.clear()
        return dropped

    def get(self, text: str) -> CachedVector | None:
        """Return a text's vector, if it is there."""
        if (place := self._found.get(digest_text(text))) is None:
            return None
        row = place[0][place[1]]
        return CachedVector(row["vector"], int(row["cut"]))

    def put(self, texts: Sequence[str], vectors: npt.NDArray[np.float32], cut: npt.NDArray[np.int64]) -> None:
        """Keep the vectors of texts: all of them in one file, or none where the disk is full."""
        records = np.zeros(len(texts), self._kind)
        digests = [digest_text(text) for text in texts]
        records["text"] = np.frombuffer(b"".join(digests), np.uint8).reshape(-1, 32)
        records["source"] = np.frombuffer(self.source, np.uint8)
        records["vector"], records["cut"] = vectors, cut
        records["check"] = [zlib.crc32(row.tobytes()) for row in records["vector"]]
        path = self.folder / f"{hashlib.sha256(b''.join(digests)).hexdigest()[:32]}.npy"
        with write_aside(path) as aside, aside.open("wb") as stream:
            np.save(stream, records, allow_pickle=False)
        self._found |= {digest: (records, number) for number, digest in enumerate(digests)}


def digest_text(text: str) -> bytes:
    """Return what stands for a text in the cache."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
