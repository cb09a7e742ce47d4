"""The paper's claims, judged by what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from seq2set.experiments.claim import Claim
from seq2set.experiments.comparison import Comparison
from seq2set.experiments.lineup import BASELINES
from seq2set.experiments.margins import Margin, Pair, margins
from seq2set.experiments.summaries import Summary

Wanted = Mapping[int, bool | None]
"""What the side of a margin means for a claim: it speaks for it, against it, or leaves it open."""

ABOVE: Wanted = {1: True, 0: None, -1: False}
NOT_ABOVE: Wanted = {1: False, 0: True, -1: True}
BELOW: Wanted = {1: False, 0: None, -1: True}
NOT_BELOW: Wanted = {1: True, 0: True, -1: False}

FEW = 0.25
"""Where fewer of the documents have more than one label, an order of labels has little to say."""


def judged(claim: str, found: Sequence[Margin], wanted: Wanted) -> list[Claim]:
    """Judge a claim by the margins that it is about; nothing where there are none."""
    if not found:
        return []
    speaks = [wanted[one.side] for one in found]
    holds = False if False in speaks else None if None in speaks else True
    return [Claim(claim, holds, "; ".join(map(_evidence, found)))]


def _evidence(margin: Margin) -> str:
    accident = ", which may be an accident" if margin.points and not margin.side else ""
    return f"{margin.text()}{accident}"


def above_all_baselines(comparison: Comparison) -> list[Claim]:
    """Judge the first claim by the baseline that is best on what was measured: who beats it beats them all.

    The best on validation, which the table compares with, may be another one, and would be too easy then.
    """
    baselines = [one for one in comparison.summaries if one.model in BASELINES]
    if not baselines:
        return []
    best = max(baselines, key=lambda one: one.metrics["micro_f1"].mean)
    pairs = [Pair(one, best) for one in comparison.summaries if one.model not in BASELINES]
    found = margins(pairs, resamples=comparison.resamples)
    return judged("both Seq2Sets lie above all baselines", found, ABOVE)


def few_labels(summary: Summary) -> list[str]:
    """Say that order can hardly matter, where few documents have labels to put in order."""
    sizes = np.diff(summary.results[0].answers.actual.ends)
    share = float((sizes > 1).mean())
    if share >= FEW:
        return []
    return [
        f"Only {100 * share:.0f} % of the documents have more than one label ({sizes.mean():.2f} a document; "
        "the paper's corpora have 3.24 and 2.41), so that the order of labels can hardly matter here."
    ]
