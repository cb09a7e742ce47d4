"""Where texts come from, and how they become words."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from seq2set.config.base import Positive, Settings


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
    group: str = ""
    """The column whose equal values belong together, such as one author's; groups are never split."""
    split: str = "auto"
    """The column that names each document's split; `auto` takes one called `split` or `subset` whose values
    all name a split, and nothing (`""`) splits anew."""
    keep_missing: bool = False
    """Take `NaN`, `None`, `N/A` and the like, and cells of `NA` alone, for labels, not for missing ones."""
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
