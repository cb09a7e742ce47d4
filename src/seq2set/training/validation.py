"""The score by which training keeps the best weights: micro-F1 on the validation split.

Letters: N documents, B of them at a time, L labels, U labels that training never saw.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt
import torch
from lightning_fabric import Fabric
from scipy.sparse import csr_matrix

from seq2set.config import Config
from seq2set.config.catalog import SCORING, SEARCHES
from seq2set.config.schema import SearchSettings
from seq2set.labels.labels import Labels
from seq2set.labels.metrics import Counts
from seq2set.labels.thresholds import find_threshold
from seq2set.models.network import Network, NetworkOutput
from seq2set.models.neural import CELLS_AT_A_TIME
from seq2set.models.predictions import withhold_scores
from seq2set.models.prior import PriorModel
from seq2set.models.tagger import Examples
from seq2set.nn.decoding.searches import count_hypotheses
from seq2set.nn.encoders import OwnTokens
from seq2set.text.tfidf import encode_blocks
from seq2set.text.vocabulary import Words
from seq2set.training.examples import EncodedExamples, encode_examples
from seq2set.training.step import TrainingStep

VALIDATION_BATCH = 128
"""How many documents are searched together, at most."""


class Validation(NamedTuple):
    """The validation split as numbers."""

    examples: EncodedExamples
    actual: csr_matrix
    """(N, L + U) what is right"""
    known: npt.NDArray[np.bool_]
    """(N,) whether a word of each document is known"""


def encode_validation(
    valid: Examples,
    config: Config,
    words: Words,
    labels: Labels,
    prior: PriorModel | None,
    folder: Path | None = None,
    own: OwnTokens | None = None,
) -> Validation:
    """Turn the validation split into numbers; a word is known that the encoder or the prior knows."""
    read = prior.read(encode_blocks(words, valid.texts), valid.texts) if prior else None
    examples = encode_examples(valid, config, words, labels, read and read.margins, folder, own)
    assert examples.known is not None  # those of `encode_examples`
    actual = labels.with_unseen(valid.label_sets).indicator(valid.label_sets)
    return Validation(examples, actual, examples.known if read is None else examples.known | read.known)


def choose_search(network: Network, search: SearchSettings) -> str:
    """Return the name of validation's search: that of prediction, and scores alone without a decoder."""
    return search.name if network.decodes else SCORING


class Searched(NamedTuple):
    """What a search gave for the validation split, in its order."""

    values: npt.NDArray[np.float32]
    """(N, L) 1 where a label was given, or scores where a threshold has to decide"""
    decided: bool


@torch.no_grad()
def search_validation(
    step: TrainingStep, examples: EncodedExamples, search: SearchSettings, fabric: Fabric
) -> Searched:
    """Search as prediction does, so that the weights kept are the best for it; processes share the work."""
    name = choose_search(step.network, search)
    decided = SEARCHES[name].decides
    cells = count_hypotheses(name, search) * (examples.labels + 1)  # of one document
    size = max(1, min(VALIDATION_BATCH, CELLS_AT_A_TIME // cells))
    order = np.argsort(examples.lengths, kind="stable")
    values = np.zeros((len(order), examples.labels), np.float32)
    step.eval()
    for start in range(fabric.global_rank * size, len(order), fabric.world_size * size):
        index = order[start : start + size]
        batch = examples.batch(index).to(fabric.device)
        output: NetworkOutput = step.network(batch.ids, batch.lengths, batch.margins)
        found = output.search(name, search)
        if not decided:
            values[index] = found.scores
            continue
        for row, labels in zip(index, found.sequences or (), strict=True):
            values[row, labels] = 1
    step.train()
    if fabric.world_size > 1:
        values = cast("torch.Tensor", fabric.all_reduce(torch.from_numpy(values), reduce_op="sum")).numpy()
    return Searched(values, decided)


def compute_micro_f1(found: Searched, valid: Validation) -> float:
    """Compute the micro-F1 of what a search gave.

    Where a threshold decides, it is the best one: the trained model's is chosen on the same documents. At a
    fixed threshold a network of sigmoids would for long look as if it had learnt nothing, as it begins far
    below 0.5. Labels that training never saw count as misses, and a document without a known word gets none.
    """
    scores = withhold_scores(found.values, valid.known)
    if not found.decided:
        return find_threshold(scores, valid.actual, "micro_f1").score
    return Counts.of_known(scores > 0, valid.actual).metrics()["micro_f1"]
