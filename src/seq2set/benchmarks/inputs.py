"""What benchmarks run on: documents in the shape of AAPD, texts, networks and a model folder, all generated.

A decoder with random weights hardly ever ends: its samples hold dozens of labels, and what they cost says
nothing about training. `Learner.settle` therefore first trains the whole network by likelihood, with the very
step that is measured, on other documents drawn alike. They are cut to a few words, which makes it quick: the
first word tells how many labels there are. The sizes of the sets on the whole documents are measured and
reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from seq2set.config import build_config
from seq2set.inference.model_folder import save_model
from seq2set.labels.labels import Labels
from seq2set.labels.rules import make_global_rule
from seq2set.models.network import build_network
from seq2set.models.neural import NeuralTagger
from seq2set.nn.decoding.rollout import greedy, sample
from seq2set.text.vocabulary import Words
from seq2set.training.examples import EncodedExamples, TrainingBatch
from seq2set.training.step import Phase, TrainingStep

SET_SIZES = {2: 0.70, 3: 0.22, 4: 0.06, 5: 0.02}
"""The share of documents by number of labels: 2.4 labels on average, and never fewer than 2, as in AAPD."""


class DocumentShape(NamedTuple):
    """The lengths, words and labels of documents."""

    shortest: int = 60
    longest: int = 265
    vocabulary: int = 30_000
    labels: int = 54

    def to_dict(self) -> dict[str, Any]:
        """Return the shapes that `bench --json` prints."""
        words = f"{self.shortest}-{self.longest}"
        return {"words": words, "vocabulary": self.vocabulary, "labels": self.labels}


AAPD = DocumentShape()
"""The shape of the paper's second corpus."""


def make_documents(count: int, shape: DocumentShape = AAPD, *, seed: int = 1) -> EncodedExamples:
    """Return documents whose words and labels are as frequent as in natural language.

    All lengths between the shortest and the longest are equally likely. The first word tells how many labels
    a document has, so that a network can learn to give one document more labels than another.
    """
    random = np.random.default_rng(seed)
    lengths = random.integers(shape.shortest, shape.longest, count, endpoint=True)
    # The numbers 0 and 1 stand for padding and for unknown words.
    drawn = 2 + random.choice(shape.vocabulary, int(lengths.sum()), p=_zipf(shape.vocabulary))
    words = np.split(drawn.astype(np.int32), np.cumsum(lengths)[:-1])
    sizes = random.permutation(_draw_set_sizes(count))
    for document, size in zip(words, sizes, strict=True):
        document[0] = size
    chances = _zipf(shape.labels)
    # Labels are numbered by descending frequency, which is the order that is learned.
    sets = [
        np.sort(random.choice(shape.labels, min(size, shape.labels), replace=False, p=chances))
        for size in sizes
    ]
    return EncodedExamples(words, sets, shape.labels, [f"d{number}" for number in range(count)], None)


def compute_mean_labels(examples: EncodedExamples) -> float:
    """Return the average number of labels per document."""
    return round(float(np.mean([len(one) for one in examples.sequences])), 2)


def _draw_set_sizes(count: int) -> npt.NDArray[np.int64]:
    """Return each size as often as its share says, in order: a small batch then has the right mean too."""
    ends = np.cumsum(list(SET_SIZES.values()))
    return np.array(list(SET_SIZES))[np.searchsorted(ends, (np.arange(count) + 0.5) / count)]


def _zipf(count: int) -> npt.NDArray[np.float64]:
    chances = 1 / np.arange(1, count + 1)
    return np.asarray(chances / chances.sum())


def make_texts(documents: int, *, words: int = 130, vocabulary: int = 30_000, seed: int = 1) -> list[str]:
    """Return texts of about `words` words whose frequencies fall as in natural language."""
    random = np.random.default_rng(seed)
    names = np.array([f"w{number}" for number in range(vocabulary)])
    lengths = np.maximum(1, random.lognormal(np.log(words), 0.4, documents)).astype(int)
    drawn = random.choice(vocabulary, size=int(lengths.sum()), p=_zipf(vocabulary))
    parts = np.split(names[drawn], np.cumsum(lengths)[:-1])
    return [" ".join(part) for part in parts]


PRESET = "paper-aapd"
MODELS = ("seq2set-simp", "seq2set")
"""The models that are measured."""

CUT = 8
"""How many words of a document are read while the sizes of sets are learned."""

POOL = 2_000
"""How many documents that is learned from: too many to memorise."""


@dataclass(frozen=True)
class Learner:
    """A network with all that an update needs."""

    step: TrainingStep
    optimizer: torch.optim.Optimizer
    clip_norm: float
    batch_size: int
    generator: torch.Generator

    def update(self, batch: TrainingBatch, phase: Phase) -> None:
        """One update as the trainer makes it: forward, backward, clipping, Adam."""
        self.step(batch, phase, self.generator).total.backward()
        torch.nn.utils.clip_grad_norm_(self.step.parameters(), self.clip_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()

    def settle(self, shape: DocumentShape, updates: int, rate: float = 1e-3) -> None:
        """Learn from short documents how many labels there are, at a learning rate that makes it quick."""
        usual = [group["lr"] for group in self.optimizer.param_groups]
        self._set_rates([rate] * len(usual))
        cut = shape._replace(shortest=min(CUT, shape.shortest), longest=min(CUT, shape.longest))
        examples, random = make_documents(POOL, cut, seed=3), np.random.default_rng(1)
        for _ in range(updates):
            self.update(examples.batch(random.choice(POOL, self.batch_size, replace=False)), "warm-start")
        self._set_rates(usual)

    @torch.no_grad()
    def measure_set_sizes(self, batch: TrainingBatch) -> dict[str, Any]:
        """Return the mean sizes of greedy and sampled sets, and the size of the largest sample."""
        policy = self.step.network(batch.ids, batch.lengths, batch.margins).final
        drawn = sample(policy, generator=self.generator).lengths
        return {
            "greedy_labels": round(float(greedy(policy).lengths.float().mean()), 2),
            "sampled_labels": round(float(drawn.float().mean()), 2),
            "longest_sample": int(drawn.max()),
        }

    def _set_rates(self, rates: list[float]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate


def build_learner(model: str, shape: DocumentShape, settings: Sequence[str] = ()) -> Learner:
    """Build a network with random weights at the preset's sizes; `settings` (`a.b=v`) change them."""
    config = build_config(preset=PRESET, model=model, assignments=settings)
    torch.manual_seed(config.seed)
    step = TrainingStep(build_network(config, shape.vocabulary + 2, shape.labels), config)
    adam = torch.optim.Adam(step.parameters(), lr=config.self_critical.learning_rate, fused=True)
    training = config.training
    return Learner(step, adam, training.clip_norm, training.batch_size, torch.Generator().manual_seed(1))


LABELS = 54
SET_SIZE = 4
"""Untrained decoders hardly ever end by themselves."""


def save_random_model(folder: Path, settings: Sequence[str] = ()) -> None:
    """Write a model folder with random weights at the default sizes; `settings` (`a.b=v`) change them."""
    config = build_config(model="seq2set", assignments=["prior.enabled=false", *settings])
    torch.manual_seed(config.seed)
    words = Words.build(make_texts(2_000), **config.text.model_dump())
    labels = Labels([f"label {number}" for number in range(LABELS)], range(LABELS, 0, -1))
    network = build_network(config, len(words), LABELS, SET_SIZE)
    tagger = NeuralTagger(config, words, labels, network, None, make_global_rule(0.5))
    save_model(tagger, folder, card="Made for a benchmark: its weights are random.\n", metadata={})
