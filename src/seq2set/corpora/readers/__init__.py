"""Files that hold documents: one row per format, one file per reader."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from seq2set.core.errors import CorpusError
from seq2set.core.names import load_named
from seq2set.corpora.documents import Document
from seq2set.corpora.readers.cells.columns import PathWatch
from seq2set.corpora.readers.options import (
    DEFAULT_OPTIONS,
    ReadOptions,
    build_read_options,
    check_columns,
    watch_paths,
)
from seq2set.corpora.readers.records import Record, RecordTable, build_document
from seq2set.corpora.readers.streams import COMPRESSIONS, check_file, strip_compression

__all__ = [
    "DEFAULT_OPTIONS",
    "FORMATS",
    "ReadOptions",
    "build_read_options",
    "find_format",
    "has_known_format",
    "list_suffixes",
    "read_column_names",
    "read_documents",
    "read_first_records",
]

_NAMED = ("text", "id", "labels", "label_columns", "group", "split_column")
TEXT_OPTIONS = ("encoding",)
COLUMN_OPTIONS = (*_NAMED, "separator", "keep_missing", "strip_html")
"""The options that make a difference to text files, and to tables."""

FIRST_RECORDS = 1000
"""How many records are looked at for their keys and for the separator of their labels."""


class FileFormat(NamedTuple):
    """A format, known by the suffixes of its files; `read` is loaded when it is used."""

    title: str
    summary: str
    suffixes: tuple[str, ...]
    read: str
    """Takes a path and `ReadOptions`, and returns a `RecordTable`, or yields documents"""
    media_types: tuple[str, ...] = ()
    """The types under which it is sent over HTTP, the usual one first"""
    compressible: bool = True
    reads: tuple[str, ...] = TEXT_OPTIONS
    """The options that make a difference to its files; others are refused beside them"""


_DELIMITED = (*TEXT_OPTIONS, *COLUMN_OPTIONS, "delimiter", "plain_quotes")
_READERS = "seq2set.corpora.readers"
FORMATS = {
    "csv": FileFormat(
        "CSV",
        "a header, then one document per row",
        (".csv",),
        f"{_READERS}.delimited:read_csv",
        ("text/csv",),
        reads=_DELIMITED,
    ),
    "tsv": FileFormat(
        "TSV",
        "a header, then one document per row, with tabs between the cells",
        (".tsv", ".tab"),
        f"{_READERS}.delimited:read_tsv",
        ("text/tab-separated-values",),
        reads=_DELIMITED,
    ),
    "jsonl": FileFormat(
        "JSON",
        "one object per line, or one list of objects",
        (".jsonl", ".ndjson", ".json"),
        f"{_READERS}.json_files:read_json",
        ("application/x-ndjson", "application/jsonl"),
        reads=(*TEXT_OPTIONS, *COLUMN_OPTIONS),
    ),
    "parquet": FileFormat(
        "Parquet",
        "one document per row",
        (".parquet",),
        f"{_READERS}.parquet:read_parquet",
        compressible=False,
        reads=COLUMN_OPTIONS,
    ),
    "xlsx": FileFormat(
        "Excel",
        "a header, then one document per row of a sheet",
        (".xlsx", ".xlsm"),
        f"{_READERS}.excel:read_xlsx",
        compressible=False,
        reads=(*COLUMN_OPTIONS, "sheet"),
    ),
    "txt": FileFormat(
        "Text",
        "one text per line, for prediction; to train, lines as fastText has them: __label__a text",
        (".txt",),
        f"{_READERS}.plain_text:read_txt",
        reads=(*TEXT_OPTIONS, "strip_html"),
    ),
    "texts": FileFormat(
        "Text folder",
        "a folder of .txt files, one document each; sub-folders are labels",
        (),
        f"{_READERS}.plain_text:read_text_folder",
        reads=(*TEXT_OPTIONS, "strip_html"),
    ),
    "aapd": FileFormat(
        "AAPD layout",
        "a folder with text_train, label_train and so on, one document per line",
        (),
        f"{_READERS}.aapd:read_aapd",
    ),
}
"""The formats that can be read, by name."""
OPTIONS_OF_FORMATS = frozenset(option for row in FORMATS.values() for option in row.reads)

_OTHERS = {
    ".xls": "save it as .xlsx or .csv",
    ".ods": "save it as .xlsx or .csv",
    ".zip": "unpack it, and name the file that it holds",
    ".docx": "save it as .txt",
    ".pdf": "save it as .txt",
}
"""What to do with files that people have and that are not read."""


def find_format(path: Path) -> FileFormat:
    """Return the format of a file, or of a folder that is read as one."""
    if path.is_dir():
        from seq2set.corpora.readers.aapd import is_aapd
        from seq2set.corpora.readers.plain_text import list_texts

        if is_aapd(path):
            return FORMATS["aapd"]
        if list_texts(path):
            return FORMATS["texts"]
        raise CorpusError(
            "the folder has no text_train; it must be a file, or a folder of files or in the AAPD layout",
            path,
        )
    check_file(path)
    found = _find_by_suffix(path)
    if found is None:
        bare = Path(strip_compression(path)).suffix.lower()
        advice = f"; {_OTHERS[bare]}" if bare in _OTHERS else ""
        what = f"the format '{bare}' is not known" if bare else "the name does not end in a format"
        never = ", ".join(row.title for row in FORMATS.values() if not row.compressible)
        *others, last = COMPRESSIONS
        packed = f"may end in {', '.join(others)} or {last} ({never} may not)"
        raise CorpusError(f"{what}; it must be {list_suffixes()}, and {packed}{advice}", path)
    return found


def has_known_format(path: Path) -> bool:
    """Return whether a file's name says that it can be read."""
    return _find_by_suffix(path) is not None


def _find_by_suffix(path: Path) -> FileFormat | None:
    bare = Path(strip_compression(path)).suffix.lower()
    for row in FORMATS.values():
        if (bare if row.compressible else path.suffix.lower()) in row.suffixes:
            return row
    return None


def list_suffixes() -> str:
    """Return how the names of files end that can be read, as sentences list it."""
    return ", ".join(suffix for row in FORMATS.values() for suffix in row.suffixes)


def read_documents(
    source: Path | Sequence[Path], options: ReadOptions = DEFAULT_OPTIONS, before: int = 0
) -> Iterator[Document]:
    """Yield the documents of a file, or of several one after the other.

    Those without an id are numbered on from `before`.

    Labels are a list, or one text split at `options.separator` (`;` where none is named).
    """
    paths = [source] if isinstance(source, Path) else source
    formats = [find_format(path) for path in paths]
    return _read_all(paths, formats, options, before)


def _read_all(
    paths: Sequence[Path], formats: Sequence[FileFormat], options: ReadOptions, before: int
) -> Iterator[Document]:
    for path, row in zip(paths, formats, strict=True):
        content: RecordTable | Iterator[Document] = load_named(row.read)(path, options)
        documents = (
            _build_all(content, path, options, before) if isinstance(content, RecordTable) else content
        )
        for document in documents:
            before += 1
            yield document


def _build_all(content: RecordTable, path: Path, options: ReadOptions, before: int) -> Iterator[Document]:
    if content.columns is not None:
        check_columns(content.columns, options, path, hint=content.hint)
    watch = watch_paths(options)
    for values, number, line in content.records:
        watch.look(values)
        yield build_document(Record(values, before + number, line), options, path)
        if number == FIRST_RECORDS:
            _refuse_lost(watch, path)
    _refuse_lost(watch, path)


def _refuse_lost(watch: PathWatch, path: Path) -> None:
    """Refuse a path that has led nowhere so far: its column is there, and its key is not."""
    if fault := watch.describe_fault():
        raise CorpusError(fault, path)


def read_first_records(path: Path, options: ReadOptions) -> list[Record]:
    """Return the first records of a file; none where it has documents and no columns."""
    content = load_named(find_format(path).read)(path, options)
    return list(islice(content.records, FIRST_RECORDS)) if isinstance(content, RecordTable) else []


def read_column_names(path: Path, options: ReadOptions = DEFAULT_OPTIONS) -> list[str]:
    """Return the columns of a file, for JSON the keys of the first objects."""
    content = load_named(find_format(path).read)(path, options)
    if not isinstance(content, RecordTable):
        return []
    if content.columns is not None:
        return content.columns
    return list(dict.fromkeys(key for one in islice(content.records, FIRST_RECORDS) for key in one.values))
