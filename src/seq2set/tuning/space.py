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

from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import tomli_w

from seq2set.config import Config, merged, nested, validated
from seq2set.config.assembling import read_toml
from seq2set.config.faults import leaves
from seq2set.errors import ConfigError, nearest
from seq2set.tuning.parameters import Parameter, parameter

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
    with resources.as_file(resources.files("seq2set.spaces").joinpath(f"{config.model}.toml")) as path:
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
    before = dict(leaves(values))
    for name, value in drawn.items():
        is_list = isinstance(before[name], tuple) and not isinstance(value, list)
        values = merged(values, nested(name, [value] if is_list else value))
    return validated(values)


def _settings(source: Mapping[str, Any], faults: list[str], prefix: str = "") -> list[tuple[str, Any]]:
    """List the settings that a space names, each with its full name; note down names that are none."""
    known = [name for name, _ in leaves(Config().model_dump())]
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
            faults.append(f"{name} is not a setting{nearest(name, known)}")
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
