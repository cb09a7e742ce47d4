"""Thrift's compact protocol, in which footers and page headers of Parquet files are written.

PyArrow reads the same bytes later, and must not find anything else there: it skips a field that is not of the
type it expects, takes the elements of a list for what it expects, and keeps the lower bits of a number. All
of these are refused.
"""

from __future__ import annotations

from typing import Any, TypeAlias

TRUTH, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, STRUCT = 1, 3, 4, 5, 6, 7, 8, 9, 10, 12
"""Types of values, by their numbers in the protocol"""

Shape: TypeAlias = "int | list[Shape] | dict[int, Shape]"
"""What is expected: a type, a list of a shape, or a structure, whose fields have numbers"""

_BITS = {I16: 16, I32: 32, I64: 64}
_DEEPEST = 16
FAULTS = (IndexError, KeyError, ValueError)
"""What reading raises where the bytes say something else"""


class ThriftReader:
    """Reads structures, of up to `most` values in all."""

    def __init__(self, data: bytes, most: int):
        self.data, self.place, self._left = data, 0, most

    def read_struct(self, shape: dict[int, Shape], depth: int = 0) -> dict[int, Any]:
        """Return the fields of the shape by their numbers; others are skipped."""
        found: dict[int, Any] = {}
        field = 0
        if depth > _DEEPEST:
            raise ValueError("it is too deep")
        while head := self._read_byte():
            field = field + (head >> 4) if head >> 4 else self._read_signed(I16)
            kind = head & 15
            self._count(1)
            if not 0 < field < 1 << 15 or field in found:
                raise ValueError(f"field {field} is repeated or invalid")
            # Alone a truth is a part of its field's head; in a list it is a byte.
            value: Any = kind == 1 if kind in (1, 2) else self._read_value(kind, shape.get(field), depth)
            if field in shape:
                _check_kind(kind, shape[field])
                found[field] = value
        return found

    def _count(self, values: int) -> None:
        self._left -= values
        if self._left < 0:
            raise ValueError("it has too many values")

    def _read_byte(self) -> int:
        self.place += 1
        return self.data[self.place - 1]

    def _read_number(self, bits: int) -> int:
        value = shift = 0
        while True:
            byte = self._read_byte()
            value |= (byte & 127) << shift
            shift += 7
            if value >> bits:
                raise ValueError(f"a number has more than {bits} bits")
            if byte < 128:
                return value
            if shift > 63:
                raise ValueError("a number has no end")

    def _read_signed(self, kind: int) -> int:
        value = self._read_number(_BITS[kind])
        return (value >> 1) ^ -(value & 1)

    def _skip(self, length: int) -> bytes:
        start, self.place = self.place, self.place + length
        if self.place > len(self.data):
            raise IndexError("it ends too early")
        return self.data[start : self.place]

    def _read_value(self, kind: int, shape: Shape | None, depth: int) -> Any:
        if kind in _BITS:
            return self._read_signed(kind)
        if kind == BINARY:
            return self._skip(self._read_number(32))
        if kind == STRUCT:
            return self.read_struct(shape if isinstance(shape, dict) else {}, depth + 1)
        if kind in (LIST, SET):
            return self._read_list(shape, depth + 1)
        if kind in (TRUTH, 2, BYTE):
            return self._read_byte()
        if kind == DOUBLE:
            return self._skip(8)
        raise ValueError(f"no value is of type {kind}")

    def _read_list(self, shape: Shape | None, depth: int) -> list[Any]:
        head = self._read_byte()
        count, kind = self._read_number(32) if head >> 4 == 15 else head >> 4, head & 15
        self._count(count)
        if depth > _DEEPEST:
            raise ValueError("it is too deep")
        inner = shape[0] if isinstance(shape, list) else None
        if inner is not None and count:
            _check_kind(kind, inner)
        return [self._read_value(kind, inner, depth) for _ in range(count)]


def _check_kind(kind: int, shape: Shape) -> None:
    expected = STRUCT if isinstance(shape, dict) else LIST if isinstance(shape, list) else shape
    if kind != expected and (kind, expected) != (2, TRUTH):
        raise ValueError(f"a value is of type {kind} instead of {expected}")
