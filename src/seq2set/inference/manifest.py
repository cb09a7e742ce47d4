"""The manifest of a model folder: which files belong to it, and that they are those that were saved.

What is listed must lie in the folder itself, be a plain file, and have the recorded size and checksum. What
is not listed does not belong there: a folder of which a part comes from elsewhere is refused. Names that
begin with a point are passed over, because file managers and stopped writes leave some.
"""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path, PurePosixPath
from typing import Any

import seq2set
from seq2set.core.errors import ModelFolderError
from seq2set.core.files import compute_sha256, update_keys

FORMAT = 4
"""Raised when a folder written from now on could not be read by earlier versions."""

MANIFEST = "manifest.json"
TENSORS, CONFIG, TOKENIZER, LABELS = "model.safetensors", "config.json", "tokenizer.json", "labels.json"
CARD = "README.md"
SEEN = "seen.safetensors"
"""Not needed to open a model; without it `evaluate` cannot notice documents that the model has seen."""

LARGEST = 1 << 27
"""How many bytes a file of JSON or text may have"""

MOST_VALUES = 10_000_000
"""How many values a file of JSON may have: an empty list takes two letters, and much more memory"""

_HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""How JSON writes half a surrogate pair, of which both halves are a letter and one is none"""


def find_model_folder(path: Path) -> Path:
    """Return the model folder for a run or a model folder."""
    for candidate in (path, path / "model"):
        if (candidate / MANIFEST).is_file():
            return candidate
    if not path.exists():
        raise ModelFolderError(f"{path} does not exist; it must be a run or a model folder")
    hint = " (the run has not finished: pass --resume to train)" if (path / "config.toml").is_file() else ""
    raise ModelFolderError(f"{path} holds no model: there is no {MANIFEST} in it{hint}")


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return what a folder says of itself."""
    manifest = read_json_file(folder, MANIFEST)
    version = manifest.get("format") if isinstance(manifest, dict) else None
    if type(version) is not int:
        raise ModelFolderError(f"{folder / MANIFEST} is not a manifest of a model folder")
    if version > FORMAT:
        raise ModelFolderError(
            f"{folder} has format version {version}, and this version of seq2set ({seq2set.__version__}) "
            f"reads up to {FORMAT}; upgrade seq2set to open it"
        )
    files = manifest.get("files")
    if not isinstance(files, dict) or not {TENSORS, CONFIG, TOKENIZER, LABELS} <= files.keys():
        raise ModelFolderError(f"{folder / MANIFEST} does not list all files of a model")
    result: dict[str, Any] = manifest
    return result


def verify(folder: Path) -> dict[str, Any]:
    """Refuse a folder whose files are not, byte for byte, those that were saved; return what is there."""
    files: dict[str, Any] = read_manifest(folder)["files"]
    for name in files:
        _check_name(folder, name)
    there = {path.relative_to(folder).as_posix() for path in _walk(folder)} - {MANIFEST}
    if others := sorted(there - files.keys()):
        raise ModelFolderError(
            f"{folder / others[0]} is not listed in {MANIFEST}; a model folder holds its own files alone, "
            "move it elsewhere"
        )
    for name in sorted(files.keys() - there):
        if name != SEEN and not _may_be_missing(files[name]):
            raise ModelFolderError(f"{folder / name} is missing; copy the model folder again")
    for name in sorted(there):
        _verify_file(folder / name, files[name])
    return {name: files[name] for name in sorted(there)}


def _check_name(folder: Path, name: str) -> None:
    parts = PurePosixPath(name).parts
    plain = "\\" not in name and ":" not in name and "\0" not in name and "/".join(parts) == name
    if not plain or not parts or any(part.startswith(".") or part == "/" for part in parts):
        raise ModelFolderError(
            f"{folder / MANIFEST} lists '{name}', which lies outside the folder or is hidden in it"
        )


def _walk(folder: Path) -> list[Path]:
    """Return all files under a folder; refuse what is neither a plain file nor a folder."""
    found: list[Path] = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        mode = path.lstat().st_mode
        if stat.S_ISDIR(mode):
            found.extend(_walk(path))
        else:
            _refuse_special(path, mode)
            found.append(path)
    return found


def _refuse_special(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = "a link" if stat.S_ISLNK(mode) else "no plain file"
        raise ModelFolderError(f"{path} is {kind}; a model folder holds plain files alone")


def _may_be_missing(recorded: Any) -> bool:
    """Say whether a file may be absent: `replace_files` was stopped halfway."""
    return isinstance(recorded, dict) and recorded.get("moving") is True


def _verify_file(path: Path, recorded: Any) -> None:
    if not isinstance(recorded, dict) or not isinstance(recorded.get("bytes"), int):
        raise ModelFolderError(f"{path.parent / MANIFEST} does not say how large {path.name} is")
    size = path.stat().st_size
    if "next" not in recorded and size != recorded["bytes"]:
        raise ModelFolderError(
            f"{path} is damaged: it has {size:,} bytes, and {MANIFEST} says {recorded['bytes']:,}; copy the "
            "folder again"
        )
    if compute_sha256(path) not in (recorded.get("sha256"), recorded.get("next")):
        raise ModelFolderError(
            f"{path} is damaged: its SHA-256 is not the one in {MANIFEST}; copy the folder again"
        )


def build_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a folder that is complete but for it."""
    files = {path.relative_to(folder).as_posix(): describe_file(path) for path in _walk(folder)}
    return {"format": FORMAT, "seq2set": seq2set.__version__, "files": files}


def describe_file(path: Path) -> dict[str, Any]:
    """Return what a manifest says of a file."""
    return {"sha256": compute_sha256(path), "bytes": path.stat().st_size}


def read_text_file(folder: Path, name: str) -> str:
    """Return the text of a file of a model folder, or say why it cannot be read."""
    path = folder / name
    try:
        _refuse_special(path, path.lstat().st_mode)
        if path.stat().st_size > LARGEST:
            raise ModelFolderError(f"{path} has {path.stat().st_size:,} bytes; at most {LARGEST:,} are read")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ModelFolderError(f"{path} cannot be read: it is not UTF-8") from error
    except OSError as error:
        raise ModelFolderError(f"{path} cannot be read: {error.strerror}") from error


def read_json_file(folder: Path, name: str) -> Any:
    """Return what a JSON file of a model folder holds, without numbers and letters that are none."""
    text = read_text_file(folder, name)
    if text.count(",") >= MOST_VALUES:  # those within words are few
        raise ModelFolderError(f"{folder / name} has more than {MOST_VALUES:,} values; no more are read")
    try:
        value = update_keys(json.loads(text, parse_constant=_refuse_constant))
        if _HALF.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError as error:
        raise ModelFolderError(f"{folder / name} cannot be read: it is nested too deeply") from error
    except UnicodeEncodeError as error:
        raise ModelFolderError(f"{folder / name} cannot be read: it holds half a surrogate pair") from error
    except ValueError as error:
        raise ModelFolderError(f"{folder / name} cannot be read: {error}") from error
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")


def read_card(folder: Path) -> str:
    """Return the model card; a folder that lists none has none."""
    folder = find_model_folder(folder)
    return read_text_file(folder, CARD) if CARD in read_manifest(folder)["files"] else ""
