"""From documents to a prepared corpus, in two passes that hold no text in memory.

The first pass writes the texts aside and keeps word counts and labels. Then documents that are too long
are removed, not cut, as in the paper; labels of too few documents are dropped; and each document is given
its split. The second pass deals the texts out to the three files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from seq2set import __version__
from seq2set.core.errors import CorpusError, InputError
from seq2set.core.files import compute_sha256, write_folder_aside, write_json
from seq2set.corpora.documents import SPLITS, Document
from seq2set.corpora.first_pass import FirstPass, read_first_pass
from seq2set.corpora.prepared import FACTS, FORMAT, PreparedCorpus, name_split_file
from seq2set.corpora.splits import TRAIN, SplitPlan, assign_splits
from seq2set.corpora.write_splits import REMOVED, Groups, write_splits

MAX_WORDS = 500
"""The paper's limit: documents of more words are removed."""


class _Kept(NamedTuple):
    """What is left of the corpus, and where each document goes (`REMOVED`, or an index in `SPLITS`)."""

    labels: csr_matrix[Any]
    label_names: list[str]
    parts: NDArray[np.int8]
    words: NDArray[np.int64]


def prepare(
    documents: Iterable[Document],
    out: Path,
    *,
    name: str,
    source: str,
    licence: str,
    plan: SplitPlan,
    max_words: int | None = MAX_WORDS,
    min_label_documents: int = 1,
    force: bool = False,
    progress: Callable[[int], None] | None = None,
    notes: Mapping[str, Any] | None = None,
) -> PreparedCorpus:
    """Write documents to the prepared corpus `out`, whole or not at all, and open it.

    `progress` is told now and then how many documents were read. `notes` is looked at after the last
    document, so that whoever reads the documents may fill it on the way.
    """
    _check_limits(max_words, min_label_documents)
    with write_folder_aside(out, force=force) as folder:
        texts = folder / "texts.parquet"
        gathered = read_first_pass(
            documents,
            texts,
            needs_split=plan.method == "given",
            needs_group=plan.method == "grouped",
            progress=progress,
        )
        kept = _kept(gathered, plan, max_words, min_label_documents)
        groups = Groups(gathered.groups, gathered.group_names) if gathered.group_names else None
        write_splits(texts, folder, kept.parts, kept.labels, kept.label_names, groups)
        texts.unlink()
        facts = {
            "format": FORMAT,
            # A source may find out on the way that the files are not what was asked for.
            "name": (notes or {}).get("report_as", name),
            "source": source,
            "licence": licence,
            "created_by": f"seq2set {__version__}",
            "counts": _counts(gathered, kept),
            "split": {"method": plan.method, "seed": plan.seed, "valid": plan.valid, "test": plan.test},
            "max_words": max_words,
            "min_label_documents": min_label_documents,
            "notes": dict(notes or {}),
            "files": _file_facts(folder),
        }
        write_json(folder / FACTS, facts)
    return PreparedCorpus.open(out)


def _check_limits(max_words: int | None, min_label_documents: int) -> None:
    if max_words is not None and max_words < 1:
        raise InputError(f"max_words is {max_words}; it must be 1 or more, or none for no limit")
    if min_label_documents < 1:
        raise InputError(f"min_label_documents is {min_label_documents}; it must be 1 or more")


def _kept(gathered: FirstPass, plan: SplitPlan, max_words: int | None, min_label_documents: int) -> _Kept:
    read = len(gathered.words)
    rows = np.arange(read) if max_words is None else np.flatnonzero(gathered.words <= max_words)
    if len(rows) == 0:
        raise CorpusError(_nothing_left(read, max_words))
    labels = gathered.labels[rows]
    columns = np.flatnonzero(np.asarray(labels.sum(axis=0)).ravel() >= min_label_documents)
    labels = _with_columns(labels, columns)
    parts = np.full(read, REMOVED, dtype=np.int8)
    parts[rows] = assign_splits(
        plan,
        labels,
        given=gathered.given[rows] if plan.method == "given" else None,
        groups=_own_where_none(gathered.groups)[rows] if gathered.group_names else None,
    )
    _check_training(labels, parts[rows])
    return _Kept(labels, [gathered.label_names[column] for column in columns], parts, gathered.words[rows])


def _own_where_none(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give each document without a group one of its own."""
    return np.where(groups < 0, -1 - np.arange(len(groups)), groups)


def _nothing_left(read: int, max_words: int | None) -> str:
    if read == 0:
        return "there is no document to prepare"
    return f"all {read:,} documents have more than {max_words} words and were removed; raise max_words"


def _with_columns(labels: csr_matrix[Any], columns: NDArray[np.int64]) -> csr_matrix[Any]:
    """Keep some columns, and the order of the labels in each document, which slicing would lose."""
    renumbered = np.full(labels.shape[1], -1, dtype=np.int32)
    renumbered[columns] = np.arange(len(columns), dtype=np.int32)
    indices = renumbered[labels.indices]
    inside = indices >= 0
    before = np.concatenate([[0], np.cumsum(inside)])
    entries = (labels.data[inside], indices[inside], before[labels.indptr])
    return csr_matrix(entries, shape=(labels.shape[0], len(columns)))


def _check_training(labels: csr_matrix[Any], parts: NDArray[np.int8]) -> None:
    train = parts == TRAIN
    if not train.any():
        raise CorpusError("the training split has no document")
    if not np.diff(labels.indptr)[train].any():
        raise CorpusError("no document of the training split has a label; there is nothing to learn")


def _counts(gathered: FirstPass, kept: _Kept) -> dict[str, Any]:
    labels_each = np.diff(kept.labels.indptr)
    groups = np.unique(gathered.groups[(kept.parts != REMOVED) & (gathered.groups >= 0)])
    return {
        "documents": {name: int((kept.parts == part).sum()) for part, name in enumerate(SPLITS)},
        "labels": len(kept.label_names),
        "documents_removed_for_length": len(gathered.words) - len(kept.words),
        "labels_removed": len(gathered.label_names) - len(kept.label_names),
        "documents_without_labels": int((labels_each == 0).sum()),
        "documents_without_text": int((kept.words == 0).sum()),
        "words_per_document": round(float(kept.words.mean()), 4),
        "labels_per_document": round(float(labels_each.mean()), 4),
    } | ({"groups": len(groups)} if gathered.group_names else {})


def _file_facts(folder: Path) -> dict[str, dict[str, Any]]:
    paths = [folder / name_split_file(name) for name in SPLITS]
    return {path.name: {"sha256": compute_sha256(path), "bytes": path.stat().st_size} for path in paths}
