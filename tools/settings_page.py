"""Print the page of all settings, docs/settings.md, from the settings themselves.

Usage: python tools/settings_page.py > docs/settings.md
"""

from __future__ import annotations

import ast
import json
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from seq2set.config import schema
from seq2set.config.catalog import PRESETS
from seq2set.config.loader import read_preset, walk_settings
from seq2set.config.schema import Config, Settings
from seq2set.core.names import OneOf

HEAD = """# Settings

This page is made from the settings themselves by `make docs`.

A setting is written `section.name`, in TOML files and after `--set` alike: `--set text.lowercase=false`.
Settings come from a preset, then from a file (`--config`), then from `--set`, each over the last.
"""
COLUMNS = ["| setting | default | meaning |", "|---|---|---|"]


def read_descriptions() -> dict[str, dict[str, str]]:
    """Return what stands below each setting, by its section's class and its name.

    Pydantic could read it too, and would at every start of every command: the file once per section.
    """
    classes = [
        one
        for one in ast.parse(Path(str(schema.__file__)).read_text(encoding="utf-8")).body
        if isinstance(one, ast.ClassDef)
    ]
    return {
        one.name: {
            setting.target.id: below.value.value
            for setting, below in pairwise(one.body)
            if isinstance(setting, ast.AnnAssign)
            and isinstance(setting.target, ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
            and isinstance(below.value.value, str)
        }
        for one in classes
    }


def settings_page() -> str:
    """Return the page in Markdown."""
    descriptions = read_descriptions()
    plain, sections = [], []
    for name, field in Config.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and issubclass(section, Settings):
            sections.append(_section(name, section, descriptions[section.__name__]))
        else:
            plain.append(_row(name, field, descriptions["Config"][name]))
    top = "\n".join(["## The run as a whole", "", *COLUMNS, *plain, ""])
    return "\n".join([HEAD, top, *sections, _presets()])


def _section(name: str, section: type[Settings], described: dict[str, str]) -> str:
    fields = section.model_fields.items()
    rows = [_row(f"{name}.{value.alias or key}", value, described[key]) for key, value in fields]
    return "\n".join([f"## `{name}`", "", str(section.__doc__), "", *COLUMNS, *rows, ""])


def _row(name: str, field: FieldInfo, description: str) -> str:
    meaning = " ".join(description.split())
    if names := _allowed_names(field):
        meaning += f" One of {', '.join(f'`{one}`' for one in names)}."
    return f"| `{name}` | `{json.dumps(field.default)}` | {meaning} |"


def _allowed_names(field: FieldInfo) -> list[str]:
    """Return the names that a setting may have, from a table of the catalog or from its type."""
    tables = [one for one in field.metadata if isinstance(one, OneOf)]
    if tables:
        return tables[0].names()
    return list(get_args(field.annotation)) if get_origin(field.annotation) is Literal else []


def _presets() -> str:
    lines = ["## Presets", "", "What each preset changes from the defaults.", ""]
    lines += ["| preset | what it is for | settings |", "|---|---|---|"]
    for preset, row in PRESETS.items():
        changed = [f"`{key}={json.dumps(value)}`" for key, value in _changed(preset).items()]
        lines.append(f"| `{preset}` | {row.summary} | {', '.join(changed) or 'none'} |")
    return "\n".join(lines) + "\n"


def _changed(preset: str) -> dict[str, Any]:
    """Return the settings of a preset that differ from the defaults; its file may name others as well."""
    defaults = dict(walk_settings(Config().model_dump(mode="json")))
    chosen = dict(walk_settings(read_preset(preset)))
    return {key: value for key, value in chosen.items() if key != "preset" and value != defaults[key]}


if __name__ == "__main__":
    print(settings_page(), end="")
