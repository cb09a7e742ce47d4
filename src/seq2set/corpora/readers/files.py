"""The files that one name stands for: a file, a folder of files, several with commas between, or a pattern.

Files of a folder that are called after splits, such as `train.csv` and `test.csv`, are those splits.
Addresses such as `s3://bucket/a.csv` are copied first, where pyarrow can open them.
"""

from __future__ import annotations

import glob
import hashlib
import re
import shutil
from pathlib import Path
from typing import NamedTuple

from seq2set.core.errors import CorpusError
from seq2set.core.files import compute_sha256, write_aside
from seq2set.corpora.readers import has_known_format
from seq2set.corpora.readers.aapd import is_aapd, list_aapd_files
from seq2set.corpora.readers.plain_text import list_texts
from seq2set.corpora.readers.streams import check_file, strip_compression
from seq2set.corpora.splits import find_split_index

_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)


RETRY_SECONDS = 20
"""How long a storage that does not answer is tried"""


class SourceFile(NamedTuple):
    """A file, or a folder that is read as one, and the split that it holds where that is known."""

    path: Path
    split: str | None = None


def find_files(name: str, cache: Path) -> list[SourceFile]:
    """Return the files that a name stands for; none where there is no such file or folder of files."""
    if _ADDRESS.match(name):
        return [SourceFile(_fetch(name, cache))]
    path = Path(name)
    if path.is_file() or is_aapd(path):
        return [SourceFile(path)]
    if path.is_dir():
        return list_folder(path)
    if glob.has_magic(name):
        found = sorted(map(Path, glob.glob(name, recursive=True)))  # noqa: PTH207 (may be absolute)
        return [SourceFile(one) for one in found if one.is_file()]
    parts = [Path(part.strip()) for part in name.split(",")]
    return [SourceFile(part) for part in parts] if len(parts) > 1 and all(map(Path.is_file, parts)) else []


def list_folder(folder: Path) -> list[SourceFile]:
    """Return the tables of a folder, or the folder itself where it holds texts; none where it has neither."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name[0] not in "._")
    tables = [path for path in files if has_known_format(path) and path.suffix != ".txt"]
    if not tables:
        return [SourceFile(folder)] if list_texts(folder) else []
    splits = [find_split_in_name(path) for path in tables]
    if "train" in splits and None not in splits:
        return [SourceFile(path, split) for path, split in zip(tables, splits, strict=True)]
    return [SourceFile(path) for path in tables]


def find_split_in_name(path: Path) -> str | None:
    """Return the split that a file is called after, as in `train.csv` and `my_test-0.parquet`."""
    stem = Path(strip_compression(path)).stem.lower()
    for word in re.split(r"[^a-z]+", stem):
        if (index := find_split_index(word)) is not None:
            return ("train", "valid", "test")[index]
    return None


def refuse_missing(name: str) -> None:
    """Say which file of a name is not there; nothing where the name cannot mean files."""
    if glob.has_magic(name):
        raise CorpusError("no file matches", name)
    parts = [Path(part.strip()) for part in name.split(",")]
    if len(parts) > 1 and any(part.exists() for part in parts):
        for part in parts:
            check_file(part)
    path = Path(name)
    if not path.is_dir() and (path.suffix or len(path.parts) > 1):
        check_file(path)


def make_absolute(name: str) -> str:
    """Return a name that stands for the same files in every working directory."""
    if _ADDRESS.match(name):
        return name
    if Path(name).exists() or "," not in name:
        return str(Path(name).absolute())
    return ",".join(str(Path(part.strip()).absolute()) for part in name.split(","))


def hash_files(files: list[SourceFile]) -> str:
    """Return a digest of what files hold; the same for any copy."""
    sums = [_hash_file(path) for file in files for path in _list_parts(file.path)]
    return sums[0] if len(sums) == 1 else hashlib.sha256("".join(sums).encode()).hexdigest()


def _list_parts(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    if is_aapd(path):
        return [file for files in list_aapd_files(path) for file in (files.texts, files.labels)]
    return list_texts(path)


def _hash_file(path: Path) -> str:
    try:
        return compute_sha256(path)
    except PermissionError as error:
        raise CorpusError("the file cannot be read: permission is denied", path) from error


def _fetch(address: str, cache: Path) -> Path:
    """Copy a file that pyarrow can open to the cache."""
    from pyarrow import fs

    name = address.rstrip("/").rsplit("/", 1)[-1]
    copy = cache / "fetched" / hashlib.sha256(address.encode()).hexdigest()[:16] / name
    try:
        system, place = fs.FileSystem.from_uri(limit_retries(address))
        source = system.open_input_stream(place, compression=None)
        with source, write_aside(copy) as aside, aside.open("wb") as target:
            shutil.copyfileobj(source, target)
    except Exception as error:  # what else is installed opens some, and raises what it likes
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise CorpusError(
            f"the address cannot be opened ({reason}); download the file, and name it", address
        ) from error
    return copy


def limit_retries(address: str) -> str:
    """Let Google's storage be tried for seconds, unless the address says how long: it would be 15 minutes."""
    if not address.startswith(("gs://", "gcs://")) or "retry_limit_seconds" in address:
        return address
    return f"{address}{'&' if '?' in address else '?'}retry_limit_seconds={RETRY_SECONDS}"
