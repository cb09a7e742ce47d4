"""Lists in JSON, Excel, names of files, HTML and headers: what the matrix of files does not reach."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seq2set.core.errors import CorpusError, InputError
from seq2set.corpora.documents import Document
from seq2set.corpora.readers import ReadOptions, read_documents
from seq2set.corpora.readers import json_files as json_reader
from seq2set.corpora.readers.cells.columns import find_value, is_set
from seq2set.corpora.readers.cells.markup import strip_markup
from seq2set.corpora.readers.cells.separators import find_separator
from seq2set.corpora.readers.files import find_files, hash_files, make_absolute

TEXTS = ReadOptions(labels=None)


@pytest.mark.parametrize("indent", [None, 2])
def test_a_list_longer_than_a_block_is_read_as_a_stream(tmp_path: Path, indent: int | None) -> None:
    texts = [f"{number} " + "word " * 3_000 for number in range(40)]  # 15 kB each; a block has 64 kB
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"text": text} for text in texts], indent=indent))
    assert [document.text for document in read_documents(path, TEXTS)] == texts


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ('[\n{"text": "a"},\n{"text" 3}\n]', "line 3: the line is not JSON"),
        ('[\n{"text": "a"},\n\n{"text": "b"', "line 4: the line is not JSON"),
        (
            '[{"text": "a"}, 3]',
            "line 1: the line holds a JSON int; one object per line, or one list of objects",
        ),
        ('[{"text": "a"}', "line 1: the line is not JSON"),
    ],
)
def test_a_fault_in_a_list_names_its_line(tmp_path: Path, content: str, sentence: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(content)
    with pytest.raises(CorpusError, match=sentence):
        list(read_documents(path, TEXTS))


def test_an_object_that_never_ends_is_not_read_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_reader, "LONGEST", 100_000)
    path = tmp_path / "a.json"
    path.write_text('[{"text": "' + "x" * 1_000_000 + '"}]')
    with pytest.raises(CorpusError, match="line 1: the line is not JSON"):
        list(read_documents(path, TEXTS))


def test_cells_of_excel_are_texts(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    rows = [["text", "id", None], [3.0, 7, None], [None, None, None], ["a", 1.5, "beyond"], ["b"]]
    for row in rows:
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    documents = list(read_documents(tmp_path / "a.xlsx", TEXTS))
    assert documents == [Document("7", "3", ()), Document("1.5", "a", ()), Document("3", "b", ())]
    with pytest.raises(CorpusError, match="there is no sheet 'x'; pass --sheet with one of: Sheet"):
        list(read_documents(tmp_path / "a.xlsx", ReadOptions(labels=None, sheet="x")))


def test_what_is_no_workbook_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    path = tmp_path / "a.xlsx"
    path.write_bytes(b"")
    with pytest.raises(CorpusError, match=r"a\.xlsx: the file is empty"):
        list(read_documents(path, TEXTS))
    path.write_bytes(b"no zip file")
    with pytest.raises(CorpusError, match="the file is damaged, encrypted, or no .xlsx workbook"):
        list(read_documents(path, TEXTS))

    def refuse(*args: object, **options: object) -> None:
        raise PermissionError

    openpyxl.Workbook().save(path)
    monkeypatch.setattr(openpyxl, "load_workbook", refuse)
    with pytest.raises(CorpusError, match="the file cannot be read: permission is denied"):
        list(read_documents(path, TEXTS))


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("<p>Gr&ouml;&szlig;e</p><p>two</p>", "Größe two"),
        ("a<b>c</b>d &amp; e", "acd & e"),
        ("<style>p {}</style>x<script>var a = '</p>'</script> y<br>z", "x y z"),
        ("5 < 6 and <B> stays", "5 < 6 and <B> stays"),
    ],
)
def test_html_leaves_its_text(text: str, plain: str) -> None:
    assert strip_markup(text) == plain


def test_a_header_of_too_many_columns_or_open_quotes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(",".join(f"c{number}" for number in range(10_001)) + "\n")
    with pytest.raises(CorpusError, match="line 1: the header has 10,001 columns"):
        list(read_documents(path, TEXTS))
    path.write_text('"text\n')
    with pytest.raises(CorpusError, match="line 1: the row cannot be read"):
        list(read_documents(path, TEXTS))


def test_the_delimiter_is_one_character() -> None:
    assert ReadOptions(delimiter="tab").delimiter == "\t"
    with pytest.raises(InputError, match="delimiter is '::'; it must be one character, or tab"):
        ReadOptions(delimiter="::")


@pytest.mark.parametrize("sign", ['"', "\r", "\n"])
def test_what_csv_has_a_meaning_for_is_no_delimiter(sign: str) -> None:
    # Python 3.13's reader raises ValueError; those before read something.
    with pytest.raises(InputError, match="delimiter is a quotation mark or a line end; these have a meaning"):
        ReadOptions(delimiter=sign)


def test_a_line_that_names_a_quotation_mark_names_no_delimiter(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('sep="\ntext,labels\n')
    with pytest.raises(CorpusError, match='the columns are: sep="'):
        list(read_documents(tmp_path / "a.csv", ReadOptions()))


def test_values_inside_columns() -> None:
    row = {"a.b": 1, "a": {"b": 2, "c": [{"d": 3}, {"e": 4}]}, "cell": "{'k': 'v'}", "broken": "{'k': "}
    paths = {
        "a.b": 1,
        "a.c[].d": [3, None],
        "a.c": row["a"]["c"],
        "cell.k": "v",
        "broken.k": None,
        "no.k": None,
    }
    assert {path: find_value(row, path) for path in paths} == paths
    assert [is_set(value) for value in (1, 0.0, None, True, " Yes ", "nan", "2")] == [
        *(True, False, False, True, True, False, None)
    ]


@pytest.mark.parametrize(
    ("cells", "sign"),
    [
        (["a;b", "a|b"], ";"),
        (["a|b", "c"], "|"),
        (["a, b", "b, c", "a, c"], ", "),
        (["a,b", "b", "a"], ","),
        (["Heart Failure, Congestive", "Lung", "Stroke, Acute"], None),
        (["['a', 'b']", "['a|b']"], None),
        (["a", "b"], None),
    ],
)
def test_the_separator_of_cells(cells: list[str], sign: str | None) -> None:
    assert find_separator(cells) == sign


def test_names_of_files(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("text\nx\n")
    both = f"{tmp_path / 'a.csv'},{tmp_path / 'b.csv'}"
    files = find_files(both, tmp_path)
    assert [file.path.name for file in files] == ["a.csv", "b.csv"]
    assert find_files(f"{both},{tmp_path / 'c.csv'}", tmp_path) == []
    assert make_absolute(both) == both
    assert make_absolute("s3://bucket/a.csv") == "s3://bucket/a.csv"
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "1.txt").write_text("x")
    assert hash_files(find_files(str(texts), tmp_path)) == hash_files(
        find_files(str(texts / "1.txt"), tmp_path)
    )
