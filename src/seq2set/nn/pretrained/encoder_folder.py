"""The folder of a pretrained encoder: found by its name, and checked before anything of it is run.

::

    config.json         sizes and kind of the network, as the transformers library reads them
    tokenizer.json      how a text becomes sub-words
    model.safetensors   the weights

Weights in other formats are refused, since reading them may run code, and so is a folder that brings code of
its own.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from seq2set.core.errors import InputError, import_extra
from seq2set.core.files import compute_sha256, read_json
from seq2set.corpora.cache import get_cache_folder

CONFIG, TOKENIZER, WEIGHTS = "config.json", "tokenizer.json", "model.safetensors"
PARTS = (CONFIG, TOKENIZER, WEIGHTS)

_UNSAFE = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".h5", ".msgpack")
_RANGES = {
    "num_hidden_layers": (1, 1000),
    "num_attention_heads": (1, 1000),
    "vocab_size": (1, 10_000_000),
    "max_position_embeddings": (3, 10_000_000),
    "pad_token_id": (0, 10_000_000),
    "num_labels": (0, 100_000),
}
"""What whole numbers of an encoder's settings may be: a network is built by them before it is compared"""
_ATTENTION = ("attn_implementation", "_attn_implementation", "_attn_implementation_internal")
_REPLACEMENTS = 10
"""How many replacements a tokenizer may make, one after the other."""
_DEEPEST = 6
"""How many folders down a package is searched."""


class EncoderFolder(NamedTuple):
    """An encoder that was found and looks right."""

    name: str
    """What it was called by"""
    path: Path
    sha256: str
    """Of all three files"""
    revision: str = ""
    """Of an encoder that came from a hub: which of its versions"""


def find_encoder(name: str, sha256: str = "", revision: str = "") -> EncoderFolder:
    """Find an encoder: a path, a folder of the cache, an installed package that carries one, or a hub's name.

    With `sha256` it must be the very one that a model was trained with.
    """
    path, revision = _locate(name, revision)
    found = EncoderFolder(name, path, check_folder(path), revision)
    if sha256 and found.sha256 != sha256:
        raise InputError(
            f"the encoder '{name}' in {path} is not the one that the model was trained with: its SHA-256 is "
            f"{found.sha256[:16]} and was {sha256[:16]}; put the old files back, or train again"
        )
    return found


def is_present(name: str) -> bool:
    """Say whether an encoder is on this machine, without reading its weights."""
    try:
        return _locate_here(name) is not None
    except InputError:
        return False


def _locate(name: str, revision: str) -> tuple[Path, str]:
    if (here := _locate_here(name)) is not None:
        return here, ""
    if name.count("/") != 1 or name.startswith((".", "/", "~")):
        raise InputError(
            f"the encoder '{name}' is neither a folder, nor in {get_cache_folder() / 'encoders'}, nor an "
            "installed package; `make weights` fetches one, and a hub's names look like 'owner/name'"
        )
    return _fetch(name, revision)


def _locate_here(name: str) -> Path | None:
    with suppress(OSError, RuntimeError, ValueError):  # such as the home of nobody, or too long a name
        for path in (Path(name).expanduser(), get_cache_folder() / "encoders" / name):
            if path.is_dir():
                return path
    return _find_in_package(name) if name.isidentifier() else None


def _find_in_package(name: str) -> Path | None:
    found = importlib.util.find_spec(name)
    folders = [] if found is None else list(found.submodule_search_locations or [])
    weights = sorted(one for root in folders for one in _search(Path(root), _DEEPEST))
    if folders and not weights:
        raise InputError(f"the package '{name}' carries no encoder: there is no {WEIGHTS} in it")
    if len(weights) > 1:
        names = ", ".join(str(one) for one in weights)
        raise InputError(f"the package '{name}' carries several encoders; name one by its folder: {names}")
    return weights[0] if weights else None


def _search(root: Path, depth: int) -> list[Path]:
    if (root / WEIGHTS).is_file():
        return [root]
    inner = [path for path in root.iterdir() if path.is_dir()] if depth else []
    return [found for path in inner for found in _search(path, depth - 1)]


def _fetch(name: str, revision: str) -> tuple[Path, str]:
    hub: Any = import_extra("huggingface_hub", "pretrained")
    try:
        path = Path(hub.snapshot_download(name, revision=revision or None, allow_patterns=list(PARTS)))
    except Exception as error:  # whatever the network, the hub or its library says
        raise InputError(
            f"the encoder '{name}' is not on this machine and cannot be fetched ({type(error).__name__}): "
            f"there is neither {Path(name).absolute()} nor {get_cache_folder() / 'encoders' / name}; "
            "without a network, give a folder or an installed package that carries one"
        ) from error
    return path, path.name  # a snapshot is called after its revision


def check_folder(path: Path) -> str:
    """Refuse a folder that is not an encoder that can be opened safely; return its SHA-256."""
    if not (path / WEIGHTS).is_file():
        unsafe = sorted(file.name for file in path.iterdir() if file.suffix in _UNSAFE)
        if unsafe:
            raise InputError(
                f"{path} has its weights in {unsafe[0]}, a format that can run code when it is opened; only "
                f"{WEIGHTS} is read: convert it first"
            )
        raise InputError(f"{path} holds no weights: there is no {WEIGHTS} in it")
    for name in (CONFIG, TOKENIZER):
        if not (path / name).is_file():
            raise InputError(f"{path} is not an encoder's folder: there is no {name} in it")
    refuse_unfit(read_settings(path), path / CONFIG)
    _refuse_growing_texts(path)
    whole = hashlib.sha256()
    for name in PARTS:
        whole.update(f"{name} {compute_sha256(path / name)}\n".encode())
    return whole.hexdigest()


def refuse_unfit(settings: Mapping[str, Any], place: Path) -> None:
    """Refuse settings of a network that asks for code of its own, is no encoder, or has odd sizes."""
    if "auto_map" in settings:
        raise InputError(f"{place} asks for code of its own (auto_map), which is never run")
    for name in _ATTENTION:
        # A name with an owner is that of a hub's repository, whose code would be fetched and run.
        if settings.get(name) not in (None, "eager", "sdpa"):
            raise InputError(f"{place}: {name} is {str(settings[name])[:50]!r}; it must be 'eager' or 'sdpa'")
    if settings.get("return_dict") is False:
        raise InputError(f"{place}: return_dict is False; it must be True, where it is given")
    if settings.get("quantization_config") is not None:
        raise InputError(f"{place} says that the weights are quantised, which is not read")
    if settings.get("is_encoder_decoder") or settings.get("is_decoder"):
        raise InputError(f"{place} is not an encoder's: it describes a network that writes text")
    for name, (least, most) in _RANGES.items():
        value = settings.get(name)
        if value is None:  # as good as not there
            continue
        if type(value) is not int or not least <= value <= most:
            said = repr(value)[:50]
            raise InputError(f"{place}: {name} is {said}; it must be a whole number from {least} to {most:,}")


def _refuse_growing_texts(path: Path) -> None:
    """Refuse a tokenizer whose replacements, one after the other, make a text longer and longer."""
    try:
        tokenizer = read_json(path / TOKENIZER)
    except (OSError, ValueError) as error:
        raise InputError(f"{path / TOKENIZER} is not a tokenizer that can be read: {error}") from error
    found = list(_find_replacements(tokenizer))
    grown = [one for one in found if len(str(one.get("content"))) > max(1, len(_get_pattern(one)))]
    if grown or len(found) > _REPLACEMENTS:
        raise InputError(
            f"{path / TOKENIZER} makes texts longer by replacements, or has over {_REPLACEMENTS}; no encoder "
            "needs that"
        )


def _find_replacements(part: Any) -> Iterator[dict[str, Any]]:
    if isinstance(part, dict) and part.get("type") == "Replace":
        yield part
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        if isinstance(inner, dict | list):
            yield from _find_replacements(inner)


def _get_pattern(replacement: dict[str, Any]) -> str:
    """Return the text that is replaced; of an expression nothing, since it may stand for a letter."""
    pattern = replacement.get("pattern")
    return str(pattern.get("String", "")) if isinstance(pattern, dict) else ""


def read_tokenizer(path: Path) -> str:
    """Return what `tokenizer.json` says."""
    try:
        return (path / TOKENIZER).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path / TOKENIZER} cannot be read: {error}") from error


def read_settings(path: Path) -> dict[str, Any]:
    """Return what `config.json` says."""
    try:
        settings = read_json(path / CONFIG)
    except (OSError, ValueError) as error:
        raise InputError(f"{path / CONFIG} cannot be read: {error}") from error
    if not isinstance(settings, dict) or "model_type" not in settings:
        raise InputError(f"{path / CONFIG} does not say what it describes: there is no 'model_type' in it")
    return settings
