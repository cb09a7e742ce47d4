"""Texts without a table: one per line, as fastText has them (`__label__a __label__b text`), or one per file.

A folder of `.txt` files holds one document per file, called after it; a sub-folder's name is their label.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

from seq2set.core.errors import CorpusError
from seq2set.corpora.documents import Document
from seq2set.corpora.readers.cells.columns import clean_labels, replace_nul
from seq2set.corpora.readers.cells.markup import strip_markup
from seq2set.corpora.readers.limits import refuse_long
from seq2set.corpora.readers.options import ReadOptions
from seq2set.corpora.readers.streams import NumberedLine, read_lines, read_text

PREFIX = "__label__"
"""What fastText puts before each label."""

_LOOKED_AT = 100


def read_txt(path: Path, options: ReadOptions) -> Iterator[Document]:
    """Yield a document per line; without labels they are for prediction alone."""
    lines = read_lines(path, options.encoding)
    first = list(islice(lines, _LOOKED_AT))
    labelled = any(line.text.startswith(PREFIX) for line in first)
    if options.labels is not None and not labelled:
        raise CorpusError(
            f"the file holds texts without labels; begin its lines with '{PREFIX}' and a label each, or "
            "write a CSV file with the columns text and labels",
            path,
        )
    return (_build(line, labelled, options) for line in chain(first, lines))


def _build(line: NumberedLine, labelled: bool, options: ReadOptions) -> Document:
    words = replace_nul(line.text).split(" ") if labelled else []
    labels = [word.removeprefix(PREFIX) for word in words if word.startswith(PREFIX)]
    kept = " ".join(word for word in words if not word.startswith(PREFIX))
    text = kept if labelled else replace_nul(line.text)
    return _make(str(line.number), text, () if options.labels is None else clean_labels(labels), options)


def _make(name: str, text: str, labels: tuple[str, ...], options: ReadOptions) -> Document:
    columns = {"id": name, "text": text} if options.keep_columns else None
    return Document(name, strip_markup(text) if options.strip_html else text, labels, columns=columns)


def list_texts(folder: Path) -> list[Path]:
    """List the text files of a folder and of its sub-folders."""
    return sorted(path for path in folder.rglob("*.txt") if path.is_file())


def read_text_folder(folder: Path, options: ReadOptions) -> Iterator[Document]:
    """Yield a document per file of a folder."""
    files = list_texts(folder)
    if options.labels is not None and not any(_name_labels(file, folder) for file in files):
        raise CorpusError(
            "the folder holds texts without labels; put the files of each label into a sub-folder "
            "called after it",
            folder,
        )
    for file in files:
        text = "".join(_read_bounded(file, options.encoding))
        name = file.relative_to(folder).as_posix()
        labels = () if options.labels is None else _name_labels(file, folder)
        yield _make(name, replace_nul(text).strip(), labels, options)


def _read_bounded(file: Path, encoding: str) -> Iterator[str]:
    length = 0
    for block in read_text(file, encoding):
        length += len(block)
        refuse_long(length, file)
        yield block


def _name_labels(file: Path, folder: Path) -> tuple[str, ...]:
    return clean_labels(file.relative_to(folder).parts[:-1])
