"""Studies that are small enough to run in a test."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

from seq2set.config import Config, build_config
from seq2set.corpora.prepared import PreparedCorpus
from tiny_networks import tiny_config

BR_SPACE = """
[linear]
c = { real = [0.01, 10.0], log = true }

[features]
ngrams = { integer = [1, 2] }
sublinear = { choice = [true, false] }
"""
NETWORK_SPACE = """
[encoder]
dropout = { real = [0.0, 0.5] }

[warm_start]
learning_rate = { real = [0.001, 0.1], log = true }
"""
NETWORK_SETTINGS = ("warm_start.epochs=2", "training.validate_every=3", "training.decay=1.0")
"""96 documents in batches of 8: 12 updates an epoch, 4 looks, 8 looks in all."""


class Cell(NamedTuple):
    """What must be the same in two studies of the same seed."""

    state: str
    value: str
    settings: tuple[str, ...]


def br_config(corpus: PreparedCorpus, *settings: str) -> Config:
    return build_config(
        model="br", assignments=[f'data.corpus="{corpus.folder}"', "features.min_documents=1", *settings]
    )


def network_config(corpus: PreparedCorpus, *settings: str) -> Config:
    data = f'data.corpus="{corpus.folder}"'
    return tiny_config(data, *NETWORK_SETTINGS, *settings, model="seq2set-simp")


def space_file(folder: Path, text: str) -> Path:
    path = folder / "wanted.toml"
    path.write_text(text)
    return path


def cells(folder: Path) -> list[Cell]:
    """Read the table of a study, without what may differ from run to run."""
    with (folder / "trials.csv").open(newline="") as stream:
        _, *rows = csv.reader(stream)
    assert [row[0] for row in rows] == [str(number) for number in range(len(rows))]
    return [Cell(row[1], row[2], tuple(row[5:])) for row in rows]
