"""The features and classifiers of the linear models."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from seq2set.config.base import Positive, PositiveReal, Settings


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
    tolerance: PositiveReal = 0.01
    """When the optimiser stops: smaller is more exact and slower. At 0.1 the classifiers still depend on the
    order in which the optimiser happened to visit the documents."""


class ChainSettings(Settings):
    """The classifier chains of `cc`."""

    order: Literal["frequency", "random", "ensemble"] = "frequency"
    """The order of the labels in a chain: by descending training frequency, drawn at random, or an ensemble
    of random chains whose scores are averaged."""
    chains: Positive = 5
    """How many chains an ensemble has."""


class PowersetSettings(Settings):
    """The label combinations of `lp`: one class each."""

    max_combinations: Positive = 5_000
    """How many combinations are kept, the most frequent ones; a document of another counts for the largest
    kept part of its labels, or not at all where there is none."""
    min_documents: Positive = 1
    """How many training documents a combination must have to be kept."""
    max_features: Positive = 30_000
    """How many terms are kept, those that occur in the most documents; with many combinations, more would
    not fit into memory."""
