"""One way to name a corpus: a prepared folder, a known name, a plain file, or a folder in the AAPD layout.

Plain files and AAPD folders are prepared into the cache under a name made from their content and the
options, so that the second opening costs no more than reading the file once, and a changed file is seen.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

from seq2set.corpora.cache import cache_folder, cached_corpus
from seq2set.corpora.known import prepare_source
from seq2set.corpora.own import find_split_column, natural_method, prepare_own
from seq2set.corpora.prepared import FORMAT, Location, PreparedCorpus, is_prepared
from seq2set.corpora.readers.aapd import aapd_files, is_aapd
from seq2set.corpora.reading import DEFAULT_OPTIONS, ReadOptions
from seq2set.corpora.sources.registry import SOURCES
from seq2set.corpora.splits import SplitPlan
from seq2set.corpora.streams import check_file
from seq2set.errors import CorpusError, UnknownNameError
from seq2set.files import sha256_of

__all__ = ["cache_folder", "open_corpus"]

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
    if is_prepared(cached_corpus(spec)):
        return PreparedCorpus.open(cached_corpus(spec))
    if path.is_dir():
        raise CorpusError("the folder is neither a prepared corpus nor in the AAPD layout", path)
    if path.suffix or len(path.parts) > 1:
        check_file(path)
    raise UnknownNameError("corpus", spec, SOURCES)


def _open_known(name: str, progress: Callable[[int], None] | None) -> PreparedCorpus:
    return _opened(cached_corpus(name)) or prepare_source(name, force=True, progress=progress)


def _open_plain(
    path: Path,
    options: ReadOptions,
    plan: SplitPlan | None,
    max_words: int | None,
    progress: Callable[[int], None] | None,
) -> PreparedCorpus:
    if plan is not None and plan.method != "given":
        options = replace(options, split=None)
    digest = content_digest(path)
    # Which column names the splits follows from the content, so the cache need not look for it.
    out = cached_corpus(_cache_name(path, digest, options, plan, max_words))
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


def content_digest(path: Path) -> str:
    """Return a digest of a plain file, or of the files of an AAPD folder; the same for any copy."""
    sums = [_content_sum(file) for file in _content_files(path)]
    return sums[0] if len(sums) == 1 else hashlib.sha256("".join(sums).encode()).hexdigest()


def _cache_name(
    path: Path, digest: str, options: ReadOptions, plan: SplitPlan | None, max_words: int | None
) -> str:
    split = asdict(plan or SplitPlan(natural_method(path, options)))
    key = [FORMAT, READING_VERSION, path.name, digest, asdict(options), split, max_words]
    return f"{_stem(path)}-{hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]}"


def _content_sum(path: Path) -> str:
    try:
        return sha256_of(path)
    except PermissionError as error:
        raise CorpusError("the file cannot be read: permission is denied", path) from error


def _content_files(path: Path) -> list[Path]:
    if path.is_dir():
        return [file for files in aapd_files(path) for file in (files.texts, files.labels)]
    return [path]


def _stem(path: Path) -> str:
    """Return what may stand in a folder's name: the file's name up to its first dot, tamed."""
    stem = re.sub(r"[^\w-]+", "-", path.resolve().name.split(".")[0]).strip("-")
    return stem[:60] or "corpus"
