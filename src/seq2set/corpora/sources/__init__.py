"""One known source of documents a file.

The known sources by name, each imported when it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

from seq2set.core.errors import UnknownNameError
from seq2set.corpora.sources.source import CorpusSource, RawCorpus

__all__ = ["SOURCES", "CorpusSource", "RawCorpus", "find_source"]


class _Place(NamedTuple):
    """Where a source is defined."""

    module: str
    attribute: str


_PLACES = {
    "aapd": _Place("aapd", "AAPD"),
    "arxiv2026": _Place("aapd", "ARXIV2026"),
    "debtags": _Place("debtags", "DEBTAGS"),
    "feedback": _Place("feedback", "FEEDBACK"),
    "medline": _Place("medline", "MEDLINE"),
    "rcv1": _Place("rcv1", "RCV1"),
    "reuters": _Place("reuters", "REUTERS"),
}

SOURCES = tuple(sorted(_PLACES))
"""The names of the known sources."""


def find_source(name: str) -> CorpusSource:
    """Return the source called `name`, or raise `UnknownNameError` with the nearest name."""
    if name not in _PLACES:
        raise UnknownNameError("corpus", name, SOURCES)
    place = _PLACES[name]
    source = getattr(import_module(f"seq2set.corpora.sources.{place.module}"), place.attribute)
    assert isinstance(source, CorpusSource)
    return source
