"""Files as people have them: each is read right, or a sentence says what to type, and that works then.

Every case is a file, or several, of the same twelve documents; `data prepare` reads it as `train` would.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seq2set.corpora.documents import SPLITS
from seq2set.corpora.prepared import PreparedCorpus

TOPICS = ("grain", "oil", "money")
ROWS = [
    (
        f"Größe {number} of {TOPICS[number % 3]}",
        TOPICS[number % 3 :] if number % 2 else TOPICS[number % 3 :][:1],
    )
    for number in range(12)
]
"""Texts with their labels: one, two or three"""


def write_csv(
    delimiter: str = ",",
    encoding: str = "utf-8",
    end: str = "\n",
    header: Sequence[str] = ("text", "labels"),
    join: Callable[[Sequence[str]], str] = ";".join,
    rows: Sequence[Sequence[str]] | None = None,
    head: str = "",
    tail: str = "",
) -> bytes:
    stream = io.StringIO(newline="")
    stream.write(head)
    stream.write(delimiter.join(header) + end)
    for row in [(text, join(labels)) for text, labels in ROWS] if rows is None else rows:
        line = io.StringIO(newline="")
        csv.writer(line, delimiter=delimiter, lineterminator=end).writerow(row)
        stream.write(line.getvalue().removesuffix(end) + tail + end)
    return stream.getvalue().encode(encoding)


def write_jsonl(objects: Sequence[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in objects).encode()


def write_xlsx(path: Path, **sheets: Sequence[Sequence[object]]) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    book.save(path)


OBJECTS = [{"text": text, "labels": list(labels)} for text, labels in ROWS]
SHEET = [("text", "labels"), *((text, ";".join(labels)) for text, labels in ROWS)]
ONE_HOT = [(text, *(str(int(topic in labels)) for topic in TOPICS)) for text, labels in ROWS]
FASTTEXT = "".join(" ".join(f"__label__{one}" for one in labels) + f" {text}\n" for text, labels in ROWS)


class Case(NamedTuple):
    """A file by its name and content, the options it takes, and what is said where they are left out."""

    name: str
    content: bytes | Callable[[Path], object]
    options: tuple[str, ...] = ()
    sentence: str = ""
    """Said without the options, with exit code 2; it names each of them"""
    mended: tuple[str, bytes | Callable[[Path], object]] | None = None
    """The file as the sentence says that it should be, where it names no option"""
    first: tuple[str, ...] = ()
    """Options that were typed before the sentence"""
    note: str = ""
    """Said of a file that is read"""
    split: tuple[int, int, int] = (10, 1, 1)
    """How many documents the splits have"""
    rename: Callable[[str], str] = str
    """What the labels are called in this file"""


def objects(**values: Callable[[str, tuple[str, ...]], object]) -> bytes:
    return write_jsonl([{key: make(*row) for key, make in values.items()} for row in ROWS])


def text_of(text: str, labels: tuple[str, ...]) -> str:
    return text


def names_of(text: str, labels: tuple[str, ...]) -> list[dict[str, object]]:
    return [{"name": label, "id": 1} for label in labels]


def write_parquet(path: Path, table: dict[str, Any]) -> None:
    pq.write_table(pa.table(table), path)


def write_shards(folder: Path, names: Sequence[str], each: int) -> None:
    folder.mkdir(exist_ok=True)
    for place, name in enumerate(names):
        some = [(text, ";".join(labels)) for text, labels in ROWS[place * each :][:each]]
        (folder / name).write_bytes(write_csv(rows=some))


def write_texts(folder: Path, labelled: bool) -> None:
    for number, (text, labels) in enumerate(ROWS):
        place = folder.joinpath(*labels) if labelled else folder
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number}.txt").write_text(text, encoding="utf-8")


def number_rows(ids: Callable[[int], str], header: str = "id") -> bytes:
    rows = [(ids(number), text, ";".join(labels)) for number, (text, labels) in enumerate(ROWS)]
    return write_csv(header=(header, "text", "labels"), rows=rows)


def name_splits(column: str, names: Sequence[str]) -> bytes:
    rows = [(text, ";".join(labels), names[number % 4]) for number, (text, labels) in enumerate(ROWS)]
    return write_csv(header=("text", "labels", column), rows=rows)


def beside(path: Path, **files: bytes) -> None:
    for name, content in files.items():
        (path.parent / f"{name}.csv").write_bytes(content)


def write_tsv_of_quotes() -> bytes:
    """Write a file as programs do that quote nothing."""
    rows = (f'"{text[:3]}"{text[3:]}\t{";".join(labels)}' for text, labels in ROWS)
    return "\n".join(["text\tlabels", *rows]).encode()


FOURTH = ("train", "train", "dev", "test")
SOME = [(text, ";".join(labels)) for text, labels in ROWS]

CASES = {
    # How a table is written down.
    "comma": Case("a.csv", write_csv()),
    "semicolon": Case("a.csv", write_csv(";", join="|".join), note="split at '|'"),
    "tab in a .csv": Case("a.csv", write_csv("\t")),
    "bar": Case("a.csv", write_csv("|")),
    "comma in a .tsv": Case("a.tsv", write_csv(",")),
    "tab": Case("a.tab", write_csv("\t")),
    "another delimiter": Case("a.csv", write_csv("~"), ("--delimiter", "~"), "pass --delimiter '~'"),
    "Excel's sep line": Case("a.csv", write_csv(";", head="sep=;\r\n", end="\r\n")),
    "an empty last column": Case("a.csv", write_csv(";", tail=";")),
    "columns without names": Case(
        "a.csv",
        write_csv(
            header=("", "text", "", "labels"),
            rows=[("", text, "", ";".join(labels)) for text, labels in ROWS],
        ),
    ),
    "blank lines": Case("a.csv", write_csv(end="\n\n")),
    "CR LF": Case("a.csv", write_csv(end="\r\n")),
    "CR alone": Case("a.csv", write_csv(end="\r")),
    "a mark": Case("a.csv", write_csv(encoding="utf-8-sig")),
    "UTF-16": Case("a.csv", write_csv("\t", encoding="utf-16", end="\r\n")),
    "UTF-16 without a mark": Case(
        "a.csv", write_csv(encoding="utf-16-le"), ("--encoding", "utf-16-le"), "pass --encoding utf-16-le"
    ),
    "Windows letters": Case(
        "a.csv",
        write_csv(encoding="cp1252"),
        ("--encoding", "cp1252"),
        "line 2: the line is not valid utf-8; pass --encoding cp1252",
    ),
    "quotation marks that are letters": Case(
        "a.tsv",
        write_tsv_of_quotes(),
        ("--plain-quotes",),
        "and those inside it must be doubled; pass --plain-quotes where they are letters like any other",
    ),
    "no header": Case(
        "a.csv",
        write_csv(rows=[(f"{text} and four more words", names) for text, names in SOME]).split(b"\n", 1)[1],
        sentence="if the first line is a document, put a line of column names above it, such as text,labels",
        mended=("a.csv", write_csv()),
    ),
    "a title above the header": Case(
        "a.csv",
        b"Export of May\n\n" + write_csv(),
        sentence="line 3: the row has 2 cells; the header has 1; if the names of the columns stand further "
        "down, delete the lines above them",
        mended=("a.csv", write_csv()),
    ),
    "an unquoted comma": Case(
        "a.csv",
        write_csv().replace(b" 3 of", b" 3, of"),
        sentence="line 5: the row has 3 cells; the header has 2; put a cell that holds ',' in quotation",
        mended=("a.csv", write_csv()),
    ),
    "a short row": Case(
        "a.csv",
        write_csv() + b"none\n",
        sentence="line 14: the row has 1 cell; the header has 2; write ',' for each cell that is empty",
        mended=("a.csv", write_csv() + b"none,\n"),
        split=(11, 1, 1),
    ),
    "blanks before quotation marks": Case(
        "a.csv",
        "\n".join(['"text", "labels"', *(f'"{text}", "{names}"' for text, names in SOME)]).encode(),
    ),
    "gzip without a name": Case(
        "a.csv",
        gzip.compress(write_csv()),
        sentence="not a text file but gzip data; put .gz behind its name",
        mended=("a.csv.gz", gzip.compress(write_csv())),
    ),
    "Excel called CSV": Case(
        "a.csv",
        lambda path: write_xlsx(path, data=SHEET),
        sentence="not a text file but Excel or a zip archive; give it a name that ends in .xlsx",
        mended=("a.xlsx", lambda path: write_xlsx(path, data=SHEET)),
    ),
    "fastText called CSV": Case(
        "a.csv",
        FASTTEXT.encode(),
        sentence="give a file of lines as fastText has them a name that ends in .txt",
        mended=("a.txt", FASTTEXT.encode()),
    ),
    "a name without an ending": Case(
        "tickets",
        write_csv(),
        sentence="the name does not end in a format; it must be .csv, .tsv",
        mended=("tickets.csv", write_csv()),
    ),
    "a header alone": Case("a.csv", b"text,labels\n", sentence="mine holds no document; at least one"),
    "compressed": Case("a.csv.gz", gzip.compress(write_csv())),
    # Other formats.
    "JSON lines": Case("a.jsonl", write_jsonl(OBJECTS)),
    "a JSON list": Case("a.json", json.dumps(OBJECTS).encode()),
    "a pretty JSON list": Case("a.json", json.dumps(OBJECTS, indent=4, ensure_ascii=False).encode()),
    "Parquet": Case("a.parquet", lambda path: pq.write_table(pa.Table.from_pylist(OBJECTS), path)),
    "Parquet with bytes": Case(
        "a.parquet",
        lambda path: write_parquet(
            path, {"text": [t.encode() for t, _ in ROWS], "labels": [list(names) for _, names in ROWS]}
        ),
    ),
    "Excel": Case("a.xlsx", lambda path: write_xlsx(path, data=SHEET)),
    "Excel's second sheet": Case(
        "a.xlsx",
        lambda path: write_xlsx(path, notes=[("made", "by")], data=SHEET),
        ("--sheet", "data"),
        "there is no column 'text' and no column 'labels'; the columns are: made, by; pass --text and "
        "--labels with one of them, or --label-columns where each label has a column of its own, or --sheet "
        "with one of: notes, data",
    ),
    "old Excel": Case(
        "a.xls",
        b"x",
        sentence="(Parquet, Excel may not); save it as .xlsx or .csv",
        mended=("a.xlsx", lambda path: write_xlsx(path, data=SHEET)),
    ),
    "fastText": Case("a.txt", FASTTEXT.encode()),
    "texts alone": Case(
        "a.txt",
        b"wheat\noil\n",
        sentence="the file holds texts without labels; begin its lines with '__label__' and a label each, or",
        mended=("a.txt", FASTTEXT.encode()),
    ),
    "a folder of texts": Case("texts", lambda path: write_texts(path, True)),
    "a folder of texts without labels": Case(
        "texts",
        lambda path: write_texts(path, False),
        sentence="put the files of each label into a sub-folder",
        mended=("texts", lambda path: write_texts(path, True)),
    ),
    "a folder of tables": Case("tables", lambda path: write_shards(path, ["1.csv", "2.csv", "3.csv"], 4)),
    "a folder of splits": Case(
        "tables", lambda path: write_shards(path, ["train.csv", "valid.csv", "test.csv"], 4), split=(4, 4, 4)
    ),
    "a pattern": Case(
        "parts-*.csv", lambda path: write_shards(path.parent, ["parts-1.csv", "parts-2.csv"], 6)
    ),
    "several files": Case("1.csv,2.csv", lambda path: write_shards(path.parent, ["1.csv", "2.csv"], 6)),
    # Labels.
    "comma and blank": Case(
        "a.csv", write_csv(join=", ".join), note="labels are split at ', ', which stands in 4"
    ),
    "bare commas": Case("a.csv", write_csv(join=",".join), note="split at ','"),
    "line ends": Case("a.csv", write_csv(join="\n".join), note=r"split at $'\n'"),
    "blanks, when told": Case("a.csv", write_csv(join=" ".join), ("--separator", " ")),
    "a Python list": Case("a.csv", write_csv(join=lambda names: str(list(names)))),
    "a JSON list in a cell": Case("a.csv", write_csv(join=json.dumps)),
    "numbers": Case(
        "a.jsonl",
        objects(text=text_of, labels=lambda _, names: [*map(TOPICS.index, names)]),
        rename=lambda label: str(TOPICS.index(label)),
    ),
    "one column per label": Case(
        "a.csv",
        write_csv(header=("text", *TOPICS), rows=ONE_HOT),
        ("--label-columns", "grain,oil,money"),
        "the columns are: text, grain, oil, money; pass --labels with one of them, or --label-columns where",
    ),
    "columns by a pattern": Case(
        "a.csv",
        write_csv(header=("text", *(f"is:{one}" for one in TOPICS)), rows=ONE_HOT),
        ("--labels", "is:*"),
        rename="is:{}".format,
    ),
    "objects": Case(
        "a.jsonl",
        objects(text=text_of, tags=names_of),
        ("--labels", "tags[].name"),
        "there is no column 'labels'; the columns are: text, tags; pass --labels",
    ),
    "objects named without a key": Case(
        "a.jsonl",
        objects(text=text_of, tags=names_of),
        ("--labels", "tags[].name"),
        "pass --labels 'tags[].KEY' with one of its keys: name, id",
        first=("--labels", "tags"),
    ),
    "objects named with a wrong key": Case(
        "a.jsonl",
        objects(text=text_of, tags=names_of),
        ("--labels", "tags[].name"),
        "no document has 'tags[].nam', as --labels says; at that place there are: name, id",
        first=("--labels", "tags[].nam"),
    ),
    "an object of flags": Case(
        "a.jsonl",
        objects(text=text_of, labels=lambda _, names: {one: int(one in names) for one in TOPICS}),
        ("--label-columns", "labels.grain,labels.oil,labels.money"),
        "where its keys are labels and its values 0 or 1, pass --label-columns 'labels.grain,labels.oil",
        rename="labels.{}".format,
    ),
    "a column per label of a document": Case(
        "a.csv",
        write_csv(header=("text", *"abc"), rows=[(text, *(*names, "", "")[:3]) for text, names in ROWS]),
        ("--labels", "a,b,c"),
        "must hold 0 or 1 (columns that hold labels are named one by one: --labels a,b,c)",
        first=("--label-columns", "a,b,c"),
    ),
    "all columns but the text": Case(
        "a.csv", write_csv(header=("text", *TOPICS), rows=ONE_HOT), ("--labels", "*")
    ),
    "objects in a cell": Case(
        "a.csv",
        write_csv(header=("text", "tags"), rows=[(text, str(names_of(text, names))) for text, names in ROWS]),
        ("--labels", "tags[].name"),
    ),
    "missing labels": Case(
        "a.csv",
        write_csv(rows=[*SOME, ("none", "NaN"), ("none", "N/A"), ("none", "")]),
        note="2 values stand for",
        split=(11, 2, 2),
    ),
    # Texts.
    "another column": Case(
        "a.csv",
        write_csv(header=("body", "tags")),
        ("--text", "body", "--labels", "tags"),
        "no column 'text' and no column 'labels'; the columns are: body, tags; pass --text and --labels",
    ),
    "capitals": Case(
        "a.csv",
        write_csv(header=("Text", "LABELS")),
        ("--text", "Text", "--labels", "LABELS"),
        "the columns are: Text, LABELS; pass --text Text --labels LABELS",
    ),
    "two columns": Case(
        "a.csv",
        write_csv(
            header=("title", "abstract", "labels"),
            rows=[(text.split(" ", 1)[0], text.split(" ", 1)[1], ";".join(names)) for text, names in ROWS],
        ),
        ("--text", "title,abstract"),
    ),
    "a key inside": Case(
        "a.jsonl",
        objects(doc=lambda text, _: {"body": text}, labels=lambda _, names: list(names)),
        ("--text", "doc.body"),
        "there is no column 'text'; the columns are: doc, labels; pass --text",
    ),
    "a wrong key inside": Case(
        "a.jsonl",
        objects(doc=lambda text, _: {"body": text}, labels=lambda _, names: list(names)),
        ("--text", "doc.body"),
        "no document has 'doc.bodi', as --text says; at that place there are: body",
        first=("--text", "doc.bodi"),
    ),
    "a key inside a plain text": Case(
        "a.jsonl",
        write_jsonl(OBJECTS),
        ("--text", "text"),
        "no document has 'text.body', as --text says; at that place there are: no keys",
        first=("--text", "text.body"),
    ),
    "a column of objects": Case(
        "a.jsonl",
        objects(text=lambda text, _: {"body": text}, labels=lambda _, names: list(names)),
        ("--text", "text.body"),
        "pass --text 'text.KEY' with one of its keys: body",
    ),
    "columns of pandas": Case(
        "a.json",
        json.dumps({"text": {"0": "a"}, "labels": {"0": "b"}}).encode(),
        sentence="to_json(orient='records', lines=True)",
        mended=("a.json", write_jsonl(OBJECTS)),
    ),
    "a list inside an object": Case(
        "a.json",
        json.dumps({"data": OBJECTS}).encode(),
        sentence="the documents are in a list 'data' inside an object; one object per line, or one list of",
        mended=("a.json", json.dumps(OBJECTS).encode()),
    ),
    "an object without labels": Case(
        "a.jsonl",
        write_jsonl([*OBJECTS, {"text": "none"}]),
        sentence="--label-columns where each label has a column of its own, or write an empty list where",
        mended=("a.jsonl", write_jsonl([*OBJECTS, {"text": "none", "labels": []}])),
        split=(11, 1, 1),
    ),
    "words in a list": Case(
        "a.jsonl", objects(text=lambda text, _: text.split(), labels=lambda _, names: list(names))
    ),
    "HTML": Case(
        "a.csv",
        write_csv(rows=[(f"<p>{text.replace('ö', '&ouml;')}</p>", names) for text, names in SOME]),
        ("--strip-html",),
    ),
    # Identifiers.
    "repeated ids": Case(
        "a.csv", number_rows(lambda number: "same"), note="11 documents have an id that another has"
    ),
    "missing ids": Case(
        "a.csv", number_rows(lambda number: "7" if number == 1 else ""), note="11 documents have no id"
    ),
    "one missing id": Case(
        "a.csv",
        number_rows(lambda number: "" if number == 1 else str(100 + number)),
        note="1 document has no id",
    ),
    "ids with a point": Case("a.csv", number_rows(lambda number: f"{number}.0")),
    "ids of another name": Case("a.csv", number_rows(str, "sku"), ("--id", "sku")),
    "no ids": Case("a.csv", number_rows(lambda number: "same"), ("--id", "")),
    # Splits.
    "a split column": Case(
        "a.csv", name_splits("Split", FOURTH), split=(6, 3, 3), note="the column 'Split' says"
    ),
    "a split column of another name": Case(
        "a.csv", name_splits("part", FOURTH), ("--split-column", "part"), split=(6, 3, 3)
    ),
    "files for validation and test": Case(
        "a.csv",
        lambda path: beside(
            path, a=write_csv(rows=SOME[:6]), v=write_csv(rows=SOME[6:8]), t=write_csv(rows=SOME[8:])
        ),
        ("--valid", "v.csv", "--test", "t.csv"),
        split=(6, 2, 4),
    ),
    "a file for validation, a share for test": Case(
        "a.csv",
        lambda path: beside(path, a=write_csv(rows=SOME[:8]), v=write_csv(rows=SOME[8:])),
        ("--valid", "v.csv", "--test", "0.25"),
        split=(6, 4, 2),
    ),
    "a split column and no test split wanted": Case(
        "a.csv",
        name_splits("split", FOURTH),
        ("--no-test",),
        split=(9, 3, 0),
        note="the 3 documents of the test split are learnt from",
    ),
    "a split column and a size beside it": Case(
        "a.csv",
        name_splits("split", FOURTH),
        ("--valid", "0.5"),
        split=(6, 3, 3),
        note="--valid 0.5 is not used: 3 documents are in that split already",
    ),
    "no test split": Case("a.csv", write_csv(), ("--test", "0"), split=(11, 1, 0)),
    "no test split wanted": Case("a.csv", write_csv(), ("--no-test",), split=(11, 1, 0)),
    "groups": Case(
        "a.csv",
        name_splits("owner", ("ann", "bob", "cat", "dan")),
        ("--group", "owner", "--valid", "3", "--test", "3"),
        split=(6, 3, 3),
    ),
}


WITHOUT_HELP = {"a header alone"}
"""Files of which nothing can be made"""


def write(folder: Path, case: Case) -> str:
    """Write the files of a case, and return what is to be typed for them."""
    folder.mkdir()
    if callable(case.content):
        case.content(folder / case.name)
    else:
        (folder / case.name).write_bytes(case.content)
    return ",".join(str(folder / part) for part in case.name.split(","))


@pytest.mark.parametrize("name", CASES)
def test_a_file_is_read_or_a_sentence_says_what_to_type(
    seq2set, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    case, out = CASES[name], tmp_path / "out"
    typed = ["data", "prepare", "mine", "--out", out, "--from"]
    path = write(tmp_path / "files", case)
    monkeypatch.chdir(tmp_path / "files")
    if case.sentence:
        refused = seq2set(*typed, path, *case.first)
        assert refused.code == 2
        assert case.sentence in refused.err
        assert all(option in refused.err for option in case.options if option.startswith("--"))
        assert not out.exists()
        if case.mended is not None:
            path = write(tmp_path / "mended", Case(*case.mended))
        elif not case.options:
            assert name in WITHOUT_HELP
            return
    outcome = seq2set(*typed, path, *case.options)
    assert outcome.code == 0, outcome.err
    assert case.note in outcome.out
    corpus = PreparedCorpus.open(out)
    assert tuple(len(corpus.split(split)) for split in SPLITS) == case.split
    documents = [document for _, document in corpus.iter_documents() if document.text != "none"]
    expected = {text: {case.rename(label) for label in labels} for text, labels in ROWS}
    assert {document.text.replace('"', ""): set(document.labels) for document in documents} == expected
    assert len({document.id for document in documents}) == len(ROWS)


def test_there_are_as_many_files_as_promised() -> None:
    assert len(CASES) >= 45


def test_a_column_of_shares_is_no_label(seq2set, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(write_csv(header=("text", "grain"), rows=[(text, "0.5") for text, _ in ROWS]))
    refused = seq2set("data", "stats", path, "--label-columns", "grain")
    sentence = "line 2: column 'grain' holds '0.5'; a column that stands for a label must hold 0 or 1"
    assert (refused.code, sentence in refused.err) == (2, True)


def test_an_address_is_opened_by_pyarrow_or_refused(seq2set, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(write_csv())
    assert json.loads(seq2set("data", "stats", path.as_uri(), "--json").out)["documents"] == 12
    refused = seq2set("data", "stats", "https://nowhere.invalid/a.csv")
    assert refused.code == 2
    assert "the address cannot be opened" in refused.err
    assert "download the file, and name it" in refused.err


def test_a_storage_that_does_not_answer_is_given_up(
    seq2set, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seq2set.corpora.readers.files.RETRY_SECONDS", 1)
    address = "gs://anonymous@bucket/a.csv?scheme=http&endpoint_override=127.0.0.1:9"  # nobody listens
    for typed in (("data", "stats", address), ("predict", tmp_path, "--input", address)):
        refused = seq2set(*typed)
        assert (refused.code, "cannot be opened" in refused.err) == (2, True)


def test_a_storage_that_another_package_opens_may_fail_in_its_own_way(
    seq2set, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class OwnError(Exception):
        """What is no OSError and none of pyarrow's errors."""

    def fail(address: str) -> None:
        raise OwnError(f"no way to {address}")

    monkeypatch.setattr("pyarrow.fs.FileSystem", SimpleNamespace(from_uri=fail))
    for typed in (("data", "stats", "hf://a.csv"), ("predict", tmp_path, "--input", "hf://a.csv")):
        refused = seq2set(*typed)
        assert (refused.code, "no way to hf://a.csv" in refused.err) == (2, True)


def test_a_file_that_is_missing_is_named(seq2set, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(write_csv())
    assert "no file matches" in seq2set("data", "stats", tmp_path / "b*.csv").err
    refused = seq2set("data", "stats", f"{tmp_path / 'a.csv'},{tmp_path / 'b.csv'}")
    assert (refused.code, refused.err) == (2, f"seq2set: {tmp_path / 'b.csv'}: the file does not exist\n")


def test_what_documents_lack_is_counted(seq2set, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(write_csv(rows=[*SOME, (" ", "oil"), ("none", ""), ("none", "")]))
    told = seq2set("data", "stats", path).err
    assert "1 of 15 documents have no text" in told
    assert "2 of 15 documents have no label" in told


def test_html_is_noticed_and_removed(seq2set, tmp_path: Path) -> None:
    path = write(tmp_path / "files", CASES["HTML"])
    assert "12 of 12 texts hold HTML; --strip-html removes it" in seq2set("data", "stats", path).err
    assert "HTML" not in seq2set("data", "stats", path, "--strip-html").err


def test_a_model_is_trained_and_measured_with_the_same_options(
    seq2set, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES["files for validation and test"]
    path = write(tmp_path / "files", case)
    monkeypatch.chdir(tmp_path / "files")
    quick = ("--model", "br", "--set", "linear.c=[1]", "--set", "threads=1", "--set", "text.min_frequency=1")
    trained = seq2set("train", "--data", path, "--out", tmp_path / "run", *quick, *case.options)
    assert trained.code == 0, trained.err
    monkeypatch.chdir(tmp_path)
    assert json.loads(seq2set("evaluate", tmp_path / "run", "--json").out)["documents"] == 4
    other = write(tmp_path / "others", CASES["two columns"])
    options = CASES["two columns"].options
    measured = seq2set("evaluate", tmp_path / "run", "--data", other, "--json", "--include-seen", *options)
    assert json.loads(measured.out)["documents"] == 12, measured.err


def test_texts_are_predicted_from_every_kind_of_file(seq2set, br_run, tmp_path: Path) -> None:
    plain = tmp_path / "a.txt"
    plain.write_text("wheat\noil\n")
    table = write(tmp_path / "table", CASES["Excel's second sheet"])
    folder = write(tmp_path / "folder", CASES["a folder of texts without labels"])
    for typed, documents in (((plain,), 2), ((table, "--sheet", "data"), 12), ((folder,), 12)):
        predicted = seq2set("predict", br_run.path, "--json", "--input", *typed)
        assert predicted.code == 0, predicted.err
        assert len(predicted.out.splitlines()) == documents
    refused = seq2set("predict", br_run.path, "--input", table)
    assert "pass --text with one of them, or --sheet with one of: notes, data" in refused.err
