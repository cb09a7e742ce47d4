"""Files that hold documents: one row per format, one file per reader."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from seq2set.core.errors import CorpusError
from seq2set.core.names import load_named
from seq2set.corpora.documents import Document
from seq2set.corpora.readers.records import DEFAULT_OPTIONS, ReadOptions, build_read_options
from seq2set.corpora.readers.streams import COMPRESSIONS, check_file, strip_compression

__all__ = [
    "DEFAULT_OPTIONS",
    "FORMATS",
    "ReadOptions",
    "build_read_options",
    "find_format",
    "read_column_names",
    "read_documents",
]


class FileFormat(NamedTuple):
    """A format, known by the suffixes of its files; `read` and `columns` are loaded when they are used."""

    title: str
    summary: str
    suffixes: tuple[str, ...]
    read: str
    """Takes a path and `ReadOptions`, and yields documents"""
    columns: str
    """Takes a path and an encoding, and returns the names of the columns"""
    compressible: bool = True


FORMATS = {
    "csv": FileFormat(
        "CSV",
        "a header, then one document per row",
        (".csv",),
        "seq2set.corpora.readers.delimited:read_csv",
        "seq2set.corpora.readers.delimited:read_csv_header",
    ),
    "tsv": FileFormat(
        "TSV",
        "a header, then one document per row, with tabs between the cells",
        (".tsv",),
        "seq2set.corpora.readers.delimited:read_tsv",
        "seq2set.corpora.readers.delimited:read_tsv_header",
    ),
    "jsonl": FileFormat(
        "JSON lines",
        "one object per line",
        (".jsonl", ".ndjson", ".json"),
        "seq2set.corpora.readers.jsonl:read_jsonl",
        "seq2set.corpora.readers.jsonl:read_keys",
    ),
    "parquet": FileFormat(
        "Parquet",
        "one document per row",
        (".parquet",),
        "seq2set.corpora.readers.parquet:read_parquet",
        "seq2set.corpora.readers.parquet:read_schema",
        compressible=False,
    ),
    "aapd": FileFormat(
        "AAPD layout",
        "a folder with text_train, label_train and so on, one document per line",
        (),
        "seq2set.corpora.readers.aapd:read_aapd",
        "seq2set.corpora.readers.aapd:read_no_columns",
    ),
}
"""The formats that can be read, by name."""


def find_format(path: Path) -> FileFormat:
    """Return the format of a file, or of a folder in the AAPD layout."""
    if path.is_dir():
        from seq2set.corpora.readers.aapd import is_aapd

        if not is_aapd(path):
            raise CorpusError(
                "the folder has no text_train; a file, or a folder in the AAPD layout, is wanted", path
            )
        return FORMATS["aapd"]
    check_file(path)
    bare = Path(strip_compression(path)).suffix.lower()
    for row in FORMATS.values():
        if (bare if row.compressible else path.suffix.lower()) in row.suffixes:
            return row
    raise CorpusError(f"the format '{bare or path.name}' is not known; it must be {_list_suffixes()}", path)


def _list_suffixes() -> str:
    suffixes = ", ".join(suffix for row in FORMATS.values() for suffix in row.suffixes)
    never = ", ".join(row.title for row in FORMATS.values() if not row.compressible)
    *others, last = COMPRESSIONS
    return f"{suffixes}, and may end in {', '.join(others)} or {last} ({never} may not)"


def read_documents(path: Path, options: ReadOptions = DEFAULT_OPTIONS) -> Iterator[Document]:
    """Yield the documents of a file, or of a folder in the AAPD layout, one by one.

    Labels are a list, or one text split at `options.separator` (`;` where none is named).
    """
    documents: Iterator[Document] = load_named(find_format(path).read)(path, options)
    return documents


def read_column_names(path: Path, encoding: str = "utf-8") -> list[str]:
    """Return the columns of a file, for JSON lines the keys of the first objects; none for a folder."""
    names: list[str] = load_named(find_format(path).columns)(path, encoding)
    return names
