"""The pretrained encoder that a network reads with: found by its name, or part of a saved model.

A model whose encoder stays as it is names it, with its SHA-256. A model that tunes its encoder has the
weights among its own and, as two files of its folder, what the encoder's folder says of network and tokens.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from seq2set.config import Config
from seq2set.core.errors import ConfigError, InputError
from seq2set.core.text_utils import join_names
from seq2set.nn.pretrained.encoder_folder import (
    CONFIG,
    EncoderFolder,
    find_encoder,
    read_settings,
    read_tokenizer,
    refuse_unfit,
)
from seq2set.nn.pretrained.encoder_parts import KINDS, clean_settings
from seq2set.nn.pretrained.tokenizer_parts import refuse_unknown_parts

OWN_CONFIG, OWN_TOKENIZER = "encoder_config.json", "encoder_tokenizer.json"
"""What a model folder has of an encoder that was tuned, beside its weights"""
OWN_FILES = (OWN_CONFIG, OWN_TOKENIZER)

WINDOW = 256
"""Sub-words per window, with those that mark its ends"""


class SavedParts(NamedTuple):
    """What a saved model has of its encoder, beside weights."""

    facts: Mapping[str, Any]
    files: Mapping[str, str]


@dataclass(frozen=True)
class EncoderSource:
    """An encoder of which everything is known but the weights, and where those are."""

    folder: EncoderFolder
    settings: Mapping[str, Any]
    """What its `config.json` says"""
    tokenizer: str
    """What its `tokenizer.json` says"""
    tuned: bool
    window: int = WINDOW
    has_weights: bool = True
    """Whether its folder has the weights; those of a saved model that tuned it are the model's"""

    def facts(self) -> dict[str, Any]:
        """Return what a model records of it, plain JSON."""
        name, _, sha256, revision = self.folder
        known = {"encoder": name, "sha256": sha256, "revision": revision, "window": self.window}
        return {"pretrained": known | {"tuned": self.tuned}}

    def files(self) -> dict[str, str]:
        """Return the files that a model folder has of it."""
        if not self.tuned:
            return {}
        settings = json.dumps(clean_settings(self.settings), indent=1)
        return {OWN_CONFIG: settings, OWN_TOKENIZER: self.tokenizer}


_SAVED: ContextVar[SavedParts | None] = ContextVar("saved", default=None)


@contextmanager
def use_saved_parts(facts: Mapping[str, Any], files: Mapping[str, str]) -> Iterator[None]:
    """Let encoders that are built in the block be that of a saved model."""
    token = _SAVED.set(SavedParts(facts, files))
    try:
        yield
    finally:
        _SAVED.reset(token)


def find_source(config: Config) -> EncoderSource:
    """Find the encoder that the settings name or, of a model that is opened, the one it was trained with."""
    saved, tuned = _SAVED.get(), config.encoder.tune != "none"
    if saved is None:
        return _open_named(config.encoder.pretrained, tuned=tuned)
    facts = saved.facts["pretrained"]
    if tuned:
        return _restore(facts, saved.files)
    folder = find_encoder(facts["encoder"], facts["sha256"], facts["revision"])
    return _read(folder, tuned=False, window=facts["window"])


def _open_named(name: str, *, tuned: bool) -> EncoderSource:
    if not name:
        raise ConfigError(
            [
                "encoder.pretrained is ''; with encoder.kind 'transformer' it must name a pretrained encoder "
                "(`make weights` fetches one)"
            ]
        )
    source = _read(find_encoder(name), tuned=tuned, window=WINDOW)
    if tuned:
        _refuse_unsavable(source)
    return source


def _read(folder: EncoderFolder, *, tuned: bool, window: int) -> EncoderSource:
    return EncoderSource(folder, read_settings(folder.path), read_tokenizer(folder.path), tuned, window)


def _refuse_unsavable(source: EncoderSource) -> None:
    """Refuse to tune what a model folder could not be opened with."""
    path, kind = source.folder.path, source.settings["model_type"]
    if kind not in KINDS:
        raise InputError(
            f"{path / CONFIG}: model_type is '{kind}', which is read as it is alone (encoder.tune='none'); "
            f"what can be tuned are {join_names(KINDS)}"
        )
    try:
        refuse_unknown_parts(source.tokenizer)
    except ValueError as error:
        raise InputError(f"{path} is read as it is alone (encoder.tune='none'): {error}") from error


def _restore(facts: Mapping[str, Any], files: Mapping[str, str]) -> EncoderSource:
    """Put together what a model folder has of its encoder."""
    if missing := [name for name in OWN_FILES if name not in files]:
        raise InputError(f"{missing[0]} is missing, without which its encoder cannot be built")
    refuse_unknown_parts(files[OWN_TOKENIZER])
    settings = json.loads(files[OWN_CONFIG])
    if not isinstance(settings, dict):
        raise InputError(f"{OWN_CONFIG} does not describe an encoder")
    refuse_unfit(settings, Path(OWN_CONFIG))
    folder = EncoderFolder(facts["encoder"], Path(), facts["sha256"], facts["revision"])
    return EncoderSource(folder, settings, files[OWN_TOKENIZER], True, facts["window"], has_weights=False)
