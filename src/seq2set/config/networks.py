"""What networks are made of."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from seq2set.config.base import NotNegative, Positive, PositiveReal, Settings, Share


class EncoderSettings(Settings):
    """The encoder: word vectors and a bidirectional LSTM."""

    words: Positive = 50_000
    """How many of the known words have a vector, the most frequent ones; the rest is `unk` to it."""
    embedding: Positive = 256
    """Numbers a word vector."""
    hidden: Positive = 256
    """Hidden units a direction."""
    layers: Positive = 2
    """Layers of the LSTM."""
    dropout: Share = 0.3
    """The share of numbers that training leaves out."""
    max_words: Positive = 500
    """How many words of a text are read; the rest is not looked at."""


class CnnSettings(Settings):
    """The convolution of `cnn` and `cnn-rnn`; words and their vectors are the encoder's settings."""

    widths: Annotated[tuple[Positive, ...], Field(min_length=1)] = (3, 4, 5)
    """How many words in a row the filters look at."""
    filters: Positive = 128
    """Filters of each width."""
    dropout: Share = 0.5
    """The share of the filters' responses that training leaves out."""


class DecoderSettings(Settings):
    """The decoders: LSTMs that emit one label a step."""

    embedding: Positive = 256
    """Numbers a label vector."""
    hidden: Positive = 512
    """Hidden units."""
    layers: Positive = 2
    """Layers of the LSTM."""
    attention: NotNegative = 0
    """Units of each attention; 0 takes as many as hidden units."""
    dropout: Share = 0.3
    """The share of numbers that training leaves out."""
    global_embedding: bool = False
    """Let each step read all labels that were likely in the last one, not only the one emitted (SGM)."""


class SetDecoderSettings(Settings):
    """What the set decoder has that the sequence decoder has not."""

    train_sequence_decoder: bool = False
    """Let the set decoder's loss flow into the sequence decoder as well."""


class PriorSettings(Settings):
    """The linear prior: a linear model's scores on top of the set decoder's."""

    enabled: bool = False
    """Whether there is one; models other than `seq2set` and `seq2set-simp` take no notice."""
    c: PositiveReal = 1.0
    """The inverse regularisation strength of its classifiers."""
    folds: Annotated[int, Field(ge=2)] = 4
    """Training documents are scored by a model that did not see them, in so many parts."""
    labels: Positive = 1000
    """How many labels have a classifier, the most frequent ones; each of the rest begins at its share of
    the training documents. Time and memory grow with it, while there is little to learn of rare labels."""
