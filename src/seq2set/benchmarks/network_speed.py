"""Prediction and training updates against the same network written plainly (`plain`), and ONNX against torch.

Both sides have the same weights and read the same documents; the run fails where the plain one disagrees.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from seq2set.benchmarks.inputs import (
    AAPD,
    DocumentShape,
    Learner,
    build_learner,
    configure,
    describe_documents,
    make_documents,
    make_texts,
    open_model,
    write_texts,
)
from seq2set.benchmarks.plain import (
    Pick,
    bind,
    limit_labels,
    pick_at_random,
    pick_likeliest,
    roll_out,
    score_sequences,
)
from seq2set.benchmarks.ratio import Ratio, measure_ratio, run_apart
from seq2set.core.errors import InputError, WorkError
from seq2set.core.hardware import count_cores
from seq2set.inference.model_folder import load_model
from seq2set.inference.predictor import Predictor
from seq2set.inference.runtimes import restore_onnx
from seq2set.models.neural import NeuralTagger
from seq2set.models.predictions import Request
from seq2set.models.seq2set import SetNetwork
from seq2set.models.tagger import Tagger
from seq2set.nn.text_reader import limit_words
from seq2set.objectives.losses import compute_likelihood_loss, compute_self_critical_loss
from seq2set.objectives.rewards import f1
from seq2set.text.batches import collate
from seq2set.text.tfidf import encode_blocks
from seq2set.training.examples import TrainingBatch
from seq2set.training.step import Phase
from seq2set.workflows.export import compare_answers, write_graphs

OPPONENT = "the same network by torch's own layers, a row per sample"

BATCH = 64
"""Texts that are read together: by the plain side, of about the same length, and by the two runtimes."""

TOLERANCE = 1e-3
"""How far the likelihoods of the two sides may lie apart."""

PHASES: tuple[Phase, ...] = ("warm-start", "self-critical")

NO_DROPOUT = ("encoder.dropout=0", "decoder.dropout=0")
"""So that both sides compute the same."""


def measure_prediction(
    documents: int = 256,
    *,
    model: Path | None = None,
    settings: Sequence[str] = (),
    settling: int = 100,
    rounds: int = 2,
    streamed: int = 4_000,
    workers: Sequence[int] = (),
) -> Ratio:
    """Predict texts as `Predictor` does, and by sampling as many sets of each plainly.

    Unless a model is named, one of the default sizes that has learnt, in `settling` updates, how large sets
    are. `checks.other_greedy_sets` counts documents that the two sides decode differently;
    `checks.times_the_opponent` says how many times as many documents per second of the clock the command
    makes of `streamed` texts, its start included, with 1 of `workers` and with all.
    """
    texts = make_texts(documents)
    with open_model(model, settings, settling=settling) as (chosen, folder):
        predictor = Predictor.open(chosen)
        commands = _time_command(chosen, folder, streamed, workers or sorted({1, count_cores()}))
    tagger = predictor.tagger
    if not isinstance(tagger, NeuralTagger) or not isinstance(tagger.network, SetNetwork):
        raise InputError(f"--model is {model}; it must be a model of the kind seq2set or seq2set-simp")
    score, samples = partial(_score_plainly, tagger, tagger.network.eval()), tagger.config.search.samples
    draw = pick_at_random(torch.Generator().manual_seed(1))
    shapes = {"documents": documents, "words": 130, "labels": len(tagger.labels), "samples": samples}
    result = measure_ratio(
        "predict",
        OPPONENT,
        lambda: predictor.predict(texts, Request(search="marginal")),
        lambda: score(texts, draw, samples),
        shapes | {"model": str(model or "made")},
        rounds,
    )
    ours, theirs = tagger.infer(texts, Request(search="greedy")).chosen, score(texts, pick_likeliest)
    others = sum(set(one) != set(np.flatnonzero(row)) for one, row in zip(ours, theirs, strict=True))
    speeds = {"ours": documents / result.ours, "opponent": documents / result.theirs}
    checks = {"documents_per_second": speeds, "other_greedy_sets": others, "command": commands}
    checks["times_the_opponent"] = {
        number: round(one / speeds["opponent"], 2) for number, one in commands.items()
    }
    return result._replace(checks=checks)


def _time_command(model: Path, folder: Path, texts: int, workers: Sequence[int]) -> dict[int, float]:
    """Return the documents per second of the clock that `predict` makes with each number of processes."""
    source, speeds = write_texts(folder / "texts.jsonl", texts), {}
    for number in workers:
        out = ["--output", str(folder / f"{number}.jsonl"), "--workers", str(number)]
        began = time.perf_counter()
        run_apart("-m", "seq2set", "predict", str(model), "--input", str(source), *out)
        speeds[number] = texts / (time.perf_counter() - began)
    return speeds


@torch.inference_mode()
def _score_plainly(
    tagger: NeuralTagger, network: SetNetwork, texts: Sequence[str], pick: Pick, rows: int = 1
) -> npt.NDArray[np.float32]:
    """Return in how many of the sampled sets of each text each label is, (N, L), by the plain network."""
    limits, prior = tagger.config.encoder, tagger.prior
    encoded = [limit_words(one, limits.max_words, limits.words) for one in tagger.words.encode(texts)]
    margins = None if prior is None else prior.read(encode_blocks(tagger.words, texts), texts).margins
    order = np.argsort([len(one) for one in encoded], kind="stable")
    scores = np.zeros((len(texts), len(tagger.labels)), np.float32)
    for start in range(0, len(order), BATCH):
        index = order[start : start + BATCH]
        read = collate(encoded, index)
        chosen = None if margins is None else torch.from_numpy(margins[index])
        decoder = bind(network, read.ids, read.lengths, chosen, rows)
        sets = roll_out(decoder, pick, limit_labels(network)).sets.float()
        scores[index] = sets.view(len(index), rows, -1).mean(1).numpy()
    return scores


def measure_updates(
    documents: int = 64,
    *,
    shape: DocumentShape = AAPD,
    settings: Sequence[str] = (),
    settling: int = 100,
    rounds: int = 2,
) -> Ratio:
    """Make an update by likelihood and a self-critical one with one batch, ours and plain.

    The network is `seq2set-simp` at the paper's sizes for AAPD, after `settling` updates that teach realistic
    set sizes. `checks.ratio` has the two kinds of updates apart.
    """
    shape = DocumentShape(*shape)
    learner = build_learner(configure("seq2set-simp", [*NO_DROPOUT, *settings]), shape)
    learner.settle(shape, settling)
    examples = make_documents(documents, shape)
    batch = examples.batch(np.arange(documents))
    difference = _compare_likelihoods(learner, batch)
    found = {
        phase: measure_ratio(
            "train-step",
            OPPONENT,
            partial(learner.update, batch, phase),
            partial(update_plainly, learner, batch, phase),
            {},
            rounds,
        )
        for phase in PHASES
    }
    checks: dict[str, Any] = {"ratio": {phase: round(one.ratio, 3) for phase, one in found.items()}}
    checks |= {"seconds": {phase: one.to_dict()["seconds"] for phase, one in found.items()}}
    checks |= {"difference_of_likelihoods": difference}
    ours, theirs = (sum(getattr(one, side) for one in found.values()) for side in ("ours", "theirs"))
    return Ratio("train-step", OPPONENT, ours, theirs, describe_documents(examples, shape), checks)


def update_plainly(learner: Learner, batch: TrainingBatch, phase: Phase) -> None:
    """One update with a loss that is computed plainly."""
    network = cast("SetNetwork", learner.step.network)
    loss = compute_likelihood if phase == "warm-start" else compute_self_critical
    learner.descend(loss(network, batch, learner.generator))


def compute_likelihood(network: SetNetwork, batch: TrainingBatch, _: torch.Generator) -> Tensor:
    """Return L(phi) of the labels in order."""
    decoder = bind(network, batch.ids, batch.lengths, batch.margins)
    return compute_likelihood_loss(score_sequences(decoder, batch.sequences)[:, None])


def compute_self_critical(network: SetNetwork, batch: TrainingBatch, generator: torch.Generator) -> Tensor:
    """Return L(theta) of one sample per document, with the greedy set as its baseline."""
    most = limit_labels(network)
    drawn = roll_out(bind(network, batch.ids, batch.lengths, batch.margins), pick_at_random(generator), most)
    with torch.no_grad():
        likeliest = roll_out(bind(network, batch.ids, batch.lengths, batch.margins), pick_likeliest, most)
    gained, baseline = (f1(one.sets, batch.gold) for one in (drawn, likeliest))
    return compute_self_critical_loss(drawn.log_prob, gained, baseline)


@torch.no_grad()
def _compare_likelihoods(learner: Learner, batch: TrainingBatch) -> float:
    """Say how far the sides' likelihoods lie apart, and fail where that is too far."""
    ours = learner.step(batch, "warm-start", learner.generator).total
    network = cast("SetNetwork", learner.step.network)
    difference = float(abs(ours - compute_likelihood(network, batch, learner.generator)))
    if difference > TOLERANCE:
        raise WorkError(
            f"the plain network's likelihood differs from ours by {difference:.1e}; at most {TOLERANCE:.0e} "
            "is allowed"
        )
    return difference


def measure_onnx(
    documents: int = BATCH,
    *,
    model: Path | None = None,
    settings: Sequence[str] = (),
    settling: int = 100,
    rounds: int = 3,
) -> Ratio:
    """Predict texts one at a time on both runtimes; `checks` has the ratio of whole batches.

    Unless a model is named, one of the default sizes that has learnt, in `settling` updates, how large sets
    are. `checks.difference` is the largest difference of two scores.
    """
    texts = make_texts(documents)
    with open_model(model, settings, settling=settling) as (chosen, folder):
        network = load_model(chosen, "torch")
        if not isinstance(network, NeuralTagger):
            raise InputError(f"--model is {model}; it must be a network, since linear models have no graphs")
        onnx = restore_onnx(network.state(), folder, write_graphs(folder, network))
        sizes = {"documents": documents, "labels": len(network.labels), "model": str(model or "made")}
        alone = _measure_runtimes(onnx, network, texts, sizes | {"batch": 1}, rounds)
        together = _measure_runtimes(onnx, network, texts, sizes | {"batch": BATCH}, rounds)
        difference = compare_answers(network, onnx, texts).difference
    return alone._replace(checks={f"ratio_at_{BATCH}": together.ratio, "difference": difference})


def _measure_runtimes(
    onnx: Tagger, network: Tagger, texts: Sequence[str], sizes: dict[str, object], rounds: int
) -> Ratio:
    def predict(tagger: Tagger) -> None:
        size = int(str(sizes["batch"]))
        for start in range(0, len(texts), size):
            tagger.infer(texts[start : start + size], Request())

    return measure_ratio("onnx", "torch", lambda: predict(onnx), lambda: predict(network), sizes, rounds)
