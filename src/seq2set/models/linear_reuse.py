"""Trainings of a linear model that differ in how it decides fit the very same classifiers.

Binary relevance at its default threshold and at a tuned one is such a pair: the second has its thresholds to
find alone.
"""

from __future__ import annotations

from collections.abc import Callable

from seq2set.config import Config
from seq2set.config.provenance import Provenance
from seq2set.config.run_folder import RunFolder
from seq2set.core.files import copy_file

LATER: tuple[str, ...] = ("decision.",)
"""The settings that fitting does not read."""


def take_over(
    run: RunFolder, other: RunFolder, config: Config, documents: Callable[[], Provenance]
) -> float | None:
    """Give a new run the classifiers that another has fitted; return the seconds that this took it.

    Returns None where the other has none, has others, or has fitted them on other `documents`, which are
    asked for last: that reads them.
    """
    fitted = sorted(other.checkpoints.glob("*.safetensors"))
    if not fitted or not other.differs_only_in(LATER, config) or not other.stands_on(documents()):
        return None
    RunFolder.start(run.path, config, provenance=documents())
    for checkpoint in fitted:
        copy_file(checkpoint, run.checkpoints / checkpoint.name)
    return float(sum(fit["seconds"] for fit in other.records()))
