"""How models differ, in sentences, beside what the paper reads from its cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from seq2set.experiments.claim import Claim
from seq2set.experiments.claims import ABOVE, BELOW, judged
from seq2set.experiments.disagreement import Floats, ModelPair
from seq2set.experiments.lineup import BASELINES, title_of
from seq2set.experiments.margins import Terms, contrasts
from seq2set.experiments.statistics import Measured


def agreement_verdicts(distances: Mapping[ModelPair, Floats]) -> list[str]:
    """Say how often the models differ, and which of them are the most and the least alike."""
    if not distances:
        return ["Only one model is done, so that there is nobody to disagree with."]
    apart = np.stack(list(distances.values()))  # (pairs, N)
    means = {pair: float(one.mean()) for pair, one in distances.items()}
    closest, farthest = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    found = (
        f"On {100 * (apart > 0).any(axis=0).mean():.0f} % of the {apart.shape[1]:,} documents the models do "
        f"not all give the same set; two models differ by a Jaccard distance of {apart.mean():.2f}."
    )
    if len(distances) == 1:
        return [found]
    return [
        found,
        f"The most alike are {_both(closest)} ({means[closest]:.2f}), the least alike {_both(farthest)} "
        f"({means[farthest]:.2f}).",
    ]


def habit_claims(missed: Mapping[str, Measured], pairs: Mapping[str, Measured]) -> list[Claim]:
    """Judge what the paper reads from its three cases by all documents.

    Both are by row: how many true labels a document misses, and how many pairs of labels that go together are
    given as a whole.
    """
    ours = [row for row in missed if row not in BASELINES]
    more = contrasts(_over(missed, "seq2seq", ours), "labels missed per 100 documents")
    both = [row for row in ours if row in pairs]
    worse = contrasts(_over(pairs, "br", both), "points of pairs given as a whole")
    return [
        *judged("Seq2Seq ends too early and leaves more true labels out than the Seq2Sets", more, ABOVE),
        *judged("BR, unlike the Seq2Sets, fails to see which labels go together", worse, BELOW),
    ]


def _over(measured: Mapping[str, Measured], first: str, others: Sequence[str]) -> dict[str, Terms]:
    if first not in measured:
        return {}
    return {
        f"{title_of(first)} over {title_of(row)}": [(1.0, measured[first]), (-1.0, measured[row])]
        for row in others
    }


def _both(pair: ModelPair) -> str:
    return " and ".join(map(title_of, pair))
