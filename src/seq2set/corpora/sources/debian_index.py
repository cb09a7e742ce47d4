"""Debian's package index: stanzas of fields, and where apt keeps them.

A stanza of a `Packages` file has the short description and its checksum; the long one stands in a
`Translation-en` file under that checksum, unless the stanza holds it itself.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from seq2set.corpora.streams import numbered_lines
from seq2set.errors import CorpusError, InputError, WorkError

Stanza = dict[str, str]

_WANTED = {"Package", "Source", "Tag", "Description", "Description-en", "Description-md5"}
_PACKAGES = re.compile(r".*Packages(\.\w+)?")
_TRANSLATION = re.compile(r".*Translation-en(\.\w+)?")
_BY_PYARROW = {".lz4": "lz4", ".bz2": "bz2"}


class IndexFiles(NamedTuple):
    """The files of a package index."""

    packages: list[Path]
    translations: list[Path]


def apt_files() -> IndexFiles:
    """Ask apt where its package index lies."""
    if shutil.which("apt-get") is None:
        raise InputError(
            "debtags needs apt's package index, but there is no apt-get here; name files with --from"
        )
    command = ["apt-get", "-o", "Acquire::Languages=en", "indextargets", "--format", "$(FILENAME)"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise WorkError(f"'{' '.join(command)}' failed: {done.stderr.strip()[:200]}")
    return index_files(Path(line) for line in done.stdout.splitlines())


def index_files(paths: Iterable[Path]) -> IndexFiles:
    """Pick the files of a package index out of others by their names."""
    # A part of the archive without packages has an empty file, which is no fault.
    there = sorted(path for path in paths if path.is_file() and path.stat().st_size)
    return IndexFiles(
        [path for path in there if _PACKAGES.fullmatch(path.name)],
        [path for path in there if _TRANSLATION.fullmatch(path.name)],
    )


def read_stanzas(path: Path) -> Iterator[Stanza]:
    """Give the stanzas of a file, with the fields that matter here; lines of a field stay lines."""
    stanza: Stanza = {}
    name = ""
    for line in _lines(path):
        if not line.strip():
            if stanza:
                yield stanza
            stanza, name = {}, ""
        elif line[0] in " \t":
            if name in stanza:
                stanza[name] += "\n" + line[1:]
        else:
            name, _, value = line.partition(":")
            if name in _WANTED:
                stanza[name] = value.strip()
    if stanza:
        yield stanza


def long_descriptions(files: Iterable[Path]) -> dict[str, str]:
    """Return the descriptions of `Translation-en` files by their checksums."""
    found: dict[str, str] = {}
    for stanza in (stanza for file in files for stanza in read_stanzas(file)):
        if "Description-md5" in stanza and "Description-en" in stanza:
            found[stanza["Description-md5"]] = stanza["Description-en"]
    return found


def _lines(path: Path) -> Iterator[str]:
    kind = _BY_PYARROW.get(path.suffix.lower())
    if kind is None:
        yield from (line.text for line in numbered_lines(path))
        return
    try:
        with pa.input_stream(str(path), compression=kind) as raw, io.BufferedReader(raw) as stream:
            for line in stream:
                yield line.decode("utf-8", "replace").rstrip("\n")
    except OSError as error:
        raise CorpusError(f"the file is damaged, or not a {path.suffix} file: {error}", path) from error
