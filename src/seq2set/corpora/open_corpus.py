"""Where prepared corpora are kept for the next time.

Known sources: prepared by their name, with what each of them says about itself.

Files of the user's own, prepared under a name of the user's own.

One way to name a corpus: a prepared folder, a known name, a plain file, or a folder in the AAPD layout.

Plain files and AAPD folders are prepared into the cache under a name made from their content and the
options, so that the second opening costs no more than reading the file once, and a changed file is seen.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Literal, NamedTuple, cast

from seq2set.core.errors import CorpusError, InputError, UnknownNameError
from seq2set.core.files import compute_sha256
from seq2set.corpora.documents import SPLITS, Document
from seq2set.corpora.prepare import prepare
from seq2set.corpora.prepared import FORMAT, READING, Location, PreparedCorpus, is_prepared
from seq2set.corpora.readers import DEFAULT_OPTIONS, ReadOptions, read_column_names, read_documents
from seq2set.corpora.readers.aapd import is_aapd, list_aapd_files
from seq2set.corpora.readers.label_cells import LabelTally
from seq2set.corpora.readers.records import AUTO
from seq2set.corpora.readers.streams import check_file
from seq2set.corpora.sources import SOURCES, find_source
from seq2set.corpora.sources.source import DEFAULT_SOURCE_OPTIONS, SourceOptions
from seq2set.corpora.splits import METHODS, Method, SplitPlan, find_split_index

VARIABLE = "SEQ2SET_CACHE"
"""The environment variable that names another cache folder."""


def get_cache_folder() -> Path:
    """Return the cache folder: `$SEQ2SET_CACHE`, or `seq2set` in the user's own cache folder."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "seq2set"


def locate_cached(name: str) -> Path:
    """Return the folder that a prepared corpus has in the cache, whether it is there or not."""
    return get_cache_folder() / "corpora" / name


AS_SOURCE: Literal["as-source"] = "as-source"
"""Stands for the word limit that the source itself names, where None stands for no limit."""


def prepare_source(
    name: str,
    path: Path | None = None,
    out: Path | None = None,
    *,
    plan: SplitPlan | None = None,
    max_words: int | Literal["as-source"] | None = AS_SOURCE,
    min_label_documents: int | None = None,
    force: bool = False,
    progress: Callable[[int], None] | None = None,
    options: SourceOptions = DEFAULT_SOURCE_OPTIONS,
) -> PreparedCorpus:
    """Prepare a known source from `path` into `out`, or into the cache where no `out` is named."""
    source = find_source(name)
    if path is None and source.needs_path:
        raise InputError(f"corpus '{name}' must be brought along: {prepare_command(name)}")
    reading = source.read(path, replace(options, min_label_documents=min_label_documents))
    return prepare(
        reading,
        out or locate_cached(name),
        name=source.name,
        source=source.obtained,
        licence=source.licence,
        plan=plan or reading.plan,
        max_words=source.max_words if max_words == AS_SOURCE else max_words,
        min_label_documents=(
            source.min_label_documents if min_label_documents is None else min_label_documents
        ),
        force=force,
        progress=progress,
        notes=reading.notes,
    )


def prepare_command(name: str) -> str:
    """Return the command that prepares a source which the user must bring along."""
    return f"seq2set data prepare {name} --from PATH"


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
        out or locate_cached(name),
        name=name,
        source=path.name,
        licence=LICENCE,
        plan=plan or SplitPlan(choose_split_method(path, options)),
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
    names = read_column_names(path, options.encoding)
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
            if find_split_index(document.split) is None:
                return f"'{document.split}'"
    except CorpusError:
        return "a value that cannot be read"
    return None


def choose_split_method(path: Path, options: ReadOptions, named: str | None = None) -> Method:
    """Return the split method that was named, or the one that the files themselves suggest."""
    if named is not None:
        if named not in METHODS:
            raise UnknownNameError("split method", named, METHODS)
        return cast("Method", named)
    given: Literal["given", "grouped", "random"] = "grouped" if options.group else "random"
    return "given" if options.split or path.is_dir() else given


READING_VERSION = 3
"""Counts up whenever the same file is read otherwise than before, so that no old cache is taken for it."""


def open_corpus(
    spec: str,
    options: ReadOptions = DEFAULT_OPTIONS,
    plan: SplitPlan | None = None,
    *,
    max_words: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> PreparedCorpus:
    """Open a corpus by folder, name or file; `options`, `plan` and `max_words` are for plain files only.

    Where no plan is given, an AAPD folder and a file with a named split column keep their own split, and
    any other file is split at random.
    """
    path = Path(spec)
    if is_prepared(path):
        return _located(PreparedCorpus.open(path), path)
    if path.is_file() or is_aapd(path):
        return _open_plain(path, options, plan, max_words, progress)
    if spec in SOURCES:
        return _open_known(spec, progress)
    if is_prepared(locate_cached(spec)):
        return PreparedCorpus.open(locate_cached(spec))
    if path.is_dir():
        raise CorpusError("the folder is neither a prepared corpus nor in the AAPD layout", path)
    if path.suffix or len(path.parts) > 1:
        check_file(path)
    raise UnknownNameError("corpus", spec, SOURCES)


def _open_known(name: str, progress: Callable[[int], None] | None) -> PreparedCorpus:
    return _opened(locate_cached(name)) or prepare_source(name, force=True, progress=progress)


def _open_plain(
    path: Path,
    options: ReadOptions,
    plan: SplitPlan | None,
    max_words: int | None,
    progress: Callable[[int], None] | None,
) -> PreparedCorpus:
    if plan is not None and plan.method != "given":
        options = replace(options, split=None)
    digest = hash_content(path)
    # Which column names the splits follows from the content, so the cache need not look for it.
    out = locate_cached(_cache_name(path, digest, options, plan, max_words))
    if (corpus := _opened(out)) is None:
        options, remarks = find_split_column(path, options)
        corpus = prepare_own(
            _stem(path),
            path,
            out,
            options=options,
            plan=plan,
            max_words=max_words,
            force=True,
            progress=progress,
            remarks=remarks,
        )
    return _located(corpus, path, digest)


def _located(corpus: PreparedCorpus, path: Path, digest: str = "") -> PreparedCorpus:
    corpus.location = Location(str(path.absolute()), digest)
    return corpus


def _opened(folder: Path) -> PreparedCorpus | None:
    """Open a cached corpus, or give None where it is absent or damaged and must be made again."""
    try:
        return PreparedCorpus.open(folder) if is_prepared(folder) else None
    except CorpusError:
        return None


def hash_content(path: Path) -> str:
    """Return a digest of a plain file, or of the files of an AAPD folder; the same for any copy."""
    sums = [_content_sum(file) for file in _content_files(path)]
    return sums[0] if len(sums) == 1 else hashlib.sha256("".join(sums).encode()).hexdigest()


def _cache_name(
    path: Path, digest: str, options: ReadOptions, plan: SplitPlan | None, max_words: int | None
) -> str:
    split = asdict(plan or SplitPlan(choose_split_method(path, options)))
    key = [FORMAT, READING_VERSION, path.name, digest, asdict(options), split, max_words]
    return f"{_stem(path)}-{hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]}"


def _content_sum(path: Path) -> str:
    try:
        return compute_sha256(path)
    except PermissionError as error:
        raise CorpusError("the file cannot be read: permission is denied", path) from error


def _content_files(path: Path) -> list[Path]:
    if path.is_dir():
        return [file for files in list_aapd_files(path) for file in (files.texts, files.labels)]
    return [path]


def _stem(path: Path) -> str:
    """Return what may stand in a folder's name: the file's name up to its first dot, tamed."""
    stem = re.sub(r"[^\w-]+", "-", path.resolve().name.split(".")[0]).strip("-")
    return stem[:60] or "corpus"
