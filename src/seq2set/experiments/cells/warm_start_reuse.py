"""Cells that begin alike: a new run takes over what a finished part of another has learnt, bit for bit.

The warm start reads no setting of the objective, of the self-critical phase or of the decision at the end, so
that trying several rewards takes one warm start. Linear classifiers do not depend on how they decide: binary
relevance at its default threshold and at a tuned one fits them once. The time of what was taken over counts
as if the run had done all by itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from seq2set.config import Config
from seq2set.config.catalog import find_model, reads
from seq2set.config.loader import differ_only_in
from seq2set.config.run_folder import RunFolder
from seq2set.core.files import copy_file, write_aside, write_text
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.workflows.train import record_provenance


class ReuseRule(NamedTuple):
    """What runs of one kind can take over from each other."""

    later: tuple[str, ...]
    """The settings that are read only after it"""
    sentence: str
    is_ready: Callable[[RunFolder], bool]
    copy: Callable[[RunFolder, RunFolder], float]
    """Copies it from one run to another, and returns the seconds that it took"""


class Reused(NamedTuple):
    """What a run took over from another, in words, and the seconds that it took there."""

    sentence: str
    seconds: float


def reuse_neighbour(run: RunFolder, config: Config, corpus: PreparedCorpus) -> Reused | None:
    """Start a new run with what another run beside it has learnt.

    Returns None where the run was started already, or where there is nothing to take over. The documents of
    both runs are compared last, since that reads them.
    """
    rule = find_reuse_rule(config)
    if rule is None or run.config.is_file():
        return None
    documents = cache(lambda: record_provenance(corpus))
    for path in sorted(run.path.parent.iterdir()):
        other = RunFolder(path)
        if not rule.is_ready(other) or not other.differs_only_in(rule.later, config):
            continue
        if other.stands_on(documents()):
            RunFolder.start(run.path, config, provenance=documents())
            return Reused(f"{run.path.name} {rule.sentence.format(path.name)}", rule.copy(other, run))
    return None


def can_reuse(one: Config, other: Config) -> bool:
    """Return whether the second of two trainings could take over what the first has learnt."""
    rule = find_reuse_rule(one)
    return rule is not None and differ_only_in(rule.later, one, other)


def estimate_share_left(config: Config) -> float:
    """Return about which share of its work a training has left that takes over another's beginning."""
    if find_reuse_rule(config) is CLASSIFIERS:
        return 0.0
    warm, critical = config.warm_start.epochs, config.self_critical.epochs
    return critical / (warm + critical)


def find_reuse_rule(config: Config) -> ReuseRule | None:
    """Return what trainings with these settings can take over, or None."""
    if reads(config.model, "warm_start.epochs"):
        return WARM_START
    return CLASSIFIERS if find_model(config.model).family == "linear" else None


def _copy_warm_start(other: RunFolder, run: RunFolder) -> float:
    """Copy the end of a warm start; the checkpoint last, so a run stopped before starts like any other."""
    from safetensors.torch import save_file

    from seq2set.training.checkpoint import LAST, find_best_weights, read_position, read_weights

    place = read_position(other.beginning)
    kept = other.records()[: place.records]
    write_text(run.history, "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in kept))
    with write_aside(find_best_weights(run.checkpoints, place.best_update)) as aside:
        save_file(read_weights(other.beginning), aside)
    copy_file(other.beginning, run.beginning)
    copy_file(other.beginning, run.checkpoints / LAST)
    return float(sum(one["seconds"] + one["validation_seconds"] for one in kept))


def _copy_classifiers(other: RunFolder, run: RunFolder) -> float:
    for checkpoint in _list_classifiers(other):
        copy_file(checkpoint, run.checkpoints / checkpoint.name)
    return float(sum(fit["seconds"] for fit in other.records()))


def _list_classifiers(run: RunFolder) -> list[Path]:
    return sorted(run.checkpoints.glob("*.safetensors"))


WARM_START = ReuseRule(
    ("objective.", "self_critical.", "decision."),
    "goes on from the warm start of {}, which is the same",
    lambda run: run.beginning.is_file(),
    _copy_warm_start,
)
CLASSIFIERS = ReuseRule(
    ("decision.",),
    "takes the classifiers of {}, which are the same",
    lambda run: bool(_list_classifiers(run)),
    _copy_classifiers,
)
