"""From examples to a trained network: vocabularies, prior, network, phases, and the threshold at the end."""

from __future__ import annotations

import os

import numpy as np
import torch
from lightning_fabric import Fabric

from seq2set.calibration import fit_sigmoid
from seq2set.config import Config
from seq2set.errors import ConfigError, InputError
from seq2set.hardware import thread_count
from seq2set.metrics import Counts
from seq2set.models.building import build_network
from seq2set.models.neural import NeuralTagger
from seq2set.models.prior import FittedPrior, fit_prior
from seq2set.nn.decoding import greedy
from seq2set.predictions import Request
from seq2set.progress import Progress
from seq2set.runs import RunFolder
from seq2set.tagger import Examples
from seq2set.thresholds import best_threshold
from seq2set.training.examples import EncodedExamples, encode_examples
from seq2set.training.step import Objective, Step
from seq2set.training.trainer import LoopSettings, PhasePlan, Trainer
from seq2set.vocabulary import Labels, Words

VALIDATION_BATCH = 128

ROOM = 2
"""A decoder may emit so many times the labels of the largest training set."""


def train_network(
    config: Config, train: Examples, valid: Examples, run: RunFolder, progress: Progress
) -> NeuralTagger:
    """Train on `train`, choose the best weights and the threshold on `valid`."""
    fabric, plan, objective = new_fabric(config), phases(config), Objective.of(config)
    torch.set_num_threads(thread_count(config.threads))
    labels = Labels.build(train.label_sets)
    words = Words.build(train.texts, **config.text.model_dump())
    prior = _prior(config, words, labels, train, progress)
    torch.manual_seed(config.seed)
    most = ROOM * max(len(set(one)) for one in train.label_sets)
    step = Step(build_network(config, len(words), len(labels), most), objective)
    if prior is not None and step.network.prior is not None:
        step.network.prior.calibrate(
            *fit_sigmoid(prior.margins, labels.indicator(train.label_sets).toarray())
        )
    learn = encode_examples(train, config, words, labels, prior and prior.margins)
    tune_margins = prior.model.margins(valid.texts) if prior else None
    tune = encode_examples(valid, config, words, labels, tune_margins)
    trainer = Trainer(
        step,
        learn,
        lambda: greedy_micro_f1(step, tune, fabric.device),
        plan,
        loop_settings(config),
        run,
        progress,
        fabric,
    )
    trainer.run()
    tagger = NeuralTagger(config, words, labels, step.network.cpu(), prior and prior.model, 0.5)
    return _with_threshold(tagger, valid)


def phases(config: Config) -> list[PhasePlan]:
    """Return the phases that the settings ask for."""
    warm, critical = config.warm_start, config.self_critical
    if not warm.epochs and not critical.epochs:
        raise ConfigError(["warm_start.epochs and self_critical.epochs are 0; one of them must be >= 1"])
    return [
        PhasePlan("warm-start", warm.epochs, warm.learning_rate),
        PhasePlan("self-critical", critical.epochs, critical.learning_rate),
    ]


def loop_settings(config: Config) -> LoopSettings:
    """Return the loop's settings as flat values."""
    chosen = config.training
    return LoopSettings(
        chosen.batch_size,
        chosen.accumulate,
        chosen.decay,
        chosen.clip_norm,
        chosen.validate_every,
        chosen.patience,
        config.seed,
    )


def new_fabric(config: Config) -> Fabric:
    """Start what the loop runs on: a device, a precision, and as many processes as torchrun started."""
    device = config.training.device
    if device not in ("auto", "cpu", "cuda"):
        raise InputError(f"training.device is '{device}'; it must be 'auto', 'cpu' or 'cuda'")
    if device == "cuda" and not torch.cuda.is_available():
        raise InputError("training.device is 'cuda', but there is no CUDA device here; use 'cpu' or 'auto'")
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    fabric = Fabric(
        accelerator=device,
        devices=int(os.environ.get("LOCAL_WORLD_SIZE", "1")),
        num_nodes=max(1, processes // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))),
        strategy="ddp" if processes > 1 else "auto",
        precision=config.training.precision,
    )
    fabric.launch()
    return fabric


@torch.no_grad()
def greedy_micro_f1(step: Step, examples: EncodedExamples, device: torch.device) -> float:
    """Measure the micro-F1 of greedy decoding."""
    step.eval()
    order = np.argsort(examples.lengths, kind="stable")
    counts = []
    for start in range(0, len(order), VALIDATION_BATCH):
        batch = examples.batch(order[start : start + VALIDATION_BATCH]).to(device)
        policy = step.network(batch.ids, batch.lengths, batch.margins).final
        given = greedy(policy, max_steps=step.network.max_labels).masks(policy.labels)
        counts.append(Counts.of(given.cpu().numpy(), batch.gold.cpu().numpy()))
    step.train()
    return sum(counts[1:], counts[0]).metrics()["micro_f1"]


def _prior(
    config: Config, words: Words, labels: Labels, train: Examples, progress: Progress
) -> FittedPrior | None:
    if not config.prior.enabled:
        return None
    return fit_prior(config, words, train.texts, labels.indicator(train.label_sets), progress)


def _with_threshold(tagger: NeuralTagger, valid: Examples) -> NeuralTagger:
    """Tune the threshold of the marginals on validation, or take the one that is set."""
    wanted = tagger.config.decision.threshold
    if wanted == "boundary":
        value = 0.5
    elif wanted == "tuned":
        scores = tagger.infer(valid.texts, Request(search="marginal")).scores
        actual = tagger.labels.indicator(valid.label_sets)
        value = best_threshold(scores, actual, tagger.config.decision.metric).value
    else:
        value = wanted
    return NeuralTagger(tagger.config, tagger.words, tagger.labels, tagger.network, tagger.prior, value)
