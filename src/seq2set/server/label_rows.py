"""What is known of each label of a model, and the search for labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from seq2set.rules import Rule
from seq2set.server.opening import ServedModel
from seq2set.server.schemas import LabelRow

_FIGURES = ("precision", "recall", "f1", "support")


def label_rows(model: ServedModel) -> list[LabelRow]:
    """Return a row a label, the most frequent first."""
    tagger = model.predictor.tagger
    known = known_figures(model.predictor.about)
    thresholds = _thresholds(tagger.rule, len(tagger.labels))
    rows = zip(tagger.labels.names, tagger.labels.frequencies, thresholds, strict=True)
    return [
        LabelRow(label=label, frequency=frequency, threshold=threshold, **known.get(label, {}))
        for label, frequency, threshold in rows
    ]


def known_figures(about: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return each label's figures on the validation split; nothing where training did not keep them."""
    return {row["label"]: {name: row.get(name) for name in _FIGURES} for row in about.get("per_label", ())}


def matching(rows: Sequence[LabelRow], query: str) -> list[LabelRow]:
    """Find the labels that hold the query, whatever its case; those that begin with it come first."""
    wanted = query.strip().casefold()
    found = [row for row in rows if wanted in row.label.casefold()]
    return sorted(found, key=lambda row: not row.label.casefold().startswith(wanted))


def _thresholds(rule: Rule, labels: int) -> Sequence[float | None]:
    if rule.kind == "top-k":
        return [None] * labels
    return rule.thresholds if rule.kind == "per-label" else rule.thresholds * labels
