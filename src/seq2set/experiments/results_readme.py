"""The page over all published results, made from their numbers alone."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from seq2set.experiments.registry import EXPERIMENTS

HEAD = """# Results

Made by `make results` from the JSON files in this folder; nothing here is typed by hand. Each file holds
every number with its seed, its settings and the machine that it was measured on.
"""

NOTHING = "Nothing has been published yet."

LEFT_OUT = "Every training"
"""The section of each experiment that lists all trainings, for which the JSON files are the better place."""


def results_readme(folder: Path) -> str:
    """Return the page for the results in a folder."""
    found = [_read(path) for path in sorted(folder.glob("*/*.json"), key=_place)]
    parts: list[str] = []
    for name, group in groupby(found, lambda one: one.path.parent.name):
        parts += [f"## {name}\n", *map(_experiment, group)]
    return "\n".join([HEAD, *(parts or [f"{NOTHING}\n"])])


def _place(path: Path) -> tuple[str, int, str]:
    order = list(EXPERIMENTS)
    return path.parent.name, order.index(path.stem) if path.stem in order else len(order), path.stem


class _Published(NamedTuple):
    path: Path
    values: dict[str, Any]


def _read(path: Path) -> _Published:
    return _Published(path, json.loads(path.read_text(encoding="utf-8")))


def _experiment(published: _Published) -> str:
    path, values = published
    shown = [section for section in values["sections"] if section["title"] != LEFT_OUT]
    head = f"### {values['title']}\n\n[{path.name}]({path.parent.name}/{path.name}). {_facts(values)}\n"
    return "\n".join([head, *map(_section, shown)])


def _facts(values: dict[str, Any]) -> str:
    asked, cells, published = values["asked"], values["cells"], values["published"]
    hours = sum(cell["seconds"]["training"] for cell in cells) / 3600
    seeds = ", ".join(map(str, asked["seeds"]))
    machines = "; ".join(_unlike(_machine(cell["machine"]) for cell in cells))
    version = f"seq2set {published['seq2set']}, commit {published['commit'] or 'unknown'}"
    return (
        f"Corpus {asked['corpus']}, preset {asked['preset']}, seeds {seeds}; {len(cells)} trainings, "
        f"{hours:.1f} hours in all, on {machines}. Published by {version}.{_asked_more(asked)}"
    )


def _asked_more(asked: dict[str, Any]) -> str:
    options = [f"{name}={value}" for name, value in asked["options"].items()]
    more = [f"`--set {one}`" for one in asked["settings"]] + [f"`--option {one}`" for one in options]
    return f" With {', '.join(more)}." if more else ""


def _machine(facts: dict[str, Any]) -> str:
    cores = f"{facts['threads']} of {facts['cores']} cores"
    return f"{facts['cpu']} ({cores}, seq2set {facts['seq2set']}, torch {facts['torch']})"


def _unlike(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def _section(section: dict[str, Any]) -> str:
    head = f"#### {section['title']}\n\n*{section['asked']}*\n"
    found = [f"- {sentence}" for sentence in section["found"]]
    tables = [table["markdown"] for table in section["tables"]]
    return "\n".join([head, *found, *([""] if found else []), *tables])
