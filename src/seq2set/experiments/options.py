"""What an experiment is asked for, and the settings of its cells."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seq2set.config import Config, build_config
from seq2set.config.catalog import MODELS, find_model
from seq2set.config.loader import walk_settings
from seq2set.core.cluster import Workplace
from seq2set.core.errors import InputError, UnknownNameError
from seq2set.core.names import find_named
from seq2set.experiments import StudyOption, list_options

if TYPE_CHECKING:
    from seq2set.corpora.prepared import PreparedCorpus


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
    place: Workplace = field(default_factory=Workplace)
    """Where trainings run that are done in processes."""
    published: Path | None = None
    """A folder of published cells, to be taken up where they fit."""
    waits: bool = True
    """Whether to wait for cells that other processes train; they are left out otherwise"""
    extra: Mapping[str, str] = field(default_factory=dict)
    """What the study is told of its own options, by name, as texts."""

    def __post_init__(self) -> None:
        if self.jobs < 1:
            raise InputError(f"--jobs is {self.jobs}; it must be >= 1")
        for name in self.extra:  # what is wrong is refused before the first training
            self.read(name)

    @property
    def cells(self) -> Path:
        """Where the cells lie; experiments on one folder share those that they have in common."""
        return self.out / "cells"

    def config(self, model: str, seed: int, *assignments: str) -> Config:
        """Put a cell's settings together; the cell's own assignments have the last word."""
        named = [f'data.corpus="{self.data}"', *self.assignments, *assignments, f"seed={seed}"]
        return build_config(preset=self.preset, model=model, file=self.files.get(model), assignments=named)

    def read(self, name: str) -> Any:
        """Return the value of one of the study's own options, or its default."""
        return find_named("option", name, list_options()).read(name, self.extra.get(name))

    def open_corpus(self) -> PreparedCorpus:
        """Open the corpus that the experiment is asked for."""
        from seq2set.workflows.training_corpus import open_training_corpus

        return open_training_corpus(self.config(self.models[0], 1).data)


def parse_models(text: str) -> tuple[str, ...]:
    """Read models with commas between, or `all`, and put them into the order of the paper's tables."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise InputError(f"--models is '{text}'; it must name models, with commas between, or be 'all'")
    wanted = list(MODELS) if names == ["all"] else names
    for name in wanted:
        find_model(name)
    return tuple(name for name in MODELS if name in wanted)


def is_deterministic(config: Config) -> bool:
    """Say whether every seed gives the same model."""
    row, values = find_model(config.model), dict(walk_settings(config.model_dump()))
    is_seeded = any(values[name] in seeded for name, seeded in (row.seeded_by or {}).items())
    return row.family == "linear" and not is_seeded


def parse_seeds(text: str) -> tuple[int, ...]:
    """Read whole numbers with commas between; one that is said twice counts once."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(part.isascii() and part.isdigit() for part in parts):
        raise InputError(
            f"--seeds is '{text}'; it must be whole numbers >= 0 with commas between, such as 1,2,3"
        )
    return tuple(dict.fromkeys(map(int, parts)))


def parse_files(texts: Sequence[str]) -> dict[str, Path]:
    """Read `MODEL=FILE`, each the file of settings of one model, or of several with commas between."""
    files: dict[str, Path] = {}
    for text in texts:
        model, equals, name = text.partition("=")
        if not equals or not name:
            raise InputError(f"--config is '{text}'; it must have the form MODEL=FILE")
        for known in parse_models(model):
            if known in files:
                raise InputError(f"--config names {known} twice: {files[known]} and {name}; give one of them")
            files[known] = Path(name)
    return files


def refuse_unused_files(files: Collection[str], models: Sequence[str]) -> None:
    """Refuse files of settings of models that are left out."""
    if unused := [model for model in files if model not in models]:
        raise InputError(
            f"--config is given for {', '.join(unused)}, but --models is {','.join(models)}; leave it out"
        )


def parse_extra(texts: Sequence[str], known: Mapping[str, StudyOption]) -> dict[str, str]:
    """Read `NAME=VALUE`, each an option of the study's own; `known` are those that it has."""
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


def refuse_other_models(options: Options, allowed: Collection[str], why: str) -> None:
    """Refuse models that a study says nothing about."""
    if wrong := [model for model in options.models if model not in allowed]:
        raise InputError(f"--models has {', '.join(wrong)}; it must be among {', '.join(allowed)}: {why}")


def refuse_without_self_critical_phase(options: Options, setting: str) -> None:
    """Refuse to vary a setting that no phase of the training would read."""
    for model in options.models:
        if not options.config(model, 1).self_critical.epochs:
            raise InputError(
                f"self_critical.epochs is 0; it must be >= 1, for {setting} is read in that phase only"
            )
