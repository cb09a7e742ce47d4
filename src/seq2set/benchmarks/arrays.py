"""Array work against scikit-learn: rewards on tensors, metrics from additive counts, TF-IDF from word ids."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score, hamming_loss, precision_recall_fscore_support

from seq2set.benchmarks.inputs import make_texts
from seq2set.benchmarks.ratio import Ratio, measure_ratio, time_call
from seq2set.config import Config
from seq2set.labels.metrics import Counts
from seq2set.objectives.rewards import f1
from seq2set.text.tfidf import TfidfFeatures, encode_blocks
from seq2set.text.vocabulary import Words

REWARD_LIMIT = 500
"""How many times as fast as its opponent the reward must be."""

LabelMasks = npt.NDArray[np.bool_]
Rewards = npt.NDArray[np.float64]


def measure_reward(
    documents: int = 64, *, samples: int = 4, labels: int = 103, batches: int = 20, rounds: int = 5
) -> Ratio:
    """Compute the F1 rewards of the same `batches` batches on tensors and by scikit-learn.

    The authors' code calls scikit-learn once for each sampled set. The opponent here is quicker: with samples
    as columns, one call gives the F1 of all samples of a document. `checks` has the other one too, and the
    largest difference of the rewards.
    """
    random = np.random.default_rng(1)
    drawn = [_draw_batch(documents, samples, labels, random) for _ in range(batches)]
    tensors = [tuple(map(torch.from_numpy, batch)) for batch in drawn]
    found: dict[str, list[Rewards]] = {}
    result = measure_ratio(
        "reward",
        "one scikit-learn f1_score call per document",
        lambda: found.update(ours=[f1(*batch).numpy() for batch in tensors]),
        lambda: found.update(theirs=[score_by_document(*batch) for batch in drawn]),
        {"documents": documents, "samples": samples, "labels": labels, "batches": batches},
        rounds,
    )
    by_sample = time_call(lambda: [score_by_sample(*batch) for batch in drawn])
    ours, theirs = np.stack(found["ours"]), np.stack(found["theirs"])
    checks = {
        "limit": REWARD_LIMIT,
        "largest_difference": float(np.abs(ours - theirs).max()),
        "mean_reward": round(float(ours.mean()), 3),
        "ratio_to_one_call_per_sample": round(by_sample / result.ours, 3),
    }
    return result._replace(checks=checks)


def _draw_batch(
    documents: int, samples: int, labels: int, random: np.random.Generator
) -> tuple[LabelMasks, LabelMasks]:
    """Draw samples (B, K, L), and true sets (B, 1, L) of which they hold about half: all rewards occur."""
    actual = random.random((documents, 1, labels)) < 3.24 / labels
    others = random.random((documents, samples, labels)) < 1.6 / labels
    return others | (actual & (random.random(others.shape) < 0.5)), actual


def score_by_document(predicted: LabelMasks, actual: LabelMasks) -> Rewards:
    """Return (documents, samples) with one call per document."""
    return np.stack(
        [
            f1_score(np.repeat(right, len(given), 0).T, given.T, average=None, zero_division=1.0)
            for given, right in zip(predicted, actual, strict=True)
        ]
    )


def score_by_sample(predicted: LabelMasks, actual: LabelMasks) -> Rewards:
    """Return (documents, samples) with one call per sample, as the authors' code does."""
    return np.array(
        [
            [f1_score(right[0], one, zero_division=1.0) for one in given]
            for given, right in zip(predicted, actual, strict=True)
        ]
    )


def measure_metrics(documents: int = 20_000, labels: int = 130) -> Ratio:
    """Compute all set metrics of the same predictions both ways."""
    random = np.random.default_rng(1)
    actual = csr_matrix(random.random((documents, labels)) < 0.035, dtype=np.uint8)
    predicted = csr_matrix(random.random((documents, labels)) < 0.035, dtype=np.uint8)

    def compute_by_scikit_learn() -> None:
        for average in ("micro", "macro", "samples"):
            f1_score(actual, predicted, average=average, zero_division=0)
        precision_recall_fscore_support(actual, predicted, zero_division=0)
        hamming_loss(actual, predicted)

    return measure_ratio(
        "metrics",
        "scikit-learn f1_score and hamming_loss",
        lambda: Counts.of(predicted, actual).metrics(),
        compute_by_scikit_learn,
        {"documents": documents, "labels": labels},
    )


def measure_features(documents: int = 5_000) -> Ratio:
    """Fit and transform the same texts, uni- and bigrams that occur in two documents or more."""
    texts = make_texts(documents)
    settings = Config().text.model_dump()

    def fit_on_word_ids() -> None:
        words = Words.build(texts, **settings)
        encoded = list(encode_blocks(words, texts))
        TfidfFeatures.fit(words, encoded).transform_blocks(encoded)

    def fit_on_strings() -> None:
        vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2, max_features=200_000)
        vectorizer.fit_transform(texts)

    shapes = {"documents": documents, "words": 130, "vocabulary": 30_000, "ngrams": 2}
    return measure_ratio("features", "scikit-learn TfidfVectorizer", fit_on_word_ids, fit_on_strings, shapes)
