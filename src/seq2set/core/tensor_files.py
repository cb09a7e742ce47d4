"""What a safetensors file holds, read from its header alone, and compared with what it must hold.

A file from strangers may say anything of itself. So every entry is compared with the size of the file, and
all shapes with those that are wanted, before a byte of the numbers is read or any memory is taken for them.

Letters of shapes stand for sizes: the first place of a letter says how much it is, and all others agree.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from seq2set.core.errors import WorkError

_TYPES = {
    "F64": "f8",
    "F32": "f4",
    "F16": "f2",
    "I64": "i8",
    "I32": "i4",
    "I16": "i2",
    "U64": "u8",
    "U8": "u1",
    "BOOL": "?",
}
_BLOCK = 1 << 20
_LONGEST_HEADER = 100_000_000  # the format allows no longer one


class TensorEntry(NamedTuple):
    """What a header says of a tensor."""

    kind: str
    """Such as `F32`"""
    shape: tuple[int, ...]
    start: int
    """Its first byte in the file"""
    end: int

    def describe(self) -> str:
        """Say what it is, such as `F32 of 3 x 4`."""
        return f"{self.kind} of {' x '.join(map(str, self.shape)) or 'one number'}"


class TensorForm(NamedTuple):
    """What a tensor must be; each side of it is a number, a letter, or a sum such as `F + 1`."""

    kind: str
    shape: tuple[int | str, ...]


Forms = Mapping[str, TensorForm]


def read_header(path: Path) -> dict[str, TensorEntry]:
    """Return what a file says of its tensors; ValueError where it contradicts itself."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if size < 8 or length > min(size - 8, _LONGEST_HEADER):
            raise ValueError(f"{path.name} is cut off, or no safetensors file")
        text = stream.read(length)
    try:
        header = json.loads(text)
        found = {
            name: _read_entry(about, 8 + length) for name, about in header.items() if name != "__metadata__"
        }
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"the header of {path.name} cannot be read") from error
    _check_places(path, found, 8 + length, size)
    return found


def _read_entry(about: Any, base: int) -> TensorEntry:
    kind, shape, (start, end) = about["dtype"], about["shape"], about["data_offsets"]
    if kind not in _TYPES or not all(type(one) is int and one >= 0 for one in [*shape, start, end]):
        raise ValueError(kind)
    if end - start != math.prod(shape) * np.dtype(_TYPES[kind]).itemsize:
        raise ValueError(shape)
    return TensorEntry(kind, tuple(shape), base + start, base + end)


def _check_places(path: Path, entries: Mapping[str, TensorEntry], start: int, size: int) -> None:
    """Refuse tensors that overlap, leave a gap, or end behind the file."""
    for entry in sorted(entries.values(), key=lambda one: (one.start, one.end)):
        if math.prod(side or 1 for side in entry.shape) > size:  # one of no numbers takes no byte, and yet
            raise ValueError(f"a tensor of {path.name} is larger than the file: it is {entry.describe()}")
        if entry.start != start:
            raise ValueError(f"the tensors of {path.name} overlap or have gaps between them")
        start = entry.end
    if start != size:
        raise ValueError(f"{path.name} has {size:,} bytes; its header describes {start:,}")


def check_forms(entries: Mapping[str, TensorEntry], forms: Forms, sizes: Mapping[str, int]) -> None:
    """Refuse tensors other than those that are wanted; `sizes` are the letters that are known before."""
    if missing := sorted(forms.keys() - entries.keys()):
        raise ValueError(f"the tensor '{missing[0]}' is missing")
    if others := sorted(entries.keys() - forms.keys()):
        raise ValueError(f"the tensor '{others[0]}' is none of this model's")
    known = dict(sizes)
    for name, form in forms.items():
        seen = entries[name]
        if len(seen.shape) == len(form.shape):
            for number, side in zip(seen.shape, form.shape, strict=True):
                if isinstance(side, str) and side.isalpha():
                    known.setdefault(side, number)
        wanted_shape = tuple(_compute_side(side, known) for side in form.shape)
        if (seen.kind, seen.shape) != (form.kind, wanted_shape):
            wanted_entry = TensorEntry(form.kind, wanted_shape, 0, 0)
            raise ValueError(
                f"the tensor '{name}' is {seen.describe()}; it must be {wanted_entry.describe()}"
            )


def _compute_side(side: int | str, known: Mapping[str, int]) -> int:
    if isinstance(side, int):
        return side
    parts = (part.strip() for part in side.split("+"))
    return sum(int(part) if part.isdigit() else known.get(part, 0) for part in parts)


def map_tensors(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Map a safetensors file into memory: only what is read takes any."""
    entries = read_header(path)
    with path.open("rb") as stream:
        whole = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    tensors = {}
    for name, (kind, shape, start, end) in entries.items():
        number = np.dtype("<" + _TYPES[kind])
        count = (end - start) // number.itemsize
        tensors[name] = np.frombuffer(whole, number, count, start if count else 0).reshape(shape)
    return tensors


def copy_tensors(path: Path, entries: Mapping[str, TensorEntry]) -> dict[str, npt.NDArray[Any]]:
    """Read tensors of a safetensors file into memory of their own."""
    found = {}
    with path.open("rb") as stream:
        for name, entry in entries.items():
            number = np.dtype("<" + _TYPES[entry.kind])
            stream.seek(entry.start)
            found[name] = np.fromfile(stream, number, math.prod(entry.shape)).reshape(entry.shape)
    return found


class TensorRows:
    """A matrix in a file, of which rows are read when they are looked at, and forgotten again.

    Of a file that is mapped, all that lies around a row counts as memory of the process from then on.
    """

    def __init__(self, path: Path, entry: TensorEntry):
        self.shape, self.dtype = entry.shape, np.dtype("<" + _TYPES[entry.kind])
        self._start, self._width = entry.start, entry.shape[1] * self.dtype.itemsize
        self._path, self._file = path, os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._file)

    def __getitem__(self, place: Any) -> npt.NDArray[Any]:
        if isinstance(place, np.ndarray) and place.ndim == 1 and place.dtype.kind == "i":
            return self._read(place)
        found: npt.NDArray[Any] = np.asarray(self)[place]
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return self._read(np.arange(self.shape[0])).astype(dtype or self.dtype, copy=False)

    def __reduce__(self) -> Any:  # a copy in another process may not have the file
        return np.asarray, (np.asarray(self),)

    def _read(self, rows: npt.NDArray[np.integer[Any]]) -> npt.NDArray[Any]:
        """Return rows (n,); those that follow each other are read at once."""
        if len(rows) and not 0 <= rows.min() <= rows.max() < self.shape[0]:
            raise IndexError(f"a row of {self.shape[0]:,} is wanted that does not exist")
        begins = np.diff(rows, prepend=-2) != 1
        begins[:: max(1, _BLOCK // max(1, self._width))] = True  # the system reads no more than 2 GiB at once
        first = np.flatnonzero(begins)
        sizes = (np.diff(first, append=len(rows)) * self._width).tolist()
        places = (rows[first].astype(np.int64) * self._width + self._start).tolist()
        read = [os.pread(self._file, size, place) for size, place in zip(sizes, places, strict=True)]
        if len(whole := b"".join(read)) < len(rows) * self._width:
            raise WorkError(f"{self._path} was cut off while it was in use")
        return np.frombuffer(whole, self.dtype).reshape(len(rows), self.shape[1])


def refuse_not_finite(path: Path, entries: Mapping[str, TensorEntry]) -> None:
    """Refuse weights that are infinite or no numbers, with which every answer would be none."""
    with path.open("rb") as stream:
        for name, (kind, _, start, end) in entries.items():
            number = np.dtype("<" + _TYPES[kind])
            if number.kind != "f":
                continue
            stream.seek(start)
            for first in range(start, end, _BLOCK):
                values = np.frombuffer(stream.read(min(_BLOCK, end - first)), number)
                if not np.isfinite(values).all():
                    raise ValueError(f"the tensor '{name}' holds numbers that are not finite")
