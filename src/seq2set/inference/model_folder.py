"""The model folder: safe to copy anywhere and to open, because nothing in it is code.

::

    model.safetensors   the numbers
    config.json         the settings, and what training found
    tokenizer.json      the words
    labels.json         the labels with their training frequencies
    README.md           the model card
    seen.safetensors    hashes of the texts that it was trained and tuned on; may be deleted
    onnx.json, *.onnx   after `seq2set export`: the network as graphs
    manifest.json       format version, SHA-256 and size of every other file

Everything that is read was checked against the manifest first.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

import seq2set
from seq2set.config import validate
from seq2set.config.catalog import RUNTIMES
from seq2set.core.errors import InputError, MissingExtraError, ModelFolderError
from seq2set.core.files import (
    compute_sha256,
    put_file,
    read_json,
    report_output_errors,
    write_folder_aside,
    write_json,
    write_text,
)
from seq2set.core.names import find_named
from seq2set.corpora.seen_texts import NOTHING_KNOWN, SeenTexts
from seq2set.inference.runtimes import TENSORS as TENSORS
from seq2set.inference.runtimes import choose_runtime, read_tensors, restore_tagger
from seq2set.labels.labels import Labels
from seq2set.labels.rules import make_global_rule
from seq2set.models.tagger import ModelState, Tagger
from seq2set.text.vocabulary import Words

FORMAT = 3
"""Raised when a folder written from now on could not be read by earlier versions."""

MANIFEST = "manifest.json"
CONFIG, TOKENIZER, LABELS = "config.json", "tokenizer.json", "labels.json"
CARD = "README.md"
SEEN = "seen.safetensors"
"""Not needed to open a model; without it `evaluate` cannot notice documents that the model has seen."""


def save_model(
    tagger: Tagger,
    folder: Path,
    *,
    card: str,
    metadata: Mapping[str, Any],
    seen: SeenTexts = NOTHING_KNOWN,
    force: bool = False,
) -> None:
    """Write a model folder, whole or not at all; `about` holds facts on its training (plain JSON)."""
    state = tagger.state()
    with write_folder_aside(folder, force=force) as aside:
        save_file({key: np.ascontiguousarray(value) for key, value in state.tensors.items()}, aside / TENSORS)
        settings = state.config.model_dump(mode="json")
        write_json(
            aside / CONFIG, {"settings": settings, "facts": dict(state.fitted), "about": dict(metadata)}
        )
        write_text(aside / TOKENIZER, state.words.to_json())
        write_json(aside / LABELS, state.labels.to_dict())
        write_text(aside / CARD, card)
        if arrays := seen.arrays():
            save_file(arrays, aside / SEEN)
        write_json(aside / MANIFEST, _build_manifest(aside))


def renew_model(
    folder: Path,
    *,
    facts: Mapping[str, Any],
    metadata: Mapping[str, Any],
    card: str,
    seen: SeenTexts | None = None,
) -> None:
    """Replace what training found, the model card and, where it is given, what the model has seen.

    Whenever this is killed, the folder can be opened.
    """
    folder = find_model_folder(folder)
    settings = _read_json(folder / CONFIG)["settings"]
    config = {"settings": settings, "facts": dict(facts), "about": dict(metadata)}
    with replace_files(folder) as aside:
        write_json(aside / CONFIG, config)
        write_text(aside / CARD, card)
        if seen is not None:
            save_file(seen.arrays(), aside / SEEN)


@contextmanager
def replace_files(folder: Path, drop: Iterable[str] = ()) -> Iterator[Path]:
    """Yield an empty folder; put its files into a model folder in the place of those to drop.

    Whenever this is killed, the folder can be opened.
    """
    with report_output_errors(folder):
        aside = Path(tempfile.mkdtemp(prefix=".new.", dir=folder))
        try:
            yield aside
            new = {path.name: _describe_file(path) for path in sorted(aside.iterdir())}
            manifest = _read_json(folder / MANIFEST) | {"format": FORMAT, "seq2set": seq2set.__version__}
            gone = set(drop) - new.keys()
            files = {name: about for name, about in manifest["files"].items() if name not in gone}
            # Until all files are in their place, the old and the new ones are right.
            both = {name: files[name] | {"next": new[name]["sha256"]} for name in new.keys() & files.keys()}
            write_json(folder / MANIFEST, manifest | {"files": files | both})
            for name in new:
                put_file(aside / name, folder / name, (folder / CONFIG).stat().st_mode)
            write_json(folder / MANIFEST, manifest | {"files": files | new})
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    for name in gone:
        (folder / name).unlink(missing_ok=True)


def load_model(folder: Path, runtime: str = "auto", threads: int = 1) -> Tagger:
    """Check a model folder against its manifest, and put the model together on a runtime."""
    folder = find_model_folder(folder)
    files = verify(folder)
    find_named("runtime", runtime, RUNTIMES)
    try:
        saved = _read_json(folder / CONFIG)
        config = validate(saved["settings"], place=str(folder / CONFIG))
        runtime = choose_runtime(runtime, config.model, files)
        state = ModelState(
            config=config,
            words=Words.from_json((folder / TOKENIZER).read_text(encoding="utf-8")),
            labels=Labels.from_dict(_read_json(folder / LABELS)),
            tensors=read_tensors(folder, config.model, runtime),
            fitted=_update_facts(saved["facts"]),
        )
        tagger = restore_tagger(state, folder, files, runtime, threads)
        tagger.rule.refuse_misfit(len(state.labels))
        return tagger
    except (ModelFolderError, MissingExtraError):
        raise
    except (KeyError, TypeError, ValueError, SafetensorError, InputError) as error:
        # The checksums are right, so the folder was written like this: by other software, or by hand.
        raise ModelFolderError(f"{folder} does not hold a model that can be opened: {error}") from error


def _update_facts(saved: Mapping[str, Any]) -> dict[str, Any]:
    """Return what training found; a folder of format 1 has a threshold where there is a rule now."""
    facts = dict(saved)
    if "threshold" in facts:
        facts["rule"] = make_global_rule(facts.pop("threshold")).to_dict()
    return facts


def read_metadata(folder: Path) -> dict[str, Any]:
    """Return what training recorded about a model: data, metrics, sizes."""
    metadata: dict[str, Any] = _read_json(find_model_folder(folder) / CONFIG)["about"]
    return metadata


def read_model_name(folder: Path) -> str:
    """Return the name of a saved model, without opening it."""
    folder = find_model_folder(folder)
    verify(folder)
    name: str = _read_json(folder / CONFIG)["settings"]["model"]
    return name


def read_seen(folder: Path) -> SeenTexts:
    """Return what a model remembers of the texts that it was trained and tuned on."""
    path = find_model_folder(folder) / SEEN
    try:
        return SeenTexts.from_arrays(load_file(path)) if path.is_file() else NOTHING_KNOWN
    except SafetensorError as error:
        raise ModelFolderError(f"{path} cannot be read: {error}") from error


def find_model_folder(path: Path) -> Path:
    """Return the model folder for a run or a model folder."""
    for candidate in (path, path / "model"):
        if (candidate / MANIFEST).is_file():
            return candidate
    if not path.exists():
        raise ModelFolderError(f"{path} does not exist; a run or a model folder is wanted")
    hint = " (the run has not finished: pass --resume to train)" if (path / "config.toml").is_file() else ""
    raise ModelFolderError(f"{path} holds no model: there is no {MANIFEST} in it{hint}")


def verify(folder: Path) -> dict[str, Any]:
    """Refuse a folder whose files are not, byte for byte, those that were saved; return what is listed."""
    manifest = _read_json(folder / MANIFEST)
    version = manifest.get("format") if isinstance(manifest, dict) else None
    if not isinstance(version, int):
        raise ModelFolderError(f"{folder / MANIFEST} is not a manifest of a model folder")
    if version > FORMAT:
        raise ModelFolderError(
            f"{folder} has format version {version}, and this version of seq2set ({seq2set.__version__}) "
            f"reads up to {FORMAT}; upgrade seq2set to open it"
        )
    files = manifest.get("files")
    if not isinstance(files, dict) or not {TENSORS, CONFIG, TOKENIZER, LABELS} <= files.keys():
        raise ModelFolderError(f"{folder / MANIFEST} does not list all files of a model")
    for name, recorded in files.items():
        _verify_file(folder, name, recorded)
    return files


def _verify_file(folder: Path, name: str, recorded: Any) -> None:
    if Path(name).name != name:
        raise ModelFolderError(f"{folder / MANIFEST} lists '{name}', which lies outside the folder")
    if not (folder / name).is_file():
        if name == SEEN:
            return
        raise ModelFolderError(f"{folder / name} is missing; copy the model folder again")
    if not isinstance(recorded, dict) or compute_sha256(folder / name) not in (
        recorded.get("sha256"),
        recorded.get("next"),
    ):
        raise ModelFolderError(
            f"{folder / name} is damaged: its SHA-256 is not the one in {MANIFEST}; copy the folder again"
        )


def _build_manifest(folder: Path) -> dict[str, Any]:
    files = {path.name: _describe_file(path) for path in sorted(folder.iterdir())}
    return {"format": FORMAT, "seq2set": seq2set.__version__, "files": files}


def _describe_file(path: Path) -> dict[str, Any]:
    return {"sha256": compute_sha256(path), "bytes": path.stat().st_size}


def _read_json(path: Path) -> Any:
    try:
        return read_json(path)
    except (OSError, ValueError) as error:
        raise ModelFolderError(f"{path} cannot be read: {error}") from error
