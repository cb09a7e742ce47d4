"""The page over all published results, made from their numbers alone."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from seq2set.experiments.published_facts import published_facts
from seq2set.experiments.registry import EXPERIMENTS

HEAD = """# Results

Made by `make results` from the JSON files in this folder; nothing here is typed by hand. Each file holds
every number with its seed, its settings and the machine that it was measured on.
"""

CLAIMS = """## The paper's claims

Each claim that an experiment judges, on each corpus where it was run. A claim is left open where a difference
may be an accident. Margins are in points (hundredths) of micro-F1 on the test split.

| claim | corpus, preset | verdict | evidence |
| --- | --- | --- | --- |
"""

NOTHING = "Nothing has been published yet."

LEFT_OUT = "Every training"
"""The section of each experiment that lists all trainings, for which the JSON files are the better place."""


def results_readme(folder: Path) -> str:
    """Return the page for the results in a folder."""
    found = [_read(path) for path in sorted(folder.glob("*/*.json"), key=_place)]
    parts: list[str] = _claims(found)
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


def _claims(found: Iterable[_Published]) -> list[str]:
    """List what came of the paper's claims, those of one experiment side by side."""
    judged = [
        (list(EXPERIMENTS).index(values["experiment"]), claim["text"], path.parent.name, claim)
        for path, values in found
        for section in values["sections"]
        for claim in section["claims"]
    ]
    texts = list(dict.fromkeys(text for _, text, _, _ in sorted(judged, key=lambda one: one[0])))
    rows = [
        f"| {text[0].upper()}{text[1:]} | {place} | **{claim['state']}** | {claim['evidence']} |"
        for wanted in texts
        for _, text, place, claim in judged
        if text == wanted
    ]
    return [CLAIMS + "\n".join(rows) + "\n"] if rows else []


def _experiment(published: _Published) -> str:
    path, values = published
    shown = [section for section in values["sections"] if section["title"] != LEFT_OUT]
    head = (
        f"### {values['title']}\n\n[{path.name}]({path.parent.name}/{path.name}). {published_facts(values)}\n"
    )
    plots = f"{path.parent.name}/{path.stem}"
    return "\n".join([head, *(_section(section, plots) for section in shown)])


def _section(section: dict[str, Any], plots: str) -> str:
    head = f"#### {section['title']}\n\n*{section['asked']}*\n"
    sentences = [claim["sentence"] for claim in section["claims"]] + section["found"]
    found = [f"- {sentence}" for sentence in sentences]
    tables = [table["markdown"] for table in section["tables"]]
    drawn = [f"![{one['caption']}]({plots}/{one['name']}.svg)\n" for one in section["figures"]]
    return "\n".join([head, *found, *([""] if found else []), *tables, *drawn])
