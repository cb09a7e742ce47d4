"""Settings from presets, TOML files and `--set` to a `Config`, and back to TOML.

All faults are reported at once, in a sentence per setting: the place, the value seen and what is allowed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import tomli_w
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from seq2set.config.catalog import MODELS, PRESETS, reads
from seq2set.config.schema import Config, Settings
from seq2set.core.errors import ConfigError, InputError, UnknownNameError, suggest
from seq2set.core.files import write_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PRESET_FOLDERS = [resources.files("seq2set.config.presets")]
"""Where the files of presets lie; a preset from outside has its own folder here beside its row"""

_LONGEST = 10_000_000
"""How many characters a settings file may have, so that reading what never ends does end."""


def build_config(
    *,
    preset: str | None = None,
    model: str | None = None,
    file: Path | None = None,
    assignments: Iterable[str] = (),
    base: Config | None = None,
) -> Config:
    """Put settings together: the preset, then the file, then `--set` assignments, each over the last.

    With `base`, all settings of another run replace the preset's.
    """
    from_file = read_toml(file) if file else {}
    chosen = preset or str(from_file.get("preset", base.preset if base else "compact"))
    if chosen not in PRESETS:
        raise UnknownNameError("preset", chosen, PRESETS)
    if model is not None and model not in MODELS:
        raise UnknownNameError("model", model, MODELS)
    below = base.model_dump(mode="json") if base else read_preset(chosen)
    values = merge_settings(below, from_file)
    for key, value in map(parse_assignment, assignments):
        values = merge_settings(values, nest_setting(key, value))
    values = merge_settings(values, {"preset": chosen} | ({"model": model} if model else {}))
    return validate(values, place=str(file) if file else "")


def read_preset(name: str) -> dict[str, Any]:
    """Return the settings that a preset changes, those of the preset below it among them."""
    file = next(file for folder in PRESET_FOLDERS if (file := folder / f"{name}.toml").is_file())
    base = PRESETS[name].base
    return merge_settings(read_preset(base) if base else {}, tomllib.loads(file.read_text(encoding="utf-8")))


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file, or say in one sentence why it cannot be read."""
    try:
        with path.open(encoding="utf-8") as stream:
            text = stream.read(_LONGEST + 1)
        if len(text) > _LONGEST:
            raise InputError(f"the settings file {path} has more than {_LONGEST:,} characters; it is none")
        return tomllib.loads(text)
    except FileNotFoundError:
        raise InputError(f"the settings file {path} does not exist") from None
    except (IsADirectoryError, PermissionError, UnicodeDecodeError) as error:
        raise InputError(f"the settings file {path} cannot be read: {error}") from None
    except RecursionError:
        raise ConfigError([f"{path} is not valid TOML: it is nested too deeply"]) from None
    except ValueError as error:  # also of a number of too many digits
        raise ConfigError([f"{path} is not valid TOML: {error}"]) from None


def write_toml(config: Config, path: Path) -> None:
    """Write all settings, whole, as TOML."""
    write_text(path, tomli_w.dumps(config.model_dump(mode="json")))


def load_config(path: Path) -> Config:
    """Read back what `write_toml` wrote."""
    return validate(read_toml(path), place=str(path))


def parse_assignment(assignment: str) -> tuple[str, Any]:
    """Split `a.b=v`; the value is read as TOML where it is TOML, and as a string otherwise."""
    key, equals, text = assignment.partition("=")
    key, text = key.strip(), text.strip()
    if not equals or not all(key.split(".")):
        raise ConfigError([f"--set {assignment}: it must have the form section.name=value"])
    try:
        return key, tomllib.loads(f"value = {text}")["value"]
    except (RecursionError, ValueError):
        return key, text


def nest_setting(key: str, value: Any) -> dict[str, Any]:
    """Turn `a.b`, v into `{"a": {"b": v}}`."""
    for part in reversed(key.split(".")):
        value = {part: value}
    result: dict[str, Any] = value
    return result


def merge_settings(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Lay one tree of settings over another."""
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        both = isinstance(below, Mapping) and isinstance(value, Mapping)
        result[key] = merge_settings(below, value) if both else value  # type: ignore[arg-type]
    return result


def list_changes(old: Config, new: Config) -> list[str]:
    """List the settings that differ, each as `name: old -> new`; those that the model never reads do not."""
    before, after = dict(walk_settings(old.model_dump())), dict(walk_settings(new.model_dump()))
    read = [key for key in after if any(reads(one.model, key, one.encoder.kind) for one in (old, new))]
    return [f"{key}: {before[key]} -> {after[key]}" for key in read if before[key] != after[key]]


def differ_only_in(sections: tuple[str, ...], one: Config, other: Config) -> bool:
    """Say whether settings differ, and in nothing but these sections.

    Equal settings do not count: a study that has both wants to see that they agree.
    """
    differences = list_changes(one, other)
    return bool(differences) and all(difference.startswith(sections) for difference in differences)


def walk_settings(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Walk over a tree of settings, each with its full name."""
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from walk_settings(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def validate(values: Mapping[str, Any], place: str = "") -> Config:
    """Check plain values and return them as a `Config`, or raise every fault found."""
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        prefix = f"{place}: " if place else ""
        raise ConfigError([prefix + fault for fault in _list_faults(error)]) from None


def _list_faults(error: ValidationError) -> list[str]:
    """Return one sentence per setting; a union reports an error per branch, which are joined with "or"."""
    seen: dict[str, ErrorDetails] = {}
    allowed: dict[str, list[str]] = {}
    for detail in _keep_deepest(error.errors()):
        name = ".".join(_find_setting_path(detail["loc"]))
        seen.setdefault(name, detail)
        allowed.setdefault(name, []).append(_describe_allowed(detail))
    return [_write_sentence(name, detail, allowed[name]) for name, detail in seen.items()]


def _keep_deepest(details: list[ErrorDetails]) -> list[ErrorDetails]:
    """Leave out what only follows from a fault further inside: a list too short without its bad value."""
    places = [detail["loc"] for detail in details]
    return [
        detail
        for detail in details
        if not any(place[: len(detail["loc"])] == detail["loc"] != place for place in places)
        or detail["type"] != "too_short"
    ]


def _find_setting_path(location: tuple[int | str, ...]) -> list[str]:
    """Drop what pydantic adds to name the branch of a union, which is no setting of ours."""
    path: list[str] = []
    section: Any = Config
    for part in location:
        if isinstance(section, type) and issubclass(section, Settings):
            path.append(str(part))
            field = section.model_fields.get(str(part))
            section = field.annotation if field else None
        elif isinstance(part, int):
            path.append(str(part))
    return path


def _write_sentence(name: str, detail: ErrorDetails, allowed: list[str]) -> str:
    if detail["type"] == "extra_forbidden":
        return f"{name} is not a setting{suggest(name, list_setting_names())}"
    return f"{name} is {_show(detail['input'])}; it must {' or '.join(dict.fromkeys(allowed))}"


def list_setting_names() -> list[str]:
    """Return the names of all settings and of their sections."""
    return [key for key, _ in walk_settings(Config().model_dump())] + [
        key for key, field in Config.model_fields.items() if field.annotation in Settings.__subclasses__()
    ]


_ALLOWED = {"greater_than_equal": "be >= {ge}", "greater_than": "be > {gt}"}
_ALLOWED |= {"less_than_equal": "be <= {le}", "less_than": "be < {lt}", "finite_number": "be finite"}
_ALLOWED |= {"literal_error": "be {expected}", "too_long": "hold at most {max_length} value(s)"}
_ALLOWED |= {"too_short": "hold at least {min_length} value(s)"}
_ALLOWED |= {"string_too_short": "hold at least {min_length} character(s)"}
_KINDS = {"int": "be a whole number", "float": "be a number", "bool": "be true or false"}
_KINDS |= {"string": "be a text", "tuple": "be a list", "model": "be a section of settings"}


def _describe_allowed(detail: ErrorDetails) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind not in _ALLOWED:
        return _KINDS.get(kind.split("_")[0], detail["msg"])
    limits = {name: f"{one:g}" if isinstance(one, float) else one for name, one in context.items()}
    return _ALLOWED[kind].format(**limits)


def _show(value: Any) -> str:
    text = f"'{value}'" if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
