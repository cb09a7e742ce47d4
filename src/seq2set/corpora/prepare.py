"""From documents to a prepared corpus, in two passes that hold no text in memory.

The first pass writes the texts aside and keeps word counts and labels. Then documents that are too long
are removed, not cut, as in the paper; labels of too few documents are dropped; and each document is given
its split. The second pass writes the texts to the files of the three splits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seq2set import __version__
from seq2set.core.errors import CorpusError, InputError, OutputError
from seq2set.core.files import compute_sha256, write_folder_aside, write_json
from seq2set.core.outputs import FolderKind
from seq2set.core.sparse import SparseRows
from seq2set.core.text_utils import count_things
from seq2set.corpora.documents import SPLITS, Document
from seq2set.corpora.first_pass import FirstPass, UniqueIds, read_first_pass
from seq2set.corpora.prepared import DRAWN, FACTS, FORMAT, READING, PreparedCorpus, name_split_file
from seq2set.corpora.split_files import REMOVED, Placement, WrittenTotals, write_splits
from seq2set.corpora.splits import TEST, TRAIN, SplitPlan, assign_splits

CORPUS = FolderKind("prepared corpus", (FACTS, *map(name_split_file, SPLITS)))
"""What `force` may replace: one in the cache may be damaged, and lack its facts"""


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

    def list_sizes(self) -> dict[str, int | float]:
        """Return the sizes of splits that were asked for by a number."""
        named = {"valid": self.valid, "test": self.test}
        return {name: size for name, size in named.items() if isinstance(size, int | float)}

    def get_min_label_documents(self, default: int) -> int:
        """Return how many documents a label must have."""
        return default if self.min_label_documents is None else self.min_label_documents


DEFAULT_PREPARE_OPTIONS = PrepareOptions()
"""Everything as the source has it."""


def refuse_source_inside(out: Path, sources: Iterable[Path]) -> None:
    """Refuse an output folder that holds what the corpus is made of, which would be replaced with it."""
    for source in sources:
        if source.resolve().is_relative_to(out.resolve()):
            raise OutputError(f"{out} holds the source {source} itself; name another folder")


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
    with write_folder_aside(out, force=options.force, kind=CORPUS) as folder:
        given, grouped = plan.method == "given", plan.method == "grouped"
        with FirstPass(folder, needs_split=given, needs_group=grouped) as whole:
            read_first_pass(documents, whole, options.progress)
            placement = _place(name, whole, plan, limits, carve_test="test" in options.list_sizes())
            drawn = given and _has_drawn_test(whole, placement)
            ids = UniqueIds(whole.ids)
            totals = write_splits(whole, folder, placement, ids)
        if not totals.training_labels:
            raise CorpusError("no document of the training split has a label; there is nothing to learn")
        facts = {
            "format": FORMAT,
            # A source may find out on the way that the files are not what was asked for.
            "name": (notes or {}).get("report_as", name),
            "source": source,
            "licence": licence,
            "created_by": f"seq2set {__version__}",
            "counts": _count(placement, totals),
            "split": {"method": plan.method, "seed": plan.seed, "valid": plan.valid, "test": plan.test},
            **limits._asdict(),
            "notes": _note_ids(notes or {}, ids.renamed) | ({DRAWN: True} if drawn else {}),
            "files": _describe_files(folder, totals),
        }
        write_json(folder / FACTS, facts)
    return PreparedCorpus.open(out)


def _has_drawn_test(whole: FirstPass, placement: Placement) -> bool:
    """Say whether the test split was drawn from documents that name other splits."""
    return bool((placement.parts == TEST).any() and not (whole.given.map() == TEST).any())


def _note_ids(notes: Mapping[str, Any], renamed: int) -> dict[str, Any]:
    """Add how many documents had an id that another had before them."""
    noted = {name: note for name, note in notes.items() if note or name != READING}
    if not renamed:
        return noted
    some = count_things(renamed, "document has an id", "documents have an id")
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


def _place(name: str, whole: FirstPass, plan: SplitPlan, limits: _Limits, *, carve_test: bool) -> Placement:
    """Decide which documents and labels are kept, and where the documents go."""
    if not len(whole):
        raise CorpusError(f"{name} holds no document; at least one is needed")
    kept = _find_kept(whole, limits.max_words)
    if not kept.any():
        raise CorpusError(
            f"all {len(whole):,} documents have more than {limits.max_words} words and were removed; raise "
            "max_words"
        )
    documents = _count_documents(whole, kept)
    frequent = np.flatnonzero(documents >= limits.min_label_documents)
    columns = np.full(len(documents), REMOVED, np.int32)
    columns[frequent] = np.arange(len(frequent))
    groups = whole.groups.map()
    parts = np.full(len(whole), REMOVED, np.int8)
    parts[kept] = assign_splits(
        plan,
        int(kept.sum()),
        partial(_load_labels, whole, kept, columns, len(frequent)),
        given=whole.given.map()[kept] if plan.method == "given" else None,
        # A document without a group has one of its own.
        groups=np.where(groups < 0, -1 - np.arange(len(groups)), groups)[kept] if whole.group_names else None,
        carve_test=carve_test,
    )
    if not (parts == TRAIN).any():
        raise CorpusError("the training split has no document")
    names = whole.label_names
    return Placement(parts, columns, [names[column] for column in frequent])


def _find_kept(whole: FirstPass, max_words: int | None) -> NDArray[np.bool_]:
    if max_words is None:
        return np.ones(len(whole), bool)
    return np.concatenate([block <= max_words for block in whole.words.blocks()])


def _count_documents(whole: FirstPass, kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    counts, row = np.zeros(len(whole.label_names), np.int64), 0
    for lengths, values in whole.labels.blocks():
        inside = np.repeat(kept[row : row + len(lengths)], lengths)
        counts += np.bincount(values[inside], minlength=len(counts))
        row += len(lengths)
    return counts


def _load_labels(
    whole: FirstPass, kept: NDArray[np.bool_], columns: NDArray[np.int32], number: int
) -> SparseRows:
    """Read the labels of the documents that are kept, in the order of the labels in each document."""
    lengths = whole.labels.lengths.map()
    values = columns[whole.labels.values.map()]
    inside = np.repeat(kept, lengths) & (values != REMOVED)
    before = np.concatenate([[0], np.cumsum(inside)])
    ends = before[np.cumsum(lengths)][kept]
    starts = before[np.cumsum(lengths) - lengths][kept]
    indptr = np.concatenate([[0], np.cumsum(ends - starts)])
    return SparseRows(np.ones(int(indptr[-1]), np.int8), values[inside], indptr, number)


def _count(placement: Placement, totals: WrittenTotals) -> dict[str, Any]:
    return {
        "documents": {name: int((placement.parts == part).sum()) for part, name in enumerate(SPLITS)},
        "labels": len(placement.label_names),
        "documents_removed_for_length": len(placement.parts) - totals.documents,
        "labels_removed": len(placement.columns) - len(placement.label_names),
        "documents_without_labels": totals.without_labels,
        "documents_without_text": totals.without_text,
        "words_per_document": round(totals.words / totals.documents, 4),
        "labels_per_document": round(totals.labels / totals.documents, 4),
    } | ({"groups": totals.groups} if totals.groups else {})


def _describe_files(folder: Path, totals: WrittenTotals) -> dict[str, dict[str, Any]]:
    described = {}
    for name, content in totals.contents.items():
        path = folder / name_split_file(name)
        sums = {"sha256": compute_sha256(path), "content": content}
        described[path.name] = {**sums, "bytes": path.stat().st_size}
    return described
