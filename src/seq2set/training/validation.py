"""The score that training looks at to keep the best weights: micro-F1 on the validation split.

Letters: B documents, L labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from seq2set.config.settings import SearchSettings
from seq2set.models.neural import CELLS_AT_A_TIME
from seq2set.models.reading import Network, Reading
from seq2set.models.searching import Found, hypotheses
from seq2set.thresholds import best_threshold
from seq2set.training.examples import EncodedExamples
from seq2set.training.step import Step

VALIDATION_BATCH = 128
"""How many documents are searched together, at most."""


class _Answer(NamedTuple):
    scores: npt.NDArray[np.float32]
    """(B, L)"""
    given: npt.NDArray[np.bool_] | None
    """(B, L) the labels that the search chose; none where a threshold is to decide"""
    gold: npt.NDArray[np.bool_]
    """(B, L)"""


def validation_search(network: Network, search: SearchSettings) -> str:
    """Return the search that validation uses: that of prediction, and scores alone without a decoder."""
    return search.name if network.decodes else "marginal"


@torch.no_grad()
def validation_micro_f1(
    step: Step, examples: EncodedExamples, search: SearchSettings, device: torch.device
) -> float:
    """Measure the micro-F1 of the search that prediction uses, so that the weights kept are the best for it.

    Where a threshold decides, it is the best one: the trained model's is chosen on the same documents. At a
    fixed threshold a network of sigmoids would for long look as if it had learnt nothing, as it begins far
    below 0.5. Labels that training never saw count as misses.
    """
    step.eval()
    answers = list(_answers(step, examples, search, device))
    step.train()
    gold = np.concatenate([one.gold for one in answers])
    chosen = [one.given for one in answers if one.given is not None]
    if not chosen:
        scores = np.concatenate([one.scores for one in answers])
        return best_threshold(scores, gold, "micro_f1", missed=examples.unseen).score
    given = np.concatenate(chosen)
    return 2 * int((given & gold).sum()) / max(1, int(given.sum() + gold.sum()) + examples.unseen)


def _answers(
    step: Step, examples: EncodedExamples, search: SearchSettings, device: torch.device
) -> Iterator[_Answer]:
    name = validation_search(step.network, search)
    cells = hypotheses(name, search) * (examples.labels + 1)  # of one document
    size = max(1, min(VALIDATION_BATCH, CELLS_AT_A_TIME // cells))
    order = np.argsort(examples.lengths, kind="stable")
    for start in range(0, len(order), size):
        batch = examples.batch(order[start : start + size]).to(device)
        reading: Reading = step.network(batch.ids, batch.lengths, batch.margins)
        found = reading.found(name, search)
        yield _Answer(found.scores, _masks(found), batch.gold.cpu().numpy())


def _masks(found: Found) -> npt.NDArray[np.bool_] | None:
    if found.sequences is None:
        return None
    given = np.zeros(found.scores.shape, bool)
    for row, labels in zip(given, found.sequences, strict=True):
        row[labels] = True
    return given
