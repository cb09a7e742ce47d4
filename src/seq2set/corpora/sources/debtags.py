"""Debian package descriptions with their debtags.

From apt's package index (or files of one, named with --from): the text is the short and the long
description, the labels are the package's tags, and packages built from one source stay in one split, for
sister packages share most of their words. Packages without tags are left out: nobody has tagged them yet.
So are packages that repeat a description word by word, for the like of them would stand in training and in
test. Only tags of at least 50 packages are kept, or of as many as were asked for, and packages that keep one.

Or from a folder with train.jsonl, val.jsonl and test.jsonl (`id`, `source`, `text`, `labels`), split and
labelled as given; or from one such file, split by source.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from seq2set.corpora.document import Document
from seq2set.corpora.readers.jsonl import read_jsonl
from seq2set.corpora.readers.options import ReadOptions
from seq2set.corpora.sources.debian_index import (
    IndexFiles,
    Stanza,
    apt_files,
    index_files,
    long_descriptions,
    read_stanzas,
)
from seq2set.corpora.sources.frequent import with_frequent_labels
from seq2set.corpora.sources.options import SourceOptions
from seq2set.corpora.sources.source import Notes, Reading, Source, remark
from seq2set.corpora.splits import SplitPlan
from seq2set.corpora.streams import COMPRESSIONS, bare_name
from seq2set.errors import CorpusError

MIN_PACKAGES = 50
UPDATE = "apt-get update -o Acquire::Languages=en"
"""The command that fetches the index with its long descriptions."""

_GIVEN = SplitPlan("given", valid=0.1)
_COUNTS = ("packages", "packages_without_tags", "repeated_descriptions", "without_long_description")
_NAMES = {"train": ("train",), "valid": ("val", "valid", "dev"), "test": ("test",)}


def _read(path: Path | None, options: SourceOptions) -> Reading:
    options.chosen_split("debtags")
    if path is not None and not path.exists():
        raise CorpusError("there is no such file or folder", path)
    if path is not None and path.is_dir() and (files := _jsonl_files(path)):
        return Reading(_from_jsonl(files, options), options.plan(_GIVEN), {"form": "jsonl"})
    if path is not None and Path(bare_name(path)).suffix == ".jsonl":
        return Reading(_jsonl(path, options), options.plan(DEBTAGS.plan), {"form": "jsonl"})
    notes: Notes = {"form": "package index"}
    packages = _from_index(_index(path), notes)
    documents = with_frequent_labels(packages, options.least_documents(MIN_PACKAGES), notes)
    return Reading(documents, options.plan(DEBTAGS.plan), notes)


def _jsonl_files(folder: Path) -> dict[str, Path]:
    """Find the files of the three splits; there is no corpus without train."""
    found = {}
    for split, names in _NAMES.items():
        places = (folder / f"{name}.jsonl{suffix}" for name in names for suffix in ("", *COMPRESSIONS))
        if file := next((place for place in places if place.is_file()), None):
            found[split] = file
    return found if "train" in found else {}


def _from_jsonl(files: dict[str, Path], options: SourceOptions) -> Iterator[Document]:
    for split, file in files.items():
        for document in _jsonl(file, options):
            yield document._replace(split=split)


def _jsonl(file: Path, options: SourceOptions) -> Iterator[Document]:
    return read_jsonl(file, ReadOptions(group="source", encoding=options.encoding or "utf-8"))


def _index(path: Path | None) -> IndexFiles:
    if path is None:
        files = apt_files()
        if not files.packages:
            raise CorpusError(f"apt has no package index here; fetch it as root with: {UPDATE}")
        if not files.translations:
            raise CorpusError(
                f"apt's package index has no long descriptions; fetch them as root with: {UPDATE}"
            )
        return files
    files = index_files(path.rglob("*")) if path.is_dir() else IndexFiles([path], [])
    if not files.packages:
        raise CorpusError("the folder holds neither train.jsonl nor a file named Packages", path)
    return files


def _from_index(files: IndexFiles, notes: Notes) -> Iterator[Document]:
    descriptions = long_descriptions(files.translations)
    counts: dict[str, int] = dict.fromkeys(_COUNTS, 0)
    seen: set[str] = set()
    stanzas = (stanza for file in files.packages for stanza in read_stanzas(file))
    for stanza in (stanza for stanza in stanzas if "Package" in stanza):
        document = _document(stanza, descriptions)
        counts["packages"] += 1
        if not document.labels:
            counts["packages_without_tags"] += 1
        elif document.text in seen:
            counts["repeated_descriptions"] += 1
        else:
            counts["without_long_description"] += "\n" not in _description(stanza, descriptions)
            seen.add(document.text)
            yield document
    if not counts["packages"]:
        raise CorpusError(
            "there is no package here; the stanzas of a package index are wanted", files.packages[0]
        )
    notes.update(counts)
    if (short := counts["without_long_description"]) and not files.translations:
        remark(notes, f"there is no Translation-en here, so {short:,} packages have a short description only")


def _document(stanza: Stanza, descriptions: dict[str, str]) -> Document:
    tags = (tag.strip() for tag in stanza.get("Tag", "").split(","))
    labels = tuple(dict.fromkeys(tag for tag in tags if tag))
    group = stanza.get("Source", stanza["Package"]).split(" ")[0]
    return Document(stanza["Package"], _flat(_description(stanza, descriptions)), labels, group=group)


def _description(stanza: Stanza, descriptions: dict[str, str]) -> str:
    own = stanza.get("Description-en") or stanza.get("Description", "")
    return own if "\n" in own else descriptions.get(stanza.get("Description-md5", ""), own)


def _flat(description: str) -> str:
    """Join the lines; a line with only a full stop stands for an empty one."""
    return " ".join(" ".join(line for line in description.split("\n") if line.strip() != ".").split())


DEBTAGS = Source(
    name="debtags",
    title="Debian package descriptions with debtags",
    obtained=f"apt's package index on Debian ({UPDATE}), or JSON lines",
    licence="package descriptions, as in Debian's package index",
    needs_path=False,
    read=_read,
    plan=SplitPlan("grouped", valid=0.05, test=0.05),
)
