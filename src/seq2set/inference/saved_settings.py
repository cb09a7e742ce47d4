"""What `config.json` of a model folder must hold: settings, what training found, and what is known of it.

A folder may come from strangers. Every value that is used has its type here; what is not named here is kept
as it is, so that newer versions and models may record more.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from seq2set.core.errors import ModelFolderError
from seq2set.inference.manifest import CONFIG, read_json_file

Real = Annotated[float, Field(allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]
Threshold = Annotated[float, Field(ge=0, le=1.000001)]
"""Just above 1 is one that nothing reaches"""
Level = Annotated[float, Field(gt=0, lt=1)]
Weight = Annotated[float, Field(ge=-1e12, le=1e12)]
"""So small that sums of products with logarithms and margins stay finite"""
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, lt=2**53)]
Text = Annotated[str, Field(max_length=1_000_000)]


class Open(BaseModel):
    """What may hold more than is named."""

    model_config = ConfigDict(extra="allow", strict=True, defer_build=True)


class SavedRule(Open):
    """How scores become a set of labels; `Rule.from_dict` says what is wrong with the rest."""

    kind: Text = ""
    thresholds: list[Real] = Field(default_factory=list)


class SavedSigmoid(Open):
    """Margins become probabilities by it."""

    slope: Real
    offset: Real


class SavedVectors(Open):
    """The pretrained encoder beside the terms."""

    encoder: Annotated[str, Field(min_length=1, max_length=4096)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    revision: Annotated[str, Field(max_length=100)] = ""
    words: Annotated[int, Field(ge=1, lt=2**31)]
    window: Annotated[int, Field(ge=1, lt=2**31)] | None = None


class SavedEncoder(Open):
    """The pretrained encoder of a network."""

    encoder: Annotated[str, Field(min_length=1, max_length=4096)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    revision: Annotated[str, Field(max_length=100)] = ""
    window: Annotated[int, Field(ge=8, le=65_536)]
    tuned: bool


class SavedPoints(Open):
    """A line through points, of an isotonic calibrator; those of a label say how much they weigh."""

    scores: Annotated[list[Real], Field(min_length=1)]
    probabilities: Annotated[list[Real], Field(min_length=1)]
    label: Count = 0
    share: Share = 0.0

    @model_validator(mode="after")
    def _rise(self) -> SavedPoints:
        scores, probabilities = self.scores, self.probabilities
        if len(scores) != len(probabilities):
            raise ValueError("there must be as many scores as probabilities")
        if not all(map(operator.lt, [-1, *scores], [*scores, 2])) or not 0 <= scores[0] <= scores[-1] <= 1:
            raise ValueError("the scores of a line must ascend in [0, 1]")
        if not all(map(operator.le, [0, *probabilities], [*probabilities, 1])):
            raise ValueError("the probabilities of a line must not fall, and lie in [0, 1]")
        return self


class SavedLogistic(Open):
    """A calibrator of weighed features."""

    kind: Literal["logistic"]
    weights: dict[str, Weight]
    offset: Weight
    label_offsets: list[Weight] = Field(default_factory=list)


class SavedIsotonic(SavedPoints):
    """A calibrator of rising lines."""

    kind: Literal["isotonic"]
    own: list[SavedPoints]
    first: SavedLogistic | None = None

    @model_validator(mode="after")
    def _have_one_line_each(self) -> SavedIsotonic:
        if len({line.label for line in self.own}) != len(self.own):
            raise ValueError("a label has two lines")
        return self


_Inner = Annotated[SavedLogistic | SavedIsotonic, Field(discriminator="kind")]


class SavedBounded(Open):
    """A calibrator with thresholds that its probabilities do not cross."""

    kind: Literal["bounded"]
    inner: _Inner
    scores: Annotated[list[Threshold], Field(min_length=1)]
    probabilities: Annotated[list[Threshold], Field(min_length=1)]

    @model_validator(mode="after")
    def _have_as_many(self) -> SavedBounded:
        if len(self.scores) != len(self.probabilities):
            raise ValueError("there must be as many scores as probabilities")
        return self


class SavedAcceptance(BaseModel):
    """From which score on labels may be accepted without a look."""

    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)

    precision: Level
    confidence: Level
    search: Annotated[str, Field(max_length=100)]
    thresholds: list[Share | None]


class SavedConfidence(Open):
    """How scores become probabilities, by search."""

    calibrators: dict[
        str, Annotated[SavedLogistic | SavedIsotonic | SavedBounded, Field(discriminator="kind")]
    ]
    acceptance: SavedAcceptance | None = None


class SavedFacts(Open):
    """What training found; which of it there is depends on the model."""

    rule: SavedRule = Field(default_factory=SavedRule)
    threshold: Real | None = None
    c: Positive | None = None
    sigmoid: SavedSigmoid | None = None
    scale: Positive | None = None
    chains: Annotated[int, Field(ge=1, le=10_000)] | None = None
    combinations: dict[str, Count] | None = None
    max_labels: Annotated[int, Field(ge=1, lt=2**31)] | None = None
    vectors: SavedVectors | None = None
    pretrained: SavedEncoder | None = None
    confidence: SavedConfidence | None = None


class SavedCorpus(Open):
    """The corpus that a model learnt from."""

    name: Text = ""
    source: Text = ""
    licence: Text = ""
    fingerprint: Text = ""
    train: Count = 0
    valid: Count = 0
    labels: Count = 0
    labels_per_document: Real = 0.0


class SavedFigures(Open):
    """What a label reached on validation."""

    label: Text
    precision: Real | None = None
    recall: Real | None = None
    f1: Real | None = None
    support: Count | None = None


class SavedTeacher(Open):
    """The model that taught a student."""

    model: Text
    path: Text
    sha256: Text
    folds: Count
    share: Real
    texts: Count


class SavedQuality(Open):
    """How good the probabilities of a search are, before and after they were calibrated."""

    way: Text
    before: dict[str, Real]
    after: dict[str, Real]


class SavedCalibration(Open):
    """What calibrating found."""

    documents: Count = 0
    searches: dict[str, SavedQuality] = Field(default_factory=dict)


class SavedAccepted(Open):
    """How many labels may be accepted without a look."""

    precision: Real
    suggested: Count
    accepted: Count


class SavedAbout(Open):
    """What is known of a training."""

    corpus: SavedCorpus = Field(default_factory=SavedCorpus)
    validation: dict[str, Real] = Field(default_factory=dict)
    per_label: list[SavedFigures] = Field(default_factory=list)
    training: dict[str, Any] = Field(default_factory=dict)
    tuned: dict[str, Any] | None = None
    cross_validation: dict[str, Any] | None = None
    teacher: SavedTeacher | None = None
    calibrated: SavedCalibration | None = None
    accepted: SavedAccepted | None = None


class SavedSettings(BaseModel):
    """All of `config.json`."""

    model_config = ConfigDict(extra="allow", strict=True, defer_build=True)

    settings: dict[str, Any]
    facts: SavedFacts
    about: SavedAbout


class SavedConfig(NamedTuple):
    """The same as it was read, once it is known to be right."""

    settings: Mapping[str, Any]
    facts: dict[str, Any]
    about: dict[str, Any]


def read_config(folder: Path) -> SavedConfig:
    """Read `config.json`; a fault names the file and the key."""
    found = read_json_file(folder, CONFIG)
    try:
        SavedSettings.model_validate(found)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"])) or "all of it"
        raise ModelFolderError(f"{folder / CONFIG} cannot be used: {key}: {first['msg']}") from error
    return SavedConfig(found["settings"], found["facts"], found["about"])
