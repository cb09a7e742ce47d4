"""How models differ, in sentences, beside what the paper reads from its cases."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from seq2set.experiments.agreement import Habits
from seq2set.experiments.claim import Claim
from seq2set.experiments.disagreement import Floats, ModelPair
from seq2set.experiments.lineup import BASELINES, title_of


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


def habit_claims(found: Mapping[str, Habits]) -> list[Claim]:
    """Judge what the paper reads from its three cases by all documents."""
    ours = {row: one for row, one in found.items() if row not in BASELINES}
    said = []
    if ours and (seq2seq := found.get("seq2seq")) is not None:
        numbers = _listed({"seq2seq": seq2seq.missed} | {row: one.missed for row, one in ours.items()})
        holds = all(seq2seq.missed > one.missed for one in ours.values())
        claim = "Seq2Seq ends too early and leaves more true labels out than the Seq2Sets"
        said.append(Claim(claim, holds, f"labels missed a document: {numbers}"))
    if ours and (br := found.get("br")) is not None and br.pairs is not None:
        kept = {row: one.pairs for row, one in ours.items() if one.pairs is not None}
        holds = all(value > br.pairs for value in kept.values())
        claim = "BR, unlike the Seq2Sets, fails to see which labels go together"
        numbers = _listed({"br": br.pairs} | kept)
        said.append(Claim(claim, holds, f"pairs of labels that go together, given as a whole: {numbers}"))
    return said


def _both(pair: ModelPair) -> str:
    return " and ".join(map(title_of, pair))


def _listed(values: Mapping[str, float]) -> str:
    return ", ".join(f"{title_of(row)} {value:.2f}" for row, value in values.items())
