"""Files of the user's own, prepared under a name of the user's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple, cast

from seq2set.corpora.cache import cached_corpus
from seq2set.corpora.document import SPLITS, Document
from seq2set.corpora.prepared import READING, PreparedCorpus
from seq2set.corpora.preparing import prepare
from seq2set.corpora.readers.label_tally import LabelTally
from seq2set.corpora.readers.options import AUTO
from seq2set.corpora.reading import DEFAULT_OPTIONS, ReadOptions, column_names, read_documents
from seq2set.corpora.splits import METHODS, Method, SplitPlan, split_index
from seq2set.errors import CorpusError, UnknownNameError

SPLIT_COLUMNS = ("split", "subset")
"""The names of columns, in whatever case, that probably say which split a document belongs to."""

LICENCE = "not stated"
"""What is recorded for files that do not say under which terms they stand."""


def prepare_own(
    name: str,
    path: Path,
    out: Path | None = None,
    *,
    options: ReadOptions = DEFAULT_OPTIONS,
    plan: SplitPlan | None = None,
    max_words: int | None = None,
    min_label_documents: int = 1,
    force: bool = False,
    progress: Callable[[int], None] | None = None,
    remarks: tuple[str, ...] = (),
) -> PreparedCorpus:
    """Prepare a file, or a folder in the AAPD layout, into `out`, or into the cache under `name`.

    Long texts are kept unless `max_words` says otherwise: the paper's limit is for the paper's corpora.
    """
    notes: dict[str, list[str]] = {READING: list(remarks)} if remarks else {}
    return prepare(
        _read(path, options, notes),
        out or cached_corpus(name),
        name=name,
        source=path.name,
        licence=LICENCE,
        plan=plan or SplitPlan(natural_method(path, options)),
        max_words=max_words,
        min_label_documents=min_label_documents,
        force=force,
        progress=progress,
        notes=notes,
    )


def _read(path: Path, options: ReadOptions, notes: dict[str, list[str]]) -> Iterator[Document]:
    """Give the documents, and note in the end what stood in the place of labels."""
    tally = LabelTally()
    yield from read_documents(path, replace(options, tally=tally))
    if said := tally.sentences():
        notes.setdefault(READING, []).extend(said)


class SplitColumn(NamedTuple):
    """The options with a split column that was looked for, and what is to be said of it."""

    options: ReadOptions
    remarks: tuple[str, ...]


def find_split_column(path: Path, options: ReadOptions) -> SplitColumn:
    """Put the column that names splits in the place of `AUTO`, or None where there is no such column."""
    if options.split != AUTO:
        return SplitColumn(options, ())
    without = replace(options, split=None)
    names = column_names(path, options.encoding)
    taken = (options.text, options.labels, options.id, options.group)
    remarks: list[str] = []
    for column in names:
        if column.lower() not in SPLIT_COLUMNS or column in taken:
            continue
        named = replace(options, split=column)
        wrong = _no_split(path, named)
        if wrong is None:
            remarks.append(f"the column '{column}' says which split each document belongs to")
            return SplitColumn(named, tuple(remarks))
        known = ", ".join(SPLITS)
        remarks.append(f"the column '{column}' is not used: it holds {wrong}, which is none of {known}")
    return SplitColumn(without, tuple(remarks))


def _no_split(path: Path, options: ReadOptions) -> str | None:
    """Return a value of the split column that names no split, or None where all do."""
    try:
        for document in read_documents(path, options):
            if document.split is None:
                return "an empty value"
            if split_index(document.split) is None:
                return f"'{document.split}'"
    except CorpusError:
        return "a value that cannot be read"
    return None


def natural_method(path: Path, options: ReadOptions, named: str | None = None) -> Method:
    """Return the split method that was named, or the one that the files themselves suggest."""
    if named is not None:
        if named not in METHODS:
            raise UnknownNameError("split method", named, METHODS)
        return cast("Method", named)
    given: Literal["given", "grouped", "random"] = "grouped" if options.group else "random"
    return "given" if options.split or path.is_dir() else given
