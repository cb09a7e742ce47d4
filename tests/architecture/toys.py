"""A metric, a search, a reward, an encoder and a model that a user adds: one file and one row each.

Importing this file adds the rows. `docs/extending.md` explains what each row says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from seq2set.config import Config
from seq2set.config.catalog import (
    ENCODERS,
    METRICS,
    MODELS,
    REWARDS,
    SCORING,
    SEARCHES,
    EncoderKind,
    Metric,
    Model,
    Reward,
    Search,
    Style,
)
from seq2set.config.run_folder import RunFolder
from seq2set.core.progress import Progress
from seq2set.labels.confidence.acceptance import UNCALIBRATED, Confidence
from seq2set.labels.labels import Labels
from seq2set.labels.metrics import Counts
from seq2set.labels.rules import Rule, make_global_rule
from seq2set.models.predictions import Inference, Request, choose_rule, decide
from seq2set.models.tagger import Examples, ModelState
from seq2set.text.vocabulary import Words

if TYPE_CHECKING:
    from torch import Tensor

    from seq2set.labels.label_thresholds import LabelChoice
    from seq2set.nn.decoding.searches import SearchResult
    from seq2set.nn.encoders import Encoder


def labels_per_document(counts: Counts) -> float:
    """Return the mean number of labels that a document is given."""
    return counts.predicted_total / counts.documents


def give_most(choice: LabelChoice) -> np.ndarray[Any, Any]:
    """Return thresholds by which every label is given as often as it can be."""
    return choice.take(len(cuts.values) - 1 for cuts in choice.cuts.values())


def find_first(decoder: Any, settings: Any, most: int | None) -> SearchResult:
    """Give the first label of the greedy search and no other."""
    from seq2set.nn.decoding.searches import find_greedy  # help does without torch

    found = find_greedy(decoder, settings, most)
    assert found.sequences is not None
    return found._replace(sequences=[row[:1] for row in found.sequences])


def recall(predicted: Tensor, actual: Tensor) -> Tensor:
    """Return the share of the true labels (.., L) that are given: of none 1."""
    wanted = actual.sum(-1).float()
    return ((predicted & actual).sum(-1) / wanted).masked_fill(wanted == 0, 1.0)


def build_bag(config: Config, tokens: int) -> Encoder:
    """Build an encoder that reads words without their order."""
    import torch

    from seq2set.nn.encoders import Encoded, Encoder

    class Bag(Encoder):
        def __init__(self) -> None:
            super().__init__()
            self.size = self.summary_size = config.encoder.embedding
            self.vectors = torch.nn.Embedding(tokens, self.size, padding_idx=0)

        def forward(self, tokens: Tensor, lengths: Tensor) -> Encoded:
            states = self.vectors(tokens)  # (B, T, E)
            return Encoded(states, tokens > 0, states.sum(1) / lengths[:, None])

    return Bag()


@dataclass(frozen=True)
class Frequency:
    """Gives every text the labels that most training documents have."""

    config: Config
    labels: Labels
    words: Words
    rule: Rule
    shares: tuple[float, ...]
    confidence: Confidence = UNCALIBRATED
    decodes = False

    def find_search(self, request: Request) -> str:
        return SCORING

    def with_confidence(self, confidence: Confidence, rule: Rule) -> Frequency:
        return replace(self, confidence=confidence, rule=rule)

    def infer(self, texts: Sequence[str], request: Request) -> Inference:
        scores = np.tile(np.array(self.shares, np.float32), (len(texts), 1))
        scores = self.confidence.calibrate(SCORING, scores)
        chosen = decide(scores, self.rule, request)
        evidence = [[() for _ in row] for row in chosen] if request.explain else None
        return Inference(scores, chosen, evidence, choose_rule(self.rule, request, len(self.labels)))

    def state(self) -> ModelState:
        fitted = {"rule": self.rule.to_dict(), "shares": list(self.shares)}
        fitted |= {"confidence": self.confidence.to_dict()}
        return ModelState(self.config, self.words, self.labels, {}, fitted)

    @classmethod
    def from_state(cls, state: ModelState) -> Frequency:
        rule, shares = Rule.from_dict(state.fitted["rule"]), tuple(state.fitted["shares"])
        confidence = Confidence.from_dict(state.fitted.get("confidence"))
        return cls(state.config, state.labels, state.words, rule, shares, confidence)


def train_frequency(
    config: Config,
    train: Examples,
    valid: Examples,
    run: RunFolder,
    progress: Progress,
) -> Frequency:
    """Count the labels."""
    labels = Labels.build(train.label_sets)
    words = Words.build(train.texts, **config.text.model_dump())
    shares = tuple(one / len(train) for one in labels.frequencies)
    return Frequency(config, labels, words, make_global_rule(max(shares)), shares)


METRICS["toy_labels"] = Metric(
    "toy labels per document",
    "how many labels a document is given",
    "toys:labels_per_document",
    "toys",
    digits=2,
    tunable=True,
    label_thresholds="toys:give_most",
)
ENCODERS["toy-bag"] = EncoderKind("word vectors and their mean, a toy", "toys:build_bag")
SEARCHES["toy-first"] = Search("the first label of the greedy search", "toys:find_first", decides=True)
REWARDS["toy-recall"] = Reward("the recall of the set", "toys:recall")
MODELS["toy-frequency"] = Model(
    "Toy frequency",
    "Toy: gives the most frequent label to every text",
    "linear",
    frozenset(),
    Style("#332288", ":", "*"),
    "toys:Frequency",
    "toys:train_frequency",
)
