"""One setting of a search space: a choice, or a range of whole or real numbers.

Search spaces: which settings a study varies and between which values, read from TOML.

::

    [linear]
    c = { real = [0.1, 30.0], log = true }

    [features]
    ngrams = { integer = [1, 3] }
    sublinear = { choice = [true, false] }

A number drawn for a setting that is a list becomes the list's one value. Faults are reported all at once.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import tomli_w

from seq2set.config import Config, merge_settings, nest_setting, validate
from seq2set.config.loader import read_toml, walk_settings
from seq2set.core.errors import ConfigError, suggest

KINDS = ("choice", "integer", "real")
INSIDE = 0.38196601125
"""Where in a range a value is tried besides the ends: a place that is hardly ever a whole number."""


class Draws(Protocol):
    """What draws values: optuna's trials do."""

    def suggest_categorical(self, name: str, choices: Any) -> Any:
        """Draw one of some choices."""

    def suggest_int(self, name: str, low: int, high: int, *, log: bool = False) -> int:
        """Draw a whole number."""

    def suggest_float(self, name: str, low: float, high: float, *, log: bool = False) -> float:
        """Draw a number."""


@dataclass(frozen=True)
class Choice:
    """Some values to choose from."""

    name: str
    values: tuple[Any, ...]

    def draw(self, trial: Draws) -> Any:
        """Draw a value; a list goes through the study's database as its JSON."""
        shown = [json.dumps(value) if isinstance(value, list) else value for value in self.values]
        return self.values[shown.index(trial.suggest_categorical(self.name, shown))]

    def samples(self) -> tuple[Any, ...]:
        """Return values by which to see whether the setting takes what may be drawn."""
        return self.values


@dataclass(frozen=True)
class Integers:
    """Whole numbers from `low` to `high`, both included; by ratio where `log` is set."""

    name: str
    low: int
    high: int
    log: bool

    def draw(self, trial: Draws) -> int:
        """Draw a whole number."""
        return trial.suggest_int(self.name, self.low, self.high, log=self.log)

    def samples(self) -> tuple[int, ...]:
        """Return values by which to see whether the setting takes what may be drawn."""
        return self.low, self.high


@dataclass(frozen=True)
class Reals:
    """Numbers from `low` to `high`; by ratio where `log` is set."""

    name: str
    low: float
    high: float
    log: bool

    def draw(self, trial: Draws) -> float:
        """Draw a number."""
        return trial.suggest_float(self.name, self.low, self.high, log=self.log)

    def samples(self) -> tuple[float, ...]:
        """Return values by which to see whether the setting takes what may be drawn."""
        return self.low, self.low + INSIDE * (self.high - self.low), self.high


Parameter = Choice | Integers | Reals


def parameter(name: str, table: Any) -> Parameter:
    """Read one setting of a space, or raise what is wrong with it."""
    kind = _kind(name, table)
    log = table.get("log", False)
    if not isinstance(log, bool) or (log and kind == "choice"):
        raise ConfigError([f"{name}.log is {log}; it must be true or false, and stands with ranges only"])
    if kind == "choice":
        return Choice(name, _choices(name, table[kind]))
    low, high = _ends(name, kind, table[kind])
    if log and low <= 0:
        raise ConfigError([f"{name}.log is true and the range begins at {low}; it must begin above 0"])
    return Integers(name, low, high, log) if kind == "integer" else Reals(name, float(low), float(high), log)


def _kind(name: str, table: Any) -> str:
    if not isinstance(table, Mapping):
        raise ConfigError([f"{name} is {table}; it must be a table, such as {{ choice = [1, 2] }}"])
    unknown = [key for key in table if key not in (*KINDS, "log")]
    if unknown:
        faults = [f"{name}.{key} is not known in a search space{suggest(key, KINDS)}" for key in unknown]
        raise ConfigError([f"{fault}; known are: choice, integer, real and log" for fault in faults])
    kinds = [kind for kind in KINDS if kind in table]
    if len(kinds) != 1:
        raise ConfigError(
            [f"{name} has {' and '.join(kinds) or 'no values'}; it must have one of {', '.join(KINDS)}"]
        )
    return kinds[0]


def _choices(name: str, values: Any) -> tuple[Any, ...]:
    if not isinstance(values, list) or not values:
        raise ConfigError([f"{name}.choice is {values}; it must be a list of at least one value"])
    return tuple(values)


def _ends(name: str, kind: str, ends: Any) -> tuple[Any, Any]:
    numbers = int if kind == "integer" else (int, float)
    right = isinstance(ends, list) and len(ends) == 2
    right = right and all(isinstance(end, numbers) and not isinstance(end, bool) for end in ends)
    if not right or not all(map(math.isfinite, ends)) or not ends[0] < ends[1]:
        whole = "whole " if kind == "integer" else ""
        raise ConfigError([f"{name}.{kind} is {ends}; it must be two {whole}numbers, the lower one first"])
    return ends[0], ends[1]


FIXED = ("data", "decision.metric", "model", "preset", "seed", "threads")
"""What all trials of a study have in common, so that their values can be compared."""


class Space(NamedTuple):
    """The settings that a study varies, and the tables that they were read from."""

    parameters: tuple[Parameter, ...]
    source: dict[str, Any]

    def to_toml(self) -> str:
        """Return the space as a file from which it can be read again."""
        return tomli_w.dumps(self.source)


def shipped_space(config: Config) -> Space:
    """Return the space that comes with this package for the model of the settings."""
    with resources.as_file(resources.files("seq2set.config.spaces").joinpath(f"{config.model}.toml")) as path:
        return read_space(path, config)


def read_space(path: Path, config: Config) -> Space:
    """Read a space and check that the settings can take what it offers."""
    source = read_toml(path)
    faults = [] if source else ["the search space is empty; it must name at least one setting"]
    named = _settings(source, faults)
    for name, table in named:
        faults += _faults(_check, name, table, config)
    if faults:
        raise ConfigError([f"{path}: {fault}" for fault in dict.fromkeys(faults)])
    return Space(tuple(parameter(name, table) for name, table in named), source)


def with_settings(config: Config, drawn: Mapping[str, Any]) -> Config:
    """Lay drawn values over the settings."""
    values = config.model_dump()
    before = dict(walk_settings(values))
    for name, value in drawn.items():
        is_list = isinstance(before[name], tuple) and not isinstance(value, list)
        values = merge_settings(values, nest_setting(name, [value] if is_list else value))
    return validate(values)


def _settings(source: Mapping[str, Any], faults: list[str], prefix: str = "") -> list[tuple[str, Any]]:
    """List the settings that a space names, each with its full name; note down names that are none."""
    known = [name for name, _ in walk_settings(Config().model_dump())]
    found: list[tuple[str, Any]] = []
    for key, table in source.items():
        name = f"{prefix}{key}"
        if name in FIXED or prefix.rstrip(".") in FIXED:
            faults.append(f"{name} cannot be searched; all trials of a study have it in common")
        elif name in known:
            found.append((name, table))
        elif isinstance(table, Mapping) and any(one.startswith(f"{name}.") for one in known):
            found += _settings(table, faults, f"{name}.")
        else:
            faults.append(f"{name} is not a setting{suggest(name, known)}")
    return found


def _check(name: str, table: Any, config: Config) -> None:
    """Read one setting of a space, and try the ends of its range, a value inside, or every choice."""
    one = parameter(name, table)
    faults = [fault for value in one.samples() for fault in _faults(with_settings, config, {name: value})]
    if faults:
        raise ConfigError(faults)


def _faults(work: Callable[..., object], *arguments: Any) -> tuple[str, ...]:
    """Do something with settings, and return what is wrong with them."""
    try:
        work(*arguments)
    except ConfigError as error:
        return error.faults
    return ()
