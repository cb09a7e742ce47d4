"""A model opened to be served: the model itself for its process, and what the front has to know of it.

A model process loads nothing of the web, and the front nothing of a model: each would take more memory than
all that it has to do.

What the largest pass of a process takes is there before the first request, and stays. A pass touches memory
for its numbers, and the libraries make code and buffers for each number of rows that they meet. Were all this
left to requests, a small one would raise memory by many times its own size. So the largest pass is made once
before, on texts of no meaning. What goes beyond it is given back when nothing has been asked for a while.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from seq2set.core.hardware import read_resident_memory, release_memory
from seq2set.inference.manifest import TENSORS, find_model_folder, read_card, read_manifest
from seq2set.labels.labels import Labels
from seq2set.labels.rules import Rule
from seq2set.models.predictions import Request, is_decided_by_rule
from seq2set.server.answers import Answerer, LabelRequest

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
        rule_decides=is_decided_by_rule(tagger, Request()),
        calibrated=tagger.find_search(Request()) in tagger.confidence.calibrators,
        accepts=tagger.confidence.acceptance is not None,
    )
    return OpenedModel(predictor, served)


CHARS = 100_000
"""Characters of the largest pass, and of the longest text unless the settings allow longer ones"""

SECONDS = 2.0
"""Processor time that the largest pass may take, about; that of a slow model has fewer texts."""

SPARE = 4 * 2**20
"""Bytes that stay beside it, since no two passes cut memory alike."""

SLACK = 32 * 2**20
"""Bytes beyond that which are not worth giving back: the pass is made anew then."""

_LETTERS = "a b c d e f g h i j k l m n o p q r s t u v w x y z "
_PLAIN = LabelRequest()
_WHOLE = LabelRequest(explain=True, candidates=8, min_labels=1)
"""Goes through all that a request may ask for, whatever the texts are."""


def make_largest_pass(answer: Answerer, most: int) -> None:
    """Answer what takes the most memory: `most` texts that are as long as they may be together, and one."""
    for power in range(most.bit_length()):  # products of all numbers of rows come up
        answer([_LETTERS] * 2**power, _PLAIN)
    began = time.process_time()
    answer([_write_text(CHARS // most)], _PLAIN)
    seconds = max(time.process_time() - began, 1e-6)
    spare = b" " * SPARE
    for texts in (max(1, min(most, int(SECONDS / seconds))), 1):
        answer([_write_text(CHARS // texts)] * texts, _WHOLE)
    del spare


def _write_text(chars: int) -> str:
    return (_LETTERS * (1 + chars // len(_LETTERS)))[:chars]


class HeldMemory:
    """What the largest pass had when this was made; more is given back with `restore`."""

    def __init__(self, make_pass: Callable[[], object]):
        self._make_pass = make_pass
        self._renew()

    def restore(self) -> None:
        """Have the memory of the largest pass again, and no more, unless it is about that already."""
        now = read_resident_memory()
        if now is None or self._held is None:
            release_memory()
        elif now > self._held + SLACK:
            self._renew()

    def _renew(self) -> None:
        release_memory()
        self._make_pass()
        self._held = read_resident_memory()
