from __future__ import annotations

import gzip
import re
import tracemalloc
from pathlib import Path

import pytest

from seq2set.core.errors import CorpusError, InputError
from seq2set.corpora.documents import Document
from seq2set.corpora.readers import ReadOptions, read_documents


def read(path: Path, content: str, **options: str) -> list[Document]:
    path.write_text(content, encoding="utf-8", newline="")
    return list(read_documents(path, ReadOptions(**options)))


def test_rows_become_documents(tmp_path: Path) -> None:
    text = 'id,text,labels\na7,"one, two",x;y\nb8,three,\n'
    assert read(tmp_path / "a.csv", text) == [
        Document("a7", "one, two", ("x", "y")),
        Document("b8", "three", ()),
    ]


def test_labels_are_stripped_folded_and_kept_in_order(tmp_path: Path) -> None:
    (document,) = read(tmp_path / "a.csv", "text,labels\nt, b ;a;;b; ;c \n")
    assert document.labels == ("b", "a", "c")


def test_columns_and_separator_can_be_named(tmp_path: Path) -> None:
    text = "body\ttags\tkey\tpart\tfamily\nhello\tx|y z\t7\tdev\tf1\n"
    named = {"text": "body", "labels": "tags", "id": "key", "split": "part", "group": "family"}
    (document,) = read(tmp_path / "a.tsv", text, separator="|", **named)
    assert document == Document("7", "hello", ("x", "y z"), "dev", "f1")


def test_a_header_of_too_many_columns_is_not_taken_apart(tmp_path: Path) -> None:
    header = ",".join(["text", *map(str, range(20_000))])  # 109 kB
    fault = r"line 1: the header has 20,001 columns; at most 10,000 are read$"
    with pytest.raises(CorpusError, match=fault):  # what is loaded and kept does not count below
        read(tmp_path / "a.csv", header)
    tracemalloc.start()
    try:
        with pytest.raises(CorpusError, match=fault):
            list(read_documents(tmp_path / "a.csv", ReadOptions()))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 * len(header)  # most of it is a cell as csv holds it; it was 22 times as much


def test_delimiters_in_quotes_are_no_columns(tmp_path: Path) -> None:
    name = "a, b; " * 5_001
    (document,) = read(tmp_path / "a.csv", f'text,"{name}",labels\none,two,x\n')
    assert document.text == "one"


def test_documents_without_an_id_are_numbered(tmp_path: Path) -> None:
    documents = read(tmp_path / "a.csv", 'text,labels\n"two\nlines",x\n\nnext,y\n')
    assert [(d.id, d.text) for d in documents] == [("1", "two\nlines"), ("2", "next")]


def test_an_empty_id_is_the_number_as_well(tmp_path: Path) -> None:
    assert read(tmp_path / "a.csv", "id,text,labels\n ,t,x\n")[0].id == "1"


def test_header_names_are_stripped_and_a_byte_order_mark_is_no_part_of_them(tmp_path: Path) -> None:
    assert read(tmp_path / "a.csv", "\ufefftext, labels\nt,x\n")[0] == Document("1", "t", ("x",))


def test_compressed_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "A.CSV.gz"
    path.write_bytes(gzip.compress(b"text,labels\nt,x\n"))
    assert list(read_documents(path)) == [Document("1", "t", ("x",))]


def test_a_missing_column_lists_those_there_are(tmp_path: Path) -> None:
    message = "a.csv: there is no column 'labels', did you mean 'label'?; the columns are: id, text, label"
    with pytest.raises(CorpusError, match=re.escape(message)):
        read(tmp_path / "a.csv", "id,text,label\n1,t,x\n")


@pytest.mark.parametrize("column", ["id", "group", "split"])
def test_a_column_that_was_asked_for_must_be_there(tmp_path: Path, column: str) -> None:
    with pytest.raises(CorpusError, match="there is no column 'nowhere'; the columns are: text, labels"):
        read(tmp_path / "a.csv", "text,labels\nt,x\n", **{column: "nowhere"})


def test_many_columns_are_not_all_listed(tmp_path: Path) -> None:
    header = ",".join(f"c{number}" for number in range(30))
    with pytest.raises(CorpusError, match=r"c19, \.\.\.; pass --text and --labels with one of them"):
        read(tmp_path / "a.csv", header + "\n")


def test_a_ragged_row_names_its_first_line(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="line 4: the row has 3 cells; the header has 2"):
        read(tmp_path / "a.csv", 'text,labels\n"a\nb",x\n"c\nd",y,z\n')


def test_an_open_quotation_mark_names_its_line(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"line 3: the row cannot be read \(.*\); a cell that starts with"):
        read(tmp_path / "a.csv", 'text,labels\na,x\n"b,y\nc,z\n')


def test_a_header_that_repeats_a_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="line 1: the header names the column 'text' twice"):
        read(tmp_path / "a.csv", "text,labels,text\na,x,b\n")


def test_a_file_of_blank_lines_has_no_columns(tmp_path: Path) -> None:
    with pytest.raises(
        CorpusError, match="there is no column 'text' and no column 'labels'; the columns are: none"
    ):
        read(tmp_path / "a.csv", "\n\n")


def test_hard_texts_pass(tmp_path: Path) -> None:
    huge, many = "w" * (10 * 2**20), ";".join(f"l{number}" for number in range(100_000))
    documents = read(tmp_path / "a.csv", f"text,labels\n{huge},a\0b\n   ,{many}\nx\0y,\n")
    assert len(documents[0].text) == 10 * 2**20
    assert documents[0].labels == ("a b",)
    assert documents[1].text == "   "
    assert len(documents[1].labels) == 100_000
    assert documents[2].text == "x y"


def test_a_separator_of_no_characters_is_refused() -> None:
    with pytest.raises(InputError, match="separator is ''; it must hold at least one character"):
        ReadOptions(separator="")
