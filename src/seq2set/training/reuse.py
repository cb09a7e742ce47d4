"""Trainings that begin alike: one takes over where another began its self-critical phase.

The warm start reads no setting of the objective, of the self-critical phase or of the decision at the end, so
that two trainings which differ in nothing else are the same up to there, bit for bit. Trying several rewards
then takes one warm start.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from safetensors.torch import save_file

from seq2set.config import Config
from seq2set.config.provenance import Provenance
from seq2set.config.run_folder import RunFolder
from seq2set.core.files import copy_file, write_aside, write_text
from seq2set.training.checkpoint import LAST, best_file, stored_place, stored_weights

LATER: tuple[str, ...] = ("objective.", "self_critical.", "decision.")
"""The settings that the warm start does not read."""


def take_over(
    run: RunFolder, other: RunFolder, config: Config, documents: Callable[[], Provenance]
) -> float | None:
    """Bring a new run to where another's self-critical phase began; return the seconds that this took it.

    Returns None where the two do not begin alike, on the same `documents`, which are asked for last: that
    reads them. The checkpoint comes last: a run that is stopped before begins like any other.
    """
    if not other.beginning.is_file() or not other.differs_only_in(LATER, config):
        return None
    if not other.stands_on(documents()):
        return None
    RunFolder.start(run.path, config, provenance=documents())
    place = stored_place(other.beginning)
    kept = other.records()[: place.records]
    write_text(run.history, "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in kept))
    with write_aside(best_file(run.checkpoints, place.best_update)) as aside:
        save_file(stored_weights(other.beginning), aside)
    copy_file(other.beginning, run.beginning)
    copy_file(other.beginning, run.checkpoints / LAST)
    return float(sum(look["seconds"] + look["validation_seconds"] for look in kept))
