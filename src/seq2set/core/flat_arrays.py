"""Numbers in files, written as they come and read in blocks, as lists or mapped, so that memory hardly grows.

Lists of numbers are two files: their lengths, and all their numbers one after another. Those that are read in
any order lie in one file without a name, which is gone with the process, however that ends.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

BLOCK = 1 << 16
"""How many numbers are held in memory at a time."""

CODES = {"int8": "b", "int32": "i", "int64": "q", "uint64": "Q"}
"""The types of numbers, with the letters by which Python's arrays call them"""

Array = npt.NDArray[Any]


class FlatArray:
    """A column of numbers in a file; read only once all are written."""

    def __init__(self, path: Path, kind: str):
        self.path, self._kind = path, np.dtype(kind)
        self._waiting = array(CODES[kind])
        self._file: IO[bytes] = path.open("w+b")

    def append(self, value: int) -> None:
        """Add a number."""
        self._waiting.append(value)
        if len(self._waiting) >= BLOCK:
            self.flush()

    def extend(self, values: Iterable[int]) -> None:
        """Add numbers."""
        self._waiting.extend(values)
        if len(self._waiting) >= BLOCK:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        self._waiting.tofile(self._file)
        del self._waiting[:]

    def __len__(self) -> int:
        return self._file.seek(0, 2) // self._kind.itemsize + len(self._waiting)

    def read(self, start: int, stop: int) -> Array:
        """Return the numbers of a stretch."""
        self.flush()
        self._file.seek(start * self._kind.itemsize)
        return np.fromfile(self._file, self._kind, max(0, stop - start))

    def blocks(self, size: int = BLOCK) -> Iterator[Array]:
        """Yield all numbers in blocks."""
        for start in range(0, len(self), size):
            yield self.read(start, min(start + size, len(self)))

    def map(self) -> Array:
        """Return all numbers as an array that the system reads from the file where it is looked at."""
        self.flush()
        self._file.flush()
        if not len(self):
            return np.zeros(0, self._kind)
        return np.memmap(self.path, self._kind, "r")

    def delete(self) -> None:
        """Delete the file."""
        self._file.close()
        self.path.unlink()


class ListBlock(NamedTuple):
    """Some of many lists of numbers: how long each is, and the numbers of all."""

    lengths: Array
    values: Array


class FlatLists:
    """Lists of numbers in two files."""

    def __init__(self, folder: Path, name: str):
        self.lengths = FlatArray(folder / f"{name}.lengths", "int32")
        self.values = FlatArray(folder / f"{name}.values", "int32")

    def append(self, values: Sequence[int]) -> None:
        """Add a list."""
        self.values.extend(values)
        self.lengths.append(len(values))

    def __len__(self) -> int:
        return len(self.lengths)

    def blocks(self, size: int = BLOCK) -> Iterator[ListBlock]:
        """Yield all lists in blocks of the given size."""
        start = 0
        for lengths in self.lengths.blocks(size):
            stop = start + int(lengths.sum())
            yield ListBlock(lengths, self.values.read(start, stop))
            start = stop

    def delete(self) -> None:
        """Delete the files."""
        self.lengths.delete()
        self.values.delete()


class StoredLists(Sequence[Array]):
    """Lists of numbers in a file, read in any order; in memory there are a few bytes for each list.

    Reading, not mapping: what was mapped and looked at counts as memory of the process.
    """

    def __init__(self, folder: Path | None = None, kind: str = "int32", file: IO[bytes] | None = None):
        self._kind = np.dtype(kind)
        self._file: Any = file or tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 (as long as the lists)
        weakref.finalize(self, self._file.close)
        self._new = array("i")
        """The lengths of lists that were added since lists were read"""
        self._lengths: Array = np.zeros(0, np.uint8)
        self._starts = np.zeros(1, np.int64)
        """Where every `_STRIDE`th list begins"""

    def extend(self, lists: Iterable[Array]) -> None:
        """Add lists."""
        self._file.seek(0, 2)
        waiting = bytearray()
        for one in lists:
            waiting += np.asarray(one, self._kind).tobytes()
            self._new.append(len(one))
            if len(waiting) >= _BYTES:
                self._write(waiting)
                waiting.clear()
        self._write(waiting)

    def _write(self, waiting: bytearray) -> None:
        left = bytes(waiting)
        while left:
            left = left[self._file.write(left) :]

    @property
    def lengths(self) -> Array:
        """How many numbers each list has."""
        if self._new:
            self._set_lengths(np.concatenate([self._lengths, np.frombuffer(self._new, np.int32)]))
            self._new = array("i")
        return self._lengths

    def _set_lengths(self, lengths: Array) -> None:
        self._lengths = lengths.astype(np.min_scalar_type(int(lengths.max(initial=0))))
        sums = [
            self._lengths[at : at + _STRIDE].sum(dtype=np.int64) for at in range(0, len(lengths), _STRIDE)
        ]
        self._starts = np.cumsum([0, *sums])

    def __len__(self) -> int:
        return len(self._lengths) + len(self._new)

    def __getitem__(self, place: Any) -> Any:
        wanted = range(len(self))[place]
        if isinstance(wanted, range):
            return [self._read(one) for one in wanted]
        return self._read(wanted)

    def _read(self, place: int) -> Array:
        lengths, first = self.lengths, place // _STRIDE * _STRIDE
        start = int(self._starts[place // _STRIDE] + lengths[first:place].sum(dtype=np.int64))
        found = np.empty(lengths[place], self._kind)
        if len(found):
            self._file.seek(start * self._kind.itemsize)
            self._file.readinto(found)
        return found

    def copy_to(self, folder: Path, name: str) -> None:
        """Copy all of it into named files, for other processes."""
        self._file.seek(0)
        with (folder / f"{name}.values").open("wb") as copy:
            shutil.copyfileobj(self._file, copy)
        np.save(folder / f"{name}.npy", self.lengths)

    @classmethod
    def open(cls, folder: Path, name: str, kind: str = "int32") -> StoredLists:
        """Open what `copy_to` wrote."""
        stored = cls(kind=kind, file=(folder / f"{name}.values").open("rb", buffering=0))
        stored._set_lengths(np.load(folder / f"{name}.npy"))
        return stored


_STRIDE, _BYTES = 256, 1 << 20
