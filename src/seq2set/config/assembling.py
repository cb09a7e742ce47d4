"""Settings put together: presets, TOML files and `--set`, and written back as TOML."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import tomli_w

from seq2set.config.faults import leaves, validated
from seq2set.config.reading import reads
from seq2set.config.settings import MODELS, PRESETS, Config
from seq2set.errors import ConfigError, InputError, UnknownNameError
from seq2set.files import write_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def build_config(
    *,
    preset: str | None = None,
    model: str | None = None,
    file: Path | None = None,
    assignments: Iterable[str] = (),
) -> Config:
    """Put settings together: the preset, then the file, then `--set` assignments, each over the last."""
    from_file = read_toml(file) if file else {}
    chosen = preset or str(from_file.get("preset", "compact"))
    if chosen not in PRESETS:
        raise UnknownNameError("preset", chosen, PRESETS)
    if model is not None and model not in MODELS:
        raise UnknownNameError("model", model, MODELS)
    values = merged(preset_values(chosen), from_file)
    for key, value in map(parse_assignment, assignments):
        values = merged(values, nested(key, value))
    values = merged(values, {"preset": chosen} | ({"model": model} if model else {}))
    return validated(values, place=str(file) if file else "")


def preset_values(name: str) -> dict[str, Any]:
    """Return the settings that a preset changes."""
    text = resources.files("seq2set.presets").joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file, or say in one sentence why it cannot be read."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"the settings file {path} does not exist") from None
    except (IsADirectoryError, PermissionError, UnicodeDecodeError) as error:
        raise InputError(f"the settings file {path} cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError([f"{path} is not valid TOML: {error}"]) from None


def write_toml(config: Config, path: Path) -> None:
    """Write all settings, whole, as TOML."""
    write_text(path, tomli_w.dumps(config.model_dump(mode="json")))


def load_config(path: Path) -> Config:
    """Read back what `write_toml` wrote."""
    return validated(read_toml(path), place=str(path))


def parse_assignment(assignment: str) -> tuple[str, Any]:
    """Split `a.b=v`; the value is read as TOML where it is TOML, and as a string otherwise."""
    key, equals, text = assignment.partition("=")
    key, text = key.strip(), text.strip()
    if not equals or not all(key.split(".")):
        raise ConfigError([f"--set {assignment}: it must have the form section.name=value"])
    try:
        return key, tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return key, text


def nested(key: str, value: Any) -> dict[str, Any]:
    """Turn `a.b`, v into `{"a": {"b": v}}`."""
    for part in reversed(key.split(".")):
        value = {part: value}
    result: dict[str, Any] = value
    return result


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Lay one tree of settings over another."""
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        both = isinstance(below, Mapping) and isinstance(value, Mapping)
        result[key] = merged(below, value) if both else value  # type: ignore[arg-type]
    return result


def changes(old: Config, new: Config) -> list[str]:
    """List the settings that differ, each as `name: old -> new`; those that the model never reads do not."""
    before, after = dict(leaves(old.model_dump())), dict(leaves(new.model_dump()))
    read = [key for key in after if reads(old.model, key) or reads(new.model, key)]
    return [f"{key}: {before[key]} -> {after[key]}" for key in read if before[key] != after[key]]


def differ_only_in(sections: tuple[str, ...], one: Config, other: Config) -> bool:
    """Say whether settings differ, and in nothing but these sections.

    Settings that differ in nothing are not meant: whoever asks for both wants to see that they agree.
    """
    differences = changes(one, other)
    return bool(differences) and all(difference.startswith(sections) for difference in differences)
