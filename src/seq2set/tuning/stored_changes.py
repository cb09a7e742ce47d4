"""What tuning changes in a model's folder, and how it is taken back: one step, whatever it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from seq2set.core.errors import InputError
from seq2set.corpora.seen_texts import SeenTexts
from seq2set.evaluation.measure import evaluate_tagger
from seq2set.inference.model_card import render_model_card
from seq2set.inference.model_folder import renew_model
from seq2set.inference.predictor import Predictor
from seq2set.labels.confidence.acceptance import Confidence
from seq2set.labels.rules import Rule
from seq2set.models.tagger import Tagger
from seq2set.tuning.tuning_documents import TuningDocuments

PREVIOUS = "before_tuning"
"""Where a model keeps what it had before it was tuned last, and what was recorded of it."""

_RECORDED = ("validation", "per_label", "tuned", "calibrated", "accepted")


def store_change(
    model: Path,
    predictor: Predictor,
    tagger: Tagger,
    records: Mapping[str, Any],
    documents: TuningDocuments,
    seen: SeenTexts,
) -> None:
    """Put a model's new rule and confidence into its folder, with what is recorded of it."""
    present = predictor.tagger
    previous = {name: predictor.metadata[name] for name in _RECORDED if name in predictor.metadata}
    previous |= {"rule": present.rule.to_dict(), "confidence": present.confidence.to_dict()}
    metadata = {**predictor.metadata, **records, PREVIOUS: previous}
    if tagger.confidence.acceptance is None:
        metadata.pop("accepted", None)
    _renew(model, tagger, metadata, seen.add_tuned(documents.digests))


def measure_again(tagger: Tagger, documents: TuningDocuments) -> dict[str, Any]:
    """Return the figures that a model's folder has of its validation documents, as they are now."""
    result = evaluate_tagger(tagger, documents.part)
    return {
        "validation": result.metrics,
        "per_label": [label._asdict() for label in result.per_label],
    }


def drop_acceptance(tagger: Tagger) -> Confidence:
    """Return a model's confidence without what was tested for other labels than it gives now."""
    return replace(tagger.confidence, acceptance=None)


def undo_rule(model: Path) -> Rule:
    """Give a model the rule and the calibration that it had before it was tuned last, and return the rule."""
    predictor = Predictor.open(model)
    metadata = dict(predictor.metadata)
    if PREVIOUS not in metadata:
        raise InputError(
            f"{model} was not tuned since its training or the last --undo; there is no rule to go back to"
        )
    previous = metadata.pop(PREVIOUS)
    for name in _RECORDED:
        metadata.pop(name, None)
    rule = Rule.from_dict(previous.pop("rule"))
    present = predictor.tagger.confidence
    # Folders of version 0.1.0 remember a rule alone.
    confidence = Confidence.from_dict(previous.pop("confidence", present.to_dict()))
    _renew(model, predictor.tagger.with_confidence(confidence, rule), metadata | previous)
    return rule


def _renew(model: Path, tagger: Tagger, metadata: Mapping[str, Any], seen: SeenTexts | None = None) -> None:
    state = tagger.state()
    card = render_model_card(state.config, metadata, state.fitted)
    renew_model(model, facts=state.fitted, metadata=metadata, card=card, seen=seen)
