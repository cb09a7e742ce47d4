"""The two passes over a corpus: texts go to a file, then to the files of the three splits.

Word counts, labels, groups and hashes of the ids go to files as well: memory does not grow with the corpus,
but for a byte per document that says which split it goes to.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from seq2set.core.errors import CorpusError
from seq2set.core.flat_arrays import FlatArray, FlatLists
from seq2set.corpora.documents import SPLITS, Document
from seq2set.corpora.prepared import GROUPED_SCHEMA, SCHEMA, name_split_file
from seq2set.corpora.readers.parquet import ParquetSource, open_parquet
from seq2set.corpora.splits import TRAIN, find_split_index
from seq2set.text.tokenizer import count_words

_TEXTS = pa.schema([("id", pa.string()), ("text", pa.string())])
_ROWS = 4096
_CHARACTERS = 1 << 23
_HASHES = 1 << 18
"""About how many hashes of ids are sorted at a time."""


class FirstPass:
    """What is known of the documents, in the order in which their texts were written: numbers in files."""

    def __init__(self, folder: Path, *, needs_split: bool, needs_group: bool):
        self.needs_split, self.needs_group = needs_split, needs_group
        self._label_codes: dict[str, int] = {}
        self._group_codes: dict[str, int] = {}
        self.texts = folder / "texts.parquet"
        """Ids and texts"""
        self.labels = FlatLists(folder, "labels")
        """In the order in which the documents name them"""
        self.words, self.given = FlatArray(folder / "words", "int32"), FlatArray(folder / "given", "int8")
        self.groups = FlatArray(folder / "groups", "int64")
        """An index into `group_names` for each document, -1 where it has none."""
        self.ids = FlatArray(folder / "ids", "uint64")
        """A hash of each document's id"""

    def __len__(self) -> int:
        return len(self.words)

    def add(self, document: Document) -> None:
        """Take in one document."""
        self.ids.append(_hash(document.id))
        self.words.append(count_words(document.text))
        codes = self._label_codes
        self.labels.append([codes.setdefault(one, len(codes)) for one in dict.fromkeys(document.labels)])
        if self.needs_split:
            self.given.append(_find_split(document))
        self.groups.append(self._find_group(document))

    def _find_group(self, document: Document) -> int:
        if document.group is not None:
            return self._group_codes.setdefault(document.group, len(self._group_codes))
        if self.needs_group:
            raise CorpusError(f"document '{document.id}' has no group; split by 'grouped' needs one in each")
        return -1

    @property
    def label_names(self) -> list[str]:
        """The labels by their numbers."""
        return [_mend_surrogates(label) for label in self._label_codes]

    @property
    def group_names(self) -> list[str]:
        """The groups by their numbers; none where no document has one."""
        return [_mend_surrogates(group) for group in self._group_codes]

    def __enter__(self) -> FirstPass:
        return self

    def __exit__(self, *_: object) -> None:
        self.texts.unlink(missing_ok=True)
        for column in (self.labels, self.words, self.given, self.groups, self.ids):
            column.delete()


def read_first_pass(
    documents: Iterable[Document], whole: FirstPass, progress: Callable[[int], None] | None = None
) -> None:
    """Read all documents once, and write down what is known of them."""
    waiting: list[Document] = []
    characters = 0
    with pq.ParquetWriter(
        whole.texts,
        _TEXTS,
        compression="lz4",
        use_dictionary=False,
        write_statistics=False,
        write_page_checksum=True,
    ) as writer:
        for document in documents:
            whole.add(document)
            waiting.append(document)
            characters += len(document.text)
            if len(waiting) >= _ROWS or characters >= _CHARACTERS:
                writer.write_table(_build_table(waiting))
                if progress:
                    progress(len(waiting))
                waiting, characters = [], 0
        if waiting:
            writer.write_table(_build_table(waiting))
            if progress:
                progress(len(waiting))


def _build_table(documents: list[Document]) -> Any:
    ids, texts = [d.id for d in documents], [d.text for d in documents]
    try:
        return pa.table([ids, texts], schema=_TEXTS)
    except UnicodeEncodeError:
        return pa.table([list(map(_mend_surrogates, ids)), list(map(_mend_surrogates, texts))], schema=_TEXTS)


def _mend_surrogates(text: str) -> str:
    """Replace half surrogate pairs, which JSON can hold and UTF-8 cannot."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _find_split(document: Document) -> int:
    index = None if document.split is None else find_split_index(document.split)
    if index is None:
        seen = "no split" if document.split is None else f"the split '{document.split}'"
        raise CorpusError(f"document '{document.id}' has {seen}; split as 'given' needs {', '.join(SPLITS)}")
    return index


def _hash(name: str) -> int:
    digest = hashlib.blake2b(_mend_surrogates(name).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


REMOVED = -1
"""Stands in the place of a split's index for a document that goes to none."""

_GROUP_ROWS = 1 << 14
_GROUP_BYTES = 1 << 23
# Texts and ids never repeat: a dictionary, or their extremes, would cost memory and space for nothing.
_REPEATED = ["labels.list.element"]


class UniqueIds:
    """Gives documents whose id another has an id of their own: `a`, `a-2`, `a-3`.

    Ids are known by their hashes: all of them would need too much memory.
    """

    def __init__(self, hashes: FlatArray):
        self._hashes = hashes
        self._repeated = {one for share in range(self._shares) for one in self._find_repeated(share)}
        self._counts: dict[str, int] = {}
        self.renamed = 0

    @property
    def _shares(self) -> int:
        return 1 + len(self._hashes) // _HASHES

    def _find_repeated(self, share: int) -> list[int]:
        """Return the hashes that repeat among those of one share, so that never all are in memory."""
        divisor = np.uint64(self._shares)
        some = [block[block % divisor == share] for block in self._hashes.blocks()]
        ordered = np.sort(np.concatenate([np.zeros(0, np.uint64), *some]))
        repeated: list[int] = ordered[1:][ordered[1:] == ordered[:-1]].tolist()
        return repeated

    @cached_property
    def _known(self) -> NDArray[np.uint64]:
        return np.sort(self._hashes.map())

    def rename(self, ids: list[str]) -> list[str]:
        """Return the ids of the next documents, each different from all others."""
        if not self._repeated:
            return ids
        return [self._find_free(name) if _hash(name) in self._repeated else name for name in ids]

    def _find_free(self, name: str) -> str:
        count = self._counts[name] = self._counts.get(name, 0) + 1
        if count == 1:
            return name
        self.renamed += 1
        while self._is_known(fresh := f"{name}-{self._counts[name]}"):
            self._counts[name] += 1
        return fresh

    def _is_known(self, name: str) -> bool:
        place = np.searchsorted(self._known, np.uint64(_hash(name)))
        return bool(place < len(self._known) and self._known[place] == _hash(name))


class Placement(NamedTuple):
    """Where documents go, and which labels they keep."""

    parts: NDArray[np.int8]
    """A split for each document, or `REMOVED`"""
    columns: NDArray[np.int32]
    """A number for each label, or `REMOVED`"""
    label_names: list[str]


@dataclass
class WrittenTotals:
    """What is counted of the documents that are written."""

    documents: int = 0
    words: int = 0
    labels: int = 0
    training_labels: int = 0
    without_text: int = 0
    without_labels: int = 0
    groups: int = 0
    contents: dict[str, str] = field(default_factory=dict)
    """By the name of a split: the SHA-256 that its file would have without page checksums"""


def write_splits(whole: FirstPass, folder: Path, placement: Placement, ids: UniqueIds) -> WrittenTotals:
    """Write the three files; they have a column of groups only where there are any."""
    totals, row = WrittenTotals(), 0
    group_names = pa.array(whole.group_names, pa.string())
    seen = np.zeros(len(group_names), bool)
    schema = GROUPED_SCHEMA if len(group_names) else SCHEMA
    with ExitStack() as stack:
        files = [stack.enter_context(_SplitFile(folder / name_split_file(name), schema)) for name in SPLITS]
        source = stack.enter_context(open_parquet(whole.texts))
        labels = _read_lists(whole, source, placement)
        for group in range(len(source.footer.groups)):
            table = source.file.read_row_group(group, use_threads=False)
            rows = slice(row, row + table.num_rows)
            row += table.num_rows
            part, words, groups = placement.parts[rows], whole.words.read(row - table.num_rows, row), None
            kept = part != REMOVED
            names = pa.array(ids.rename(table.column("id").to_pylist()), pa.string())
            lists = next(labels)
            table = table.set_column(0, _TEXTS.field("id"), names)
            table = table.append_column(SCHEMA.field("labels"), lists)
            if len(group_names):
                groups = whole.groups.read(row - table.num_rows, row)
                seen[groups[kept & (groups >= 0)]] = True
                column = group_names.take(pa.array(groups, pa.int64(), mask=groups < 0))
                table = table.append_column(GROUPED_SCHEMA.field("group"), column)
            _count(totals, part, words, np.diff(lists.offsets.to_numpy()))
            for index, file in enumerate(files):
                file.add(table.filter(pa.array(part == index)))
    totals.groups = int(seen.sum())
    totals.contents = {name: file.content for name, file in zip(SPLITS, files, strict=True)}
    return totals


def _read_lists(whole: FirstPass, source: ParquetSource, placement: Placement) -> Iterator[Any]:
    """Yield the labels of each row group as lists of names, without those that are not kept."""
    names = pa.array(placement.label_names, pa.string())
    start = first = 0
    for rows in (group.rows for group in source.footer.groups):
        lengths = whole.labels.lengths.read(start, start + rows)
        values = placement.columns[whole.labels.values.read(first, first + int(lengths.sum()))]
        start, first = start + rows, first + int(lengths.sum())
        before = np.concatenate([[0], np.cumsum(values != REMOVED)])
        offsets = before[np.concatenate([[0], np.cumsum(lengths)])]
        yield pa.ListArray.from_arrays(
            pa.array(offsets, pa.int32()), names.take(pa.array(values[values != REMOVED], pa.int32()))
        )


def _count(totals: WrittenTotals, part: NDArray[np.int8], words: NDArray[Any], labels: NDArray[Any]) -> None:
    kept = part != REMOVED
    totals.documents += int(kept.sum())
    totals.words += int(words[kept].sum())
    totals.labels += int(labels[kept].sum())
    totals.training_labels += int(labels[part == TRAIN].sum())
    totals.without_text += int((words[kept] == 0).sum())
    totals.without_labels += int((labels[kept] == 0).sum())


class _Hashed(io.RawIOBase):
    """A file of which nothing is kept but the SHA-256."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.digest.update(data)
        return len(data)


class _SplitFile:
    """A file of one split; small tables are joined, for small row groups read slowly.

    It is written a second time, to nowhere: a corpus is recognised by the bytes that its files had before
    they got page checksums, so that what was trained, measured and published then is known for the same.
    """

    def __init__(self, path: Path, schema: Any):
        self._plain = _Hashed()
        self._writers = [
            pq.ParquetWriter(
                place,
                schema,
                compression="zstd",
                use_dictionary=_REPEATED,
                write_statistics=False,
                write_page_checksum=checksums,
            )
            for place, checksums in ((path, True), (self._plain, False))
        ]
        self._waiting: list[Any] = []

    @property
    def content(self) -> str:
        return self._plain.digest.hexdigest()

    def __enter__(self) -> _SplitFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._flush()
        for writer in self._writers:
            writer.close()

    def add(self, table: Any) -> None:
        self._waiting.append(table)
        rows = sum(waiting.num_rows for waiting in self._waiting)
        if rows >= _GROUP_ROWS or sum(waiting.nbytes for waiting in self._waiting) >= _GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            joined = pa.concat_tables(self._waiting)
            for writer in self._writers:
                writer.write_table(joined)
        self._waiting = []
        pa.default_memory_pool().release_unused()
