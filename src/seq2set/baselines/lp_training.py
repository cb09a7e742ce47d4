"""Training the label powerset: combinations become classes, the rarest are pruned, one classifier a class.

A run that was stopped goes on after the last C that was finished, to the same result.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from seq2set.baselines.choosing import Scored, best_candidate
from seq2set.baselines.combinations import Combinations, find_combinations
from seq2set.baselines.fitting import fitted_or_found
from seq2set.baselines.linear import LinearScorer
from seq2set.baselines.lp import DOCUMENTS_AT_A_TIME, LabelPowerset, powerset_scores
from seq2set.baselines.posterior import Posterior
from seq2set.baselines.posterior_fitting import fit_posterior
from seq2set.baselines.preparing import Prepared, prepare
from seq2set.config import Config
from seq2set.errors import ConfigError
from seq2set.progress import Progress
from seq2set.runs import RunFolder
from seq2set.tagger import Examples


class _Machine(NamedTuple):
    scorer: LinearScorer
    posterior: Posterior


def train_lp(
    config: Config, train: Examples, valid: Examples, run: RunFolder, progress: Progress
) -> LabelPowerset:
    """Train on `train`, tune on `valid`, and return the best model found."""
    data = prepare(config, train, valid, progress, config.powerset.max_features)
    found = _combinations(config, data.train_targets, progress)
    learnt = np.flatnonzero(found.classes >= 0)
    features, targets = data.train[learnt], _one_hot(found.classes[learnt], found.holds.shape[0])

    def fit(c: float) -> Scored[_Machine]:
        scorer = fitted_or_found(
            run.checkpoints / f"powerset-c-{c:g}.safetensors",
            config,
            features,
            targets,
            c=c,
            title="one classifier a label combination",
            progress=progress,
        )
        posterior = _posterior(found.holds, scorer, data)
        return Scored(_Machine(scorer, posterior), powerset_scores(scorer, posterior, data.valid), 0.5)

    best = best_candidate(config, data, run, fit)
    return LabelPowerset(config, data.features, data.labels, best.rule, best.c, *best.machine, found.counts())


def _combinations(config: Config, targets: csr_matrix, progress: Progress) -> Combinations:
    most, least = config.powerset.max_combinations, config.powerset.min_documents
    found = find_combinations(targets, most=most, least=least)
    if not found.holds.shape[0]:
        raise ConfigError(
            [f"powerset.min_documents is {least}; at least one label combination must have so many documents"]
        )
    if found.pruned:
        progress.note(
            f"{found.holds.shape[0]:,} label combinations are kept and {found.pruned:,} pruned; of their "
            f"documents {found.cut:,} count for a part of their labels, {found.left_out:,} are left out"
        )
    return found


def _posterior(holds: csr_matrix, scorer: LinearScorer, data: Prepared) -> Posterior:
    """Calibrate on documents spread over the validation split, as many as are scored at a time."""
    size = data.valid.shape[0]
    rows = np.unique(np.linspace(0, size - 1, min(size, DOCUMENTS_AT_A_TIME)).round().astype(np.int64))
    return fit_posterior(holds, scorer.margins(data.valid[rows]), data.valid_targets[rows].toarray())


def _one_hot(classes: np.ndarray, count: int) -> csr_matrix:
    cells = (np.ones(len(classes), bool), classes, np.arange(len(classes) + 1))
    return csr_matrix(cells, shape=(len(classes), count))
