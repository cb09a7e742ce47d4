"""From documents to a prepared corpus, in two passes that hold no text in memory.

The first pass writes the texts aside and keeps word counts and labels. Then documents that are too long
are removed, not cut, as in the paper; labels of too few documents are dropped; and each document is given
its split. The second pass writes the texts to the files of the three splits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seq2set import __version__
from seq2set.core.errors import CorpusError, InputError
from seq2set.core.files import compute_sha256, write_folder_aside, write_json
from seq2set.core.sparse import SparseRows
from seq2set.corpora.documents import SPLITS, Document
from seq2set.corpora.passes import REMOVED, FirstPass, Groups, UniqueIds, read_first_pass, write_splits
from seq2set.corpora.prepared import FACTS, FORMAT, READING, PreparedCorpus, name_split_file
from seq2set.corpora.splits import TRAIN, SplitPlan, assign_splits


@dataclass(frozen=True)
class PrepareOptions:
    """What a user may ask for when a corpus is prepared; None leaves the choice to the source.

    `split` is a method of `SplitPlan`, or the name of one of a source's own splits. `valid` and `test` are
    numbers of documents, shares, or files that hold them, and `seed` is the seed, of whatever part of the
    split is random. Documents of more than `max_words` words are removed; 0 keeps all. Labels of fewer than
    `min_label_documents` documents are dropped. `force` replaces what is in the output folder.
    `progress` is called now and then with the number of documents read since its last call.
    """

    split: str | None = None
    valid: int | float | str | None = None
    test: int | float | str | None = None
    seed: int | None = None
    encoding: str | None = None
    max_words: int | None = None
    min_label_documents: int | None = None
    force: bool = False
    progress: Callable[[int], None] | None = None

    def complete(self, plan: SplitPlan) -> SplitPlan:
        """Return a plan with the sizes and the seed that were asked for."""
        return replace(
            plan,
            valid=plan.valid if self.valid is None or isinstance(self.valid, str) else self.valid,
            test=plan.test if self.test is None or isinstance(self.test, str) else self.test,
            seed=plan.seed if self.seed is None else self.seed,
        )

    def get_min_label_documents(self, default: int) -> int:
        """Return how many documents a label must have."""
        return default if self.min_label_documents is None else self.min_label_documents


DEFAULT_PREPARE_OPTIONS = PrepareOptions()
"""Everything as the source has it."""


class _KeptDocuments(NamedTuple):
    """What is left of the corpus, and where each document goes (`REMOVED`, or an index in `SPLITS`)."""

    labels: SparseRows
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
    options: PrepareOptions = DEFAULT_PREPARE_OPTIONS,
    notes: Mapping[str, Any] | None = None,
) -> PreparedCorpus:
    """Write documents to the prepared corpus `out`, whole or not at all, and open it.

    They are split as `plan` says; of `options`, the limits, `force` and `progress` are used. `notes` is read
    after the last document, so that whoever reads the documents may fill it on the way.
    """
    limits = _Limits.check(options)
    with write_folder_aside(out, force=options.force) as folder:
        texts = folder / "texts.parquet"
        whole = read_first_pass(
            documents,
            texts,
            needs_split=plan.method == "given",
            needs_group=plan.method == "grouped",
            progress=options.progress,
        )
        kept = _select(whole, plan, limits)
        groups = Groups(whole.groups, whole.group_names) if whole.group_names else None
        ids = UniqueIds(whole.ids)
        write_splits(texts, folder, ids, kept.parts, kept.labels, kept.label_names, groups)
        texts.unlink()
        facts = {
            "format": FORMAT,
            # A source may find out on the way that the files are not what was asked for.
            "name": (notes or {}).get("report_as", name),
            "source": source,
            "licence": licence,
            "created_by": f"seq2set {__version__}",
            "counts": _count(whole, kept),
            "split": {"method": plan.method, "seed": plan.seed, "valid": plan.valid, "test": plan.test},
            **limits._asdict(),
            "notes": _note_ids(notes or {}, ids.renamed),
            "files": _describe_files(folder),
        }
        write_json(folder / FACTS, facts)
    return PreparedCorpus.open(out)


def _note_ids(notes: Mapping[str, Any], renamed: int) -> dict[str, Any]:
    """Add how many documents had an id that another had before them."""
    noted = {name: note for name, note in notes.items() if note or name != READING}
    if not renamed:
        return noted
    some = "1 document has an id" if renamed == 1 else f"{renamed:,} documents have an id"
    sentence = f"{some} that another has, and a number behind it now; --id names another column"
    return noted | {READING: [*notes.get(READING, ()), sentence]}


class _Limits(NamedTuple):
    max_words: int | None
    min_label_documents: int

    @classmethod
    def check(cls, options: PrepareOptions) -> _Limits:
        words, documents = options.max_words or None, options.get_min_label_documents(1)
        if words is not None and words < 1:
            raise InputError(f"max_words is {words}; it must be 1 or more, or 0 for no limit")
        if documents < 1:
            raise InputError(f"min_label_documents is {documents}; it must be 1 or more")
        return cls(words, documents)


def _select(whole: FirstPass, plan: SplitPlan, limits: _Limits) -> _KeptDocuments:
    read, max_words = len(whole.words), limits.max_words
    if read == 0:
        raise CorpusError("there is no document to prepare")
    rows = np.arange(read) if max_words is None else np.flatnonzero(whole.words <= max_words)
    if len(rows) == 0:
        raise CorpusError(
            f"all {read:,} documents have more than {max_words} words and were removed; raise max_words"
        )
    labels = whole.labels[rows]
    documents = np.bincount(labels.indices, minlength=labels.columns)
    columns = np.flatnonzero(documents >= limits.min_label_documents)
    labels = _keep_columns(labels, columns)
    parts = np.full(read, REMOVED, dtype=np.int8)
    parts[rows] = assign_splits(
        plan,
        labels,
        given=whole.given[rows] if plan.method == "given" else None,
        groups=_fill_groups(whole.groups)[rows] if whole.group_names else None,
    )
    _check_training(labels, parts[rows])
    return _KeptDocuments(labels, [whole.label_names[column] for column in columns], parts, whole.words[rows])


def _fill_groups(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give each document without a group one of its own."""
    return np.where(groups < 0, -1 - np.arange(len(groups)), groups)


def _keep_columns(labels: SparseRows, columns: NDArray[np.int64]) -> SparseRows:
    """Keep some columns, and the order of the labels in each document, which slicing would lose."""
    renumbered = np.full(labels.shape[1], -1, dtype=np.int32)
    renumbered[columns] = np.arange(len(columns), dtype=np.int32)
    indices = renumbered[labels.indices]
    inside = indices >= 0
    before = np.concatenate([[0], np.cumsum(inside)])
    return SparseRows(labels.data[inside], indices[inside], before[labels.indptr], len(columns))


def _check_training(labels: SparseRows, parts: NDArray[np.int8]) -> None:
    train = parts == TRAIN
    if not train.any():
        raise CorpusError("the training split has no document")
    if not np.diff(labels.indptr)[train].any():
        raise CorpusError("no document of the training split has a label; there is nothing to learn")


def _count(whole: FirstPass, kept: _KeptDocuments) -> dict[str, Any]:
    labels_each = np.diff(kept.labels.indptr)
    groups = np.unique(whole.groups[(kept.parts != REMOVED) & (whole.groups >= 0)])
    return {
        "documents": {name: int((kept.parts == part).sum()) for part, name in enumerate(SPLITS)},
        "labels": len(kept.label_names),
        "documents_removed_for_length": len(whole.words) - len(kept.words),
        "labels_removed": len(whole.label_names) - len(kept.label_names),
        "documents_without_labels": int((labels_each == 0).sum()),
        "documents_without_text": int((kept.words == 0).sum()),
        "words_per_document": round(float(kept.words.mean()), 4),
        "labels_per_document": round(float(labels_each.mean()), 4),
    } | ({"groups": len(groups)} if whole.group_names else {})


def _describe_files(folder: Path) -> dict[str, dict[str, Any]]:
    paths = [folder / name_split_file(name) for name in SPLITS]
    return {path.name: {"sha256": compute_sha256(path), "bytes": path.stat().st_size} for path in paths}
