"""Texts that are not read to their end: how many there are, by what each was cut, and how it is said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

Cut = Counter[str]
"""How many texts were cut, by what they have too much of, as a sentence ends with it"""


def count_cut(count: int, what: str) -> Cut:
    """Return a count that is empty where nothing was cut."""
    return Counter({what: count} if count else {})


def cut_at_words(most: int) -> str:
    """Say what cuts texts of too many words."""
    return f"more than {most} words; the network reads the first {most}"


def cut_at_subwords(most: int) -> str:
    """Say what cuts texts of very long words, or of signs that are a sub-word each."""
    return f"more than {most} sub-words; the network reads the first {most}"


def cut_vectors(most: int) -> str:
    """Say what cuts texts whose vectors are of some words alone."""
    return f"more than {most} words; their vectors leave out the rest (features.vector_words)"


def describe_cut(cut: Mapping[str, int], texts: int) -> Iterator[str]:
    """Say how many texts are not read to their end, a sentence for each reason."""
    for what, count in cut.items():
        yield f"{count:,} of {texts:,} texts {'has' if count == 1 else 'have'} {what}"
