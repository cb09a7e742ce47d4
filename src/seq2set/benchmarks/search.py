"""Each search of a decoder, against greedy decoding, as validation during training runs it.

A side reads the documents, searches their sets and counts micro-F1, with the width and the samples of the
preset `compact` and a network at the paper's sizes for AAPD. The ratio is that of `set-beam`, the slowest;
`checks.cost` has for each search its time by that of `greedy`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from lightning_fabric import Fabric
from scipy.sparse import csr_matrix

from seq2set.benchmarks.inputs import AAPD, DocumentShape, build_learner, compute_mean_labels, make_documents
from seq2set.benchmarks.ratio import Ratio, time_call
from seq2set.config import build_config
from seq2set.config.catalog import SEARCHES
from seq2set.config.schema import SearchSettings
from seq2set.training.examples import EncodedExamples
from seq2set.training.step import TrainingStep
from seq2set.training.validation import Validation, compute_micro_f1, search_validation

MODEL = "seq2set-simp"


def measure_searches(
    documents: int = 200,
    *,
    shape: DocumentShape = AAPD,
    settings: Sequence[str] = (),
    settling: int = 100,
    rounds: int = 2,
) -> Ratio:
    """Search a split of `documents`, after `settling` updates that teach realistic set sizes."""
    learner, examples = build_learner(MODEL, shape, settings), make_documents(documents, shape)
    learner.settle(shape, settling)
    search = build_config(preset="compact", model=MODEL).search
    best = _time_searches(learner.step, _to_validation(examples), search, rounds)
    shapes = {"documents": documents, **shape.to_dict(), "labels_per_document": compute_mean_labels(examples)}
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
    for _ in range(rounds):
        for name in SEARCHES:
            named = search.model_copy(update={"name": name})
            took = time_call(lambda: _validate(step, valid, named))  # noqa: B023
            best[name] = min(best[name], took)
    return best


def _validate(step: TrainingStep, valid: Validation, search: SearchSettings) -> float:
    found = search_validation(step, valid.examples, search, Fabric(accelerator="cpu", devices=1))
    return compute_micro_f1(found, valid)


def _to_validation(examples: EncodedExamples) -> Validation:
    right = examples.batch(np.arange(len(examples))).gold.numpy()
    return Validation(examples, csr_matrix(right), np.ones(len(examples), bool))
