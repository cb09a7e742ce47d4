"""Measure how steady the sets of a network are for several numbers of samples, and what they cost.

Usage: python tools/sample_steadiness.py RUN CORPUS

On the validation split of a prepared corpus: CPU time against the fewest samples, the share of documents
whose set differs from that of the most samples, and micro-F1.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from pathlib import Path

from seq2set.core.sparse import SparseRows
from seq2set.corpora.prepared import PreparedCorpus
from seq2set.inference.predictor import Predictor
from seq2set.labels.metrics import Counts
from seq2set.models.predictions import Request

SAMPLES = (8, 16, 24, 32, 64, 256)


def main() -> None:
    """Print a row per number of samples."""
    parser = argparse.ArgumentParser(description="Measure how steady sampled sets are.")
    parser.add_argument("run", type=Path)
    parser.add_argument("corpus", type=Path)
    asked = parser.parse_args()
    tagger = Predictor.open(asked.run).tagger
    split = PreparedCorpus.open(asked.corpus).split("valid")
    texts, labels = split.texts(), tagger.labels
    actual = labels.with_unseen(split.labels()).rows(split.labels())
    sets, seconds = {}, {}
    for samples in SAMPLES:
        search = tagger.config.search.model_copy(update={"samples": samples})
        config = tagger.config.model_copy(update={"search": search})
        one = dataclasses.replace(tagger, config=config)
        began = time.process_time()
        sets[samples] = one.infer(texts, Request()).chosen
        seconds[samples] = time.process_time() - began
    print("| samples | cost | other sets | micro-F1 |\n|---|---|---|---|")
    for samples in SAMPLES:
        other = [set(a) != set(b) for a, b in zip(sets[samples], sets[SAMPLES[-1]], strict=True)]
        f1 = Counts.of(SparseRows.from_sets(sets[samples], actual.columns), actual).metrics()["micro_f1"]
        cost, share = seconds[samples] / seconds[SAMPLES[0]], sum(other) / len(other)
        print(f"| {samples} | {cost:.2f} | {share:.1%} | {f1:.3f} |")


if __name__ == "__main__":
    main()
