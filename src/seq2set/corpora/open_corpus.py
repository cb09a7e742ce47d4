"""One way to name a corpus: a prepared folder, a plain file, a folder in the AAPD layout, or a known name.

What is not prepared yet is prepared into the cache first: a known corpus under its name; a plain file or AAPD
folder under a name made from its content and the options, so that the second opening costs no more than
reading the file once, and a changed file is noticed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path

from seq2set.config import DataSettings
from seq2set.core.errors import CorpusError, InputError, UnknownNameError
from seq2set.core.names import find_named
from seq2set.corpora.cache import get_cache_folder, locate_cached, mark_used
from seq2set.corpora.documents import SPLITS, Document
from seq2set.corpora.own_files import OwnFiles, add_split_files, parse_size, prepare_own
from seq2set.corpora.prepare import (
    DEFAULT_PREPARE_OPTIONS,
    PrepareOptions,
    prepare,
    refuse_source_inside,
)
from seq2set.corpora.prepared import DRAWN, FORMAT, Location, PreparedCorpus, is_prepared
from seq2set.corpora.readers import (
    DEFAULT_OPTIONS,
    FORMATS,
    ReadOptions,
    build_read_options,
    find_format,
    has_known_format,
    read_column_names,
)
from seq2set.corpora.readers.aapd import is_aapd
from seq2set.corpora.readers.files import SourceFile, find_files, hash_files, make_absolute, refuse_missing
from seq2set.corpora.sources import SOURCES, read_source
from seq2set.corpora.sources.raw_corpus import RawCorpus, add_remark
from seq2set.corpora.splits import find_split_index

READING_VERSION = 5
"""Counts up whenever the same file is read in another way, so that no old cache is taken for it."""
ADDED_OPTIONS = {"plain_quotes": False}
"""Options that came later, with the value by which files are read as before."""


def open_corpus(
    spec: str, read: ReadOptions = DEFAULT_OPTIONS, options: PrepareOptions = DEFAULT_PREPARE_OPTIONS
) -> PreparedCorpus:
    """Open a corpus by folder, file or name; `read` and `options` are for plain files only.

    Unless a split is asked for, an AAPD folder and a file with a named split column keep their own split, and
    any other file is split at random.
    """
    path = Path(spec)
    if is_prepared(path):
        return _set_location(PreparedCorpus.open(path), str(path.absolute()))
    folder = path.is_dir() and not is_aapd(path)
    if not folder and (files := find_files(spec, get_cache_folder())):
        return _open_plain(spec, files, read, options)
    if spec in SOURCES:
        again = PrepareOptions(force=True, progress=options.progress)
        return _open_cached(locate_cached(spec)) or prepare_source(spec, options=again)
    if is_prepared(locate_cached(spec)):
        return PreparedCorpus.open(locate_cached(spec))
    if folder and (files := find_files(spec, get_cache_folder())):
        return _open_plain(spec, files, read, options)
    if path.is_dir():
        raise CorpusError(
            "the folder is neither a prepared corpus nor in the AAPD layout, and no file in it can be read",
            path,
        )
    refuse_missing(spec)
    raise UnknownNameError("corpus", spec, SOURCES)


def open_configured(data: DataSettings) -> PreparedCorpus:
    """Open the corpus that settings name, as they say."""
    sizes = PrepareOptions(
        valid=parse_size("valid", str(data.valid)), test=parse_size("test", str(data.test))
    )
    return open_corpus(data.corpus, build_read_options(data), sizes)


def _open_plain(
    spec: str, files: list[SourceFile], read: ReadOptions, options: PrepareOptions
) -> PreparedCorpus:
    own = find_own(files, read, options)
    digest, first = hash_files(own.files), files[0].path
    place = first if len(files) == 1 else first.parent
    # What may stand in a folder's name: the file's name up to its first dot, tamed.
    stem = re.sub(r"[^\w-]+", "-", place.resolve().name.split(".")[0]).strip("-")
    name = stem[:60] or "corpus"
    # Which column names the splits follows from the content, so the cache need not look for it.
    out = locate_cached(_name_cached(own, digest, name))
    again = own._replace(options=replace(own.options, force=True))
    corpus = _open_cached(out) or prepare_own(name, again, out)
    mark_used(out)
    return _set_location(corpus, make_absolute(spec), hash_files(files))


def find_own(files: list[SourceFile], read: ReadOptions, options: PrepareOptions) -> OwnFiles:
    """Return the user's files with those for validation and test, where sizes name files."""
    valid, test = (
        locate_files(size) if isinstance(size, str) else [] for size in (options.valid, options.test)
    )
    kept = replace(options, valid=None if valid else options.valid, test=None if test else options.test)
    return OwnFiles(add_split_files(files, valid, test), read, kept)


def locate_files(spec: str) -> list[SourceFile]:
    """Return the files that a name stands for, or say why there are none."""
    files = find_files(spec, get_cache_folder())
    if not files:
        refuse_missing(spec)
        find_format(Path(spec))
    return files


def _open_cached(folder: Path) -> PreparedCorpus | None:
    """Open a cached corpus, or return None where it is absent or damaged and must be made again."""
    try:
        return PreparedCorpus.open(folder) if is_prepared(folder) else None
    except CorpusError:
        return None


def _set_location(corpus: PreparedCorpus, path: str, digest: str = "") -> PreparedCorpus:
    corpus.location = Location(path, digest)
    return corpus


def prepare_source(
    name: str,
    path: Path | None = None,
    out: Path | None = None,
    options: PrepareOptions = DEFAULT_PREPARE_OPTIONS,
) -> PreparedCorpus:
    """Prepare a known source from `path` into `out`, or into the cache where no `out` is named."""
    source = find_named("corpus", name, SOURCES)
    for size in (options.valid, options.test):
        if isinstance(size, str):
            raise InputError(
                f"{name} has splits of its own; '{size}' must be a number of documents, or a share"
            )
    folder = out or locate_cached(name)
    refuse_source_inside(folder, [] if path is None else [path])
    raw = _note_unused_sizes(read_source(name, path, options), options.list_sizes())
    limits = replace(
        options,
        max_words=source.max_words if options.max_words is None else options.max_words,
        min_label_documents=options.get_min_label_documents(source.min_label_documents),
    )
    return prepare(
        raw,
        folder,
        name=name,
        source=source.how_to_get,
        licence=source.licence,
        plan=raw.plan,
        options=limits,
        notes=raw.notes,
    )


def _note_unused_sizes(raw: RawCorpus, sizes: Mapping[str, int | float]) -> RawCorpus:
    """Note in the end which sizes were asked for of splits that came with the source."""
    if not sizes or raw.plan.method != "given":
        return raw

    def count() -> Iterator[Document]:
        seen: Counter[str] = Counter()
        for document in raw:
            split = find_split_index(document.split or "")
            seen[SPLITS[split] if split is not None else ""] += 1
            yield document
        for name, size in sizes.items():
            if seen[name]:
                used = f"{seen[name]:,} documents are in that split already"
                add_remark(raw.notes, f"--{name} {size} is not used: {used}")

    return replace(raw, documents=count())


def _name_cached(own: OwnFiles, digest: str, name: str) -> str:
    plan, max_words = asdict(own.plan()), own.options.max_words or None
    files = [[file.path.name, file.split] for file in own.files]
    read = asdict(replace(own.read, tally=None))
    read = {option: value for option, value in read.items() if ADDED_OPTIONS.get(option, ...) != value}
    key = [FORMAT, READING_VERSION, files, digest, read, plan, max_words]
    if plan["method"] == "given" and (asked := own.options.list_sizes()):
        key.append(asked)
        if asked.get("test"):
            key.append(DRAWN)  # earlier versions did not note it
    return f"{name}-{hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]}"


def is_unsplit(spec: str) -> bool:
    """Return whether a name stands for plain files that are not split already."""
    files = [] if is_prepared(Path(spec)) else find_files(spec, get_cache_folder())
    return bool(files) and not any(file.split or is_aapd(file.path) for file in files)


def list_formats(spec: str) -> set[str]:
    """Return the formats of the plain files that a name stands for; none where it stands for none."""
    paths = (file.path for file in find_files(spec, get_cache_folder()))
    found = [find_format(path) for path in paths if path.is_dir() or has_known_format(path)]
    return {name for name, row in FORMATS.items() if row in found}


def read_headers(data: DataSettings) -> list[list[str]]:
    """Return the columns of each plain file that settings name and that has any."""
    files = [] if is_settled(data.corpus) else find_files(data.corpus, get_cache_folder())
    names = (read_column_names(file.path, build_read_options(data)) for file in files)
    return [one for one in names if one]


def is_settled(spec: str) -> bool:
    """Return whether a name stands for a prepared or known corpus, as `open_corpus` takes it."""
    path = Path(spec)
    if is_prepared(path):
        return True
    folder = path.is_dir() and not is_aapd(path)
    if not folder and find_files(spec, get_cache_folder()):
        return False
    return spec in SOURCES or is_prepared(locate_cached(spec))


def hash_content(spec: str) -> str:
    """Return a digest of the plain files that a name stands for, the same for any copy; empty for none."""
    files = find_files(spec, get_cache_folder())
    return hash_files(files) if files else ""
