"""Classifier chains (CC): linear classifiers in a row, each of which also sees the labels before it.

In training a link sees the labels that a document really has, so that none waits for another; in use it sees
the decisions of the links before it, which are yes where a margin is positive, whatever the model's rule for
its scores is. Several chains in different orders average their scores.

Shapes: N documents, F terms, L labels, K chains.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from seq2set.config import Config
from seq2set.config.run_folder import RunFolder
from seq2set.core.progress import Progress
from seq2set.core.sparse import CompressedRows
from seq2set.core.tensor_files import Forms, TensorForm
from seq2set.labels.calibration import Sigmoid, fit_sigmoid
from seq2set.labels.confidence.acceptance import UNCALIBRATED
from seq2set.models.linear.c_search import ScoredFit, find_best_c, score_zero_margin
from seq2set.models.linear.matrices import LinearTraining, prepare_matrices
from seq2set.models.linear.scorer import LinearScorer, Reals, list_scorer_forms
from seq2set.models.linear.tagger import LinearTagger, list_feature_forms, restore_common
from seq2set.models.predictions import Scores
from seq2set.models.tagger import Examples, ModelState, Outline

Order = npt.NDArray[np.int64]


def train_cc(
    config: Config, train: Examples, valid: Examples, run: RunFolder, progress: Progress
) -> ClassifierChains:
    """Fit chains for each C on `train`, tune the threshold on `valid`, and return the best model found."""
    data = prepare_matrices(config, train, valid, run, progress)
    orders = order_chains(config, len(data.labels))
    actual = data.valid_targets.toarray()

    def fit(c: float) -> ScoredFit[tuple[tuple[Chain, ...], Sigmoid]]:
        chains = tuple(_fit_chain(data, c, number, orders) for number in range(len(orders)))
        margins = run_chains(chains, data.valid)
        sigmoid = fit_sigmoid(margins, np.broadcast_to(actual, margins.shape))
        return ScoredFit((chains, sigmoid), average_chains(sigmoid, margins), score_zero_margin(sigmoid))

    best = find_best_c(data, fit)
    return ClassifierChains(
        config, data.features, data.labels, best.rule, best.c, UNCALIBRATED, *best.machine
    )


def order_chains(config: Config, labels: int) -> list[Order]:
    """Return the labels of each chain in their order; label numbers follow descending training frequency."""
    if config.chain.order == "frequency":
        return [np.arange(labels)]
    chains = config.chain.chains if config.chain.order == "ensemble" else 1
    return [np.random.default_rng([config.seed, number]).permutation(labels) for number in range(chains)]


def _fit_chain(data: LinearTraining, c: float, number: int, orders: list[Order]) -> Chain:
    from scipy.sparse import csr_matrix, hstack

    targets = data.train_targets[:, orders[number]]
    features = csr_matrix(hstack([data.train, targets], format="csr", dtype=np.float32))
    # A link sees the terms and the labels before its own.
    seen = range(data.train.shape[1], features.shape[1])
    name, title = f"chain-{number + 1}", f"chain {number + 1} of {len(orders)}"
    scorer = data.fit_or_resume(name, c, title, features, targets, seen, data.weights)
    return Chain(orders[number], scorer)


@dataclass(frozen=True)
class Chain:
    """One chain of classifiers; `scorer` has its links in the order of the chain, not of the labels."""

    order: Order
    """Each link's label (L,)."""
    scorer: LinearScorer
    """Weights (F + L, L): below those of the terms, what each link's decision is worth to the later links."""

    def margins(self, features: CompressedRows) -> Reals:
        """Go along the chain and return every label's margin for every document: (N, F) -> (N, L)."""
        terms = features.shape[1]
        margins = LinearScorer(self.scorer.weights[:terms], self.scorer.bias).margins(features)
        for link, worth in enumerate(self.scorer.weights[terms:]):
            margins[margins[:, link] > 0] += worth
        return margins[:, self._places]

    def label_weights(self, label: int, terms: int) -> Reals:
        """Return what each of the terms is worth to the label's link: (F,)."""
        return self.scorer.weights[:terms, self._places[label]]

    @property
    def _places(self) -> npt.NDArray[np.intp]:
        return np.argsort(self.order)


def run_chains(chains: tuple[Chain, ...], features: CompressedRows) -> Reals:
    """Return all chains' margins: (K, N, L)."""
    return np.stack([chain.margins(features) for chain in chains])


def average_chains(sigmoid: Sigmoid, margins: Reals) -> Scores:
    """Return the mean of the chains' probabilities: (K, N, L) -> (N, L)."""
    return np.asarray(sigmoid(margins).mean(axis=0))


@dataclass(frozen=True)
class ClassifierChains(LinearTagger):
    """A trained CC model."""

    chains: tuple[Chain, ...]
    sigmoid: Sigmoid

    def scores(self, features: CompressedRows) -> Scores:
        """Return the mean of the chains' probabilities."""
        return average_chains(self.sigmoid, run_chains(self.chains, features))

    def label_weights(self, vector: CompressedRows, label: int) -> npt.NDArray[np.float32]:
        """Return the mean weights of the label's links, the same for every document."""
        weights = [chain.label_weights(label, vector.shape[1]) for chain in self.chains]
        return np.asarray(np.mean(weights, axis=0), np.float32)

    def state(self) -> ModelState:
        """Return what is saved of it."""
        tensors: dict[str, npt.NDArray[Any]] = {}
        for number, chain in enumerate(self.chains):
            tensors |= {f"chain.{number}.order": chain.order, **chain.scorer.tensors(f"chain.{number}.")}
        return self.build_state(tensors, {"sigmoid": self.sigmoid._asdict(), "chains": len(self.chains)})

    @classmethod
    def list_forms(cls, outline: Outline, runtime: str) -> Forms:  # noqa: ARG003 (the same on any)
        """Return the forms of what is saved of it."""
        forms: dict[str, TensorForm] = list_feature_forms(outline, "features.")
        for number in range(outline.fitted["chains"]):
            forms[f"chain.{number}.order"] = TensorForm("I64", ("L",))
            forms |= list_scorer_forms(f"chain.{number}.", "F+E+L", "L")
        return forms

    @classmethod
    def from_state(cls, state: ModelState) -> ClassifierChains:
        """Restore from a saved state."""
        prefixes, tensors = (f"chain.{number}." for number in range(state.fitted["chains"])), state.tensors
        chains = tuple(
            Chain(tensors[f"{one}order"], LinearScorer.from_tensors(tensors, one)) for one in prefixes
        )
        if any((np.sort(chain.order) != np.arange(len(state.labels))).any() for chain in chains):
            raise ValueError("the order of a chain does not name each label once")
        return cls(*restore_common(state), chains, Sigmoid(**state.fitted["sigmoid"]))
