"""What decoding, searches and self-critical training cost, as multiples of cheaper work.

Networks have the paper's sizes for AAPD. The opponent is a part, or a cheaper kind, of the same work, so the
ratio is below 1; `checks.cost` is its inverse, for both models: a cost of 1.2 means a fifth more time. The
ratio itself is that of the model that costs more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from lightning_fabric import Fabric
from scipy.sparse import csr_matrix
from torch import Tensor

from seq2set.benchmarks.inputs import (
    AAPD,
    MODELS,
    DocumentShape,
    Learner,
    batch_by_length,
    build_learner,
    configure,
    describe_documents,
    make_documents,
)
from seq2set.benchmarks.ratio import Ratio, measure_ratio, time_call
from seq2set.config import build_config
from seq2set.config.catalog import SEARCHES
from seq2set.config.schema import SearchSettings
from seq2set.core.hardware import limit_threads
from seq2set.nn.decoding.rollout import roll_out_greedily
from seq2set.training.examples import EncodedExamples
from seq2set.training.step import TrainingStep
from seq2set.training.validation import Validation, compute_micro_f1, search_validation

BATCH = 128
"""Documents that are decoded together, of about the same length, as validation does."""

DECODING_LIMIT = 1.5
"""What greedy decoding may cost, encoding included, as a multiple of encoding."""

SELF_CRITICAL_LIMIT = 1.6
"""What a self-critical update may cost, as a multiple of a likelihood update."""


def measure_decoding(
    documents: int = 1_000,
    *,
    shape: DocumentShape = AAPD,
    settings: Sequence[str] = (),
    settling: int = 100,
    rounds: int = 2,
) -> Ratio:
    """Decode a split of `documents` greedily, against encoding it alone.

    Our side is all of prediction: encoding, D1 where there is one, and the set decoder; the opponent is the
    encoder's part of that.
    """
    measure = partial(_time_decoding, rounds=rounds)
    return _measure_costliest(measure, DECODING_LIMIT, documents, DocumentShape(*shape), settings, settling)


def _time_decoding(learner: Learner, examples: EncodedExamples, rounds: int) -> Ratio:
    network = learner.step.network.eval()
    batches = [examples.batch(index) for index in batch_by_length(examples, BATCH)]
    found: list[Tensor] = []

    @torch.inference_mode()
    def decode() -> None:
        found[:] = [roll_out_greedily(network(batch.ids, batch.lengths).final).lengths for batch in batches]

    @torch.inference_mode()
    def encode() -> None:
        for batch in batches:
            network.encoder(batch.ids, batch.lengths)

    result = measure_ratio("decode", "encoding alone", decode, encode, {}, rounds)
    lengths = torch.cat(found).float()
    sizes = {"greedy_labels": round(float(lengths.mean()), 2), "longest_set": int(lengths.max())}
    return result._replace(shapes=sizes)


def measure_self_critical_step(
    documents: int = 64,
    *,
    shape: DocumentShape = AAPD,
    settings: Sequence[str] = (),
    settling: int = 100,
    rounds: int = 3,
) -> Ratio:
    """Make a full self-critical update with one batch of `documents`, against an update by likelihood.

    A self-critical update reads the documents, decodes them greedily for the baseline, samples, goes
    backward, clips and applies Adam. A model's `baseline_share` is the greedy baseline's share of it.
    """
    measure, limit = partial(_time_updates, rounds=rounds), SELF_CRITICAL_LIMIT
    return _measure_costliest(measure, limit, documents, DocumentShape(*shape), settings, settling)


def _time_updates(learner: Learner, examples: EncodedExamples, rounds: int) -> Ratio:
    batch = examples.batch(np.arange(len(examples)))
    result = measure_ratio(
        "rl-step",
        "the likelihood step",
        lambda: learner.update(batch, "self-critical"),
        lambda: learner.update(batch, "warm-start"),
        {},
        rounds,
    )
    # The greedy baseline alone: without dropout the documents are read a second time for it.
    step = learner.step.train()
    with torch.no_grad():
        policy = step.network(batch.ids, batch.lengths, batch.margins).final
        baseline = min(time_call(lambda: step.decode_greedily(policy, batch)) for _ in range(rounds))
    share = round(baseline / result.ours, 3)
    return result._replace(shapes=learner.measure_set_sizes(batch) | {"baseline_share": share})


def _measure_costliest(
    measure_model: Callable[[Learner, EncodedExamples], Ratio],
    limit: float,
    documents: int,
    shape: DocumentShape,
    settings: Sequence[str],
    settling: int,
) -> Ratio:
    """Measure all models and return the ratio of the one that costs the most, with the costs of all.

    Each model first learns realistic set sizes in `settling` updates. A model's own shapes stand under its
    name beside those that all share.
    """
    examples = make_documents(documents, shape)
    results = {}
    for model in MODELS:
        learner = build_learner(configure(model, settings), shape)
        learner.settle(shape, settling)
        results[model] = measure_model(learner, examples)
    most = max(results, key=lambda model: results[model].cost)
    own = {model: result.shapes for model, result in results.items()}
    costs = {model: round(result.cost, 3) for model, result in results.items()}
    return results[most]._replace(
        shapes=describe_documents(examples, shape) | {"settling_updates": settling} | own,
        checks={"cost": costs, "limit": limit, "ratio_is_of": most},
    )


def measure_searches(
    documents: int = 200,
    *,
    shape: DocumentShape = AAPD,
    settings: Sequence[str] = (),
    settling: int = 100,
    rounds: int = 2,
) -> Ratio:
    """Search a split of `documents` as validation does: read, search, and count micro-F1.

    The network is `seq2set-simp` after `settling` updates that teach realistic set sizes; the searches have
    the width and the samples of the preset `compact`. The ratio is that of `set-beam`, the slowest.
    """
    shape = DocumentShape(*shape)
    examples = make_documents(documents, shape)
    learner = build_learner(configure("seq2set-simp", settings), shape)
    learner.settle(shape, settling)
    search = build_config(preset="compact", model="seq2set-simp").search
    right = csr_matrix(examples.batch(np.arange(documents)).gold.numpy())
    valid = Validation(examples, right, np.ones(documents, bool))
    best = _time_searches(learner.step, valid, search, rounds)
    shapes = describe_documents(examples, shape)
    shapes |= learner.measure_set_sizes(examples.batch(np.arange(min(documents, 64))))
    checks = {
        "cost": {name: round(value / best["greedy"], 2) for name, value in best.items()},
        "documents_per_second": {name: round(documents / value, 1) for name, value in best.items()},
        "width": search.width,
        "samples": search.samples,
    }
    return Ratio("search", "greedy decoding", best["set-beam"], best["greedy"], shapes, checks)


def _time_searches(
    step: TrainingStep, valid: Validation, search: SearchSettings, rounds: int
) -> dict[str, float]:
    """Let the searches take turns, and keep the best time of each."""
    best = dict.fromkeys(SEARCHES, float("inf"))
    with limit_threads(1):
        for name in [*SEARCHES] * rounds:
            named = search.model_copy(update={"name": name})
            best[name] = min(best[name], time_call(partial(_validate, step, valid, named)))
    return best


def _validate(step: TrainingStep, valid: Validation, search: SearchSettings) -> float:
    found = search_validation(step, valid.examples, search, Fabric(accelerator="cpu", devices=1))
    return compute_micro_f1(found, valid)
