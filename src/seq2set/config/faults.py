"""Wrong settings as sentences: the place, the value seen and what is allowed; all of them at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from seq2set.config.base import Settings
from seq2set.config.settings import Config
from seq2set.errors import ConfigError, nearest


def validated(values: Mapping[str, Any], place: str = "") -> Config:
    """Check plain values and return them as a `Config`, or raise every fault found."""
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        prefix = f"{place}: " if place else ""
        raise ConfigError([prefix + fault for fault in _faults(error)]) from None


def leaves(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Walk over a tree of settings, each with its full name."""
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _faults(error: ValidationError) -> list[str]:
    """One sentence a setting; a union reports one error a branch, which are joined with "or"."""
    seen: dict[str, ErrorDetails] = {}
    allowed: dict[str, list[str]] = {}
    for detail in _deepest(error.errors()):
        name = ".".join(_setting_path(detail["loc"]))
        seen.setdefault(name, detail)
        allowed.setdefault(name, []).append(_allowed(detail))
    return [_sentence(name, detail, allowed[name]) for name, detail in seen.items()]


def _deepest(details: list[ErrorDetails]) -> list[ErrorDetails]:
    """Leave out what only follows from a fault further inside: a list too short without its bad value."""
    places = [detail["loc"] for detail in details]
    return [
        detail
        for detail in details
        if not any(place[: len(detail["loc"])] == detail["loc"] != place for place in places)
        or detail["type"] != "too_short"
    ]


def _setting_path(location: tuple[int | str, ...]) -> list[str]:
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


def _sentence(name: str, detail: ErrorDetails, allowed: list[str]) -> str:
    if detail["type"] == "extra_forbidden":
        return f"{name} is not a setting{nearest(name, _setting_names())}"
    return f"{name} is {_shown(detail['input'])}; it must {' or '.join(dict.fromkeys(allowed))}"


def _setting_names() -> list[str]:
    return [key for key, _ in leaves(Config().model_dump())] + [
        key for key, field in Config.model_fields.items() if field.annotation in Settings.__subclasses__()
    ]


_LIMITS = {"greater_than_equal": ("ge", ">="), "greater_than": ("gt", ">")}
_LIMITS |= {"less_than_equal": ("le", "<="), "less_than": ("lt", "<")}
_KINDS = {"int": "be a whole number", "float": "be a number", "bool": "be true or false"}
_KINDS |= {"string": "be a text", "tuple": "be a list", "model": "be a section of settings"}


def _allowed(detail: ErrorDetails) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind in _LIMITS:
        key, sign = _LIMITS[kind]
        return f"be {sign} {context[key]:g}"
    if kind == "literal_error":
        return f"be {context['expected']}"
    if kind == "too_short":
        return f"hold at least {context['min_length']} value(s)"
    if kind == "string_too_short":
        return f"hold at least {context['min_length']} character(s)"
    if kind == "finite_number":
        return "be finite"
    return _KINDS.get(kind.split("_")[0], detail["msg"])


def _shown(value: Any) -> str:
    text = f"'{value}'" if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
