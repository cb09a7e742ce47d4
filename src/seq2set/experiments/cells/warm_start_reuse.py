"""Cells that begin alike: a new one takes over what a neighbour has done already.

Its time counts as if it had done all by itself.
"""

from __future__ import annotations

from functools import cache

from seq2set.config import Config, differ_only_in
from seq2set.config.catalog import reads
from seq2set.config.run_folder import RunFolder
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.workflows.train import record_provenance


def begin_as_another(run: RunFolder, config: Config, corpus: PreparedCorpus) -> tuple[str, float] | None:
    """Let a new run begin as one beside it; return a sentence that says so, and the seconds that are saved.

    Returns None where the run has begun already, or where there is nothing to take over.
    """
    if run.config.is_file():
        return None
    if _has_warm_start(config):
        from seq2set.training.reuse import take_over

        taken = "goes on from the warm start of {}, which is the same"
    elif _is_linear(config):
        from seq2set.models.linear_reuse import take_over

        taken = "takes the classifiers of {}, which are the same"
    else:
        return None
    documents = cache(lambda: record_provenance(corpus))
    for path in sorted(run.path.parent.iterdir()):
        seconds = take_over(run, RunFolder(path), config, documents)
        if seconds is not None:
            return f"{run.path.name} {taken.format(path.name)}", seconds
    return None


def begin_alike(one: Config, other: Config) -> bool:
    """Say whether the second of two trainings could take over what the first has done."""
    if _has_warm_start(one):
        from seq2set.training.reuse import LATER
    elif _is_linear(one):
        from seq2set.models.linear_reuse import LATER
    else:
        return False
    return differ_only_in(LATER, one, other)


def share_left(config: Config) -> float:
    """Return about which share of its work a training that takes over another's beginning has left."""
    if _is_linear(config):
        return 0.0
    warm, critical = config.warm_start.epochs, config.self_critical.epochs
    return critical / (warm + critical)


def _has_warm_start(config: Config) -> bool:
    return reads(config.model, "warm_start.epochs")


def _is_linear(config: Config) -> bool:
    return not reads(config.model, "training.epochs")
