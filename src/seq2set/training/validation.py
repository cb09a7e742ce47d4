"""The score by which training keeps the best weights: micro-F1 on the validation split.

Letters: N documents, B of them at a time, L labels, U labels that training never saw.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import csr_matrix

from seq2set.config import Config
from seq2set.config.schema import SearchSettings
from seq2set.labels.labels import Labels
from seq2set.labels.metrics import Counts
from seq2set.labels.thresholds import find_threshold
from seq2set.models.network import Network, NetworkOutput
from seq2set.models.neural import CELLS_AT_A_TIME, has_words
from seq2set.models.predictions import Request, withhold, withhold_scores
from seq2set.models.prior import PriorModel
from seq2set.models.tagger import Examples
from seq2set.nn.decoding.searches import SearchResult, count_hypotheses
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
    valid: Examples, config: Config, words: Words, labels: Labels, prior: PriorModel | None
) -> Validation:
    """Turn the validation split into numbers; a word is known that the encoder or the prior knows."""
    read = prior.read(valid.texts) if prior else None
    examples = encode_examples(valid, config, words, labels, read and read.margins)
    known = has_words(examples.words, words)
    actual = labels.with_unseen(valid.label_sets).indicator(valid.label_sets)
    return Validation(examples, actual, known if read is None else known | read.known)


def choose_search(network: Network, search: SearchSettings) -> str:
    """Return the name of validation's search: that of prediction, and scores alone without a decoder."""
    return search.name if network.decodes else "marginal"


@torch.no_grad()
def measure_micro_f1(
    step: TrainingStep, valid: Validation, search: SearchSettings, device: torch.device
) -> float:
    """Measure the micro-F1 of the search that prediction uses, so that the weights kept are the best for it.

    Where a threshold decides, it is the best one: the trained model's is chosen on the same documents. At a
    fixed threshold a network of sigmoids would for long look as if it had learnt nothing, as it begins far
    below 0.5. Labels that training never saw count as misses, and a document without a known word gets none.
    """
    step.eval()
    order = np.argsort(valid.examples.lengths, kind="stable")
    found = list(_search_batches(step, valid.examples, order, search, device))
    step.train()
    scores, actual = np.concatenate([one.scores for one in found]), valid.actual[order]
    sequences = [row for one in found for row in one.sequences or ()]
    if not sequences:
        return find_threshold(withhold_scores(scores, valid.known[order]), actual, "micro_f1").score
    given = np.zeros(scores.shape, bool)
    for row, labels in zip(given, withhold(sequences, valid.known[order], Request()), strict=True):
        row[labels] = True
    return Counts.of_known(given, actual).metrics()["micro_f1"]


def _search_batches(
    step: TrainingStep,
    examples: EncodedExamples,
    order: npt.NDArray[np.intp],
    search: SearchSettings,
    device: torch.device,
) -> Iterator[SearchResult]:
    name = choose_search(step.network, search)
    cells = count_hypotheses(name, search) * (examples.labels + 1)  # of one document
    size = max(1, min(VALIDATION_BATCH, CELLS_AT_A_TIME // cells))
    for start in range(0, len(order), size):
        batch = examples.batch(order[start : start + size]).to(device)
        output: NetworkOutput = step.network(batch.ids, batch.lengths, batch.margins)
        yield output.search(name, search)
