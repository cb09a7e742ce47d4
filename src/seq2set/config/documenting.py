"""The page of all settings, made from the settings themselves."""

from __future__ import annotations

import json
from typing import Any

from pydantic.fields import FieldInfo

from seq2set.config.catalog import PRESETS
from seq2set.config.loader import read_preset, walk_settings
from seq2set.config.schema import Config, Settings

_HEAD = """# Settings

This page is made from the settings themselves by `make docs`.

A setting is written `section.name`, in TOML files and after `--set` alike: `--set text.lowercase=false`.
Settings come from a preset, then from a file (`--config`), then from `--set`, each over the last.
"""


def settings_page() -> str:
    """Return the page in Markdown."""
    plain, sections = [], []
    for name, field in Config.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and issubclass(section, Settings):
            sections.append(_section(name, field, section))
        else:
            plain.append(_row(name, field))
    top = "\n".join(["## The run as a whole", "", *_HEADER, *plain, ""])
    return "\n".join([_HEAD, top, *sections, _presets()])


_HEADER = ["| setting | default | meaning |", "|---|---|---|"]


def _section(name: str, field: FieldInfo, section: type[Settings]) -> str:
    rows = [_row(f"{name}.{value.alias or key}", value) for key, value in section.model_fields.items()]
    return "\n".join([f"## `{name}`", "", str(field.description), "", *_HEADER, *rows, ""])


def _row(name: str, field: FieldInfo) -> str:
    meaning = " ".join(str(field.description).split())
    return f"| `{name}` | `{json.dumps(field.default)}` | {meaning} |"


def _presets() -> str:
    lines = ["## Presets", "", "What each preset changes from the defaults.", ""]
    lines += ["| preset | settings |", "|---|---|"]
    for preset in PRESETS:
        changed = [f"`{key}={json.dumps(value)}`" for key, value in _changed(preset).items()]
        lines.append(f"| `{preset}` | {', '.join(changed) or 'nothing'} |")
    return "\n".join(lines) + "\n"


def _changed(preset: str) -> dict[str, Any]:
    """Return the settings of a preset that differ from the defaults; its file may name others as well."""
    defaults = dict(walk_settings(Config().model_dump(mode="json")))
    chosen = dict(walk_settings(read_preset(preset)))
    return {key: value for key, value in chosen.items() if key != "preset" and value != defaults[key]}
