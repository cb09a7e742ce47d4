from __future__ import annotations

import gzip
import lzma
import os
import re
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2set.core.errors import CorpusError, InputError
from seq2set.corpora.readers.streams import (
    NumberedLine,
    guess_encoding,
    open_binary,
    read_lines,
    strip_compression,
)


def zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


PACKERS = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstd}


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("suffix", PACKERS)
def test_lines_are_the_same_however_the_file_is_compressed(tmp_path: Path, suffix: str) -> None:
    path = written(tmp_path / f"a.txt{suffix}", PACKERS[suffix]("één\r\n\ntwee".encode()))
    assert list(read_lines(path)) == [
        NumberedLine(1, "één"),
        NumberedLine(2, ""),
        NumberedLine(3, "twee"),
    ]
    assert strip_compression(path) == "a.txt"


@pytest.mark.parametrize("suffix", PACKERS)
def test_binary_streams_give_the_bytes(tmp_path: Path, suffix: str) -> None:
    data = os.urandom(200_000)
    with open_binary(written(tmp_path / f"a{suffix}", PACKERS[suffix](data))) as stream:
        assert stream.read() == data


@settings(max_examples=40, deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufeff\r")))
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32-le"])
def test_lines_split_at_line_feeds_only(
    tmp_path_factory: pytest.TempPathFactory, text: str, encoding: str
) -> None:
    path = written(tmp_path_factory.mktemp("lines") / "a.txt", ("x" + text + "\n").encode(encoding))
    assert [line.text for line in read_lines(path, encoding)] == ("x" + text).split("\n")


def test_a_byte_order_mark_is_dropped_at_the_start_only(tmp_path: Path) -> None:
    path = written(tmp_path / "a.txt", "\ufeffa\n\ufeffb".encode())
    assert [line.text for line in read_lines(path)] == ["a", "\ufeffb"]


def test_a_line_of_ten_megabytes_and_nul_bytes_pass(tmp_path: Path) -> None:
    path = written(tmp_path / "a.txt", b"ab\0c" * 2_621_440 + b"\nlast\0\n")
    first, last = read_lines(path)
    assert len(first.text) == 10 * 2**20
    assert last == NumberedLine(2, "last\0")


# Blocks have 65,536 bytes: a fault in the first block, on a border of blocks, and far behind it.
@pytest.mark.parametrize("before", [0, 3, 32_767, 32_768, 100_000])
def test_invalid_bytes_name_the_line_and_the_option(tmp_path: Path, before: int) -> None:
    path = written(tmp_path / "a.txt", b"a\n" * before + b"caf\xe9 au lait\nb\n")
    match = re.escape(f"{path}, line {before + 1}: the line is not valid utf-8; pass --encoding")
    with pytest.raises(CorpusError, match=match):
        list(read_lines(path))
    assert sum(1 for _ in read_lines(path, "latin-1")) == before + 2


def test_a_letter_cut_off_at_the_end_is_invalid(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="line 2: the line is not valid utf-8"):
        list(read_lines(written(tmp_path / "a.txt", "a\né".encode()[:-1])))


@pytest.mark.parametrize(
    "encoding", ["utf-9", "hex", "punycode", "undefined", "unicode_escape", "utf-7", "a\0b", ""]
)
def test_an_unknown_encoding_is_refused(tmp_path: Path, encoding: str) -> None:
    with pytest.raises(
        InputError, match=re.escape(f"encoding '{encoding}' is not known; name one such as utf-8")
    ):
        list(read_lines(written(tmp_path / "a.txt", b"a"), encoding))


@pytest.mark.parametrize("suffix", PACKERS)
def test_an_empty_file_is_refused(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(CorpusError, match="the file is empty"):
        list(read_lines(written(tmp_path / f"a{suffix}", PACKERS[suffix](b""))))


def test_missing_files_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"a\.txt: the file does not exist"):
        list(read_lines(tmp_path / "a.txt"))
    with pytest.raises(CorpusError, match="this is a folder; a file is expected here"):
        list(read_lines(tmp_path))


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_damaged_compressed_files_are_refused(tmp_path: Path, suffix: str) -> None:
    packed = PACKERS[suffix](os.urandom(50_000))
    for data in (packed[: len(packed) // 2], b"plain text, not compressed"):
        with pytest.raises(CorpusError, match=f"the file is damaged, or not a {suffix} file"):
            list(read_lines(written(tmp_path / f"a{suffix}", data), "latin-1"))


def test_what_the_system_refuses_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "a.txt", b"a")

    def refuse(error: OSError) -> None:
        def opened(*_: object) -> None:
            raise error

        monkeypatch.setattr(Path, "open", opened)

    refuse(PermissionError(13, "no"))
    with pytest.raises(CorpusError, match="the file cannot be read: permission is denied"):
        list(read_lines(path))
    refuse(OSError(5, "Input/output error"))
    with pytest.raises(CorpusError, match=r"the file is not readable: .*Input/output error"):
        list(read_lines(path))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_mark_says_what_the_encoding_is(tmp_path: Path, encoding: str) -> None:
    path = written(tmp_path / "a.txt", "Größe\nnaïve\n".encode(encoding))
    assert [line.text for line in read_lines(path)] == ["Größe", "naïve"]
    assert [line.text for line in read_lines(path, "latin-1")] == ["Größe", "naïve"]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_told_what_to_type(tmp_path: Path, encoding: str) -> None:
    path = written(tmp_path / "a.txt", "text,labels\nGröße,a\n".encode(encoding))
    with pytest.raises(CorpusError, match=f"the file looks like {encoding}; pass --encoding {encoding}$"):
        list(read_lines(path))
    assert [line.text for line in read_lines(path, encoding)] == ["text,labels", "Größe,a"]


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "Die Straße ist für Fußgänger größer geworden; naïve café à la carte."),
        ("cp1250", "Zażółć gęślą jaźń. Wczoraj wieczorem byliśmy na długim spacerze w głąb lasu."),
        ("cp1251", "Съешь же ещё этих мягких французских булок, да выпей чаю. Банк снизил ставки."),
        ("gb18030", "银行今天宣布下调利率，市场反应积极。农业丰收。"),
        ("cp932", "銀行は本日、金利の引き下げを発表しました。コーヒーを飲みます。"),
    ],
)
def test_a_fault_names_the_encoding_that_the_bytes_look_like(
    tmp_path: Path, encoding: str, text: str
) -> None:
    path = written(tmp_path / "a.txt", f"text\n{text}\n{text}\n".encode(encoding))
    match = f"line 2: the line is not valid utf-8; pass --encoding {encoding}, which its bytes look like"
    with pytest.raises(CorpusError, match=match):
        list(read_lines(path))
    assert [line.text for line in read_lines(path, encoding)] == ["text", text, text]


def test_bytes_that_look_like_nothing_get_no_guess() -> None:
    assert guess_encoding(bytes(range(128, 256)) * 4) is None


def test_lines_end_in_carriage_returns_where_there_is_no_line_feed(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", b"text,labels\ra,b\rc,d\r")
    assert list(read_lines(path)) == [(1, "text,labels"), (2, "a,b"), (3, "c,d")]
    path = written(tmp_path / "b.csv", b"text,labels\na\rb,c\r\n")
    assert list(read_lines(path)) == [(1, "text,labels"), (2, "a\rb,c")]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_without_a_mark_the_order_of_bytes_must_be_named(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "unmarked.txt"
    path.write_bytes("one\ntwo\n".encode(f"{encoding}-be"))
    with pytest.raises(
        CorpusError, match=f"no byte order mark; pass --encoding {encoding}-le or {encoding}-be"
    ):
        list(read_lines(path, encoding))
    assert [line.text for line in read_lines(path, f"{encoding}-be")] == ["one", "two"]
