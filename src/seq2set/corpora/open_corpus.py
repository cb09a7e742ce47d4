"""One way to name a corpus: a prepared folder, a plain file, a folder in the AAPD layout, or a known name.

What is not prepared yet is prepared into the cache first: a known corpus under its name; a plain file or AAPD
folder under a name made from its content and the options, so that the second opening costs no more than
reading the file once, and a changed file is noticed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple, cast

from seq2set.config import DataSettings
from seq2set.core.errors import CorpusError, UnknownNameError
from seq2set.core.files import compute_sha256
from seq2set.core.names import find_named
from seq2set.corpora.documents import SPLITS, Document
from seq2set.corpora.prepare import DEFAULT_PREPARE_OPTIONS, PrepareOptions, prepare
from seq2set.corpora.prepared import FORMAT, READING, Location, PreparedCorpus, is_prepared
from seq2set.corpora.readers import (
    DEFAULT_OPTIONS,
    ReadOptions,
    build_read_options,
    read_column_names,
    read_documents,
)
from seq2set.corpora.readers.aapd import is_aapd, list_aapd_files
from seq2set.corpora.readers.label_cells import LabelTally
from seq2set.corpora.readers.records import AUTO
from seq2set.corpora.readers.streams import check_file
from seq2set.corpora.sources import SOURCES, read_source
from seq2set.corpora.splits import METHODS, Method, SplitPlan, find_split_index

VARIABLE = "SEQ2SET_CACHE"
"""The environment variable that names another cache folder."""

READING_VERSION = 3
"""Counts up whenever the same file is read in another way, so that no old cache is taken for it."""

SPLIT_COLUMNS = ("split", "subset")
"""The names of columns, in whatever case, that probably say which split a document belongs to."""

UNSTATED = "not stated"
"""The licence that is recorded for the user's own files."""


def open_corpus(
    spec: str, read: ReadOptions = DEFAULT_OPTIONS, options: PrepareOptions = DEFAULT_PREPARE_OPTIONS
) -> PreparedCorpus:
    """Open a corpus by folder, file or name; `read` and `options` are for plain files only.

    Unless a split is asked for, an AAPD folder and a file with a named split column keep their own split, and
    any other file is split at random.
    """
    path = Path(spec)
    if is_prepared(path):
        return _set_location(PreparedCorpus.open(path), path)
    if path.is_file() or is_aapd(path):
        return _open_plain(path, read, options)
    if spec in SOURCES:
        again = PrepareOptions(force=True, progress=options.progress)
        return _open_cached(locate_cached(spec)) or prepare_source(spec, options=again)
    if is_prepared(locate_cached(spec)):
        return PreparedCorpus.open(locate_cached(spec))
    if path.is_dir():
        raise CorpusError("the folder is neither a prepared corpus nor in the AAPD layout", path)
    if path.suffix or len(path.parts) > 1:
        check_file(path)
    raise UnknownNameError("corpus", spec, SOURCES)


def open_configured(data: DataSettings) -> PreparedCorpus:
    """Open the corpus that settings name, as they say."""
    return open_corpus(data.corpus, build_read_options(data))


def _open_plain(path: Path, read: ReadOptions, options: PrepareOptions) -> PreparedCorpus:
    digest = hash_content(path)
    # Which column names the splits follows from the content, so the cache need not look for it.
    out = locate_cached(_name_cached(path, digest, read, options))
    corpus = _open_cached(out) or prepare_own(_stem(path), path, out, read, replace(options, force=True))
    return _set_location(corpus, path, digest)


def _open_cached(folder: Path) -> PreparedCorpus | None:
    """Open a cached corpus, or return None where it is absent or damaged and must be made again."""
    try:
        return PreparedCorpus.open(folder) if is_prepared(folder) else None
    except CorpusError:
        return None


def _set_location(corpus: PreparedCorpus, path: Path, digest: str = "") -> PreparedCorpus:
    corpus.location = Location(str(path.absolute()), digest)
    return corpus


def prepare_source(
    name: str,
    path: Path | None = None,
    out: Path | None = None,
    options: PrepareOptions = DEFAULT_PREPARE_OPTIONS,
) -> PreparedCorpus:
    """Prepare a known source from `path` into `out`, or into the cache where no `out` is named."""
    source = find_named("corpus", name, SOURCES)
    raw = read_source(name, path, options)
    limits = replace(
        options,
        max_words=source.max_words if options.max_words is None else options.max_words,
        min_label_documents=options.get_min_label_documents(source.min_label_documents),
    )
    return prepare(
        raw,
        out or locate_cached(name),
        name=name,
        source=source.how_to_get,
        licence=source.licence,
        plan=raw.plan,
        options=limits,
        notes=raw.notes,
    )


def prepare_own(
    name: str,
    path: Path,
    out: Path | None = None,
    read: ReadOptions = DEFAULT_OPTIONS,
    options: PrepareOptions = DEFAULT_PREPARE_OPTIONS,
) -> PreparedCorpus:
    """Prepare a file, or a folder in the AAPD layout, into `out`, or into the cache under `name`.

    Long texts are kept unless `options` say otherwise: the paper's limit is for the paper's corpora.
    """
    if options.split not in (None, "given"):
        read = replace(read, split=None)
    read, remarks = find_split_column(path, read)
    notes: dict[str, list[str]] = {READING: list(remarks)} if remarks else {}
    return prepare(
        _read_own(path, read, notes),
        out or locate_cached(name),
        name=name,
        source=path.name,
        licence=UNSTATED,
        plan=_plan_split(path, read, options),
        options=options,
        notes=notes,
    )


def _read_own(path: Path, read: ReadOptions, notes: dict[str, list[str]]) -> Iterator[Document]:
    """Yield the documents, and note in the end what was found in place of labels."""
    tally = LabelTally()
    yield from read_documents(path, replace(read, tally=tally))
    if sentences := tally.sentences():
        notes.setdefault(READING, []).extend(sentences)


def _plan_split(path: Path, read: ReadOptions, options: PrepareOptions) -> SplitPlan:
    """Return the plan that was asked for, with the method that the files themselves suggest."""
    method = options.split or (
        "given" if read.split or path.is_dir() else "grouped" if read.group else "random"
    )
    if method not in METHODS:
        raise UnknownNameError("split method", method, METHODS)
    return options.complete(SplitPlan(cast("Method", method)))


class SplitColumn(NamedTuple):
    """The options with the split column that was found, and what is to be said of it."""

    read: ReadOptions
    remarks: tuple[str, ...]


def find_split_column(path: Path, read: ReadOptions) -> SplitColumn:
    """Put the column that names splits in the place of `AUTO`, or None where there is no such column."""
    if read.split != AUTO:
        return SplitColumn(read, ())
    taken = (read.text, read.labels, read.id, read.group)
    remarks: list[str] = []
    for column in read_column_names(path, read.encoding):
        if column.lower() not in SPLIT_COLUMNS or column in taken:
            continue
        named = replace(read, split=column)
        wrong = _find_wrong_split(path, named)
        if wrong is None:
            remarks.append(f"the column '{column}' says which split each document belongs to")
            return SplitColumn(named, tuple(remarks))
        known = ", ".join(SPLITS)
        remarks.append(f"the column '{column}' is not used: it holds {wrong}, which is none of {known}")
    return SplitColumn(replace(read, split=None), tuple(remarks))


def _find_wrong_split(path: Path, read: ReadOptions) -> str | None:
    """Return a value of the split column that names no split, or None where all do."""
    try:
        for document in read_documents(path, read):
            if document.split is None:
                return "an empty value"
            if find_split_index(document.split) is None:
                return f"'{document.split}'"
    except CorpusError:
        return "a value that cannot be read"
    return None


def get_cache_folder() -> Path:
    """Return the cache folder: `$SEQ2SET_CACHE`, or `seq2set` in the user's own cache folder."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "seq2set"


def locate_cached(name: str) -> Path:
    """Return the folder that a prepared corpus has in the cache, whether it is there or not."""
    return get_cache_folder() / "corpora" / name


def _name_cached(path: Path, digest: str, read: ReadOptions, options: PrepareOptions) -> str:
    plan, max_words = asdict(_plan_split(path, read, options)), options.max_words or None
    key = [FORMAT, READING_VERSION, path.name, digest, asdict(read), plan, max_words]
    return f"{_stem(path)}-{hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]}"


def hash_content(path: Path) -> str:
    """Return a digest of a plain file, or of the files of an AAPD folder; the same for any copy."""
    sums = [_hash_file(file) for file in _list_files(path)]
    return sums[0] if len(sums) == 1 else hashlib.sha256("".join(sums).encode()).hexdigest()


def _hash_file(path: Path) -> str:
    try:
        return compute_sha256(path)
    except PermissionError as error:
        raise CorpusError("the file cannot be read: permission is denied", path) from error


def _list_files(path: Path) -> list[Path]:
    if path.is_dir():
        return [file for files in list_aapd_files(path) for file in (files.texts, files.labels)]
    return [path]


def _stem(path: Path) -> str:
    """Return what may stand in a folder's name: the file's name up to its first dot, tamed."""
    stem = re.sub(r"[^\w-]+", "-", path.resolve().name.split(".")[0]).strip("-")
    return stem[:60] or "corpus"
