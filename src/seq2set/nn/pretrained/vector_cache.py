"""Vectors of texts on disk, so that nobody waits for them twice: one per text, or one per sub-word.

A file holds the vectors of some texts, each with a digest of the text, one of what computed it (the encoder,
how it reads) and a checksum. Files are written aside and mapped into memory; deleting any of them is safe.
What is cut short, damaged or another encoder's is not used.

Letters: N texts, T sub-words of the longest of a file, E numbers per vector.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from seq2set.core.errors import import_extra
from seq2set.core.files import write_aside
from seq2set.core.processes import run_in_processes
from seq2set.core.progress import Progress
from seq2set.corpora.cache import get_cache_folder

HEAD = 72
"""Bytes of a text in a file beside its vectors"""


class CachedVector(NamedTuple):
    """A text's vector (E,) or its sub-words' (T, E), and how many words of the text they leave out."""

    vector: npt.NDArray[Any]
    cut: int


class Pooled(NamedTuple):
    """Vectors of texts, and what they are not made of."""

    vectors: npt.NDArray[Any]
    """(N, E), or (N, T, E) with zeros behind a text's end"""
    cut: npt.NDArray[np.int64]
    """How many words of each text were left out, (N,)"""


class TextBlock(NamedTuple):
    """Texts that are computed together, and kept as soon as they are."""

    keys: list[bytes]
    """What stands for each in the cache"""
    texts: Sequence[Any]
    """The texts, or the numbers of their sub-words"""


class VectorCache:
    """The vectors that one encoder, read in one way, has made, in a room of the cache."""

    def __init__(self, source: str, size: int, *, room: str = "vectors", number: str = "<f4", axes: int = 1):
        self.source = hashlib.sha256(source.encode()).digest()
        self.folder = get_cache_folder() / room / self.source.hex()[:16]
        self.size, self.number, self._axes = size, np.dtype(number), axes
        self._found: dict[bytes, tuple[Path, Any, int]] = {}
        self.unusable: list[Path] = []
        """Files that are cut short, damaged or another encoder's"""
        self.written: list[Path] = []
        for path in sorted(self.folder.glob("*.npy")):
            self._read(path)

    def _describe(self, shape: tuple[int, ...]) -> np.dtype[Any]:
        whole = [("text", "u1", (32,)), ("source", "u1", (32,)), ("check", "<u4"), ("cut", "<i4")]
        return np.dtype([*whole, ("vector", self.number, shape)])

    def _read(self, path: Path) -> None:
        try:
            records = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError):  # cut short, or no such file at all
            self.unusable.append(path)
            return
        named = records.dtype.names or ()
        shape = tuple(records.dtype["vector"].shape) if "vector" in named else ()
        fits = len(shape) == self._axes and records.ndim == 1
        if (
            not fits
            or records.dtype != self._describe((*shape[:-1], self.size))
            or (records["source"] != np.frombuffer(self.source, np.uint8)).any()
        ):
            self.unusable.append(path)
        else:
            keys = (row.tobytes() for row in records["text"])
            self._found |= {key: (path, records, number) for number, key in enumerate(keys)}

    def drop_unusable(self) -> int:
        """Delete the files that cannot be used, and return how many they were."""
        dropped = len(self.unusable)
        for path in self.unusable:
            path.unlink(missing_ok=True)
        self.unusable.clear()
        return dropped

    def get(self, key: bytes) -> CachedVector | None:
        """Return what is kept under a key; a file in which it is damaged is not used any more."""
        if (place := self._found.get(key)) is None:
            return None
        path, records, number = place
        row = records[number]
        if _compute_check(row["vector"]) == row["check"]:
            return CachedVector(row["vector"], int(row["cut"]))
        self.unusable.append(path)
        self._found = {one: place for one, place in self._found.items() if place[0] != path}
        return None

    def list_missing(self, keys: Iterable[bytes]) -> list[bytes]:
        """Return those of the keys under which nothing whole is kept, each once."""
        wanted = dict.fromkeys(keys)
        for key in wanted:
            self.get(key)  # a file that is found damaged takes others with it
        return [key for key in wanted if key not in self._found]

    def list_files(self, keys: Iterable[bytes]) -> set[Path]:
        """Return the files in which something is kept under these keys."""
        return {self._found[key][0] for key in keys if key in self._found}

    def put(self, keys: Sequence[bytes], vectors: npt.NDArray[Any], cut: npt.NDArray[np.int64]) -> None:
        """Keep the vectors of texts: all of them in one file, or none where the disk is full."""
        records = np.zeros(len(keys), self._describe(vectors.shape[1:]))
        records["text"] = np.frombuffer(b"".join(keys), np.uint8).reshape(-1, 32)
        records["source"] = np.frombuffer(self.source, np.uint8)
        records["vector"], records["cut"] = vectors, cut
        records["check"] = [_compute_check(row) for row in records["vector"]]
        path = self.folder / f"{hashlib.sha256(b''.join(keys)).hexdigest()[:32]}.npy"
        with write_aside(path) as aside, aside.open("wb") as stream:
            np.save(stream, records, allow_pickle=False)
        self.written.append(path)
        self._found |= {key: (path, records, number) for number, key in enumerate(keys)}
        self._read(path)  # mapped, so that memory does not fill; what was deleted just now stays there

    def fill(
        self,
        title: str,
        blocks: Sequence[TextBlock],
        compute: Callable[[list[Any]], Pooled],
        workers: int,
        progress: Progress,
    ) -> None:
        """Compute blocks of texts, and keep each as soon as it is done."""
        delayed = import_extra("joblib", "train").delayed
        jobs = (delayed(compute)(list(block.texts)) for block in blocks)
        with (
            progress.stage(title, sum(len(block.keys) for block in blocks)) as advance,
            run_in_processes(jobs, workers) as done,
        ):
            for block, pooled in zip(blocks, done, strict=True):
                self.put(block.keys, pooled.vectors, pooled.cut)
                advance(len(block.keys))

    def discard_written(self) -> None:
        """Delete what was kept by this process, such as on a disk that is full now."""
        for path in self.written:
            path.unlink(missing_ok=True)
        self._found = {key: place for key, place in self._found.items() if place[0] not in self.written}
        self.written.clear()


def _compute_check(vector: npt.NDArray[Any]) -> int:
    return zlib.crc32(np.ascontiguousarray(vector).data)


def digest_text(text: str) -> bytes:
    """Return what stands for a text in the cache."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def make_room(room: str, limit: int, used: set[Path]) -> None:
    """Delete the oldest files of a room of the cache until `limit` bytes are left.

    Those that are in use are the newest then, and stay.
    """
    for path in used:
        with suppress(OSError):  # another process deleted it
            os.utime(path)
    ages: list[tuple[float, int, Path]] = []
    for path in (get_cache_folder() / room).rglob("*.npy*"):
        with suppress(OSError):
            status = path.stat()
            ages.append((status.st_mtime, status.st_size, path))
    left = sum(size for _, size, _ in ages)
    for _, size, path in sorted(ages):
        if left > limit and path not in used:
            with suppress(OSError):  # some systems keep what somebody reads
                path.unlink()
                left -= size
