"""What benchmarks run on: documents in the shape of AAPD, texts, networks and a model folder, all generated.

A decoder with random weights hardly ever ends: its samples hold dozens of labels, and what they cost says
nothing about training. `Learner.settle` therefore first trains the whole network by likelihood, with the very
step that is measured, on other documents drawn alike. They are cut to a few words, which makes it quick: the
first word tells how many labels there are. The sizes of the sets on the whole documents are measured and
reported.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from seq2set.config import Config, build_config
from seq2set.corpora.documents import Document
from seq2set.corpora.prepare import prepare
from seq2set.corpora.splits import SplitPlan
from seq2set.inference.model_folder import save_model
from seq2set.labels.labels import Labels
from seq2set.labels.rules import make_global_rule
from seq2set.models.network import build_network
from seq2set.models.neural import NeuralTagger
from seq2set.nn.decoding.rollout import roll_out_greedily, sample
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
    drawn = 2 + random.choice(shape.vocabulary, int(lengths.sum()), p=_compute_zipf(shape.vocabulary))
    words = np.split(drawn.astype(np.int32), np.cumsum(lengths)[:-1])
    # Each size is as often there as its share says: a small batch then has the right mean too.
    ends = np.cumsum(list(SET_SIZES.values()))
    places = np.searchsorted(ends, (np.arange(count) + 0.5) / count)
    sizes = random.permutation(np.array(list(SET_SIZES))[places])
    for document, size in zip(words, sizes, strict=True):
        document[0] = size
    chances = _compute_zipf(shape.labels)
    # Labels are numbered by descending frequency, which is the order that is learned.
    sets = [
        np.sort(random.choice(shape.labels, min(size, shape.labels), replace=False, p=chances))
        for size in sizes
    ]
    return EncodedExamples(words, sets, shape.labels, [f"d{number}" for number in range(count)], None)


def describe_documents(examples: EncodedExamples, shape: DocumentShape) -> dict[str, Any]:
    """Return the shapes of made documents that `bench --json` prints."""
    mean = float(np.mean([len(one) for one in examples.sequences]))
    return {"documents": len(examples), **shape.to_dict(), "labels_per_document": round(mean, 2)}


def batch_by_length(examples: EncodedExamples, size: int) -> list[npt.NDArray[np.intp]]:
    """Return the places of documents of about the same length, batch by batch."""
    order = np.argsort(examples.lengths, kind="stable")
    return [order[start : start + size] for start in range(0, len(order), size)]


def _compute_zipf(count: int) -> npt.NDArray[np.float64]:
    chances = 1 / np.arange(1, count + 1)
    return np.asarray(chances / chances.sum())


def make_texts(documents: int, *, words: int = 130) -> list[str]:
    """Return texts of about `words` words whose frequencies fall as in natural language."""
    random, vocabulary = np.random.default_rng(1), AAPD.vocabulary
    names = np.array([f"w{number}" for number in range(vocabulary)])
    lengths = np.maximum(1, random.lognormal(np.log(words), 0.4, documents)).astype(int)
    drawn = random.choice(vocabulary, size=int(lengths.sum()), p=_compute_zipf(vocabulary))
    parts = np.split(names[drawn], np.cumsum(lengths)[:-1])
    return [" ".join(part) for part in parts]


def make_labelled(count: int) -> Iterator[Document]:
    """Give texts with labels of no meaning."""
    for number, text in enumerate(make_texts(count)):
        yield Document(str(number), text, tuple(sorted({f"label {number % 54}", f"label {number % 7}"})))


def write_texts(path: Path, count: int) -> Path:
    """Write texts with labels as a file of JSON lines."""
    with path.open("w", encoding="utf-8") as stream:
        for one in make_labelled(count):
            stream.write(json.dumps({"id": one.id, "text": one.text, "labels": one.labels}) + "\n")
    return path


def write_corpus(folder: Path, count: int) -> Path:
    """Write texts with labels as a prepared corpus."""
    plan, source = SplitPlan("random"), "made for a benchmark"
    return prepare(make_labelled(count), folder, name="made", source=source, licence="none", plan=plan).folder


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
        self.descend(self.step(batch, phase, self.generator).total)

    def descend(self, loss: torch.Tensor) -> None:
        """Go backward from a loss, clip, and apply Adam."""
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.step.parameters(), self.clip_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()

    def settle(self, shape: DocumentShape, updates: int, rate: float = 1e-3) -> None:
        """Learn from short documents how many labels there are, at a learning rate that makes it quick."""
        usual = [group["lr"] for group in self.optimizer.param_groups]
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        cut = shape._replace(shortest=min(CUT, shape.shortest), longest=min(CUT, shape.longest))
        examples, random = make_documents(POOL, cut, seed=3), np.random.default_rng(1)
        for _ in range(updates):
            self.update(examples.batch(random.choice(POOL, self.batch_size, replace=False)), "warm-start")
        for group, own in zip(self.optimizer.param_groups, usual, strict=True):
            group["lr"] = own

    @torch.no_grad()
    def measure_set_sizes(self, batch: TrainingBatch) -> dict[str, Any]:
        """Return the mean sizes of greedy and sampled sets, and the size of the largest sample."""
        policy = self.step.network(batch.ids, batch.lengths, batch.margins).final
        drawn = sample(policy, generator=self.generator).lengths
        return {
            "greedy_labels": round(float(roll_out_greedily(policy).lengths.float().mean()), 2),
            "sampled_labels": round(float(drawn.float().mean()), 2),
            "longest_sample": int(drawn.max()),
        }


def configure(model: str, settings: Sequence[str] = (), *, preset: str = PRESET) -> Config:
    """Return the settings of a network at the preset's sizes; `settings` (`a.b=v`) change them."""
    return build_config(preset=preset, model=model, assignments=settings)


def build_learner(config: Config, shape: DocumentShape, *, max_labels: int | None = None) -> Learner:
    """Build a network with random weights."""
    torch.manual_seed(config.seed)
    network = build_network(config, shape.vocabulary + 2, shape.labels, max_labels)
    step, training = TrainingStep(network, config), config.training
    adam = torch.optim.Adam(step.parameters(), lr=config.self_critical.learning_rate, fused=True)
    return Learner(step, adam, training.clip_norm, training.batch_size, torch.Generator().manual_seed(1))


LABELS = 54
SET_SIZE = 4
"""Untrained decoders hardly ever end by themselves."""


def save_made_model(
    folder: Path, settings: Sequence[str] = (), *, labels: int = LABELS, settling: int = 0
) -> None:
    """Write a model folder with random weights at the default sizes; `settings` (`a.b=v`) change them.

    After some `settling` updates its sets are of realistic sizes.
    """
    config = build_config(model="seq2set", assignments=["prior.enabled=false", *settings])
    words = Words.build(make_texts(2_000), **config.text.model_dump())
    shape = AAPD._replace(vocabulary=min(len(words) - 2, config.encoder.words), labels=labels)
    learner = build_learner(config, shape, max_labels=SET_SIZE)
    learner.settle(shape, settling)
    names = Labels([f"label {number}" for number in range(labels)], range(labels, 0, -1))
    tagger = NeuralTagger(config, words, names, learner.step.network, None, make_global_rule(0.5))
    save_model(tagger, folder, card="Made for a benchmark, not trained on anything.\n", metadata={})


@contextmanager
def open_model(
    model: Path | None, settings: Sequence[str], *, labels: int = LABELS, settling: int = 0
) -> Iterator[tuple[Path, Path]]:
    """Give the model that is named, or one that is made, and a folder to work in."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "model"
        if model is None:
            save_made_model(made, settings, labels=labels, settling=settling)
        yield model or made, Path(folder)
