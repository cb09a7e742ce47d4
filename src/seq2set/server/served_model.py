"""A model opened to be served: the model itself for its process, and what the front has to know of it.

A model process loads nothing of the web, and the front nothing of a model: each would take more memory than
all that it has to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from seq2set.inference.manifest import TENSORS, find_model_folder, read_card, read_manifest
from seq2set.labels.labels import Labels
from seq2set.labels.rules import Rule
from seq2set.models.predictions import Request

if TYPE_CHECKING:
    from seq2set.inference.predictor import Predictor


@dataclass(frozen=True)
class ServedModel:
    """What the front knows of a model, which itself is open in other processes."""

    kind: str
    card: str
    manifest: dict[str, Any]
    metadata: dict[str, Any]
    labels: Labels
    rule: Rule
    decodes: bool
    rule_decides: bool
    calibrated: bool = False
    accepts: bool = False
    """Whether it says which labels may be accepted without a look"""

    @property
    def fingerprint(self) -> str:
        """A short text that differs where the model's numbers differ."""
        recorded = self.manifest["files"][TENSORS]
        return str(recorded["sha256"])[:16]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return {**vars(self), "labels": self.labels.to_dict(), "rule": self.rule.to_dict()}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> ServedModel:
        """Read back what `to_dict` returned."""
        labels, rule = Labels.from_dict(plain["labels"]), Rule.from_dict(plain["rule"])
        return cls(**{**plain, "labels": labels, "rule": rule})


class OpenedModel(NamedTuple):
    """A model opened for use, and what a front has to know of it."""

    predictor: Predictor
    served: ServedModel


def open_served(path: Path, runtime: str = "auto") -> OpenedModel:
    """Open a run or a model folder, checked against its manifest."""
    from seq2set.inference.predictor import Predictor

    folder = find_model_folder(path)
    predictor = Predictor.open(folder, runtime)
    tagger = predictor.tagger
    served = ServedModel(
        kind=tagger.config.model,
        card=read_card(folder),
        manifest=read_manifest(folder),
        metadata=predictor.metadata,
        labels=tagger.labels,
        rule=tagger.rule,
        decodes=tagger.decodes,
        rule_decides=tagger.rule_decides(Request()),
        calibrated=tagger.find_search(Request()) in tagger.confidence.calibrators,
        accepts=tagger.confidence.acceptance is not None,
    )
    return OpenedModel(predictor, served)
