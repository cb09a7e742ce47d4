"""Debian package descriptions with their debtags.

From apt's package index (or files of one, named with --from): the text is the short and the long
description, the labels are the package's tags, and packages built from one source stay in one split, for
sister packages share most of their words. Packages without tags are left out: nobody has tagged them yet.
So are packages that repeat a description word by word, for the like of them would stand in training and in
test. Only tags of at least 50 packages are kept, or of as many as were asked for, and packages that keep one.

A package index holds stanzas of fields. A stanza of a `Packages` file has the short description and its
checksum; the long one stands in a `Translation-en` file under that checksum, unless the stanza holds it
itself.

Or from a folder with train.jsonl, val.jsonl and test.jsonl (`id`, `source`, `text`, `labels`), split and
labelled as given; or from one such file, split by source.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from seq2set.core.errors import CorpusError, InputError, WorkError
from seq2set.corpora.documents import Document
from seq2set.corpora.prepare import PrepareOptions
from seq2set.corpora.readers import read_documents
from seq2set.corpora.readers.options import ReadOptions
from seq2set.corpora.readers.streams import find_file, read_lines, strip_compression
from seq2set.corpora.sources.raw_corpus import Notes, RawCorpus, add_remark, keep_frequent_labels
from seq2set.corpora.splits import SplitPlan

Stanza = dict[str, str]

MIN_PACKAGES = 50
UPDATE = "apt-get update -o Acquire::Languages=en"
"""The command that fetches the index with its long descriptions."""

_GIVEN = SplitPlan("given", valid=0.1)
_GROUPED = SplitPlan("grouped", valid=0.05, test=0.05)
_COUNTS = ("packages", "packages_without_tags", "repeated_descriptions", "without_long_description")
_NAMES = {"train": ("train",), "valid": ("val", "valid", "dev"), "test": ("test",)}
_WANTED = {"Package", "Source", "Tag", "Description", "Description-en", "Description-md5"}
_PACKAGES = re.compile(r".*Packages(\.\w+)?")
_TRANSLATION = re.compile(r".*Translation-en(\.\w+)?")
_BY_PYARROW = {".lz4": "lz4", ".bz2": "bz2"}


class _Index(NamedTuple):
    """The files of packages, and those of their long descriptions."""

    packages: list[Path]
    descriptions: list[Path]


def read_debtags(path: Path | None, options: PrepareOptions) -> RawCorpus:
    """Read apt's package index, or the files at `path` in any of their forms."""
    if path is not None and not path.exists():
        raise CorpusError("there is no such file or folder", path)
    if path is not None and path.is_dir() and (files := _find_jsonl(path)):
        return RawCorpus(_read_splits(files, options), options.complete(_GIVEN), {"form": "jsonl"})
    if path is not None and Path(strip_compression(path)).suffix == ".jsonl":
        return RawCorpus(_read_jsonl(path, options), options.complete(_GROUPED), {"form": "jsonl"})
    notes: Notes = {"form": "package index"}
    documents = _read_index(_find_index(path), notes)
    documents = keep_frequent_labels(documents, options.get_min_label_documents(MIN_PACKAGES), notes)
    return RawCorpus(documents, options.complete(_GROUPED), notes)


def _find_jsonl(folder: Path) -> dict[str, Path]:
    """Find the files of the three splits; there is no corpus without train."""
    places = {split: [f"{name}.jsonl" for name in names] for split, names in _NAMES.items()}
    found = {split: file for split, names in places.items() if (file := find_file(folder, *names))}
    return found if "train" in found else {}


def _read_splits(files: dict[str, Path], options: PrepareOptions) -> Iterator[Document]:
    for split, file in files.items():
        for document in _read_jsonl(file, options):
            yield document._replace(split=split)


def _read_jsonl(file: Path, options: PrepareOptions) -> Iterator[Document]:
    return read_documents(file, ReadOptions(group="source", encoding=options.encoding or "utf-8"))


def _find_index(path: Path | None) -> _Index:
    if path is None:
        if shutil.which("apt-get") is None:
            raise InputError(
                "debtags needs apt's package index, but there is no apt-get here; name files with --from"
            )
        command = ["apt-get", "-o", "Acquire::Languages=en", "indextargets", "--format", "$(FILENAME)"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            raise WorkError(f"'{' '.join(command)}' failed: {done.stderr.strip()[:200]}")
        index = _pick_index_files(Path(line) for line in done.stdout.splitlines())
        if not index.packages:
            raise CorpusError(f"apt has no package index here; fetch it as root with: {UPDATE}")
        if not index.descriptions:
            raise CorpusError(
                f"apt's package index has no long descriptions; fetch them as root with: {UPDATE}"
            )
        return index
    index = _pick_index_files(path.rglob("*")) if path.is_dir() else _Index([path], [])
    if not index.packages:
        raise CorpusError("the folder holds neither train.jsonl nor a file named Packages", path)
    return index


def _read_index(index: _Index, notes: Notes) -> Iterator[Document]:
    long_ones = (stanza for file in index.descriptions for stanza in read_stanzas(file))
    whole = (one for one in long_ones if one.keys() >= {"Description-md5", "Description-en"})
    descriptions = {one["Description-md5"]: one["Description-en"] for one in whole}
    counts: dict[str, int] = dict.fromkeys(_COUNTS, 0)
    seen: set[str] = set()
    stanzas = (stanza for file in index.packages for stanza in read_stanzas(file))
    for stanza in (stanza for stanza in stanzas if "Package" in stanza):
        document = _build(stanza, descriptions)
        counts["packages"] += 1
        if not document.labels:
            counts["packages_without_tags"] += 1
        elif document.text in seen:
            counts["repeated_descriptions"] += 1
        else:
            counts["without_long_description"] += "\n" not in _find_description(stanza, descriptions)
            seen.add(document.text)
            yield document
    if not counts["packages"]:
        raise CorpusError(
            "there is no package here; the stanzas of a package index are expected", index.packages[0]
        )
    notes.update(counts)
    if (short := counts["without_long_description"]) and not index.descriptions:
        add_remark(
            notes, f"there is no Translation-en here, so {short:,} packages have a short description only"
        )


def _build(stanza: Stanza, descriptions: dict[str, str]) -> Document:
    tags = (tag.strip() for tag in stanza.get("Tag", "").split(","))
    labels = tuple(dict.fromkeys(tag for tag in tags if tag))
    group = stanza.get("Source", stanza["Package"]).split(" ")[0]
    lines = _find_description(stanza, descriptions).split("\n")
    # A line with only a full stop stands for an empty one.
    text = " ".join(" ".join(line for line in lines if line.strip() != ".").split())
    return Document(stanza["Package"], text, labels, group=group)


def _find_description(stanza: Stanza, descriptions: dict[str, str]) -> str:
    own = stanza.get("Description-en") or stanza.get("Description", "")
    return own if "\n" in own else descriptions.get(stanza.get("Description-md5", ""), own)


def _pick_index_files(paths: Iterable[Path]) -> _Index:
    # A part of the archive without packages has an empty file, which is no fault.
    there = sorted(path for path in paths if path.is_file() and path.stat().st_size)
    packages = [path for path in there if _PACKAGES.fullmatch(path.name)]
    return _Index(packages, [path for path in there if _TRANSLATION.fullmatch(path.name)])


def read_stanzas(path: Path) -> Iterator[Stanza]:
    """Yield the stanzas of a file, with the fields that matter here; lines of a field stay lines."""
    for _, lines in groupby(_read_lines(path), key=lambda line: bool(line.strip())):
        stanza, name = Stanza(), ""
        for line in lines:
            if line[:1] not in " \t":
                name, _, value = line.partition(":")
                if name in _WANTED:
                    stanza[name] = value.strip()
            elif name in stanza:
                stanza[name] += "\n" + line[1:]
        if stanza:
            yield stanza


def _read_lines(path: Path) -> Iterator[str]:
    kind = _BY_PYARROW.get(path.suffix.lower())
    if kind is None:
        yield from (line.text for line in read_lines(path))
        return
    try:
        with pa.input_stream(str(path), compression=kind) as raw, io.BufferedReader(raw) as stream:
            for line in stream:
                yield line.decode("utf-8", "replace").rstrip("\n")
    except OSError as error:
        raise CorpusError(f"the file is damaged, or not a {path.suffix} file: {error}", path) from error
