"""ONNX messages as bytes: all of the format that our graphs need.

The library for the format takes as long to load as a model does; and a graph that is always written in the
same way is compared byte by byte. The numbers of fields and kinds are those of `onnx.proto`.

Weights lie in a file of their own, which ONNX Runtime maps into memory: processes share it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

OPSET, IR = 18, 9
"""Old enough for every ONNX Runtime that the extra `onnx` allows."""

FLOAT, INT32, INT64 = 1, 6, 7
_KINDS = {"float32": FLOAT, "int32": INT32, "int64": INT64}
_EXTERNAL = 1

Array = npt.NDArray[Any]
Shape = Sequence[str | int | None]
"""Sizes of sides; letters are sizes that differ from call to call, and None is any"""


class WeightPlace(NamedTuple):
    """Where the numbers of a tensor lie."""

    file: str
    """In the folder of the graph"""
    start: int
    end: int


def write_model(name: str, nodes: Sequence[bytes], tensors: Sequence[bytes], ends: Sequence[bytes]) -> bytes:
    """Return a model of one graph; `ends` are its inputs and outputs as fields of it."""
    fields = [_write_field(1, one) for one in nodes] + [_write_field(2, name)]
    fields += [_write_field(5, one) for one in tensors] + [*ends]
    operators = _write_field(1, "") + _write_field(2, OPSET)
    return _write_field(1, IR) + _write_field(7, b"".join(fields)) + _write_field(8, operators)


def write_input(name: str, kind: int, shape: Shape) -> bytes:
    """Return an input as a field of its graph."""
    return _write_field(11, _write_value(name, kind, shape))


def write_output(name: str, kind: int, shape: Shape) -> bytes:
    """Return an output as a field of its graph."""
    return _write_field(12, _write_value(name, kind, shape))


def write_node(
    kind: str, inputs: Sequence[str], outputs: Sequence[str], attributes: Mapping[str, Any]
) -> bytes:
    """Return an operation."""
    fields = [_write_field(1, one) for one in inputs] + [_write_field(2, one) for one in outputs]
    fields += [_write_field(4, kind)]
    fields += [_write_field(5, _write_attribute(name, attributes[name])) for name in sorted(attributes)]
    return b"".join(fields)


def write_tensor(name: str, values: Array, place: WeightPlace | None = None) -> bytes:
    """Return numbers: themselves, or the place where they lie."""
    sizes = [_write_field(1, side) for side in values.shape]
    about = [*sizes, _write_field(2, _KINDS[values.dtype.name]), _write_field(8, name)]
    if place is None:
        return b"".join([*about, _write_field(9, values.astype(values.dtype.newbyteorder("<")).tobytes())])
    where = {"location": place.file, "offset": str(place.start), "length": str(place.end - place.start)}
    entries = [_write_field(13, _write_field(1, key) + _write_field(2, where[key])) for key in where]
    return b"".join([*about, *entries, _write_field(14, _EXTERNAL)])


def _write_value(name: str, kind: int, shape: Shape) -> bytes:
    sides = b"".join(_write_field(1, _write_side(side)) for side in shape)
    tensor = _write_field(1, kind) + _write_field(2, sides)
    return _write_field(1, name) + _write_field(2, _write_field(1, tensor))


def _write_side(side: str | int | None) -> bytes:
    if side is None:
        return b""
    return _write_field(2, side) if isinstance(side, str) else _write_field(1, side)


def _write_attribute(name: str, value: int | str | Sequence[int]) -> bytes:
    if isinstance(value, int):
        return _write_field(1, name) + _write_field(3, value) + _write_field(20, 2)
    if isinstance(value, str):
        return _write_field(1, name) + _write_field(4, value) + _write_field(20, 3)
    return b"".join([_write_field(1, name), *(_write_field(8, one) for one in value), _write_field(20, 7)])


def _write_field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return _write_number(number << 3) + _write_number(value & np.iinfo(np.uint64).max)
    text = value.encode() if isinstance(value, str) else value
    return _write_number(number << 3 | 2) + _write_number(len(text)) + text


def _write_number(value: int) -> bytes:
    """Return a number in groups of seven bits, the last ones first."""
    groups = bytearray()
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*groups, value])
