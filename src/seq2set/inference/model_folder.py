"""The model folder: safe to copy anywhere and to open, because nothing in it is code.

::

    model.safetensors   the numbers
    config.json         the settings, and what training found
    tokenizer.json      the words
    labels.json         the labels with their training frequencies
    README.md           the model card
    encoder_*.json      of a model that tuned a pretrained encoder: its settings and its sub-words
    seen.safetensors    hashes of the texts that it was trained and tuned on; may be deleted
    onnx.json, *.onnx   after `seq2set export`: the network as graphs
    graphs.safetensors  their weights
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
from seq2set.config import Config, validate
from seq2set.config.catalog import RUNTIMES
from seq2set.core.errors import InputError, MissingExtraError, ModelFolderError
from seq2set.core.files import put_file, report_output_errors, write_folder_aside, write_json, write_text
from seq2set.core.names import find_named
from seq2set.core.outputs import FolderKind
from seq2set.core.tensor_files import TensorForm, check_forms, read_header
from seq2set.corpora.seen_texts import NOTHING_KNOWN, SeenTexts
from seq2set.inference.manifest import CARD as CARD
from seq2set.inference.manifest import (
    CONFIG,
    LABELS,
    SEEN,
    TOKENIZER,
    build_manifest,
    describe_file,
    read_json_file,
    read_manifest,
    read_text_file,
)
from seq2set.inference.manifest import FORMAT as FORMAT
from seq2set.inference.manifest import MANIFEST as MANIFEST
from seq2set.inference.manifest import TENSORS as TENSORS
from seq2set.inference.manifest import find_model_folder as find_model_folder
from seq2set.inference.manifest import verify as verify
from seq2set.inference.runtimes import choose_runtime, read_tensors, restore_tagger
from seq2set.inference.saved_settings import read_config
from seq2set.labels.confidence.acceptance import Confidence
from seq2set.labels.labels import Labels
from seq2set.labels.rules import make_global_rule
from seq2set.models.tagger import ModelState, Outline, Tagger
from seq2set.nn.pretrained.encoder_source import OWN_FILES, use_saved_parts
from seq2set.text.vocabulary import Words

MODEL = FolderKind("model", mark=MANIFEST)
"""What `force` may replace"""


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
    with write_folder_aside(folder, force=force, kind=MODEL) as aside:
        save_file({key: np.ascontiguousarray(value) for key, value in state.tensors.items()}, aside / TENSORS)
        settings = state.config.model_dump(mode="json")
        write_json(
            aside / CONFIG, {"settings": settings, "facts": dict(state.fitted), "about": dict(metadata)}
        )
        write_text(aside / TOKENIZER, state.words.to_json())
        write_json(aside / LABELS, state.labels.to_dict())
        for name, text in state.files.items():
            write_text(aside / name, text)
        write_text(aside / CARD, card)
        if arrays := seen.arrays():
            save_file(arrays, aside / SEEN)
        write_json(aside / MANIFEST, build_manifest(aside))


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
    config = {"settings": read_config(folder).settings, "facts": dict(facts), "about": dict(metadata)}
    with replace_files(folder) as aside:
        write_json(aside / CONFIG, config)
        write_text(aside / CARD, card)
        if seen is not None:
            save_file(seen.arrays(), aside / SEEN)


@contextmanager
def replace_files(folder: Path, drop: Iterable[str] = ()) -> Iterator[Path]:
    """Yield an empty folder, whose files replace those to drop in a model folder.

    Whenever this is killed, the folder can be opened.
    """
    with report_output_errors(folder):
        aside = Path(tempfile.mkdtemp(prefix=".new.", dir=folder))
        try:
            yield aside
            new = {path.name: describe_file(path) for path in sorted(aside.iterdir())}
            manifest = read_manifest(folder) | {"format": FORMAT, "seq2set": seq2set.__version__}
            files, gone = manifest["files"], set(drop) - new.keys()
            kept = {name: about for name, about in files.items() if name not in gone}
            # Until all files are in their place, the old and the new ones are right.
            both = {name: files[name] | {"next": new[name]["sha256"]} for name in new.keys() & files.keys()}
            moving = {name: about | {"moving": True} for name, about in new.items() if name not in files}
            moving |= {name: files[name] | {"moving": True} for name in gone & files.keys()}
            write_json(folder / MANIFEST, manifest | {"files": kept | both | moving})
            for name in new:
                put_file(aside / name, folder / name, (folder / CONFIG).stat().st_mode)
            for name in gone:
                (folder / name).unlink(missing_ok=True)
            write_json(folder / MANIFEST, manifest | {"files": kept | new})
        finally:
            shutil.rmtree(aside, ignore_errors=True)


def load_model(folder: Path, runtime: str = "auto", threads: int = 1) -> Tagger:
    """Check a model folder against its manifest, and put the model together on a runtime."""
    folder = find_model_folder(folder)
    files = verify(folder)
    find_named("runtime", runtime, RUNTIMES)
    try:
        saved = read_config(folder)
        config = validate(saved.settings, place=str(folder / CONFIG))
        runtime = choose_runtime(runtime, config.model, files)
        words = Words.from_json(read_text_file(folder, TOKENIZER))
        labels = Labels.from_dict(read_json_file(folder, LABELS))
        outline = Outline(config, len(words), len(labels), _update_facts(saved.facts))
        texts = {name: read_text_file(folder, name) for name in OWN_FILES if name in files}
        with use_saved_parts(outline.fitted, texts):
            tensors = read_tensors(folder, outline, runtime)
            state = ModelState(config, words, labels, tensors, outline.fitted)
            tagger = restore_tagger(state, folder, files, runtime, threads)
        tagger.rule.refuse_misfit(len(labels))
        tagger.confidence.refuse_misfit(len(labels))
        return tagger
    except (ModelFolderError, MissingExtraError):
        raise
    except KeyError as error:
        raise ModelFolderError(f"{_describe(folder)}: {error} is missing") from error
    except (TypeError, ValueError, RuntimeError, SafetensorError, InputError) as error:
        raise ModelFolderError(f"{_describe(folder)}: {error}") from error


def _describe(folder: Path) -> str:
    # The checksums are right, so the folder was written like this: by other software, or by hand.
    return f"{folder} does not hold a model that can be opened"


def _update_facts(saved: Mapping[str, Any]) -> dict[str, Any]:
    """Return what training found; a folder of format 1 has a threshold where there is a rule now."""
    facts = dict(saved)
    if "threshold" in facts:
        facts["rule"] = make_global_rule(facts.pop("threshold")).to_dict()
    return facts


def read_metadata(folder: Path) -> dict[str, Any]:
    """Return what training recorded about a model: data, metrics, sizes."""
    return read_config(find_model_folder(folder)).about


def read_settings(folder: Path) -> Config:
    """Return the settings of a saved model, without opening it."""
    folder = find_model_folder(folder)
    verify(folder)
    return validate(read_config(folder).settings, place=str(folder / CONFIG))


def read_confidence(folder: Path) -> Confidence:
    """Return how a saved model's scores become probabilities, without opening it."""
    return Confidence.from_dict(read_config(find_model_folder(folder)).facts.get("confidence"))


def read_model_name(folder: Path) -> str:
    """Return the name of a saved model, without opening it."""
    folder = find_model_folder(folder)
    verify(folder)
    return str(read_config(folder).settings.get("model"))


def read_seen(folder: Path) -> SeenTexts:
    """Return what a model remembers of the texts that it was trained and tuned on."""
    path = find_model_folder(folder) / SEEN
    if not path.is_file():
        return NOTHING_KNOWN
    try:
        entries = read_header(path)
        forms = {name: TensorForm("U64", (name,)) for name in entries.keys() & set(SeenTexts._fields)}
        check_forms(entries, forms, {})
        return SeenTexts.from_arrays(load_file(path))
    except (OSError, ValueError, SafetensorError) as error:
        raise ModelFolderError(f"{path} cannot be read: {error}") from error
