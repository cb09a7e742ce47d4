"""Training binary relevance: fit for each C, tune the threshold on validation, keep the best.

A run that was stopped goes on after the last C that was finished, to the same result.
"""

from __future__ import annotations

from typing import NamedTuple

from seq2set.baselines.br import BinaryRelevance
from seq2set.baselines.choosing import Scored, best_candidate, undecided
from seq2set.baselines.fitting import fitted_or_found
from seq2set.baselines.linear import LinearScorer
from seq2set.baselines.preparing import prepare
from seq2set.calibration import Sigmoid, fit_sigmoid
from seq2set.config import Config
from seq2set.progress import Progress
from seq2set.runs import RunFolder
from seq2set.tagger import Examples


class _Machine(NamedTuple):
    scorer: LinearScorer
    sigmoid: Sigmoid


def train_br(
    config: Config, train: Examples, valid: Examples, run: RunFolder, progress: Progress
) -> BinaryRelevance:
    """Train on `train`, tune on `valid`, and return the best model found."""
    data = prepare(config, train, valid, progress)

    def fit(c: float) -> Scored[_Machine]:
        scorer = fitted_or_found(
            run.checkpoints / f"linear-c-{c:g}.safetensors",
            config,
            data.train,
            data.train_targets,
            c=c,
            title="one classifier a label",
            progress=progress,
        )
        margins = scorer.margins(data.valid)
        sigmoid = fit_sigmoid(margins, data.valid_targets.toarray())
        return Scored(_Machine(scorer, sigmoid), sigmoid(margins), undecided(sigmoid))

    best = best_candidate(config, data, run, fit)
    return BinaryRelevance(config, data.features, data.labels, best.rule, best.c, *best.machine)
