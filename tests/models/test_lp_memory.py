"""Many combinations on many terms fit into memory: a small likeness of 5,000 x 30,000."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np

from seq2set.config import build_config
from seq2set.config.run_folder import RunFolder
from seq2set.core.progress import Silent
from seq2set.models.lp import train_lp
from seq2set.models.tagger import Examples

COMBINATIONS, TERMS = 100, 10_000


def made_up(documents: int) -> Examples:
    """Make texts whose first word names their combination, among many words that say nothing."""
    draw = np.random.default_rng(1)
    words = np.array([f"w{number}" for number in range(2 * TERMS)])
    texts, sets = [], []
    for number in range(documents):
        kind = number % COMBINATIONS
        # Number 37 is the labels 3 and 17: a label for the tens, another for the ones.
        texts.append(" ".join([f"kind{kind}", *words[draw.integers(0, len(words), 150)]]))
        sets.append((f"tens{kind // 10}", f"ones{kind % 10}"))
    return Examples(texts, sets)


def test_the_weights_are_held_a_few_times_and_never_in_double_precision(tmp_path: Path) -> None:
    settings = [
        "threads=1",
        "linear.c=[0.1, 1]",
        "linear.tolerance=1.0",
        "features.ngrams=1",
        "features.min_documents=1",
        "text.min_frequency=1",
        f"powerset.max_features={TERMS}",
    ]
    config = build_config(model="lp", assignments=settings)
    learn, run = made_up(200), RunFolder.start(tmp_path / "run", config)
    tracemalloc.start()
    model = train_lp(config, learn, learn, run, Silent())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.scorer.weights.shape == (TERMS, COMBINATIONS)
    assert model.scorer.weights.dtype == np.float32
    # The best so far, the candidate, and the candidate's bytes on the way to its file; the rest is small.
    assert 2 < peak / model.scorer.weights.nbytes < 4
