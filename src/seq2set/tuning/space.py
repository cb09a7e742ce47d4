"""Search spaces: which settings a study varies and between which values, read from TOML.

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
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from seq2set.config import Config, validate
from seq2set.config.loader import merge_settings, nest_setting, read_toml, walk_settings
from seq2set.core.errors import ConfigError, InputError, suggest

KINDS = ("choice", "integer", "real")
FIXED = ("data", "decision.metric", "model", "preset", "seed", "threads", "workers")
"""What all trials of a study have in common, so that their values can be compared."""
INSIDE = 0.38196601125
"""Where in a range a value is tried besides the ends: a place that is hardly ever a whole number."""


class Parameter(NamedTuple):
    """One setting of a search space."""

    name: str
    distribution: BaseDistribution
    choices: tuple[Any, ...] = ()
    """The values to choose from, if it is a choice; a list goes through the study's database as its JSON"""

    def draw(self, trial: optuna.Trial) -> Any:
        """Draw a value for a trial; a trial that has one already keeps it."""
        given = self.distribution
        if isinstance(given, CategoricalDistribution):
            return self.choices[given.choices.index(trial.suggest_categorical(self.name, given.choices))]
        if isinstance(given, IntDistribution):
            return trial.suggest_int(self.name, given.low, given.high, log=given.log)
        assert isinstance(given, FloatDistribution)
        return trial.suggest_float(self.name, given.low, given.high, log=given.log)

    def list_samples(self) -> tuple[Any, ...]:
        """Return values by which to see whether the setting takes what may be drawn."""
        given = self.distribution
        if isinstance(given, IntDistribution):
            return given.low, given.high
        if isinstance(given, FloatDistribution):
            return given.low, given.low + INSIDE * (given.high - given.low), given.high
        return self.choices


class Space(NamedTuple):
    """The settings that a study varies, and the tables that they were read from."""

    parameters: tuple[Parameter, ...]
    source: dict[str, Any]


def read_shipped_space(config: Config) -> Space:
    """Return the space that comes with this package for the model of the settings."""
    shipped = resources.files("seq2set.config.spaces").joinpath(f"{config.model}.toml")
    if not shipped.is_file():
        raise InputError(f"model '{config.model}' has no search space of its own; pass --space FILE")
    with resources.as_file(shipped) as path:
        return read_space(path, config)


def read_space(path: Path, config: Config) -> Space:
    """Read a space and check that the settings can take what it offers."""
    source = read_toml(path)
    faults = [] if source else ["the search space is empty; it must name at least one setting"]
    named = _list_settings(source, faults)
    for name, table in named:
        faults += _find_faults(name, table, config)
    if faults:
        raise ConfigError([f"{path}: {fault}" for fault in dict.fromkeys(faults)])
    return Space(tuple(_read_parameter(name, table) for name, table in named), source)


def apply_settings(config: Config, drawn: Mapping[str, Any]) -> Config:
    """Return the settings with drawn values instead of their own."""
    values = config.model_dump()
    before = dict(walk_settings(values))
    for name, value in drawn.items():
        is_list = isinstance(before[name], tuple) and not isinstance(value, list)
        values = merge_settings(values, nest_setting(name, [value] if is_list else value))
    return validate(values)


def _list_settings(source: Mapping[str, Any], faults: list[str], prefix: str = "") -> list[tuple[str, Any]]:
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
            found += _list_settings(table, faults, f"{name}.")
        else:
            faults.append(f"{name} is not a setting{suggest(name, known)}")
    return found


def _find_faults(name: str, table: Any, config: Config) -> list[str]:
    """Read one setting of a space, and try the ends of its range, a value inside, or every choice."""
    faults: list[str] = []
    try:
        for value in _read_parameter(name, table).list_samples():
            try:
                apply_settings(config, {name: value})
            except ConfigError as error:  # noqa: PERF203 (a few values)
                faults += error.faults
    except ConfigError as error:
        faults += error.faults
    return faults


def _read_parameter(name: str, table: Any) -> Parameter:
    """Read one setting of a space, or raise what is wrong with it."""
    kind = _read_kind(name, table)
    log = table.get("log", False)
    if not isinstance(log, bool) or (log and kind == "choice"):
        raise ConfigError([f"{name}.log is {log}; it must be true or false, and stands with ranges only"])
    if kind == "choice":
        choices = table[kind]
        if not isinstance(choices, list) or not choices:
            raise ConfigError([f"{name}.choice is {choices}; it must be a list of at least one value"])
        stored = [json.dumps(choice) if isinstance(choice, list) else choice for choice in choices]
        return Parameter(name, CategoricalDistribution(stored), tuple(choices))
    low, high = _read_ends(name, kind, table[kind])
    if log and low <= 0:
        raise ConfigError([f"{name}.log is true and the range begins at {low}; it must begin above 0"])
    distribution = IntDistribution if kind == "integer" else FloatDistribution
    return Parameter(name, distribution(low, high, log=log))


def _read_kind(name: str, table: Any) -> str:
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


def _read_ends(name: str, kind: str, ends: Any) -> tuple[Any, Any]:
    numbers = int if kind == "integer" else (int, float)
    right = isinstance(ends, list) and len(ends) == 2
    right = right and all(isinstance(end, numbers) and not isinstance(end, bool) for end in ends)
    if not right or not all(map(math.isfinite, ends)) or not ends[0] < ends[1]:
        whole = "whole " if kind == "integer" else ""
        raise ConfigError([f"{name}.{kind} is {ends}; it must be two {whole}numbers, the lower one first"])
    return ends[0], ends[1]
