"""The first pass over a corpus: texts go to a file, and what is known of the documents to others.

Word counts, labels, groups and hashes of the ids are all in files: memory does not grow with the corpus.
`split_files` then writes the texts into the files of the three splits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from seq2set.core.errors import CorpusError
from seq2set.core.flat_arrays import FlatArray, FlatLists
from seq2set.corpora.documents import SPLITS, Document
from seq2set.corpora.splits import find_split_index
from seq2set.text.tokenizer import count_words

TEXTS = pa.schema([("id", pa.string()), ("text", pa.string())])
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
            index = None if document.split is None else find_split_index(document.split)
            if index is None:
                seen = "no split" if document.split is None else f"the split '{document.split}'"
                raise CorpusError(
                    f"document '{document.id}' has {seen}; split as 'given' needs {', '.join(SPLITS)}"
                )
            self.given.append(index)
        if document.group is None and self.needs_group:
            raise CorpusError(f"document '{document.id}' has no group; split by 'grouped' needs one in each")
        groups = self._group_codes
        self.groups.append(-1 if document.group is None else groups.setdefault(document.group, len(groups)))

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
        TEXTS,
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
        return pa.table([ids, texts], schema=TEXTS)
    except UnicodeEncodeError:
        return pa.table([list(map(_mend_surrogates, ids)), list(map(_mend_surrogates, texts))], schema=TEXTS)


def _mend_surrogates(text: str) -> str:
    """Replace half surrogate pairs, which JSON can hold and UTF-8 cannot."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _hash(name: str) -> int:
    digest = hashlib.blake2b(_mend_surrogates(name).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


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
