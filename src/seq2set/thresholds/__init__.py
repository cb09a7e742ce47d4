"""Decision rules that are best on a validation split: one threshold, one for each label, or the best few.

A label is given when its score is at or above its threshold. Lowering a threshold past a score that is
not right only adds mistakes, in every metric here, so the best threshold lies right below the score of a
label that is right, or above all scores: only those are tried. Of equally good thresholds the highest is
taken, which gives the fewest labels. The value lies midway to the next lower score, at the lowest score
where there is none, and right above the highest where nothing is to be given.

What is right may have more columns than there are scores: the last ones are labels that the model does not
know. Nobody can give them, and they count as missed, as they do wherever a model is measured.

A score of -inf is below every threshold: the labels of a text without a known word have it, as they are
withheld whatever the rule.
"""

from __future__ import annotations

from seq2set.thresholds.best import KINDS, LEAST, TunedRule, best_rule, present_score, refuse_unknown
from seq2set.thresholds.one import GRID, Threshold, best_threshold

__all__ = [
    "GRID",
    "KINDS",
    "LEAST",
    "Threshold",
    "TunedRule",
    "best_rule",
    "best_threshold",
    "present_score",
    "refuse_unknown",
]
