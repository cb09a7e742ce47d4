"""What an experiment is asked for, and the settings of its cells.

How experiments read those of their own options that are whole numbers or one of a few words.

How experiments read their own options: texts that `--option` was given, with the faults named.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from seq2set.config import Config, build_config
from seq2set.core.errors import InputError, UnknownNameError
from seq2set.experiments.model_names import parse_models


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


def own_numbers(options: Options, name: str) -> tuple[int, ...] | None:
    """Read whole numbers above 0 with commas between, in ascending order; None where none are named."""
    if (text := options.extra.get(name)) is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and int(part) for part in parts):
        raise InputError(
            f"--option {name} is '{text}'; it must be whole numbers >= 1 with commas between, such as 10,20"
        )
    return tuple(sorted(set(map(int, parts))))


def own_number(options: Options, name: str, default: int) -> int:
    """Read one whole number above 0."""
    found = own_numbers(options, name) or (default,)
    if len(found) > 1:
        raise InputError(f"--option {name} is '{options.extra[name]}'; it must be one whole number >= 1")
    return found[0]


def own_choice(options: Options, name: str, allowed: Sequence[str]) -> str:
    """Read one of the words that are allowed; the first of them unless told."""
    found = options.extra.get(name, allowed[0])
    if found not in allowed:
        raise InputError(f"--option {name} is '{found}'; it must be {' or '.join(allowed)}")
    return found


def own_share(options: Options, name: str, default: float) -> float:
    """Read a number from 0 to 1."""
    text = options.extra.get(name)
    return default if text is None else _share(text, f"--option {name} is '{text}'; it must be a number")


def own_shares(options: Options, name: str, default: tuple[float, ...]) -> tuple[float, ...]:
    """Read numbers from 0 to 1 with commas between, and put them in ascending order."""
    if (text := options.extra.get(name)) is None:
        return default
    fault = f"--option {name} is '{text}'; it must be numbers with commas between, each"
    return tuple(sorted({_share(part, fault) for part in text.split(",")}))


def own_names(options: Options, name: str, known: Collection[str]) -> tuple[str, ...]:
    """Read names with commas between; all that are known where none are named."""
    if (text := options.extra.get(name)) is None:
        return tuple(known)
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    for one in names:
        if one not in known:
            raise UnknownNameError(f"--option {name}:", one, known)
    return names


def refuse_other_models(options: Options, allowed: Collection[str], why: str) -> None:
    """Refuse models that an experiment says nothing about."""
    if wrong := [model for model in options.models if model not in allowed]:
        raise InputError(f"--models has {', '.join(wrong)}; it must be among {', '.join(allowed)}: {why}")


def refuse_without_self_critical_phase(options: Options, setting: str) -> None:
    """Refuse to vary a setting that no phase of the training would read."""
    for model in options.models:
        if not options.config(model, 1).self_critical.epochs:
            raise InputError(
                f"self_critical.epochs is 0; it must be >= 1, for {setting} is read in that phase only"
            )


def _share(text: str, fault: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise InputError(f"{fault} from 0 to 1")
    return value
