"""Trainings that begin alike: one takes over where another began its self-critical phase.

The warm start reads no setting of the objective, of the self-critical phase or of the decision at the end, so
that two trainings which differ in nothing else are the same up to there, bit for bit. Trying several rewards
then takes one warm start.
"""

from __future__ import annotations

import json

from safetensors.torch import save_file

from seq2set.config import Config, changes, load_config
from seq2set.files import write_text, written_aside
from seq2set.models.building import SET_MODELS
from seq2set.runs import RunFolder
from seq2set.training.checkpoint import (
    LAST,
    best_file,
    copy_checkpoint,
    stored_place,
    stored_weights,
)

_LATER = ("objective.", "self_critical.", "decision.")
"""The settings that the warm start does not read."""


def begins_alike(one: Config, other: Config) -> bool:
    """Say whether two trainings of a set model are the same until their self-critical phases."""
    if not {one.model, other.model} <= set(SET_MODELS):
        return False
    return all(change.startswith(_LATER) for change in changes(one, other))


def take_over(run: RunFolder, other: RunFolder, config: Config) -> bool:
    """Bring a new run to where another's self-critical phase began; say whether they begin alike.

    The checkpoint comes last: a run that is stopped before begins like any other.
    """
    if not other.beginning.is_file() or not begins_alike(load_config(other.config), config):
        return False
    RunFolder.start(run.path, config)
    place = stored_place(other.beginning)
    kept = other.records()[: place.records]
    write_text(run.history, "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in kept))
    with written_aside(best_file(run.checkpoints, place.best_update)) as aside:
        save_file(stored_weights(other.beginning), aside)
    copy_checkpoint(other.beginning, run.beginning)
    copy_checkpoint(other.beginning, run.checkpoints / LAST)
    return True
