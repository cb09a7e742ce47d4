"""From examples to a trained network: vocabularies, prior, network, phases, and the rule at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from lightning_fabric import Fabric

from seq2set.config import Config
from seq2set.config.catalog import find_model, find_scoring_search
from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import ConfigError, InputError
from seq2set.core.files import read_json, write_json
from seq2set.core.hardware import count_processes, limit_threads
from seq2set.core.progress import Progress, Silent
from seq2set.labels.best_rule import find_best_rule
from seq2set.labels.labels import Labels
from seq2set.labels.rules import make_global_rule
from seq2set.labels.thresholds import find_threshold
from seq2set.models.ensemble import join_networks, refuse_misfit
from seq2set.models.network import Network, build_encoder, build_network
from seq2set.models.neural import NeuralTagger
from seq2set.models.predictions import Request, withhold_scores
from seq2set.models.prior import has_prior
from seq2set.models.seq2set import SetNetwork
from seq2set.models.tagger import Examples
from seq2set.nn.encoders import OwnTokens
from seq2set.nn.text_reader import open_tokens
from seq2set.text.cut_texts import describe_cut
from seq2set.text.vocabulary import Words
from seq2set.training.data_parallel import Share, choose_device, count_workers, start_group
from seq2set.training.examples import encode_examples
from seq2set.training.fitted_prior import FittedPrior, PriorCache, fit_prior
from seq2set.training.learning_rates import PhasePlan
from seq2set.training.starting_network import StartingNetwork
from seq2set.training.step import TrainingStep
from seq2set.training.trainer import Trainer
from seq2set.training.validation import (
    Validation,
    choose_search,
    compute_micro_f1,
    encode_validation,
    search_validation,
)

MAX_LABELS_FACTOR = 2
"""How many times the labels of the largest training set a decoder may emit."""

TEXTS_AT_A_TIME = 16_384
"""Bounds the memory of what is predicted to tune the rule."""


def train_network(
    config: Config,
    train: Examples,
    valid: Examples,
    run: RunFolder,
    progress: Progress,
    priors: PriorCache | None = None,
    start: StartingNetwork | None = None,
) -> NeuralTagger:
    """Train on `train`, choose the best weights and the decision rule on `valid`.

    Trainings that share `priors` fit an equal linear prior once. With `start` the words are those of another
    network, and the weights begin with its own.
    """
    refuse_misfit(config)
    device, plan = choose_device(config), plan_phases(config)
    own = _open_tokens(config, run)
    labels = Labels.build(train.label_sets)
    if start is None:
        words = Words.build(train.texts, **config.text.model_dump())
    else:
        start.refuse_other_texts(config)
        words = start.tagger.words
    prior = None
    if has_prior(config):
        targets = train.targets(labels)
        prior = fit_prior(config, words, train.texts, targets, progress, train.groups, priors, run.path)
        config = prior.settle(config)
    learn = encode_examples(train, config, words, labels, prior and prior.margins, run.path, own)
    most = MAX_LABELS_FACTOR * max(len(set(one)) for one in train.label_sets)
    tune = encode_validation(valid, config, words, labels, prior and prior.model, run.path, own)
    for sentence in describe_cut(learn.cut + tune.examples.cut, len(train) + len(valid)):
        progress.note(sentence)
    if start is not None:
        progress.note(start.describe(labels, learn))
    workers = count_workers(config, len(train) * sum(phase.epochs for phase in plan), device)
    share = Share(config, (len(words), len(labels), most), learn, tune.examples)
    if own is not None and config.encoder.tune == "none":
        reader = build_encoder(config, len(words))
        processes = count_processes(config.workers, config.threads)
        reader.keep_states([learn.words, tune.examples.words], processes, progress, device)

    def train_member(number: int) -> Network:
        own = share._replace(config=config.model_copy(update={"seed": config.seed + number}))
        member = run.open_member(number)
        if config.ensemble > 1:
            progress.note(f"network {number + 1} of {config.ensemble}, with the seed {own.config.seed}")
        lend = None
        if start is not None:
            lend = partial(start.lend_weights, member=number, config=config, words=len(words), labels=labels)
        with start_group(own, workers, member) as fabric:
            return train_share(own, fabric, member, progress, tune, prior, lend)

    with limit_threads(config.threads):
        network = join_networks([train_member(number) for number in range(config.ensemble)])
        rule = make_global_rule(0.5)
        tagger = NeuralTagger(config, words, labels, network, prior and prior.model, rule, own=own)
        return _tune_rule(tagger, valid)


def train_share(
    share: Share,
    fabric: Fabric,
    run: RunFolder,
    progress: Progress | None = None,
    tune: Validation | None = None,
    prior: FittedPrior | None = None,
    lend_weights: Callable[[Network], None] | None = None,
) -> Network:
    """Train a network in one of the processes of a group; the first of them has all that is optional.

    Weights that are lent to it reach the others as random ones do: all begin with those of the first.
    """
    config, progress = share.config, progress or Silent()
    torch.manual_seed(config.seed)
    step = TrainingStep(build_network(config, *share.sizes), config)
    if prior is not None and isinstance(step.network, SetNetwork) and step.network.prior is not None:
        step.network.prior.calibrate(*prior.sigmoid)
    if lend_weights is not None:
        lend_weights(step.network)
    if fabric.device.type == "cpu" and (
        note := step.network.encoder.note_precision(config.training.precision)
    ):
        progress.note(note)

    def measure() -> float:
        found = search_validation(step, share.tune, config.search, fabric)
        return 0.0 if tune is None else compute_micro_f1(found, tune)

    loop = Trainer(
        step,
        share.learn,
        measure,
        plan_phases(config),
        config.training,
        run,
        progress,
        fabric,
        seed=config.seed,
        search=choose_search(step.network, config.search),
        threads=1 if fabric.world_size > 1 and config.threads == "auto" else config.threads,
        # Random numbers by document make several processes equal to one. Where one was asked for by its
        # number of threads, they come one after another, as they always did.
        keyed=config.threads == "auto" or config.workers not in (1, "auto"),
    )
    with step.network.encoder.reuse_states():
        loop.run()
    return step.network.cpu()


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


def _open_tokens(config: Config, run: RunFolder) -> OwnTokens | None:
    """Open the encoder's own tokens, if it has some, and go on with no other encoder than was begun with."""
    own, encoder = open_tokens(config), config.encoder
    if own is None:
        if encoder.pretrained and not find_model(config.model).encoder:
            raise ConfigError(
                [f"encoder.pretrained is '{encoder.pretrained}'; encoder.kind must be 'transformer' then"]
            )
        return None
    if not run.encoder.is_file():
        write_json(run.encoder, own.facts())
    try:
        same = read_json(run.encoder) == own.facts()
    except ValueError:  # damaged
        same = False
    if not same:
        raise InputError(
            f"{run.encoder} does not say that the run was begun with '{encoder.pretrained}' as it is now; "
            "put the old encoder back, or begin a new run"
        )
    return own


def _tune_rule(tagger: NeuralTagger, valid: Examples) -> NeuralTagger:
    """Tune the threshold, or the rule, of the marginals on validation, or take the one that is set."""
    value = tagger.config.decision.threshold
    if value == "boundary":
        value = 0.5
    elif value == "tuned":
        # The marginals of all texts (N, L), by which no rule gives a label where no word is known.
        scores = np.empty((len(valid.texts), len(tagger.labels)), np.float32)
        request = Request(search=find_scoring_search(tagger.find_search(Request())))
        for start in range(0, len(valid.texts), TEXTS_AT_A_TIME):
            block = slice(start, start + TEXTS_AT_A_TIME)
            answer = tagger.infer(valid.texts[block], request)
            scores[block] = withhold_scores(answer.scores, answer.known)
        actual = tagger.labels.with_unseen(valid.label_sets).indicator(valid.label_sets)
        metric, kind = tagger.config.decision.metric, tagger.config.decision.rule
        if kind != "global":
            frequencies = tagger.labels.frequencies
            found = find_best_rule(kind, scores, actual, metric, frequencies=frequencies, groups=valid.groups)
            return replace(tagger, rule=found.rule)
        value = find_threshold(scores, actual, metric).value
    return replace(tagger, rule=make_global_rule(value))
