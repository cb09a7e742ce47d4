"""The two passes over a corpus: texts go to a file, then to the files of the three splits.

Only small numbers stay in memory: word counts, labels, groups and hashes of the ids.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from seq2set.core.errors import CorpusError
from seq2set.core.sparse import SparseRows
from seq2set.corpora.documents import SPLITS, Document
from seq2set.corpora.prepared import GROUPED_SCHEMA, SCHEMA, name_split_file
from seq2set.corpora.splits import find_split_index
from seq2set.text.tokenizer import count_words

_TEXTS = pa.schema([("id", pa.string()), ("text", pa.string())])
_ROWS = 4096
_CHARACTERS = 1 << 23


class FirstPass(NamedTuple):
    """What is known of the documents, in the order in which their texts were written."""

    label_names: list[str]
    labels: SparseRows
    """Documents x labels, in the order in which the documents name them."""
    ids: NDArray[np.uint64]
    """A hash of each document's id"""
    words: NDArray[np.int64]
    given: NDArray[np.int8]
    groups: NDArray[np.int64]
    """An index into `group_names` for each document, -1 where it has none."""
    group_names: list[str]


class _Collector:
    def __init__(self, *, needs_split: bool, needs_group: bool):
        self.needs_split, self.needs_group = needs_split, needs_group
        self.label_codes: dict[str, int] = {}
        self.group_codes: dict[str, int] = {}
        self.label_ids, self.label_ends = array("i"), array("q", [0])
        self.words, self.given, self.groups = array("i"), array("b"), array("q")
        self.id_hashes = array("Q")

    def add(self, document: Document) -> None:
        self.id_hashes.append(_hash(document.id))
        self.words.append(count_words(document.text))
        codes = self.label_codes
        self.label_ids.extend(codes.setdefault(label, len(codes)) for label in dict.fromkeys(document.labels))
        self.label_ends.append(len(self.label_ids))
        if self.needs_split:
            self.given.append(_find_split(document))
        self.groups.append(self._find_group(document))

    def _find_group(self, document: Document) -> int:
        if document.group is not None:
            return self.group_codes.setdefault(document.group, len(self.group_codes))
        if self.needs_group:
            raise CorpusError(f"document '{document.id}' has no group; split by 'grouped' needs one in each")
        return -1

    def finish(self) -> FirstPass:
        indices = np.array(self.label_ids, np.int32)
        ones = np.ones(len(indices), np.int8)
        ends = np.array(self.label_ends, np.int64)
        return FirstPass(
            [_mend_surrogates(label) for label in self.label_codes],
            SparseRows(ones, indices, ends, len(self.label_codes)),
            np.array(self.id_hashes, np.uint64),
            np.array(self.words, np.int64),
            np.array(self.given, np.int8),
            np.array(self.groups, np.int64),
            [_mend_surrogates(group) for group in self.group_codes],
        )


def read_first_pass(
    documents: Iterable[Document],
    texts: Path,
    *,
    needs_split: bool,
    needs_group: bool,
    progress: Callable[[int], None] | None = None,
) -> FirstPass:
    """Read all documents once, write their ids and texts to `texts`, and keep the rest."""
    collector = _Collector(needs_split=needs_split, needs_group=needs_group)
    waiting: list[Document] = []
    characters = 0
    with pq.ParquetWriter(
        texts, _TEXTS, compression="lz4", use_dictionary=False, write_statistics=False
    ) as writer:
        for document in documents:
            collector.add(document)
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
    return collector.finish()


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

    def __init__(self, hashes: NDArray[np.uint64]):
        self._known = np.sort(hashes)
        self._repeated = set(self._known[1:][self._known[1:] == self._known[:-1]].tolist())
        self._counts: dict[str, int] = {}
        self.renamed = 0

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


class Groups(NamedTuple):
    """The group of each text, as an index into `names`; -1 where it has none."""

    codes: NDArray[np.int64]
    names: list[str]


def write_splits(
    texts: Path,
    folder: Path,
    ids: UniqueIds,
    parts: NDArray[np.int8],
    labels: SparseRows,
    label_names: list[str],
    groups: Groups | None = None,
) -> None:
    """Write the three files from `texts`; `parts` has a row per text, `labels` a row per text that is kept.

    The files have a column of groups only where there are any.
    """
    names = pa.array(label_names, pa.string())
    schema = SCHEMA if groups is None else GROUPED_SCHEMA
    row = first = 0
    with ExitStack() as stack:
        files = [stack.enter_context(_SplitFile(folder / name_split_file(name), schema)) for name in SPLITS]
        source = stack.enter_context(pq.ParquetFile(texts))
        for group in range(source.num_row_groups):
            table = source.read_row_group(group)
            names_here = pa.array(ids.rename(table.column("id").to_pylist()), pa.string())
            table = table.set_column(0, _TEXTS.field("id"), names_here)
            rows = slice(row, row + table.num_rows)
            part = parts[rows]
            row += table.num_rows
            kept = part != REMOVED
            lists = _build_lists(labels[first : first + int(kept.sum())], names)
            first += len(lists)
            table = table.filter(pa.array(kept)).append_column(SCHEMA.field("labels"), lists)
            if groups is not None:
                column = _name_groups(groups.codes[rows][kept], groups.names)
                table = table.append_column(GROUPED_SCHEMA.field("group"), column)
            for index, file in enumerate(files):
                file.add(table.filter(pa.array(part[kept] == index)))


def _build_lists(labels: SparseRows, names: Any) -> Any:
    offsets = pa.array(labels.indptr, pa.int32())
    return pa.ListArray.from_arrays(offsets, names.take(pa.array(labels.indices)))


def _name_groups(codes: NDArray[np.int64], names: list[str]) -> Any:
    return pa.array(names, pa.string()).take(pa.array(codes, pa.int64(), mask=codes < 0))


class _SplitFile:
    """A file of one split; small tables are joined, for small row groups read slowly."""

    def __init__(self, path: Path, schema: Any):
        self._writer = pq.ParquetWriter(
            path, schema, compression="zstd", use_dictionary=_REPEATED, write_statistics=False
        )
        self._waiting: list[Any] = []

    def __enter__(self) -> _SplitFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._flush()
        self._writer.close()

    def add(self, table: Any) -> None:
        self._waiting.append(table)
        rows = sum(waiting.num_rows for waiting in self._waiting)
        if rows >= _GROUP_ROWS or sum(waiting.nbytes for waiting in self._waiting) >= _GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.concat_tables(self._waiting))
        self._waiting = []
