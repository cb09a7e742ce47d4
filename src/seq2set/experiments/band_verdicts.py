"""What the bands of label frequency show, beside what the paper says of rare labels."""

from __future__ import annotations

from collections.abc import Sequence

from seq2set.experiments.claim import Claim
from seq2set.experiments.claims import ABOVE, BELOW, judged
from seq2set.experiments.frequency_bands import MeasuredBand
from seq2set.experiments.lineup import BASELINES, title_of
from seq2set.experiments.margins import Pair, contrasts, difference, margins


def band_claims(bands: Sequence[MeasuredBand]) -> list[Claim]:
    """Judge what the paper says by how the models do on the rarest labels; one band tells nothing."""
    if len(bands) < 2:
        return []
    frequent, rare = bands[0], bands[-1]
    falls = contrasts(
        {title_of(row): difference(one, frequent.summaries[row]) for row, one in rare.summaries.items()}
    )
    places = (
        f"on the rarest labels ({rare.band.title} training documents) against the most frequent ones "
        f"({frequent.band.title}): "
    )
    found = judged("all methods perform poorly on rare labels", falls, BELOW, places)
    if "seq2seq" not in rare.summaries:
        return found
    seq2seq = rare.summaries["seq2seq"]
    rivals = [one for one in rare.summaries.values() if one.model in BASELINES and one is not seq2seq]
    ours = [one for one in rare.summaries.values() if one.model not in BASELINES]
    below = margins([Pair(seq2seq, one) for one in rivals])
    above = margins([Pair(one, seq2seq) for one in ours])
    found += judged("Seq2Seq is particularly poor on rare labels", below, BELOW)
    return found + judged("Seq2Set does better than Seq2Seq on rare labels", above, ABOVE)


def band_remarks(bands: Sequence[MeasuredBand]) -> list[str]:
    """Say where there is nothing to compare."""
    return ["All labels lie in one band, so that there is nothing to compare."] if len(bands) < 2 else []
