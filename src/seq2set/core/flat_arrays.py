"""Numbers in files, written as they come and read in blocks or mapped: memory does not grow with them.

Lists of numbers are two files: their lengths, and all their numbers one after another.
"""

from __future__ import annotations

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
