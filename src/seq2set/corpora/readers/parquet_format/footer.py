"""The footer of a Parquet file: columns, groups of rows, and where their bytes are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from seq2set.core.errors import CorpusError
from seq2set.corpora.readers.parquet_format.thrift import (
    BINARY,
    FAULTS,
    I16,
    I32,
    I64,
    Shape,
    ThriftReader,
)

_COLUMN: dict[int, Shape] = {1: I32, 2: [I32], 3: [BINARY], 4: I32, 5: I64, 6: I64, 7: I64, 8: [{}]}
_COLUMN |= {9: I64, 10: I64, 11: I64, 12: {}, 13: [{}], 14: I64, 15: I32}
_COLUMN |= {16: {1: I64, 2: [I64], 3: [I64]}, 17: {1: {}, 2: [I32]}}
_CHUNK: dict[int, Shape] = {1: BINARY, 2: I64, 3: _COLUMN, 4: I64, 5: I32, 6: I64, 7: I32, 8: {}, 9: BINARY}
_GROUP: dict[int, Shape] = {1: [_CHUNK], 2: I64, 3: I64, 4: [{}], 5: I64, 6: I64, 7: I16}
_ELEMENT: dict[int, Shape] = {1: I32, 2: I32, 3: I32, 4: BINARY, 5: I32, 6: I32, 7: I32, 8: I32, 9: I32}
_FOOTER: dict[int, Shape] = {1: I32, 2: [_ELEMENT], 3: I64, 4: [_GROUP], 5: [{}], 6: BINARY, 7: [{}], 8: {}}
"""Fields by their numbers, as parquet.thrift has them, those too that are not asked for: see `thrift.py`"""

BYTE_ARRAY = 6
"""The type of columns of texts"""

_REPEATED = 2
_DEEPEST = 64
"""Levels of columns in columns; PyArrow has no limit but its stack"""
_MOST_ELEMENTS = 1 << 16
_MOST_CHARACTERS = 1 << 24
"""Of the paths of all columns: a name stands in those of all columns below it"""
_MOST_VALUES, _PER_VALUE = 1 << 21, 1000
"""Maximum values in the footer of a small file, and bytes per further value of a larger one"""
_LARGEST = 1 << 27
"""Bytes of a footer"""
_TAIL = 8


class Leaf(NamedTuple):
    """A column that holds values, and none below it."""

    path: str
    column: str
    """The column of the table that it belongs to; its name may hold dots"""
    physical_type: int
    repeats: bool
    """Whether it is in a list"""


class Chunk(NamedTuple):
    """The values of a column in a group of rows."""

    path: str
    values: int
    start: int
    """Where its first page is"""
    size: int
    """In bytes, packed"""


class RowGroup(NamedTuple):
    """Rows that are stored together."""

    rows: int
    chunks: list[Chunk]
    """In the order of the columns"""


class Footer(NamedTuple):
    """What the end of the file says of the rest."""

    rows: int
    leaves: list[Leaf]
    groups: list[RowGroup]


def read_footer(stream: Any, path: Path) -> Footer:
    """Read the footer of an open file, and refuse what contradicts itself or the file's size."""
    size = stream.size()
    content = _read_content(stream, size, path)
    try:
        found = _parse(content, _MOST_VALUES + size // _PER_VALUE)
        leaves = _list_leaves(found[2])
        groups = [_build_group(one, leaves, path) for one in found[4]]
        _check_sizes(found[3], groups, size)
    except KeyError as error:
        raise CorpusError(f"the file is damaged: its footer has no field {error}", path) from error
    except ValueError as error:
        raise CorpusError(f"the file is damaged: {error}", path) from error
    return Footer(found[3], leaves, groups)


def _parse(content: bytes, most: int) -> dict[int, Any]:
    try:
        return ThriftReader(content, most).read_struct(_FOOTER)
    except FAULTS as error:
        reason = "it ends too early" if isinstance(error, IndexError) else error
        raise ValueError(f"its footer cannot be read: {reason}") from error


def _read_content(stream: Any, size: int, path: Path) -> bytes:
    stream.seek(max(0, size - _TAIL))
    tail = stream.read(_TAIL)
    if tail[4:] == b"PARE":
        raise CorpusError("the file is encrypted; write it without encryption", path)
    if tail[4:] != b"PAR1":
        raise CorpusError("the file is damaged, or not a Parquet file: it does not end in PAR1", path)
    length = int.from_bytes(tail[:4], "little")
    if length > min(size - _TAIL, _LARGEST):
        raise CorpusError(
            f"the file is damaged: its footer would have {length:,} bytes; at most {_LARGEST:,} are read, "
            f"and the file has {size:,}",
            path,
        )
    stream.seek(size - _TAIL - length)
    return bytes(stream.read(length))


def _list_leaves(elements: list[dict[int, Any]]) -> list[Leaf]:
    """Return the columns that hold values; the schema is a tree, each node before those below it."""
    if len(elements) > _MOST_ELEMENTS:
        raise ValueError(f"it has {len(elements):,} columns; at most {_MOST_ELEMENTS:,} are read")
    rest = iter(elements)
    leaves = list(_walk(next(rest, {}), rest, [], repeats=False))
    if next(rest, None) is not None:
        raise ValueError("its schema has columns that belong to none")
    if sum(len(leaf.path) for leaf in leaves) > _MOST_CHARACTERS:
        raise ValueError(f"the names of its columns have more than {_MOST_CHARACTERS:,} characters")
    return leaves


def _walk(
    element: dict[int, Any], rest: Iterator[dict[int, Any]], above: list[str], *, repeats: bool
) -> Iterator[Leaf]:
    """Yield what is below an element, or the element; `above` are the names that lead to it."""
    if len(above) > _DEEPEST:
        raise ValueError(f"its columns have more than {_DEEPEST} levels")
    if not (below := element.get(5, 0)) and above:
        yield Leaf(".".join(above), above[0], element[1], repeats)
    if below < 0:
        raise ValueError(f"a column has {below} columns below it")
    for _ in range(below):
        one = next(rest, None)
        if one is None:
            raise ValueError("its schema ends too early")
        name = one[4].decode("utf-8", "replace")
        yield from _walk(one, rest, [*above, name], repeats=repeats or one.get(3) == _REPEATED)


def _build_group(group: dict[int, Any], leaves: list[Leaf], path: Path) -> RowGroup:
    if len(group[1]) != len(leaves):
        raise ValueError(f"a group of rows has {len(group[1]):,} columns, and the schema {len(leaves):,}")
    for chunk, leaf in zip(group[1], leaves, strict=True):
        if 8 in chunk:
            raise CorpusError(f"the column '{leaf.path}' is encrypted; write it without encryption", path)
    return RowGroup(group[3], [_build_chunk(*one, group[3]) for one in zip(group[1], leaves, strict=True)])


def _build_chunk(chunk: dict[int, Any], leaf: Leaf, rows: int) -> Chunk:
    column = chunk[3]
    start, values = column[9], column[5]
    if column[1] != leaf.physical_type:
        raise ValueError(f"the column '{leaf.path}' is of type {column[1]} and of {leaf.physical_type}")
    # A column in lists has a value for an empty list too.
    if values < rows or (values > rows and not leaf.repeats):
        raise ValueError(f"the column '{leaf.path}' has {values:,} values in {rows:,} rows")
    if 0 < column.get(11, 0) < start:  # the page of the dictionary
        start = column[11]
    return Chunk(leaf.path, values, start, column[7])


def _check_sizes(rows: int, groups: list[RowGroup], size: int) -> None:
    if any(group.rows < 0 for group in groups) or sum(group.rows for group in groups) != rows:
        raise ValueError(f"its groups of rows do not have {rows:,} rows together")
    chunks = [chunk for group in groups for chunk in group.chunks]
    if any(one.size < 0 or one.start < 0 for one in chunks):
        raise ValueError("a column has a size below 0")
    if any(one.start + one.size > size for one in chunks):
        raise ValueError("a column ends behind the end of the file")
    # They would be read once per group that names them.
    if sum(one.size for one in chunks) > size:
        raise ValueError("its columns take more bytes than the file has")
