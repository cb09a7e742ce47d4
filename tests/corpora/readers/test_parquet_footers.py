"""Footers that contradict themselves: a sentence, where PyArrow would end the process or take much memory."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from footers import BINARY, LIST, STRUCT, Value, change_footer, put_footer

from seq2set.core.errors import CorpusError
from seq2set.corpora.prepared import Split
from seq2set.corpora.readers import read_documents
from seq2set.corpora.readers.parquet import open_parquet
from seq2set.corpora.readers.parquet_format import footer as footers

I32, I64 = 5, 6
Change = Callable[[dict[int, Any]], object]
READ = """
import sys
from pathlib import Path
from seq2set.core.errors import CorpusError
from seq2set.corpora.prepared import Split
from seq2set.corpora.readers import read_documents
from seq2set.corpora.readers.parquet import StoredColumn
READERS = read_documents, lambda path: [Split(path, "train")], lambda path: StoredColumn(path, "text")
for path in sorted(Path(sys.argv[1]).iterdir()):
    for read in READERS:
        try:
            list(read(path))
            print(path.name, "read", sep="|", flush=True)
        except CorpusError as error:
            print(path.name, error, sep="|", flush=True)
"""


def write_parquet(**options: Any) -> bytes:
    """Return a file of two groups of rows and three columns: `id`, `text`, and the elements of `labels`."""
    rows = {"id": ["a", "b", "c"], "text": ["wheat " * 400, "oil", ""], "labels": [["x"], [], ["y", "x"]]}
    sink = io.BytesIO()
    pq.write_table(pa.table(rows), sink, row_group_size=2, **options)
    return sink.getvalue()


def list_chunks(fields: dict[int, Any]) -> list[Value]:
    """Return the columns of the first group of rows."""
    found: list[Value] = fields[4].content[0].content[1].content
    return found


def find_chunk(fields: dict[int, Any]) -> dict[int, Any]:
    """Return the fields of the first of them."""
    found: dict[int, Any] = list_chunks(fields)[0].content
    return found


def find_column(fields: dict[int, Any], column: int = 0) -> dict[int, Any]:
    """Return what describes one of them."""
    found: dict[int, Any] = list_chunks(fields)[column].content[3].content
    return found


def put(field: int, kind: int, content: Any, inner: int = STRUCT) -> Change:
    """Return a change of one field of the first column in the first group."""

    def change(fields: dict[int, Any]) -> None:
        found = find_column(fields)
        found[field] = Value(kind, content, inner)
        ordered = sorted(found.items())
        found.clear()
        found.update(ordered)

    return change


def drop_histogram(fields: dict[int, Any]) -> None:
    find_column(fields, 2)[16].content[3].content.pop()


def encrypt(fields: dict[int, Any]) -> None:
    find_chunk(fields)[8] = Value(STRUCT, {1: Value(STRUCT, {})})


def encrypt_with_a_key(fields: dict[int, Any]) -> None:
    key = Value(STRUCT, {1: Value(LIST, [Value(BINARY, b"id")], BINARY)})
    find_chunk(fields)[8] = Value(STRUCT, {2: key})


def nest(fields: dict[int, Any]) -> None:
    """A column of 100,000 levels: PyArrow goes down them by calls of itself."""
    inner = {3: Value(I32, 1), 4: Value(BINARY, b"a"), 5: Value(I32, 1)}
    fields[2].content[0].content[5] = Value(I32, 4)
    fields[2].content.extend(Value(STRUCT, inner) for _ in range(60_000))
    fields[2].content.append(fields[2].content[1])


def share(fields: dict[int, Any]) -> None:
    """A list of groups takes few bytes, and each would be looked at from end to end."""
    fields[4].content.extend([fields[4].content[0]] * 100)
    fields[3] = Value(I64, 203)


def set_rows(fields: dict[int, Any]) -> None:
    fields[3] = Value(I64, 4)


def set_rows_of_group(fields: dict[int, Any]) -> None:
    fields[4].content[0].content[3] = Value(I64, 1 << 40)


DAMAGED = "the file is damaged: "
ENCRYPTED = "the column 'id' is encrypted; write it without encryption"
CUT = DAMAGED + "its footer cannot be read: "
DAMAGE: dict[str, tuple[Change, str]] = {
    "a histogram that is too short": (drop_histogram, "level histogram size mismatch"),
    "a column without its description": (
        lambda fields: find_chunk(fields).pop(3),
        "the file is damaged: its footer has no field 3",
    ),
    "a column without a size": (
        lambda fields: find_column(fields).pop(7),
        "the file is damaged: its footer has no field 7",
    ),
    "a group with a column too few": (
        lambda fields: list_chunks(fields).pop(),
        DAMAGED + "a group of rows has 2 columns, and the schema 3",
    ),
    "a group with a column too many": (
        lambda fields: (
            fields[4].content[0].content[1].content.append(fields[4].content[0].content[1].content[0])
        ),
        DAMAGED + "a group of rows has 4 columns, and the schema 3",
    ),
    "an encrypted column": (encrypt, ENCRYPTED),
    "a column encrypted with a key": (
        encrypt_with_a_key,
        "the column 'id' is encrypted; write it without encryption",
    ),
    "rows that are not there": (set_rows, DAMAGED + "its groups of rows do not have 4 rows together"),
    "a group of very many rows": (set_rows_of_group, "has 2 values in 1,099,511,627,776 rows"),
    "values that are not there": (put(5, I64, 1 << 40), "has 1,099,511,627,776 values in 2 rows"),
    "a size below 0": (put(7, I64, -1), DAMAGED + "a column has a size below 0"),
    "a place below 0": (put(9, I64, -1), DAMAGED + "a column has a size below 0"),
    "an end behind that of the file": (
        put(7, I64, 1 << 20),
        DAMAGED + "a column ends behind the end of the file",
    ),
    "columns that share their bytes": (share, DAMAGED + "its columns take more bytes than the file has"),
    "another type": (put(1, I32, 1), DAMAGED + "the column 'id' is of type 1 and of 6"),
    "a size of another type": (put(7, I32, 66), CUT + "a value is of type 5 instead of 6"),
    "a list of another type": (
        put(3, LIST, [Value(I32, 1)], I32),
        CUT + "a value is of type 5 instead of 8",
    ),
    "a schema that ends too early": (
        lambda fields: fields[2].content.pop(),
        DAMAGED + "its schema ends too early",
    ),
    "a schema that goes on": (
        lambda fields: fields[2].content.append(fields[2].content[1]),
        DAMAGED + "its schema has columns that belong to none",
    ),
    "a schema of very many levels": (nest, DAMAGED + "its columns have more than 64 levels"),
    "columns below 0": (
        lambda fields: fields[2].content[1].content.__setitem__(5, Value(I32, -1)),
        DAMAGED + "a column has -1 columns below it",
    ),
}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What is said of each damaged file by a process that reads all of them, up to its end."""
    folder = tmp_path_factory.mktemp("damaged")
    for number, (change, _) in enumerate(DAMAGE.values()):
        content = change_footer(write_parquet(compression="none"), change)
        (folder / f"{number:02}.parquet").write_bytes(content)
    done = subprocess.run([sys.executable, "-c", READ, str(folder)], capture_output=True, text=True)
    found: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        name, _, sentence = line.partition("|")
        found.setdefault(list(DAMAGE)[int(name.split(".")[0])], []).append(sentence)
    return found


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_a_sentence(name: str, said: dict[str, list[str]]) -> None:
    assert len(said.get(name, [])) == 3  # all three ways to read it came to an end
    assert DAMAGE[name][1] in said[name][0]


ODD_FOOTERS = {
    "nothing": (b"", "its footer cannot be read: it ends too early"),
    "a field that stands there twice": (
        b"\x15\x02\x05\x02\x02\0",
        "field 1 is repeated or invalid",
    ),
    "a field below 1": (b"\x05\x01\x02\0", "field -1 is repeated or invalid"),
    "a number without an end": (b"\x16" + b"\x80" * 20, "a number has no end"),
    "a number of 33 bits": (b"\x15\x80\x80\x80\x80\x10\0", "a number has more than 32 bits"),
    "a text behind the end": (b"\x68\xff\x01a\0", "it ends too early"),
    "a type that is none": (b"\x1d\0", "no value is of type 13"),
    "structures in structures": (b"\xfc" * 200, "it is too deep"),
    "lists in lists": (b"\xf9" + b"\x19" * 200, "it is too deep"),
    "a list of a billion truths": (b"\xf9\xf1\x80\x80\x80\x80\x04\0", "it has too many values"),
    "a map": (b"\xfb\0\0", "no value is of type 11"),
    "other fields": (b"\xf3\1\x17" + b"\0" * 8 + b"\x1a\x13\7\x11\0", "has no field 2"),
}


@pytest.mark.parametrize("name", ODD_FOOTERS)
def test_footers_that_are_none(name: str, tmp_path: Path) -> None:
    content, sentence = ODD_FOOTERS[name]
    (tmp_path / "odd.parquet").write_bytes(put_footer(write_parquet(), content))
    with pytest.raises(CorpusError, match=f"odd.parquet: the file is damaged: .*{sentence}"):
        list(read_documents(tmp_path / "odd.parquet"))


@pytest.mark.parametrize(
    ("tail", "sentence"),
    [
        (b"\1\0\0\0PARE", "the file is encrypted; write it without encryption"),
        (b"\1\0\0\0PAR2", "the file is damaged, or not a Parquet file: it does not end in PAR1"),
        (b"\xff\xff\xff\xffPAR1", "its footer would have 4,294,967,295 bytes; at most 134,217,728 are read"),
    ],
)
def test_ends_that_are_none(tail: bytes, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "odd.parquet").write_bytes(write_parquet()[:-8] + tail)
    with pytest.raises(CorpusError, match=sentence):
        list(read_documents(tmp_path / "odd.parquet"))


def test_very_many_columns_or_very_long_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.parquet").write_bytes(write_parquet())
    monkeypatch.setattr(footers, "_MOST_CHARACTERS", 24)  # id, text, labels.list.element: 25
    with pytest.raises(CorpusError, match="the names of its columns have more than 24 characters"):
        Split(tmp_path / "a.parquet", "train")
    monkeypatch.setattr(footers, "_MOST_ELEMENTS", 5)  # and the root, labels and labels.list
    with pytest.raises(CorpusError, match="it has 6 columns; at most 5 are read"):
        Split(tmp_path / "a.parquet", "train")


def test_what_a_footer_says(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(write_parquet(use_dictionary=["id"]))
    with open_parquet(path) as source:
        told, footer = pq.read_metadata(path), source.footer
    assert footer.rows == 3
    assert [(leaf.path, leaf.repeats) for leaf in footer.leaves] == [
        ("id", False),
        ("text", False),
        ("labels.list.element", True),
    ]
    assert [group.rows for group in footer.groups] == [2, 1]
    assert [[chunk.values for chunk in group.chunks] for group in footer.groups] == [[2, 2, 2], [1, 1, 2]]
    for number, group in enumerate(footer.groups):
        for place, chunk in enumerate(group.chunks):
            column = told.row_group(number).column(place)
            start = column.dictionary_page_offset or column.data_page_offset
            assert (chunk.start, chunk.size) == (start, column.total_compressed_size)


def test_pages_of_fewer_values_than_the_footer_says(tmp_path: Path) -> None:
    """Memory would be taken for all that it says."""
    path = tmp_path / "few.parquet"

    def promise(fields: dict[int, Any]) -> None:
        find_column(fields, 2)[5] = Value(I64, 1 << 31)

    path.write_bytes(change_footer(write_parquet(), promise))
    sentence = "the column 'labels.list.element' has 2,147,483,648 values, and its pages 2"
    with pytest.raises(CorpusError, match=sentence):
        list(read_documents(path))


def test_columns_of_one_name(tmp_path: Path) -> None:
    pq.write_table(pa.table([["a"], ["b"]], names=["text", "text"]), tmp_path / "a.parquet")
    with pytest.raises(CorpusError, match="the file has the column 'text' twice; names must differ"):
        list(read_documents(tmp_path / "a.parquet"))
