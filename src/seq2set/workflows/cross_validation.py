"""Cross-validation for small corpora: every document is predicted by a model that did not learn from it.

A test split of forty documents says little; five folds measure on all documents, at five times the cost. The
interval is over documents, or groups of them, of all folds together; equal texts are drawn together. It does
not know how much another drawing of the folds would change.

Shapes: N documents, L labels.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seq2set.config import Config
from seq2set.config.run_folder import RunFolder
from seq2set.core.errors import InputError
from seq2set.core.files import read_json, write_json, write_text
from seq2set.core.progress import Progress
from seq2set.corpora.carve import stratify
from seq2set.corpora.seen_texts import hash_texts, join_copies, number_texts
from seq2set.evaluation.measure import evaluate_tagger
from seq2set.labels.intervals import compute_intervals
from seq2set.labels.labels import Labels
from seq2set.labels.metrics import Counts
from seq2set.models.predictions import Inference
from seq2set.models.prior import fold_groups
from seq2set.models.tagger import Examples, get_fit_function
from seq2set.workflows.calibration import calibrate_trained
from seq2set.workflows.training_data import carve_validation

Row = dict[str, Any]

COUNT = Path("folds", "count.json")
"""Where a run folder says how many folds there are."""


def recall_folds(run: Path, folds: int | None) -> int | None:
    """Return into how many folds a run that goes on was begun to be split; refuse another number."""
    if not (run / COUNT).is_file():
        return folds
    try:
        begun = int(read_json(run / COUNT)["folds"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{run / COUNT} is damaged; name another --out") from error
    if folds not in (None, begun):
        raise InputError(f"{run} was begun with --folds {begun}, not {folds}; leave --folds out")
    return begun


def cross_validate(
    config: Config, pooled: Examples, run: RunFolder, folds: int, seed: int, progress: Progress
) -> dict[str, Any]:
    """Predict each fold by a model of the others, and return the figures over all of them.

    The seed is the corpus's, so that trainings with other seeds are measured on the same folds. The
    predictions of a fold are kept in the run folder, so that a stopped training does it once, and those of
    all in `folds/predictions.jsonl`.
    """
    of_document = assign_folds(pooled, folds, seed)
    shared = hashlib.sha256(of_document.tobytes()).hexdigest()[:16]
    if (run.path / COUNT).is_file() and read_json(run.path / COUNT).get("shared") != shared:
        progress.note("the folds are begun anew: an earlier version shared the documents out otherwise")
        shutil.rmtree(run.path / COUNT.parent)
    write_json(run.path / COUNT, {"folds": folds, "shared": shared})
    rows: list[Row] = []
    for fold in range(folds):
        path = run.path / "folds" / f"{fold + 1}.json"
        if not path.is_file():
            progress.note(f"fold {fold + 1} of {folds}")
            folder = path.with_suffix("")
            write_json(path, _predict_fold(config, pooled, of_document == fold, folder, progress))
            shutil.rmtree(folder)
        rows += [row | {"fold": fold + 1} for row in json.loads(path.read_text(encoding="utf-8"))]
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    write_text(run.path / "folds" / "predictions.jsonl", "".join(lines))
    return _measure(rows, pooled)


def assign_folds(pooled: Examples, folds: int, seed: int) -> NDArray[np.int64]:
    """Return the fold of each document (N,): labels are shared out evenly, groups and copies stay whole."""
    generator, units = np.random.default_rng(seed), join_copies(pooled.texts, pooled.groups)
    if pooled.groups is not None:
        return fold_groups(folds, units, generator)
    labels = Labels.build(pooled.label_sets).indicator(pooled.label_sets).astype(np.int8)
    first, of_document = np.unique(units, return_inverse=True)  # of copies, the first one stands for all
    sizes = np.bincount(np.arange(len(first)) % folds, minlength=folds)
    return stratify(labels[first], sizes, generator).astype(np.int64)[of_document]


def _predict_fold(
    config: Config, pooled: Examples, held_out: NDArray[np.bool_], folder: Path, progress: Progress
) -> list[Row]:
    rest, held = (pooled.pick(np.flatnonzero(part)) for part in (~held_out, held_out))
    run = RunFolder.start(folder, config, resume=True)
    data = carve_validation(rest)
    tagger = get_fit_function(config.model)(config, *data, run, progress)
    tagger = calibrate_trained(tagger, data.tune if data.is_carved else None, "", progress).tagger
    rows: list[Row] = []

    def keep(documents: Any, answer: Inference) -> None:
        for document, suggestions in zip(documents, answer.suggestions(tagger.labels.names), strict=True):
            given = [{"label": one.label, "score": round(one.score, 6)} for one in suggestions]
            rows.append({"id": document.id, "true": list(document.labels), "labels": given})

    evaluate_tagger(tagger, held, progress=progress, keep=keep)
    return rows


def _measure(rows: list[Row], pooled: Examples) -> dict[str, Any]:
    labels = Labels.build(pooled.label_sets)
    right = labels.rows(row["true"] for row in rows)
    given = labels.rows([one["label"] for one in row["labels"]] for row in rows)
    of_row = np.array([row["fold"] for row in rows])
    together = pooled.groups if pooled.groups is not None else number_texts(hash_texts(pooled.texts))
    of_id = None if together is None else dict(zip(pooled.ids, together, strict=True))
    units = None if of_id is None else [of_id[row["id"]] for row in rows]
    metrics, intervals = Counts.of(given, right).metrics(), compute_intervals(given, right, units)
    by_fold = [
        Counts.of(given[of_row == fold], right[of_row == fold]).metrics() for fold in np.unique(of_row)
    ]
    return {
        "folds": len(by_fold),
        "documents": len(rows),
        "metrics": {
            name: {
                "mean": float(np.mean([one[name] for one in by_fold])),
                "folds": [one[name] for one in by_fold],
                "together": value,
                "interval": intervals[name].list_bounds(),
            }
            for name, value in metrics.items()
        },
    }
