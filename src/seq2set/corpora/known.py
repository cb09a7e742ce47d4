"""Known sources: prepared by their name, with what each of them says about itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

from seq2set.corpora.cache import cached_corpus
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.corpora.preparing import prepare
from seq2set.corpora.sources.options import DEFAULT_SOURCE_OPTIONS, SourceOptions
from seq2set.corpora.sources.registry import find_source
from seq2set.corpora.splits import SplitPlan
from seq2set.errors import InputError

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
        out or cached_corpus(name),
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
