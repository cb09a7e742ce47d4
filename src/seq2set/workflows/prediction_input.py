"""The texts to predict: files, globs, folders, addresses that pyarrow opens, or lines of standard input."""

from __future__ import annotations

import glob
import shutil
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from io import TextIOWrapper
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from seq2set.core.errors import CorpusError, InputError
from seq2set.corpora.documents import Document
from seq2set.corpora.readers import (
    FORMATS,
    ReadOptions,
    find_format,
    has_known_format,
    list_suffixes,
    read_column_names,
    read_documents,
)
from seq2set.corpora.readers.aapd import is_aapd
from seq2set.corpora.readers.cells.columns import has_column, split_names
from seq2set.corpora.readers.delimited import read_delimiter
from seq2set.corpora.readers.files import limit_retries, list_folder
from seq2set.corpora.readers.options import DEFAULT_ID
from seq2set.corpora.readers.streams import check_encoding
from seq2set.inference.engines.blocks import BLOCK
from seq2set.inference.model_folder import read_settings

FEW = 2_048
"""Lines of standard input that are read before it is decided how many processes pay."""

STANDARD = "-"
"""Stands for standard input and standard output."""


class InputFile(NamedTuple):
    """A file to read: its name as the user gave it, and what tells whether it has changed."""

    name: str
    size: int
    changed: str
    remote: Any = None
    """Of pyarrow's: the filesystem and the path; none for a file of this machine"""

    @contextmanager
    def fetch(self) -> Iterator[Path]:
        """Yield a path to read; a remote file is copied for as long as the block runs."""
        if self.remote is None:
            yield Path(self.name)
            return
        filesystem, path = self.remote
        with tempfile.TemporaryDirectory(prefix="seq2set-") as folder:
            copy = Path(folder) / path.rpartition("/")[2]
            with filesystem.open_input_stream(path, compression=None) as source, copy.open("wb") as target:
                shutil.copyfileobj(source, target)
            yield copy

    def to_dict(self) -> dict[str, Any]:
        """Return what tells whether the file has changed, as plain JSON."""
        return {"name": self.name, "size": self.size, "changed": self.changed}


def find_inputs(names: Sequence[str]) -> list[InputFile]:
    """Return the files that paths, globs, folders and addresses stand for, in a steady order."""
    if not all(map(str.strip, names)):
        raise InputError("an input has an empty name; name a file, a pattern or a folder")
    if STANDARD in names:
        raise InputError(
            f"standard input ({STANDARD}) cannot be read here; write it to a file, and name that"
        )
    found = [file for name in names for file in (_find_remote if "://" in name else _find_local)(name)]
    twice = next((one.name for one in found if found.count(one) > 1), None)
    if twice is not None:
        raise InputError(f"{twice} is named twice; name every input once")
    return found


def list_file_formats(files: Sequence[InputFile]) -> set[str]:
    """Return the names of the formats of files of this machine."""
    found = [find_format(Path(file.name)) for file in files]
    return {name for name, row in FORMATS.items() if row in found}


def _find_local(name: str) -> Iterator[InputFile]:
    path = Path(name)
    paths = [path]
    if path.is_dir() and not is_aapd(path):
        paths = [file.path for file in list_folder(path)]
        if not paths:
            raise CorpusError(f"the folder holds no file that ends in {list_suffixes()}", path)
    elif not path.exists() and glob.has_magic(name):
        paths = [Path(one) for one in sorted(glob.glob(name, recursive=True))]  # noqa: PTH207 (also absolute)
        if not paths:
            raise CorpusError("no file matches", path)
    for one in paths:
        find_format(one)
        state = one.stat()
        yield InputFile(str(one), state.st_size, str(state.st_mtime_ns))


def _find_remote(name: str) -> Iterator[InputFile]:
    from pyarrow import fs

    try:
        filesystem, path = fs.FileSystem.from_uri(limit_retries(name))
        place = filesystem.get_file_info(path)
        where = fs.FileSelector(path) if place.type == fs.FileType.Directory else [path]
        files = [one for one in filesystem.get_file_info(where) if one.type == fs.FileType.File]
    except Exception as error:  # what else is installed opens some, and raises what it likes
        reason = str(error).partition("\n")[0]
        raise InputError(f"{name} cannot be opened by pyarrow: {reason}") from error
    if not isinstance(where, list):
        there = ((one, one.base_name) for one in files)
        files = [one for one, base in there if base[0] != "." and has_known_format(Path(base))]
    if not files:
        raise CorpusError(f"there is no file that ends in {list_suffixes()}", name)
    start = name.removesuffix(path)
    for one in sorted(files, key=lambda file: file.path):
        yield InputFile(start + one.path, one.size, str(one.mtime_ns), (filesystem, one.path))


class PredictionInput(NamedTuple):
    """Documents to predict, in blocks with the number of their file."""

    blocks: Iterable[tuple[int, list[Document]]]
    documents: int | None
    """How many there are, where that is known"""
    columns: list[str]
    types: dict[str, Any] | None = None
    """The types of the columns of Parquet files"""
    delimiter: str = ","
    """What stands between the cells of CSV files"""


def take_texts(texts: Iterable[str]) -> PredictionInput:
    """Take texts as they come, numbered from 1; where there are few, it is known how many."""
    numbered = (
        Document(str(number), text, (), columns={"id": str(number), "text": text})
        for number, text in enumerate(texts, start=1)
    )
    first = list(islice(numbered, FEW))
    blocks = ((0, block) for block in cut_blocks(chain(first, numbered)))
    return PredictionInput(blocks, len(first) if len(first) < FEW else None, ["id", "text"])


def recall_columns(
    options: ReadOptions, given: Collection[str], model: Path, files: Sequence[InputFile]
) -> ReadOptions:
    """Return options with the columns of the training, where no others are named and these are there."""
    here = [file for file in files if file.remote is None]
    trained = read_settings(model).data
    known: dict[str, Any] = {"text": trained.text, "id": trained.id}
    recalled = replace(options, **{name: value for name, value in known.items() if name not in given})
    if not here or recalled == options:
        return options
    present = read_column_names(Path(here[0].name), recalled)
    named = [*split_names(recalled.text, present), *([recalled.id] if recalled.id != DEFAULT_ID else [])]
    return recalled if all(has_column(present, name) for name in named) else options


def take_files(files: Sequence[InputFile], options: ReadOptions) -> PredictionInput:
    """Take files, and read them once: a fault in the last line is found before the first text is computed."""
    documents, columns, types, signs = 0, dict[str, None](), dict[str, Any](), set[str]()
    for file in files:
        with file.fetch() as path:
            columns |= dict.fromkeys(read_column_names(path, options))
            for document in read_documents(path, options):
                documents += 1
                columns |= dict.fromkeys(document.columns or ())
            types |= _read_types(path)
            signs.add(read_delimiter(path, options) if find_format(path) is FORMATS["csv"] else ",")
    delimiter = signs.pop() if len(signs) == 1 else ","
    return PredictionInput(read_blocks(files, options), documents, list(columns), types or None, delimiter)


def _read_types(path: Path) -> dict[str, Any]:
    if path.suffix.lower() != ".parquet":
        return {}
    from seq2set.corpora.readers.parquet import open_parquet

    with open_parquet(path) as source:
        schema = source.file.schema_arrow
    return dict(zip(schema.names, schema.types, strict=True))


def read_blocks(files: Sequence[InputFile], options: ReadOptions) -> Iterator[tuple[int, list[Document]]]:
    """Yield blocks of documents with the number of their file; a block never spans two files."""
    for number, file in enumerate(files):
        with file.fetch() as path:
            for block in cut_blocks(read_documents(path, options)):
                yield number, block


def cut_blocks(documents: Iterator[Document]) -> Iterator[list[Document]]:
    """Yield documents in blocks."""
    while block := list(islice(documents, BLOCK)):
        yield block


def read_standard_input(encoding: str) -> Iterator[str]:
    """Yield the lines of standard input in an encoding that does not depend on the locale."""
    assert isinstance(sys.stdin, TextIOWrapper)
    sys.stdin.reconfigure(encoding=check_encoding(encoding), errors="strict")
    try:
        yield from (line.rstrip("\n") for line in sys.stdin)
    except UnicodeDecodeError:
        sentence = f"standard input is not valid {encoding}; pass --encoding to name another encoding"
        raise InputError(sentence) from None


@contextmanager
def spool_standard_input(form: str) -> Iterator[list[InputFile]]:
    """Keep standard input as a file of a format for as long as the block runs: files are read twice."""
    with tempfile.TemporaryDirectory(prefix="seq2set-") as folder:
        copy = Path(folder) / f"standard-input.{form}"
        with copy.open("wb") as target:
            shutil.copyfileobj(sys.stdin.buffer, target)
        yield find_inputs([str(copy)])
