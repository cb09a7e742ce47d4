"""The settings themselves: frozen, documented and validated.

A setting is written `section.name`, in TOML files and after `--set` alike. Its docstring here is
what the help and the documentation show.
"""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

ModelName = Literal["br"]
MODELS: tuple[str, ...] = get_args(ModelName)
"""The names of the models, as `--model` takes them."""

PresetName = Literal["compact", "paper-aapd", "paper-rcv1"]
PRESETS: tuple[str, ...] = get_args(PresetName)
"""The names of the presets, as `--preset` takes them."""

Metric = Literal["micro_f1", "macro_f1", "example_f1", "hamming_loss", "subset_accuracy"]
Positive = Annotated[int, Field(ge=1)]
PositiveReal = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Settings(BaseModel):
    """What all sections share: frozen, no unknown keys, docstrings as descriptions."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=True, use_attribute_docstrings=True
    )


class DataSettings(Settings):
    """The corpus that a run learns from, and how its files are read."""

    corpus: str = ""
    """A prepared folder, the name of a known corpus, a file, or a folder in the AAPD layout."""
    text: str = "text"
    """The column that holds the text."""
    labels: str = "labels"
    """The column that holds the labels."""
    id: str = "id"
    """The column that holds the documents' identifiers; counted where it is absent."""
    separator: Annotated[str, Field(min_length=1)] = ";"
    """What stands between the labels of one document, where they are one text."""
    encoding: str = "utf-8"
    """The character encoding of text files."""


class TextSettings(Settings):
    """How a text becomes words."""

    lowercase: bool = True
    """Fold upper case to lower case."""
    unicode_form: Literal["NFC", "NFKC", "none"] = "NFKC"
    """The Unicode normal form that texts are brought to."""
    strip_accents: bool = False
    """Remove accents, so that `é` and `e` are one letter."""
    vocabulary_size: Positive = 100_000
    """How many words are known, the most frequent ones of the training split; the rest is `unk`."""
    min_frequency: Positive = 2
    """How often a word must occur in the training split to be known."""


class FeatureSettings(Settings):
    """The TF-IDF features of the linear models."""

    ngrams: Annotated[int, Field(ge=1, le=3)] = 2
    """The longest run of words that counts as one term."""
    min_documents: Positive = 2
    """In how many training documents a term must occur."""
    max_terms: Positive = 200_000
    """How many terms are kept, those that occur in the most documents."""
    sublinear: bool = True
    """Use 1 + log(count) in the place of a term's count."""


class LinearSettings(Settings):
    """The linear classifiers: one a label."""

    c: Annotated[tuple[PositiveReal, ...], Field(min_length=1)] = (0.1, 0.3, 1.0, 3.0, 10.0)
    """Values of the inverse regularisation strength to try, in ascending order, until the next one does
    no better on validation; the best is kept."""
    tolerance: PositiveReal = 0.1
    """When the optimiser stops: smaller is more exact and slower."""


class DecisionSettings(Settings):
    """How scores become a set of labels."""

    metric: Metric = "micro_f1"
    """The metric on the validation split that tuning looks at."""
    threshold: Annotated[float, Field(ge=0, le=1)] | Literal["tuned", "boundary"] = "tuned"
    """The score from which on a label is given: a number, `tuned` for the best on validation, or
    `boundary` for the classifier's own (a margin of zero)."""


class Config(Settings):
    """All settings of a run."""

    model: ModelName = "br"
    """Which model to train."""
    preset: PresetName = "compact"
    """Which preset the settings started from."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 1
    """The seed of everything random in a run."""
    threads: Positive | Literal["auto"] = "auto"
    """How many CPU threads to use; `auto` takes all cores."""
    data: DataSettings = DataSettings()
    """The corpus that a run learns from."""
    text: TextSettings = TextSettings()
    """How a text becomes words."""
    features: FeatureSettings = FeatureSettings()
    """The TF-IDF features of the linear models."""
    linear: LinearSettings = LinearSettings()
    """The linear classifiers."""
    decision: DecisionSettings = DecisionSettings()
    """How scores become a set of labels."""
