"""The prepared corpus: a folder with one Parquet file per split, and `corpus.json`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from seq2set.core.errors import CorpusError, UnknownNameError
from seq2set.core.files import compute_sha256, read_json
from seq2set.corpora.cache import compute_sha256_once
from seq2set.corpora.carve import SEED
from seq2set.corpora.documents import SPLITS, Document
from seq2set.corpora.readers.parquet import StoredColumn, open_parquet
from seq2set.corpora.readers.parquet_format.pages import check_pages
from seq2set.labels.labels import LabelTree

FACTS = "corpus.json"
"""The file that says what a prepared corpus is."""

READING = "reading"
"""The note that says how a file of the user's own was read, in sentences."""

DRAWN = "drawn"
"""The note that the test split of a corpus whose documents name their splits was drawn here all the same."""

STRIPPED = "html_removed"
"""The note that HTML was removed from the texts."""

FORMAT = 1
"""The version of the folder's layout."""

SCHEMA = pa.schema([("id", pa.string()), ("text", pa.string()), ("labels", pa.list_(pa.string()))])
"""The columns of each split's file."""

GROUPED_SCHEMA = SCHEMA.append(pa.field("group", pa.string()))
"""The columns where documents have groups; those of one group are no independent samples."""


BATCH = 4096
"""How many documents are held in memory at a time."""


def name_split_file(name: str) -> str:
    """Return the name of a split's file."""
    return f"{name}.parquet"


class Split:
    """One part of a prepared corpus: whole columns at once, or documents in batches."""

    def __init__(self, path: Path, name: str):
        self.path, self.name = path, name
        with open_parquet(path) as source:
            self._rows = source.footer.rows
            self._grouped: bool = "group" in source.file.schema_arrow.names

    def __len__(self) -> int:
        return self._rows

    def ids(self) -> list[str]:
        """Return the ids of all documents."""
        return self._column("id")

    def texts(self) -> list[str]:
        """Return the texts of all documents."""
        return self._column("text")

    def labels(self) -> list[list[str]]:
        """Return the labels of all documents."""
        return self._column("labels")

    def groups(self) -> list[str] | None:
        """Return the group of each document, its own where it has none; None where no document has one."""
        groups = self.iter_groups()
        return None if groups is None else list(groups)

    def store(self, name: str) -> StoredColumn[Any]:
        """Return a column that stays in the file."""
        return StoredColumn(self.path, name)

    def iter_labels(self) -> Iterator[list[str]]:
        """Yield the labels of each document, without reading all at once."""
        return iter(self.store("labels"))

    def iter_groups(self) -> Iterator[str] | None:
        """Do the same for the groups, as `groups` returns them."""
        if not self._grouped:
            return None
        pairs = zip(self.store("group"), self.store("id"), strict=True)
        return (f"document {name}" if group is None else group for group, name in pairs)

    def iter_batches(self, size: int) -> Iterator[list[Document]]:
        """Yield the documents in batches of `size`, the last one smaller, without reading all at once."""
        with open_parquet(self.path) as source:
            for batch in source.file.iter_batches(size):
                yield [
                    Document(row["id"], row["text"], tuple(row["labels"]), self.name, row.get("group"))
                    for row in batch.to_pylist()
                ]

    def _column(self, name: str) -> list[Any]:
        with open_parquet(self.path) as source:
            values: list[Any] = source.file.read(columns=[name]).column(name).to_pylist()
        return values


class Location(NamedTuple):
    """The file or folder that a corpus was opened from."""

    path: str
    """Absolute"""
    digest: str = ""
    """Of the content, where it is no prepared corpus itself"""


class PreparedCorpus:
    """A corpus that is ready to train and evaluate on."""

    def __init__(self, folder: Path, facts: dict[str, Any]):
        self.folder = folder
        self.facts = facts
        """What `corpus.json` holds."""
        self.location: Location | None = None
        """Where it was opened from, where that is a path and no known name."""

    @classmethod
    def open(cls, folder: Path) -> PreparedCorpus:
        """Open a folder after checking that its files have the recorded sizes, checksums and columns."""
        corpus = cls(folder, _read_facts(folder))
        for name in SPLITS:
            corpus._check_file(name_split_file(name))
        return corpus

    @property
    def name(self) -> str:
        """The corpus's name."""
        return str(self.facts["name"])

    @property
    def fingerprint(self) -> str:
        """A short text that differs where the documents, or their split, differ."""
        recorded = [self._get_recorded(name_split_file(name)) for name in SPLITS]
        # Files without page checksums are their own content.
        sums = "".join(file.get("content", file["sha256"]) for file in recorded)
        return hashlib.sha256(sums.encode()).hexdigest()[:16]

    @property
    def remarks(self) -> list[str]:
        """What whoever uses the corpus should know: what was removed, and how its file was read."""
        removed = self.facts.get("counts", {}).get("documents_removed_for_length", 0)
        documents = f"{removed:,} documents were" if removed != 1 else "1 document was"
        limit = self.facts.get("max_words")
        gone = f"{documents} removed when {self.name} was prepared: more than {limit} words"
        return ([gone] if removed else []) + list(self.facts.get("notes", {}).get(READING, []))

    @property
    def has_given_splits(self) -> bool:
        """Whether the documents came with their splits; otherwise they were split when it was prepared.

        A part of a corpus that was split here, and a test split that was drawn as the source names none, did
        not come with it.
        """
        given = bool(self.facts.get("split", {}).get("method") == "given")
        return given and not self.facts.get("notes", {}).get(DRAWN)

    @property
    def was_stripped(self) -> bool:
        """Whether HTML was removed from its texts, so that a model that learns from them has to remove it."""
        return bool(self.facts.get("notes", {}).get(STRIPPED))

    @property
    def seed(self) -> int:
        """The seed by which the corpus was split, and by which validation is carved where it has none."""
        return int(self.facts.get("split", {}).get("seed", SEED))

    def split(self, name: str) -> Split:
        """Return a split by its name."""
        if name not in SPLITS:
            raise UnknownNameError("split", name, SPLITS)
        return Split(self.folder / name_split_file(name), name)

    def iter_documents(self, progress: Callable[[int], None] | None = None) -> Iterator[tuple[str, Document]]:
        """Yield every document with its split, in the order of `SPLITS`; `progress` counts them."""
        for name in SPLITS:
            for batch in self.split(name).iter_batches(BATCH):
                yield from ((name, document) for document in batch)
                if progress:
                    progress(len(batch))

    def verify(self) -> None:
        """Compare the checksum of every file with the recorded one, which reads all of them."""
        for name in map(name_split_file, SPLITS):
            self._compare(name, compute_sha256(self.folder / name))

    def _compare(self, name: str, digest: str) -> None:
        if digest != self._get_recorded(name)["sha256"]:
            raise CorpusError(
                f"the file's SHA-256 is not the one in {FACTS}; prepare the corpus again", self.folder / name
            )

    def _get_recorded(self, name: str) -> dict[str, Any]:
        recorded: dict[str, Any] = self.facts["files"][name]
        return recorded

    def _check_file(self, name: str) -> None:
        path = self.folder / name
        recorded = self._get_recorded(name)["bytes"]
        if not path.is_file():
            raise CorpusError("the file of the prepared corpus is missing; prepare it again", path)
        if path.stat().st_size != recorded:
            raise CorpusError(
                f"the file has {path.stat().st_size:,} bytes and {FACTS} says {recorded:,}; prepare it again",
                path,
            )
        try:
            digest = compute_sha256_once(path, _check_columns)
        except OSError as error:
            raise CorpusError(f"the file cannot be read: {error.strerror}", path) from error
        self._compare(name, digest)


def _check_columns(path: Path) -> None:
    """Refuse other columns than ours, cells without a value, and pages that would not fit into memory."""
    with open_parquet(path) as source:
        found = source.file.schema_arrow
        if not any(found.equals(schema) for schema in (SCHEMA, GROUPED_SCHEMA)):
            seen = ", ".join(f"{field.name}: {field.type}" for field in found)
            raise CorpusError(
                f"the columns are {seen}; they must be id: string, text: string, labels: list<string>, "
                "and may be followed by group: string",
                path,
            )
        before, rows = 0, check_pages(path, source.footer)
        for batch in source.file.iter_batches(rows, columns=SCHEMA.names):
            _refuse_null(batch, path, before)
            before += batch.num_rows


def _refuse_null(batch: Any, path: Path, before: int) -> None:
    labels = batch.column("labels")
    inner = labels.flatten().null_count
    for name in SCHEMA.names:
        column = batch.column(name)
        if column.null_count or (name == "labels" and inner):
            row = next((row for row, one in enumerate(column) if not one.is_valid), None)
            place = f"row {before + row + 1}" if row is not None else f"rows {before + 1} and on"
            raise CorpusError(f"the column '{name}' has no value in {place}; prepare the corpus again", path)


def is_prepared(folder: Path) -> bool:
    """Return whether a folder says that it is a prepared corpus."""
    return (folder / FACTS).is_file()


def _read_facts(folder: Path) -> dict[str, Any]:
    path = folder / FACTS
    if not folder.is_dir():
        raise CorpusError("the folder of the prepared corpus does not exist", folder)
    if not path.is_file():
        raise CorpusError(f"the folder has no {FACTS}; it is not a prepared corpus", folder)
    try:
        facts: dict[str, Any] = read_json(path)
        if facts["format"] != FORMAT or not isinstance(facts["name"], str):
            raise CorpusError(f"the file is not of format {FORMAT}; prepare the corpus again", path)
        fault = _find_fault(facts)
    except (AttributeError, KeyError, OSError, TypeError, ValueError) as error:
        raise CorpusError("the file is damaged or incomplete; prepare the corpus again", path) from error
    if fault:
        raise CorpusError(f"the file is damaged or incomplete: {fault}; prepare the corpus again", path)
    return facts


def _find_fault(facts: dict[str, Any]) -> str | None:
    """Say what of `corpus.json` cannot be used; it is asked for now, and not after hours of training."""
    for name in map(name_split_file, SPLITS):
        recorded = facts["files"][name]
        if not isinstance(recorded["sha256"], str) or not isinstance(recorded["bytes"], int):
            return f"files.{name} has no size or checksum"
    for name in ("source", "licence"):
        if not isinstance(facts.get(name), str):
            return f"{name} is {facts.get(name)!r:.60}; it must be a text"
    for name in ("counts", "split", "notes"):
        if not isinstance(facts.get(name, {}), dict):
            return f"{name} is {facts[name]!r:.60}; it must be an object"
    if type(facts.get("split", {}).get("seed", 0)) is not int:
        return "split.seed is no whole number"
    tree = facts.get("notes", {}).get("tree") or {}
    if not isinstance(tree, dict) or not all(one is None or isinstance(one, str) for one in tree.values()):
        return "notes.tree does not name a label's parent, or null, for each label"
    cycle = LabelTree(tree).find_cycle()
    return None if cycle is None else f"in notes.tree the label '{cycle}' stands above itself"
