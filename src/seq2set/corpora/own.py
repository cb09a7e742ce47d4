"""Files of the user's own, prepared under a name of the user's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, cast

from seq2set.corpora.cache import cached_corpus
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.corpora.preparing import MAX_WORDS, prepare
from seq2set.corpora.reading import DEFAULT_OPTIONS, ReadOptions, read_documents
from seq2set.corpora.splits import METHODS, Method, SplitPlan
from seq2set.errors import UnknownNameError

LICENCE = "not stated"
"""What is recorded for files that do not say under which terms they stand."""


def prepare_own(
    name: str,
    path: Path,
    out: Path | None = None,
    *,
    options: ReadOptions = DEFAULT_OPTIONS,
    plan: SplitPlan | None = None,
    max_words: int | None = MAX_WORDS,
    min_label_documents: int = 1,
    force: bool = False,
    progress: Callable[[int], None] | None = None,
) -> PreparedCorpus:
    """Prepare a file, or a folder in the AAPD layout, into `out`, or into the cache under `name`."""
    return prepare(
        read_documents(path, options),
        out or cached_corpus(name),
        name=name,
        source=path.name,
        licence=LICENCE,
        plan=plan or SplitPlan(natural_method(path, options)),
        max_words=max_words,
        min_label_documents=min_label_documents,
        force=force,
        progress=progress,
    )


def natural_method(path: Path, options: ReadOptions, named: str | None = None) -> Method:
    """Return the split method that was named, or the one that the files themselves suggest."""
    if named is not None:
        if named not in METHODS:
            raise UnknownNameError("split method", named, METHODS)
        return cast("Method", named)
    given: Literal["given", "grouped", "random"] = "grouped" if options.group else "random"
    return "given" if options.split or path.is_dir() else given
