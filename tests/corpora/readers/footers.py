"""Footers of Parquet files, taken apart and put together again with something changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

BINARY, LIST, STRUCT = 8, 9, 12
TAIL = 8


class Value(NamedTuple):
    """A value of Thrift's compact protocol: a number, bytes, a list of values, or fields by their numbers."""

    kind: int
    content: Any
    inner: int = STRUCT
    """The kind of a list's values"""


def read_value(data: bytes, place: int, kind: int) -> tuple[Value, int]:
    """Return a value and where the next one begins; truths in lists do not occur in footers."""
    if kind in (1, 2):
        return Value(kind, kind == 1), place
    if kind == 3:
        return Value(kind, data[place]), place + 1
    if kind in (4, 5, 6):
        number, place = read_number(data, place)
        return Value(kind, (number >> 1) ^ -(number & 1)), place
    if kind == BINARY:
        length, place = read_number(data, place)
        return Value(kind, data[place : place + length]), place + length
    if kind == LIST:
        head, place = data[place], place + 1
        count, place = read_number(data, place) if head >> 4 == 15 else (head >> 4, place)
        elements = []
        for _ in range(count):
            one, place = read_value(data, place, head & 15)
            elements.append(one)
        return Value(kind, elements, head & 15), place
    assert kind == STRUCT
    fields: dict[int, Value] = {}
    field = 0
    while head := data[place]:
        field, place = field + (head >> 4), place + 1  # pyarrow leaves out no more than 14 fields
        fields[field], place = read_value(data, place, head & 15)
    return Value(STRUCT, fields), place + 1


def read_number(data: bytes, place: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        number |= (data[place] & 127) << shift
        place, shift = place + 1, shift + 7
        if data[place - 1] < 128:
            return number, place


def write_number(number: int) -> bytes:
    if number < 128:
        return bytes([number])
    return bytes([number & 127 | 128]) + write_number(number >> 7)


def write_signed(number: int) -> bytes:
    return write_number(number << 1 if number >= 0 else (-number << 1) - 1)


def write_value(value: Value) -> bytes:
    kind, content, inner = value
    if kind in (1, 2):
        return b""
    if kind == 3:
        return bytes([content])
    if kind in (4, 5, 6):
        return write_signed(content)
    if kind == BINARY:
        return write_number(len(content)) + content
    if kind == LIST:
        head = bytes([len(content) << 4 | inner] if len(content) < 15 else [0xF0 | inner])
        count = b"" if len(content) < 15 else write_number(len(content))
        return head + count + b"".join(map(write_value, content))
    assert kind == STRUCT
    written, last = b"", 0
    for field, one in content.items():
        close = 0 < field - last < 16
        written += bytes([field - last << 4 | one.kind]) if close else bytes([one.kind]) + write_signed(field)
        written, last = written + write_value(one), field
    return written + b"\0"


def read_footer_tree(content: bytes) -> Value:
    length = int.from_bytes(content[-TAIL:-4], "little")
    return read_value(content[-TAIL - length : -TAIL], 0, STRUCT)[0]


def put_footer(content: bytes, footer: bytes) -> bytes:
    """Return the file with another footer."""
    length = int.from_bytes(content[-TAIL:-4], "little")
    return content[: -TAIL - length] + footer + len(footer).to_bytes(4, "little") + content[-4:]


def change_footer(content: bytes, change: Callable[[dict[int, Any]], object]) -> bytes:
    """Return the file after `change` has worked on the fields of its footer."""
    tree = read_footer_tree(content)
    change(tree.content)
    return put_footer(content, write_value(tree))
