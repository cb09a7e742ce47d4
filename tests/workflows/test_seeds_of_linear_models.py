"""No seed reaches a linear model: neither what it learns, nor how it is calibrated, tuned and validated."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from seq2set.config import Config, build_config
from seq2set.corpora.documents import Document
from seq2set.corpora.prepare import prepare
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.corpora.splits import SplitPlan
from seq2set.inference.model_folder import load_model, read_metadata
from seq2set.models.predictions import Request
from seq2set.tuning.calibrated_scores import accept_labels
from seq2set.workflows.distill import Teaching, distill
from seq2set.workflows.train import train

LABELS = ("alpha", "beta", "gamma", "delta", "eps", "zeta")
SEEDS = (1, 2, 3, 4, 5)


def make_document(number: int, draw: random.Random) -> Document:
    """Make a text that shows most of its labels, and now and then another, so that calibrators come close."""
    labels = [one for place, one in enumerate(LABELS) if draw.random() < 0.5 / (1 + place * 0.4)]
    labels = labels or ["alpha"]
    shown = [one for one in labels if draw.random() < 0.75] + [one for one in LABELS if draw.random() < 0.12]
    words = [f"{one}w{draw.randrange(6)}" for one in shown for _ in range(2)]
    words += [f"noise{draw.randrange(400)}" for _ in range(8)]
    draw.shuffle(words)
    split = "train" if number < 600 else "valid" if number < 800 else "test"
    return Document(str(number), " ".join(words), tuple(labels), split)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> PreparedCorpus:
    draw = random.Random(0)
    documents = [make_document(number, draw) for number in range(1_000)]
    plan, folder = SplitPlan("given", 0, 0, 1), tmp_path_factory.mktemp("corpora") / "close"
    return prepare(documents, folder, name="close", source="made", licence="none", plan=plan)


def configure(corpus: PreparedCorpus, seed: int, model: str = "br") -> Config:
    chosen = ["linear.c=[1.0]", "decision.rule='best'", "decision.metric='example_f1'"]
    place = [f"data.corpus='{corpus.folder}'", f"seed={seed}"]
    return build_config(model=model, assignments=[*chosen, *place])


def read_model(folder: Path) -> dict[str, Any]:
    """Read all that is kept of a model but for the seed, times, and the page and sums that tell of these."""
    told = ("README.md", "manifest.json")
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in told}
    plain = json.loads(files.pop("config.json"))
    training = plain["about"]["training"]
    del plain["settings"]["seed"], training["seed"], training["seconds"]
    return files | plain


@pytest.mark.parametrize("model", ["br", "cc", "lp"])
def test_no_seed_changes_a_trained_model(model: str, corpus: PreparedCorpus, tmp_path: Path) -> None:
    texts, found = corpus.split("test").texts(), []
    for seed in SEEDS:
        run = train(configure(corpus, seed, model), tmp_path / str(seed))
        tagger = load_model(run.path)
        answer = tagger.infer(texts, Request())
        sets = [sorted(row.tolist()) for row in answer.chosen]
        kept = {"sets": sets, "scores": answer.scores.tolist(), "rule": tagger.rule}
        found.append(kept | read_model(run.model) | {"accepted": accept_labels(run.path, 0.8, 0.5)})
    differing = {
        name: [seed for seed, one in zip(SEEDS, found, strict=True) if one[name] != found[0][name]]
        for name in found[0]
    }
    assert not any(differing.values()), differing


def test_no_seed_changes_what_a_cross_validation_measures(corpus: PreparedCorpus, tmp_path: Path) -> None:
    """Folds are the corpus's, as validation is: models and seeds are measured on the same ones."""
    runs = [train(configure(corpus, seed), tmp_path / str(seed), folds=2) for seed in (1, 2)]
    one, other = (read_metadata(run.path)["cross_validation"] for run in runs)
    assert one == other


def test_no_seed_changes_what_a_linear_teacher_says(corpus: PreparedCorpus, tmp_path: Path) -> None:
    teacher = train(configure(corpus, 1), tmp_path / "teacher")
    for seed in (1, 2):
        distill(configure(corpus, seed), teacher.path, tmp_path / str(seed), Teaching(folds=2))
    one, other = (load_model(tmp_path / seed).infer(["alphaw1 noise3"], Request()) for seed in ("1", "2"))
    assert one.scores.tolist() == other.scores.tolist()
