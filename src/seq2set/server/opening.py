"""The model that a server serves, with what it says about itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from seq2set.bundle import CARD, MANIFEST, TENSORS, model_folder
from seq2set.predictor import Predictor


class ServedModel(NamedTuple):
    """A model opened for use, the name of its kind, its card and its manifest."""

    predictor: Predictor
    kind: str
    card: str
    manifest: dict[str, Any]

    @property
    def fingerprint(self) -> str:
        """A short text that differs where the model's numbers differ."""
        recorded = self.manifest["files"][TENSORS]
        return str(recorded["sha256"])[:16]


def open_served(path: Path) -> ServedModel:
    """Open a run or a model folder, checked against its manifest."""
    folder = model_folder(path)
    predictor = Predictor.open(folder)
    kind = predictor.tagger.parts().config.model
    card = (folder / CARD).read_text(encoding="utf-8")
    return ServedModel(predictor, kind, card, json.loads((folder / MANIFEST).read_text(encoding="utf-8")))
