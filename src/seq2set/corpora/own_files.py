"""The user's own files: what they leave unsaid is looked for, and what was found is said.

That is the column that names splits, the separator of labels, and HTML in texts. Files may be named for
validation and test, too: then each holds its split.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, cast

from seq2set.core.errors import CorpusError, InputError, UnknownNameError
from seq2set.corpora.documents import SPLITS, Document
from seq2set.corpora.prepare import (
    DEFAULT_PREPARE_OPTIONS,
    PrepareOptions,
    prepare,
    refuse_source_inside,
)
from seq2set.corpora.prepared import READING, STRIPPED, PreparedCorpus
from seq2set.corpora.readers import (
    DEFAULT_OPTIONS,
    ReadOptions,
    read_column_names,
    read_documents,
    read_first_records,
)
from seq2set.corpora.readers.aapd import is_aapd
from seq2set.corpora.readers.cells.columns import find_value, split_names
from seq2set.corpora.readers.cells.label_cells import LabelTally
from seq2set.corpora.readers.cells.markup import has_markup
from seq2set.corpora.readers.cells.separators import find_separator, quote_separator
from seq2set.corpora.readers.files import SourceFile
from seq2set.corpora.readers.options import AUTO, find_label_columns
from seq2set.corpora.splits import METHODS, TEST, Method, SplitPlan, find_split_index

SPLIT_COLUMNS = ("split", "subset", "set", "partition", "data_split")
"""The names of columns, in whatever case, that probably say which split a document belongs to."""

UNSTATED = "not stated"
"""The licence that is recorded for the user's own files."""

MARKUP_SHARE = 0.01
"""Up to this share of documents, HTML may be what the documents are about; above it, it was left over."""


ALL, MARKED, LACKING = "all", "hold HTML", ("have no text", "have no label")
"""What documents are counted by."""


class OwnFiles(NamedTuple):
    """Files, and the ways in which their documents are read and split."""

    files: list[SourceFile]
    read: ReadOptions = DEFAULT_OPTIONS
    options: PrepareOptions = DEFAULT_PREPARE_OPTIONS

    def plan(self) -> SplitPlan:
        """Return the plan that was asked for, with the method that the files themselves suggest."""
        given = self.read.split or any(file.split or is_aapd(file.path) for file in self.files)
        method = self.options.split or ("given" if given else "grouped" if self.read.group else "random")
        if method not in METHODS:
            raise UnknownNameError("split method", method, METHODS)
        return self.options.complete(SplitPlan(cast("Method", method)))


def add_split_files(
    files: list[SourceFile], valid: list[SourceFile], test: list[SourceFile]
) -> list[SourceFile]:
    """Put files for validation and test beside those to train on."""
    if not valid and not test:
        return files
    others = [(valid, "valid"), (test, "test")]
    train = [file._replace(split="train") for file in files]
    return train + [file._replace(split=split) for part, split in others for file in part]


def prepare_own(name: str, own: OwnFiles, out: Path) -> PreparedCorpus:
    """Prepare the user's own files into `out`.

    Long texts are kept unless the options say otherwise: the paper's limit is for the paper's corpora.
    """
    refuse_source_inside(out, (file.path for file in own.files))
    remarks: list[str] = []
    if own.options.split not in (None, "given") or any(file.split for file in own.files):
        own = own._replace(read=replace(own.read, split=None))
    own = own._replace(read=_find_split_column(own, remarks))
    own = own._replace(read=_find_separator(own, remarks))
    notes = {READING: remarks} | ({STRIPPED: True} if own.read.strip_html else {})
    return prepare(
        _read(own, remarks),
        out,
        name=name,
        source=", ".join(file.path.name for file in own.files[:5]) + (", ..." if len(own.files) > 5 else ""),
        licence=UNSTATED,
        plan=own.plan(),
        options=own.options,
        notes=notes,
    )


def _read(own: OwnFiles, remarks: list[str]) -> Iterator[Document]:
    """Yield the documents, and note in the end what was found in place of labels and between words."""
    tally = LabelTally()
    read = replace(own.read, tally=tally)
    sizes = own.options.list_sizes() if own.plan().method == "given" else {}
    seen: Counter[str] = Counter()
    for document in _read_splits(own.files, read):
        split = find_split_index(document.split or "")
        seen.update(_list_traits(document))
        seen[SPLITS[split] if split is not None else ""] += 1
        yield document._replace(split="train") if split == TEST and sizes.get("test") == 0 else document
    remarks.extend(tally.sentences())
    remarks.extend(_describe_sizes(sizes, seen))
    remarks.extend(f"{seen[what]:,} of {seen[ALL]:,} documents {what}" for what in LACKING if seen[what])
    if seen[MARKED] > MARKUP_SHARE * seen[ALL]:
        remarks.append(f"{seen[MARKED]:,} of {seen[ALL]:,} texts {MARKED}; --strip-html removes it")


def _list_traits(document: Document) -> Iterator[str]:
    yield ALL
    if has_markup(document.text):
        yield MARKED
    for what, there in zip(LACKING, (document.text.strip(), document.labels), strict=True):
        if not there:
            yield what


def _describe_sizes(sizes: Mapping[str, int | float], named: Mapping[str, int]) -> Iterator[str]:
    """Say what became of sizes that were asked for where documents are in these splits already."""
    for name, size in sizes.items():
        if name == "test" and size == 0 and named["test"]:
            yield f"the {named['test']:,} documents of the test split are learnt from: none was asked for"
        elif named[name]:
            yield f"--{name} {size} is not used: {named[name]:,} documents are in that split already"


def _read_splits(files: list[SourceFile], read: ReadOptions) -> Iterator[Document]:
    before = 0
    for file in files:
        for document in read_documents(file.path, read, before):
            before += 1
            yield document if file.split is None else document._replace(split=file.split)


def _find_split_column(own: OwnFiles, remarks: list[str]) -> ReadOptions:
    """Replace `AUTO` by the column that names splits, or by None where there is no such column."""
    read = own.read
    if read.split != AUTO:
        return read
    taken = (read.text, read.labels, read.id, read.group)
    columns = {file.path: read_column_names(file.path, read) for file in own.files}
    for column in dict.fromkeys(name for names in columns.values() for name in names):
        if column.lower() not in SPLIT_COLUMNS or column in taken:
            continue
        if lacking := [path.name for path, names in columns.items() if column not in names]:
            remarks.append(f"the column '{column}' is not used: {lacking[0]} has no such column")
            continue
        named = replace(read, split=column)
        wrong = _find_wrong_split(own.files, named)
        if wrong is None:
            remarks.append(f"the column '{column}' says which split each document belongs to")
            return named
        known = ", ".join(SPLITS)
        remarks.append(f"the column '{column}' is not used: it holds {wrong}, which is none of {known}")
    return replace(read, split=None)


def _find_wrong_split(files: list[SourceFile], read: ReadOptions) -> str | None:
    """Return a value of the split column that names no split, or None where all do."""
    try:
        for document in read_documents([file.path for file in files], read):
            if document.split is None:
                return "an empty value"
            if find_split_index(document.split) is None:
                return f"'{document.split}'"
    except CorpusError:
        return "a value that cannot be read"
    return None


def _find_separator(own: OwnFiles, remarks: list[str]) -> ReadOptions:
    """Look for the separator in the first label cells of the first file, unless one is named."""
    read = own.read
    if read.separator is not None or read.labels is None:
        return read
    records = read_first_records(own.files[0].path, read)
    if not records or find_label_columns(read, records[0].values):
        return read
    names = split_names(read.labels, records[0].values)
    cells = [find_value(record.values, name) for record in records for name in names]
    sign = find_separator([cell for cell in cells if isinstance(cell, str)])
    if sign is None:
        return read
    if sign != ";":
        held = sum(isinstance(cell, str) and sign in cell for cell in cells)
        where = "the only" if len(cells) == 1 else f"{held:,} of the first {len(cells):,}"
        remarks.append(
            f"labels are split at {quote_separator(sign)}, which stands in {where} label "
            f"cell{'s' if len(cells) > 1 else ''}; --separator names another"
        )
    return replace(read, separator=sign)


def parse_size(name: str, text: str) -> int | float | str | None:
    """Read a number of documents, a share of them, or a file that holds them; None for nothing."""
    if not text.strip():
        return None
    try:
        return int(text) if text.strip().isdigit() else float(text)
    except ValueError:
        if Path(text).suffix or Path(text).exists():
            return text
    raise InputError(
        f"{name} is '{text}'; it must be a number of documents, or a share from 0 to below 1, or a file"
    )
