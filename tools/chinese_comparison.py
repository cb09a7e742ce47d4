"""Compare `br` with scikit-learn's character n-grams on Chinese poems, on the same splits.

    npm pack chinese-poetry@2.0.1 && tar xzf chinese-poetry-2.0.1.tgz
    python tools/chinese_comparison.py package/dist --documents 1500 --splits 5

The poems of the package that have tags, each once; labels are the tags of at least 30 of the poems drawn. Of
each split 60 % are learnt, 20 % tuned on and 20 % measured. The opponent is TF-IDF of character n-grams and
one LinearSVC per label; n-grams, C and one threshold for all labels are chosen on the validation part, as
`br` chooses its C and threshold.

Shapes: N documents, L labels.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from seq2set.config import build_config
from seq2set.core.progress import Silent
from seq2set.evaluation.measure import evaluate_tagger
from seq2set.labels.labels import Labels
from seq2set.labels.metrics import Counts
from seq2set.labels.thresholds import find_threshold
from seq2set.models.tagger import Examples
from seq2set.workflows.train import train_in_memory
from seq2set.workflows.training_data import TrainingData

COMMON = 30
"""The fewest poems of a label"""
GRID = [(grams, c) for grams in ((1, 2), (1, 3), (2, 4)) for c in (0.1, 0.3, 1.0, 3.0)]


def read_poems(folder: Path) -> dict[str, tuple[str, ...]]:
    """Return the poems that have tags, with them."""
    poems: dict[str, tuple[str, ...]] = {}
    for path in sorted(folder.rglob("*.json")):
        found = json.loads(path.read_text("utf-8"))
        for poem in found if isinstance(found, list) else []:
            tags, lines = (
                poem.get(key) if isinstance(poem, dict) else None for key in ("tags", "paragraphs")
            )
            if tags and lines:
                poems["".join(lines)] = (tags,) if isinstance(tags, str) else tuple(tags)
    return poems


def draw_examples(poems: dict[str, tuple[str, ...]], documents: int, seed: int) -> list[Examples]:
    """Return examples to learn from, to tune on and to measure on."""
    texts = random.Random(seed).sample(sorted(poems), min(documents, len(poems)))
    counts = Counter(tag for text in texts for tag in set(poems[text]))
    sets = [tuple(sorted({tag for tag in poems[text] if counts[tag] >= COMMON})) for text in texts]
    cuts = (0, len(texts) * 6 // 10, len(texts) * 8 // 10, len(texts))
    return [Examples(texts[a:b], sets[a:b]) for a, b in pairwise(cuts)]


def measure_ours(learn: Examples, tune: Examples, test: Examples) -> float:
    """Return the test micro-F1 of `br` with its defaults."""
    trained = train_in_memory(build_config(model="br"), TrainingData(learn, tune), Silent())
    return evaluate_tagger(trained.tagger, test).metrics["micro_f1"]


def measure_theirs(learn: Examples, tune: Examples, test: Examples) -> float:
    """Return the test micro-F1 of the opponent that is best on validation."""
    labels = Labels.build(learn.label_sets)
    best, reached = 0.0, 0.0
    for grams, c in GRID:
        vectors = TfidfVectorizer(analyzer="char", ngram_range=grams, min_df=2, sublinear_tf=True)
        machine = OneVsRestClassifier(LinearSVC(C=c)).fit(
            vectors.fit_transform(learn.texts), labels.indicator(learn.label_sets).toarray().astype(int)
        )
        score: Any = [machine.decision_function(vectors.transform(one.texts)) for one in (tune, test)]
        actual = [labels.with_unseen(one.label_sets).indicator(one.label_sets) for one in (tune, test)]
        found = find_threshold(score[0], actual[0], "micro_f1")
        if found.score > best:
            given = csr_matrix(score[1] >= found.value)
            best = found.score
            reached = Counts.of_known(given, actual[1]).metrics()["micro_f1"]
    return reached


def main() -> None:
    """Print a row per split, and the mean difference with its standard error over splits."""
    parser = argparse.ArgumentParser(description="Compare br with scikit-learn on Chinese poems.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, default=1500)
    parser.add_argument("--splits", type=int, default=5)
    asked = parser.parse_args()
    poems, rows = read_poems(asked.folder), []
    print(f"{len(poems):,} poems with tags, {asked.documents:,} drawn per split\n")
    print("| split | labels | br | scikit-learn, character n-grams |\n|---|---:|---:|---:|")
    for seed in range(1, asked.splits + 1):
        parts = draw_examples(poems, asked.documents, seed)
        rows.append((measure_ours(*parts), measure_theirs(*parts)))
        known = len(Labels.build(parts[0].label_sets))
        print(f"| {seed} | {known} | {rows[-1][0]:.3f} | {rows[-1][1]:.3f} |", flush=True)
    ours, theirs = np.array(rows).T
    error = (ours - theirs).std(ddof=1) / len(rows) ** 0.5 if len(rows) > 1 else float("nan")
    print(f"| mean | | {ours.mean():.3f} | {theirs.mean():.3f} |\n")
    print(f"difference {(ours - theirs).mean():+.4f}, standard error over splits {error:.4f}")


if __name__ == "__main__":
    main()
