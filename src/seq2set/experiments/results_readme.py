"""The page over all published results, made from their numbers alone."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from seq2set.core.files import read_json
from seq2set.experiments import EXPERIMENTS
from seq2set.experiments.published_facts import published_facts

HEAD = """# Results

Made by `make results` from the JSON files in this folder; nothing here is typed by hand. Each file holds
every number with its seed, its settings and the machine that it was measured on.
"""

CLAIMS = """## The paper's claims

Each claim that an experiment judges, on each corpus where it was run. A claim is left open where a difference
is not significant, where a model that draws at random was trained with fewer than three seeds, and where what
a test needs is not stored. Margins are in points (hundredths) of micro-F1 on the test split, with their 95 %
intervals.

| claim | corpus, preset | verdict | evidence |
| --- | --- | --- | --- |
"""

CHANGED = """## Verdicts that changed

Verdicts were once drawn from tests of documents alone, and some from point estimates. Of those, the following
have changed: by tests that count seeds, or because what such a test needs is not stored, so that it is left
open what was once told without one.

| claim | corpus, preset | before | now | why |
| --- | --- | --- | --- | --- |
"""

NOTHING = "Nothing has been published yet."

LEFT_OUT = "Every training"
"""The section of each experiment that lists all trainings, for which the JSON files are the better place."""


def results_readme(folder: Path) -> str:
    """Return the page for the results in a folder."""
    found = [_read(path) for path in sorted(folder.glob("*/*.json"), key=_place)]
    parts: list[str] = [*_claims(found), *_changed(found)]
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
    return _Published(path, read_json(path))


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


def _changed(found: Iterable[_Published]) -> list[str]:
    """List the verdicts that are not what they were when an experiment was judged before."""
    rows = []
    for path, values in found:
        before = {claim["text"]: claim["state"] for claim in values.get("before", [])}
        now = [claim for section in values["sections"] for claim in section["claims"]]
        rows += [
            f"| {claim['text']} | {path.parent.name} | {before[claim['text']]} | {claim['state']} "
            f"| {_why(claim)} |"
            for claim in now
            if claim["state"] != before.get(claim["text"], claim["state"])
        ]
    return [CHANGED + "\n".join(rows) + "\n"] if rows else []


def _why(claim: dict[str, Any]) -> str:
    reasons = {
        "fewer than three seeds": "fewer than three seeds",
        "one seed allows no test": "one seed",
        "is not stored": "what a test needs is not stored",
    }
    return next(
        (why for sign, why in reasons.items() if sign in claim["evidence"]),
        "the variance over seeds counts, and each difference is tested",
    )


def _experiment(published: _Published) -> str:
    path, values = published
    shown = [section for section in values["sections"] if section["title"] != LEFT_OUT]
    link = f"[{path.name}]({path.parent.name}/{path.name})"
    head = f"### {values['title']}\n\n{link}. {published_facts(values)}{_note(values)}\n"
    plots = f"{path.parent.name}/{path.stem}"
    return "\n".join([head, *(_section(section, plots) for section in shown)])


def _note(values: dict[str, Any]) -> str:
    return f" {values['note']}" if "note" in values else ""


def _section(section: dict[str, Any], plots: str) -> str:
    head = f"#### {section['title']}\n\n*{section['asked']}*\n"
    sentences = [claim["sentence"] for claim in section["claims"]] + section["found"]
    found = [f"- {sentence}" for sentence in sentences]
    tables = [table["markdown"] for table in section["tables"]]
    drawn = [f"![{one['caption']}]({plots}/{one['name']}.svg)\n" for one in section["figures"]]
    return "\n".join([head, *found, *([""] if found else []), *tables, *drawn])
