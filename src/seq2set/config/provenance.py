"""The documents that a training stands on, as its run folder records them in `run.json` when it begins.

Weights and classifiers know labels and words by their places only. So whatever goes on from a run compares
its documents with today's first: on others, each name could stand on what was learnt for another one.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from seq2set.core.errors import InputError
from seq2set.core.files import write_json

RECORD = "run.json"

FORMAT = 1
"""The version of the record's layout."""


@dataclass(frozen=True)
class Provenance:
    """The documents that a training learns from and tunes on."""

    corpus: str
    """The corpus's name"""
    fingerprint: str
    """Of the whole corpus, with the splits that the training does not read"""
    documents: str
    """A fingerprint of the documents that the training reads, in their order"""
    train: int
    valid: int
    labels: int
    path: str = ""
    """Where the corpus lay, absolute; empty for a known corpus"""
    digest: str = ""
    """Of the plain files that the corpus was made of"""


def write_provenance(folder: Path, provenance: Provenance) -> None:
    """Record the documents that a run is begun on."""
    write_json(folder / RECORD, {"format": FORMAT, **asdict(provenance)})


def read_provenance(folder: Path) -> Provenance | None:
    """Return the documents that a run was begun on, or None where they were not recorded."""
    path = folder / RECORD
    if not path.is_file():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["format"] == FORMAT:
            return Provenance(**{name: value for name, value in found.items() if name != "format"})
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} is damaged; name another --out") from error
    raise InputError(
        f"{path} has format {found['format']}, which a newer version wrote; this one reads format {FORMAT}"
    )


def refuse_other_corpus(folder: Path, begun: str, corpus: str, now: str) -> None:
    """Refuse to go on in a folder with a corpus of another fingerprint than that of when it was begun."""
    if begun != now:
        raise InputError(
            f"{folder} was begun on another corpus than {corpus} is now (fingerprint {begun}, now {now}); "
            "put the corpus back as it was, or name another --out"
        )
