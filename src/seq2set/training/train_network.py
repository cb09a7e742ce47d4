"""From examples to a trained network: vocabularies, prior, network, phases, and the rule at the end."""

from __future__ import annotations

import os
from dataclasses import replace

import torch
from lightning_fabric import Fabric

from seq2set.config import Config
from seq2set.config.catalog import find_model
from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import ConfigError, InputError
from seq2set.core.hardware import count_threads
from seq2set.core.progress import Progress
from seq2set.labels.labels import Labels
from seq2set.labels.rules import make_global_rule
from seq2set.labels.thresholds import find_threshold
from seq2set.models.network import build_network
from seq2set.models.neural import NeuralTagger, describe_cut
from seq2set.models.predictions import Request, withhold_scores
from seq2set.models.prior import FittedPrior, PriorCache, fit_prior, has_prior
from seq2set.models.seq2set import SetNetwork
from seq2set.models.tagger import Examples
from seq2set.text.vocabulary import Words
from seq2set.training.examples import encode_examples
from seq2set.training.step import TrainingStep
from seq2set.training.trainer import PhasePlan, Trainer
from seq2set.training.validation import choose_search, encode_validation, measure_micro_f1

MAX_LABELS_FACTOR = 2
"""How many times the labels of the largest training set a decoder may emit."""


def train_network(
    config: Config,
    train: Examples,
    valid: Examples,
    run: RunFolder,
    progress: Progress,
    priors: PriorCache | None = None,
) -> NeuralTagger:
    """Train on `train`, choose the best weights and the decision rule on `valid`.

    Trainings that share `priors` fit an equal linear prior once.
    """
    fabric, plan = start_fabric(config), plan_phases(config)
    torch.set_num_threads(count_threads(config.threads))
    labels = Labels.build(train.label_sets)
    words = Words.build(train.texts, **config.text.model_dump())
    prior = _fit_prior(config, words, labels, train, progress, priors)
    torch.manual_seed(config.seed)
    most = MAX_LABELS_FACTOR * max(len(set(one)) for one in train.label_sets)
    step = TrainingStep(build_network(config, len(words), len(labels), most), config)
    if prior is not None and isinstance(step.network, SetNetwork) and step.network.prior is not None:
        step.network.prior.calibrate(*prior.sigmoid)
    if fabric.device.type == "cpu" and (
        note := step.network.encoder.note_precision(config.training.precision)
    ):
        progress.note(note)
    learn = encode_examples(train, config, words, labels, prior and prior.margins)
    tune = encode_validation(valid, config, words, labels, prior and prior.model)
    if cut := learn.cut + tune.examples.cut:
        progress.note(describe_cut(cut, len(train) + len(valid), config.encoder.max_words))
    trainer = Trainer(
        step,
        learn,
        lambda: measure_micro_f1(step, tune, config.search, fabric.device),
        plan,
        config.training,
        run,
        progress,
        fabric,
        seed=config.seed,
        search=choose_search(step.network, config.search),
    )
    trainer.run()
    network, rule = step.network.cpu(), make_global_rule(0.5)
    return _tune_rule(NeuralTagger(config, words, labels, network, prior and prior.model, rule), valid)


def plan_phases(config: Config) -> list[PhasePlan]:
    """Return the phases that the settings ask for."""
    if find_model(config.model).family != "set":
        alone = config.likelihood
        return [PhasePlan("likelihood", alone.epochs, alone.learning_rate, alone.decay)]
    warm, critical, samples = config.warm_start, config.self_critical, config.objective.samples
    if config.objective.baseline == "leave-one-out" and samples < 2:
        raise ConfigError([f"objective.samples is {samples}; the baseline 'leave-one-out' needs >= 2"])
    if not warm.epochs and not critical.epochs:
        raise ConfigError(["warm_start.epochs and self_critical.epochs are 0; one of them must be >= 1"])
    return [
        PhasePlan("warm-start", warm.epochs, warm.learning_rate, config.training.decay),
        PhasePlan("self-critical", critical.epochs, critical.learning_rate, config.training.decay),
    ]


def start_fabric(config: Config) -> Fabric:
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


def _fit_prior(
    config: Config,
    words: Words,
    labels: Labels,
    train: Examples,
    progress: Progress,
    priors: PriorCache | None,
) -> FittedPrior | None:
    if not has_prior(config):
        return None
    targets = labels.indicator(train.label_sets)
    return fit_prior(config, words, train.texts, targets, progress, train.groups, priors)


def _tune_rule(tagger: NeuralTagger, valid: Examples) -> NeuralTagger:
    """Tune the threshold of the marginals on validation, or take the one that is set."""
    wanted = tagger.config.decision.threshold
    if wanted == "boundary":
        value = 0.5
    elif wanted == "tuned":
        answer = tagger.infer(valid.texts, Request(search="marginal"))
        scores = withhold_scores(answer.scores, answer.known)
        actual = tagger.labels.with_unseen(valid.label_sets).indicator(valid.label_sets)
        value = find_threshold(scores, actual, tagger.config.decision.metric).value
    else:
        value = wanted
    return replace(tagger, rule=make_global_rule(value))
