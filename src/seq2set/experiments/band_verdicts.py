"""What the bands of label frequency show, beside what the paper says of rare labels."""

from __future__ import annotations

from collections.abc import Sequence

from seq2set.experiments.claim import Claim
from seq2set.experiments.claims import ABOVE, BELOW, judged
from seq2set.experiments.frequency_bands import MeasuredBand
from seq2set.experiments.lineup import BASELINES, title_of
from seq2set.experiments.margins import Pair, margins


def band_claims(bands: Sequence[MeasuredBand], *, resamples: int) -> list[Claim]:
    """Judge what the paper says by how the models do on the rarest labels; one band tells nothing."""
    if len(bands) < 2:
        return []
    frequent, rare = bands[0], bands[-1]
    found = [_all_are_worse(frequent, rare)]
    if "seq2seq" not in rare.summaries:
        return found
    seq2seq = rare.summaries["seq2seq"]
    rivals = [one for one in rare.summaries.values() if one.model in BASELINES and one is not seq2seq]
    ours = [one for one in rare.summaries.values() if one.model not in BASELINES]
    below = margins([Pair(seq2seq, one) for one in rivals], resamples=resamples)
    above = margins([Pair(one, seq2seq) for one in ours], resamples=resamples)
    found += judged("Seq2Seq is particularly poor on rare labels", below, BELOW)
    return found + judged("Seq2Set does better than Seq2Seq on rare labels", above, ABOVE)


def band_remarks(bands: Sequence[MeasuredBand]) -> list[str]:
    """Say where there is nothing to compare."""
    return ["All labels lie in one band, so that there is nothing to compare."] if len(bands) < 2 else []


def _all_are_worse(frequent: MeasuredBand, rare: MeasuredBand) -> Claim:
    falls = {row: _f1(frequent, row) - _f1(rare, row) for row in rare.summaries}
    worse = [row for row, fall in falls.items() if fall > 0]
    holds = len(worse) == len(falls)
    who = "every model is" if holds else f"{len(worse)} of {len(falls)} models are"
    best = max(falls, key=lambda row: _f1(rare, row))
    return Claim(
        "all methods perform poorly on rare labels",
        holds,
        f"on the rarest labels ({rare.band.title} training documents) {who} worse than on the most frequent "
        f"ones ({frequent.band.title}); the best there is {title_of(best)} with a micro-F1 of "
        f"{_f1(rare, best):.3f}, against {_f1(frequent, best):.3f} on the most frequent ones",
    )


def _f1(measured: MeasuredBand, row: str) -> float:
    return measured.summaries[row].metrics["micro_f1"].mean
