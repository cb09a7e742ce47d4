"""Small files that hold texts of gigabytes: a sentence, within a gigabyte of memory."""

from __future__ import annotations

import gzip
import lzma
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seq2set.core.errors import CorpusError
from seq2set.corpora.prepare import PrepareOptions
from seq2set.corpora.readers import read_documents
from seq2set.corpora.readers.limits import LONGEST
from seq2set.corpora.readers.options import ReadOptions
from seq2set.corpora.readers.parquet import open_parquet
from seq2set.corpora.readers.parquet_format.pages import check_pages
from seq2set.corpora.readers.streams import open_binary
from seq2set.corpora.sources.feedback import CREATE, read_feedback

BOUNDED = """
import resource, sys
from pathlib import Path
from seq2set.core.errors import CorpusError
from seq2set.corpora.readers import read_documents
from seq2set.corpora.readers.options import ReadOptions
try:
    for document in read_documents(Path(sys.argv[1]), ReadOptions(labels="labels")):
        pass
except CorpusError as error:
    print(error)
status = Path("/proc/self/status")  # what getrusage says begins with the parent's
told = status.read_text().partition("VmHWM:")[2].split() if status.exists() else []
print(int(told[0] if told else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) // 1024)
"""


def read_bounded(path: Path) -> str:
    """Read a file in a process of its own, and return what it was refused with; it took less than 1 GB."""
    done = subprocess.run(
        [sys.executable, "-c", BOUNDED, str(path)], capture_output=True, text=True, check=True
    )
    said, _, megabytes = done.stdout.strip().rpartition("\n")
    assert int(megabytes) < 1000, said
    return said


def write_gz(path: Path) -> Any:
    return gzip.open(path, "wb", 1)


def write_zst(path: Path) -> Any:
    return pa.CompressedOutputStream(str(path), "zstd")


def write_xz(path: Path) -> Any:
    return lzma.open(path, "wb", preset=0)


@pytest.mark.parametrize(
    ("ending", "open_writer"),
    [("gz", write_gz), ("xz", write_xz), ("zst", write_zst)],
)
def test_a_line_without_an_end(ending: str, open_writer: Callable[[Path], Any], tmp_path: Path) -> None:
    path = tmp_path / f"bomb.jsonl.{ending}"
    with open_writer(path) as stream:
        stream.write(b'{"text": "')
        for _ in range(60):
            stream.write(b"a" * (1 << 20))
    assert path.stat().st_size < 1_000_000
    found = read_bounded(path)
    assert f"bomb.jsonl.{ending}, line 1: the record has more than 16,777,216 characters" in found


def test_an_xz_file_that_asks_for_much_memory(tmp_path: Path) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 30}]
    packed = bytearray(lzma.compress(b"text,labels\na,b\n", filters=[filters[0] | {"dict_size": 1 << 20}]))
    plain = tmp_path / "plain.csv.xz"
    plain.write_bytes(bytes(packed))
    assert len(list(read_documents(plain))) == 1
    (tmp_path / "bomb.csv.xz").write_bytes(lzma.compress(b"text,labels\na,b\n", filters=filters))
    with pytest.raises(CorpusError, match=r"the file is damaged, or not a .xz file: Memory usage"):
        list(read_documents(tmp_path / "bomb.csv.xz"))


def test_xz_streams_one_after_the_other_and_cut_off(tmp_path: Path) -> None:
    one, other = lzma.compress(b"text,labels\na,b\n" * 1), lzma.compress(b"c,d\n")
    (tmp_path / "two.csv.xz").write_bytes(one + b"\0" * 4 + other)
    assert [document.text for document in read_documents(tmp_path / "two.csv.xz")] == ["a", "c"]
    (tmp_path / "cut.csv.xz").write_bytes(one[:-8])
    with pytest.raises(CorpusError, match="damaged, or not a .xz file"):
        list(read_documents(tmp_path / "cut.csv.xz"))
    with open_binary(tmp_path / "two.csv.xz") as stream:
        assert stream.read() == b"text,labels\na,b\nc,d\n"


def test_a_row_of_many_lines(tmp_path: Path) -> None:
    with (tmp_path / "own.csv").open("w") as stream:
        stream.write('text,labels\n"')
        for _ in range(LONGEST // 1000 + 2):
            stream.write("a" * 1000 + "\n")
        stream.write('",b\n')
    with pytest.raises(CorpusError, match=r"own.csv, line 2: the record has more than 16,777,216 characters"):
        list(read_documents(tmp_path / "own.csv"))


def test_a_text_file_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "long.txt").write_text("a" * (LONGEST + 1))
    with pytest.raises(CorpusError, match=r"long.txt: the record has more than"):
        list(read_documents(tmp_path))


def test_a_page_that_unpacks_to_much(tmp_path: Path) -> None:
    cell = pa.array(["a" * 540_000_000])
    pq.write_table(
        pa.table({"text": cell, "labels": pa.array([["x"]])}),
        tmp_path / "bomb.parquet",
        compression="zstd",
        use_dictionary=False,
        write_statistics=False,
    )
    del cell
    assert (tmp_path / "bomb.parquet").stat().st_size < 100_000
    found = read_bounded(tmp_path / "bomb.parquet")
    assert "a page of the column 'text' unpacks to 540,000,010 bytes and 1 values" in found


def test_a_long_text_that_repeats(tmp_path: Path) -> None:
    """A dictionary says it once, and a page says a thousand times which one it is."""
    table = pa.table({"text": ["a" * 900_000] * 2000, "labels": [["x"]] * 2000})
    pq.write_table(table, tmp_path / "bomb.parquet", compression="zstd", write_statistics=False)
    del table
    assert read_bounded(tmp_path / "bomb.parquet") == ""
    labels = pa.array([["a" * 1_000_000] * 200])
    pq.write_table(pa.table({"text": ["b"], "labels": labels}), tmp_path / "list.parquet", compression="zstd")
    found = read_bounded(tmp_path / "list.parquet")
    assert "list.parquet, line 1: the record has more than 16,777,216 characters" in found


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd"])
@pytest.mark.parametrize("use_dictionary", [True, False])
def test_pages_of_usual_files_are_measured(
    version: Any, compression: str, use_dictionary: bool, tmp_path: Path
) -> None:
    rows = 5000
    table = pa.table(
        {
            "text": [f"text {number} " * (number % 50) for number in range(rows)],
            "labels": [["x", "y"][: number % 3] for number in range(rows)],
            "nested": [{"a": number, "b": [None, 1.5]} for number in range(rows)],
            "flag": [number % 2 == 0 for number in range(rows)],
        }
    )
    path = tmp_path / "usual.parquet"
    pq.write_table(
        table,
        path,
        compression=compression,
        use_dictionary=use_dictionary,
        data_page_version=version,
        data_page_size=4096,
        row_group_size=2000,
    )
    with open_parquet(path) as source:
        assert 30 < check_pages(path, source.footer) <= 1024
    documents = list(read_documents(path, ReadOptions(keep_columns=True)))
    assert [dict(one.columns or {}) for one in documents] == table.to_pylist()


def test_a_page_without_a_header(tmp_path: Path) -> None:
    path = tmp_path / "odd.parquet"
    pq.write_table(pa.table({"text": ["a"], "labels": [["x"]]}), path, compression="none")
    content = bytearray(path.read_bytes())
    content[4:12] = b"\xff" * 8
    path.write_bytes(bytes(content))
    with pytest.raises(CorpusError, match="a page has no header"):
        list(read_documents(path))


def begin_with(path: Path, header: bytes) -> Path:
    """Write a Parquet file whose first page begins with other bytes than it should."""
    rows = pa.table({"text": ["a" * 50_000], "labels": [["x"]]})
    pq.write_table(rows, path, compression="none", use_dictionary=False, write_statistics=False)
    content = bytearray(path.read_bytes())
    content[4 : 4 + len(header)] = header
    path.write_bytes(bytes(content))
    return path


LENGTH = b"\xff\xff\x03"
ODD_HEADERS = {
    "lists of truths, of which none takes a byte": b"\x19\xf9" + LENGTH + (b"\xf1" + LENGTH) * 2000,
    "lists in lists": b"\x19" + b"\x19" * 2000,
    "sizes that are fractions": b"\x27" + b"\0" * 8 + b"\x17" + b"\0" * 8 + b"\0",
    "values that are a list": b"\x25\x02\x15\x02\x2c\x19\x05\0\0",
}


@pytest.mark.parametrize("name", ODD_HEADERS)
def test_page_headers_that_say_odd_things(name: str, tmp_path: Path) -> None:
    """The first took minutes and a gigabyte."""
    with pytest.raises(CorpusError, match=r"a page has no header|unpacks to"):
        list(read_documents(begin_with(tmp_path / "odd.parquet", ODD_HEADERS[name])))


def test_pages_without_content(tmp_path: Path) -> None:
    """Ten bytes each: a file of 50 MB would have five million to look at."""
    page = b"\x15\0\x15\0\x15\0\x2c\x15\0\0\0"
    path = tmp_path / "many.parquet"
    rows = pa.table({"text": ["a" * 1_500_000], "labels": [["x"]]})
    pq.write_table(rows, path, compression="none", use_dictionary=False, write_statistics=False)
    content = bytearray(path.read_bytes())
    content[4 : 4 + 130_000 * len(page)] = page * 130_000
    path.write_bytes(bytes(content))
    with pytest.raises(CorpusError, match="more pages than files of its size have"):
        list(read_documents(path))


def test_a_workbook_of_which_a_part_unpacks_to_much(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.xlsx", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/sharedStrings.xml", b"a" * 70_000_000)
    with pytest.raises(CorpusError, match=r"the part xl/sharedStrings.xml of the workbook would unpack"):
        list(read_documents(tmp_path / "bomb.xlsx"))


COMPUTED = "text TEXT GENERATED ALWAYS AS (hex(zeroblob(400000000))) VIRTUAL"


@pytest.mark.parametrize("kind", ["computed", "long"])
def test_a_feedback_database_that_computes_or_holds_much(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "feedback.sqlite"
    script = CREATE.replace("text TEXT NOT NULL", COMPUTED) if kind == "computed" else CREATE
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(script)
        if kind == "computed":
            connection.execute("INSERT INTO texts (sha256) VALUES ('1')")
        else:
            connection.execute("INSERT INTO texts (sha256, text) VALUES ('1', ?)", ("a" * (LONGEST + 1),))
        connection.execute("INSERT INTO feedback (text_id, model, received) VALUES (1, 'm', 'now')")
    sentence = (
        "the table texts has columns that are computed" if kind == "computed" else "the record has more"
    )
    with pytest.raises(CorpusError, match=sentence):
        list(read_feedback(path, PrepareOptions()).documents)
