"""What an experiment is asked for, and the settings of its cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from seq2set.config import Config, build_config
from seq2set.errors import InputError, UnknownNameError
from seq2set.experiments.lineup import parse_models


@dataclass(frozen=True)
class Options:
    """What an experiment is run on and with."""

    data: str
    out: Path
    models: tuple[str, ...]
    seeds: tuple[int, ...] = (1,)
    preset: str | None = None
    files: Mapping[str, Path] = field(default_factory=dict)
    """A file of settings for some of the models, such as those that tuning found."""
    assignments: tuple[str, ...] = ()
    """Settings of all cells, as `section.name=value`."""
    jobs: int = 1
    published: Path | None = None
    """A folder of published cells, to be taken up where they fit."""
    extra: Mapping[str, str] = field(default_factory=dict)
    """What the experiment is told of its own options, by name; `parse_extra` reads them."""

    def __post_init__(self) -> None:
        if self.jobs < 1:
            raise InputError(f"--jobs is {self.jobs}; it must be >= 1")

    @property
    def cells(self) -> Path:
        """Where the cells lie; experiments on one folder share those that they have in common."""
        return self.out / "cells"

    def config(self, model: str, seed: int, *assignments: str) -> Config:
        """Put a cell's settings together; the cell's own assignments have the last word."""
        named = [f'data.corpus="{self.data}"', *self.assignments, *assignments, f"seed={seed}"]
        return build_config(preset=self.preset, model=model, file=self.files.get(model), assignments=named)


def parse_seeds(text: str) -> tuple[int, ...]:
    """Read whole numbers with commas between; one that is said twice counts once."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(part.isascii() and part.isdigit() for part in parts):
        raise InputError(
            f"--seeds is '{text}'; it must be whole numbers >= 0 with commas between, such as 1,2,3"
        )
    return tuple(dict.fromkeys(map(int, parts)))


def parse_files(texts: Sequence[str]) -> dict[str, Path]:
    """Read `MODEL=FILE`, each the file of settings of one model."""
    files: dict[str, Path] = {}
    for text in texts:
        model, equals, name = text.partition("=")
        if not equals or not name:
            raise InputError(f"--config is '{text}'; it must have the form MODEL=FILE")
        files[parse_models(model)[0]] = Path(name)
    return files


def parse_extra(texts: Sequence[str], known: Mapping[str, str]) -> dict[str, str]:
    """Read `NAME=VALUE`, each an option of the experiment's own; `known` are those that it has."""
    extra: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name or not value:
            raise InputError(f"--option is '{text}'; it must have the form NAME=VALUE")
        if not known:
            raise InputError(f"--option is '{text}'; this experiment has no options of its own")
        if name not in known:
            raise UnknownNameError("option", name, known)
        extra[name] = value
    return extra
