"""Training classifier chains: the links of a chain are fitted on true labels, so none waits for another.

A run that was stopped goes on after the last chain that was finished, to the same result.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, hstack

from seq2set.baselines.cc import Chain, ClassifierChains, chain_margins, chain_scores
from seq2set.baselines.choosing import Scored, best_candidate, undecided
from seq2set.baselines.fitting import fitted_or_found
from seq2set.baselines.linear import LinearScorer
from seq2set.baselines.preparing import Prepared, prepare
from seq2set.calibration import Sigmoid, fit_sigmoid
from seq2set.config import Config
from seq2set.progress import Progress
from seq2set.runs import RunFolder
from seq2set.tagger import Examples

Order = npt.NDArray[np.int64]


class _Machine(NamedTuple):
    chains: tuple[Chain, ...]
    sigmoid: Sigmoid


def train_cc(
    config: Config, train: Examples, valid: Examples, run: RunFolder, progress: Progress
) -> ClassifierChains:
    """Train on `train`, tune on `valid`, and return the best model found."""
    data = prepare(config, train, valid, progress)
    orders = chain_orders(config, len(data.labels))
    actual = data.valid_targets.toarray()

    def fit(c: float) -> Scored[_Machine]:
        chains = tuple(
            Chain(order, _fitted(config, data, c, number, orders, run, progress))
            for number, order in enumerate(orders)
        )
        margins = chain_margins(chains, data.valid)
        sigmoid = fit_sigmoid(margins, np.broadcast_to(actual, margins.shape))
        return Scored(_Machine(chains, sigmoid), chain_scores(sigmoid, margins), undecided(sigmoid))

    best = best_candidate(config, data, run, fit)
    return ClassifierChains(config, data.features, data.labels, best.rule, best.c, *best.machine)


def chain_orders(config: Config, labels: int) -> list[Order]:
    """Return the labels of each chain in their order; label numbers follow descending training frequency."""
    if config.chain.order == "frequency":
        return [np.arange(labels)]
    chains = config.chain.chains if config.chain.order == "ensemble" else 1
    return [np.random.default_rng([config.seed, number]).permutation(labels) for number in range(chains)]


def _fitted(
    config: Config,
    data: Prepared,
    c: float,
    number: int,
    orders: list[Order],
    run: RunFolder,
    progress: Progress,
) -> LinearScorer:
    targets = data.train_targets[:, orders[number]]
    return fitted_or_found(
        run.checkpoints / f"chain-{number + 1}-c-{c:g}.safetensors",
        config,
        csr_matrix(hstack([data.train, targets], format="csr", dtype=np.float32)),
        targets,
        c=c,
        title=f"chain {number + 1} of {len(orders)}",
        progress=progress,
        # A link sees the terms and the labels before its own.
        seen=range(data.train.shape[1], data.train.shape[1] + targets.shape[1]),
    )
