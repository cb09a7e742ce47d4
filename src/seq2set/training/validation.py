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
from seq2set.metrics import Counts
from seq2set.models.reading import Reading
from seq2set.thresholds import best_threshold
from seq2set.training.examples import EncodedExamples
from seq2set.training.step import Step

VALIDATION_BATCH = 128


class _Answer(NamedTuple):
    scores: npt.NDArray[np.float32]
    """(B, L)"""
    gold: npt.NDArray[np.bool_]
    """(B, L)"""


@torch.no_grad()
def validation_micro_f1(
    step: Step, examples: EncodedExamples, search: SearchSettings, device: torch.device
) -> float:
    """Measure the micro-F1 of greedy decoding, or without a decoder that of the best threshold.

    At a fixed threshold a network of sigmoids would for long look as if it had learnt nothing, as it begins
    far below 0.5; the trained model's threshold is chosen on the same documents.
    """
    step.eval()
    answers = _answers(step, examples, search, device)
    score = _greedy(answers) if step.network.decodes else _thresholded(answers)
    step.train()
    return score


def _answers(
    step: Step, examples: EncodedExamples, search: SearchSettings, device: torch.device
) -> Iterator[_Answer]:
    order = np.argsort(examples.lengths, kind="stable")
    for start in range(0, len(order), VALIDATION_BATCH):
        batch = examples.batch(order[start : start + VALIDATION_BATCH]).to(device)
        reading: Reading = step.network(batch.ids, batch.lengths, batch.margins)
        yield _Answer(reading.found("greedy", search).scores, batch.gold.cpu().numpy())


def _greedy(answers: Iterator[_Answer]) -> float:
    """Take what scores at all: a label that greedy decoding does not emit has no score."""
    counts = [Counts.of(one.scores > 0, one.gold) for one in answers]
    return sum(counts[1:], counts[0]).metrics()["micro_f1"]


def _thresholded(answers: Iterator[_Answer]) -> float:
    scores, gold = (np.concatenate(side) for side in zip(*answers, strict=True))
    return best_threshold(scores, gold, "micro_f1").score
