"""One reader a file format.

Any file or folder that holds documents, by its format.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from seq2set.core.errors import CorpusError
from seq2set.corpora.documents import Document
from seq2set.corpora.readers.aapd import is_aapd, read_aapd
from seq2set.corpora.readers.delimited import read_delimited, read_header
from seq2set.corpora.readers.jsonl import read_jsonl, read_objects
from seq2set.corpora.readers.parquet import open_parquet, read_parquet
from seq2set.corpora.readers.records import DEFAULT_OPTIONS, ReadOptions
from seq2set.corpora.readers.streams import check_file, strip_compression

__all__ = ["DEFAULT_OPTIONS", "FORMATS", "ReadOptions", "column_names", "read_documents"]

FORMATS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet")
"""The suffixes of the files that can be read; all but Parquet may be compressed as well."""


FIRST_OBJECTS = 100
"""How many JSON lines are looked at for their keys, of which some may lack one."""


def read_column_names(path: Path, encoding: str = "utf-8") -> list[str]:
    """Return the columns of a file, of JSON lines the keys of the first objects; none of a folder."""
    suffix = Path(strip_compression(path)).suffix.lower()
    if path.is_dir():
        return []
    if suffix in (".csv", ".tsv"):
        return read_header(path, encoding, "," if suffix == ".csv" else "\t")
    if suffix in (".jsonl", ".ndjson", ".json"):
        first = islice(read_objects(path, encoding), FIRST_OBJECTS)
        return list(dict.fromkeys(key for one in first for key in one.values))
    if path.suffix.lower() == ".parquet":
        with open_parquet(path) as file:
            return list(file.schema_arrow.names)
    return []


def read_documents(path: Path, options: ReadOptions = DEFAULT_OPTIONS) -> Iterator[Document]:
    """Give the documents of a file or of a folder in the AAPD layout one by one.

    CSV (`.csv`) and TSV (`.tsv`) have a header; `.jsonl`, `.ndjson` and `.json` hold one object a line.
    Labels are a list, or one text split at `options.separator` (`;` where none is named).
    """
    if path.is_dir():
        if not is_aapd(path):
            raise CorpusError(
                "the folder has no text_train; a file, or a folder in the AAPD layout, is wanted", path
            )
        return read_aapd(path, options.encoding)
    check_file(path)
    suffix = Path(strip_compression(path)).suffix.lower()
    if suffix == ".csv":
        return read_delimited(path, options, ",")
    if suffix == ".tsv":
        return read_delimited(path, options, "\t")
    if suffix in (".jsonl", ".ndjson", ".json"):
        return read_jsonl(path, options)
    if path.suffix.lower() == ".parquet":
        return read_parquet(path, options)
    raise CorpusError(
        f"the format '{suffix or path.name}' is not known; it must be {', '.join(FORMATS)}, "
        "and may end in .gz, .xz or .zst (Parquet may not)",
        path,
    )
