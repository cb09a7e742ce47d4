"""The page over all published results, `results/README.md`, made from their numbers alone."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from pathlib import Path
from statistics import mean, stdev
from typing import Any, NamedTuple

from seq2set.config import build_config
from seq2set.config.catalog import MODELS, reads
from seq2set.core.files import read_json, write_text
from seq2set.experiments import EXPERIMENTS
from seq2set.experiments.render.report import TRAININGS
from seq2set.experiments.studies.uncorrelated import describe_order

HEAD = """# Results

Made by `make results` from the JSON files in this folder; nothing here is typed by hand. Each file holds
every number with its seed, its settings and the machine that it was measured on.
"""

SUMMARY = """## In one screen

Micro-F1 on the test split, mean ± deviation over seeds; BR at its tuned threshold. What came of the paper's
claims, counted on each corpus where they were judged: {claims}.

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


def write_page(folder: Path) -> None:
    """Write the page over all published results of a folder."""
    write_text(folder / "README.md", build_page(folder))


def build_page(folder: Path) -> str:
    """Return the page over the results in a folder."""
    found = [_read(path) for path in sorted(folder.glob("*/*.json"), key=_sort_key)]
    parts: list[str] = [*_summarize(found), *_list_claims(found), *_list_changed(found)]
    for name, group in groupby(found, lambda one: one.path.parent.name):
        parts += [f"## {name}\n", *map(_format_experiment, group)]
    return "\n".join([HEAD, *(parts or [f"{NOTHING}\n"])])


def _sort_key(path: Path) -> tuple[str, int, str]:
    order = list(EXPERIMENTS)
    return path.parent.name, order.index(path.stem) if path.stem in order else len(order), path.stem


class _Published(NamedTuple):
    path: Path
    values: dict[str, Any]


def _read(path: Path) -> _Published:
    return _Published(path, read_json(path))


def _summarize(found: Iterable[_Published]) -> list[str]:
    """Return one row per comparison of models, and how many claims hold."""
    compared = [one for one in found if one.values["experiment"] in ("table-results", "compare")]
    if not compared:
        return []
    head = ["corpus, preset", "study", "seeds", *(row.title for row in MODELS.values())]
    rows = [_summarize_row(one) for one in compared]
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows)]
    return [SUMMARY.format(claims=_count_claims(found)) + "\n".join(lines) + "\n"]


def _summarize_row(published: _Published) -> list[str]:
    cells = [one for one in published.values["cells"] if not one["name"].startswith("br-boundary")]
    scores = {
        model: [one["metrics"]["micro_f1"] for one in cells if one["model"] == model] for model in MODELS
    }
    study = f"[{published.path.stem}](#{_name_anchor(published.path)})"
    seeds = str(max(map(len, scores.values())))
    return [published.path.parent.name, study, seeds, *(_format_scores(values) for values in scores.values())]


def _name_anchor(path: Path) -> str:
    """Return the anchor of a study: the heading's own depends on how many studies above have the same."""
    return f"{path.parent.name}-{path.stem}"


def _format_scores(values: list[float]) -> str:
    if not values:
        return "–"
    return f"{mean(values):.3f}" + (f" ± {stdev(values):.3f}" if len(values) > 1 else "")


def _count_claims(found: Iterable[_Published]) -> str:
    states = Counter(
        claim["state"] for one in found for section in one.values["sections"] for claim in section["claims"]
    )
    return ", ".join(f"{count} **{state}**" for state, count in states.most_common())


def _list_claims(found: Iterable[_Published]) -> list[str]:
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


def _list_changed(found: Iterable[_Published]) -> list[str]:
    """List the verdicts that are not what they were when an experiment was judged before."""
    rows = []
    for path, values in found:
        before = {claim["text"]: claim["state"] for claim in values.get("before", [])}
        now = [claim for section in values["sections"] for claim in section["claims"]]
        rows += [
            f"| {claim['text']} | {path.parent.name} | {before[claim['text']]} | {claim['state']} "
            f"| {_explain_change(claim)} |"
            for claim in now
            if claim["state"] != before.get(claim["text"], claim["state"])
        ]
    return [CHANGED + "\n".join(rows) + "\n"] if rows else []


def _explain_change(claim: dict[str, Any]) -> str:
    reasons = {
        "fewer than three seeds": "fewer than three seeds",
        "one seed allows no test": "one seed",
        "is not stored": "what a test needs is not stored",
    }
    return next(
        (why for sign, why in reasons.items() if sign in claim["evidence"]),
        "the variance over seeds counts, and each difference is tested",
    )


def _format_experiment(published: _Published) -> str:
    path, values = published
    shown = [section for section in values["sections"] if not _lists_trainings(section)]
    link = f"[{path.name}]({path.parent.name}/{path.name})"
    anchor = f'<a id="{_name_anchor(path)}"></a>\n\n'
    head = f"{anchor}### {values['title']}\n\n{link}. {describe_measurement(values)}{_format_note(values)}\n"
    plots = f"{path.parent.name}/{path.stem}"
    return "\n".join([head, *(_format_section(section, plots) for section in shown)])


def _lists_trainings(section: dict[str, Any]) -> bool:
    """Say whether a section lists all trainings, for which the JSON files are the better place."""
    return any(table["name"] == TRAININGS for table in section["tables"])


def _format_note(values: dict[str, Any]) -> str:
    return f" {values['note']}" if "note" in values else ""


def _format_section(section: dict[str, Any], plots: str) -> str:
    head = f"#### {section['title']}\n\n*{section['asked']}*\n"
    sentences = [claim["sentence"] for claim in section["claims"]] + section["found"]
    found = [f"- {sentence}" for sentence in sentences]
    tables = [table["markdown"] for table in section["tables"]]
    drawn = [f"![{one['caption']}]({plots}/{one['name']}.svg)\n" for one in section["figures"]]
    return "\n".join([head, *found, *([""] if found else []), *tables, *drawn])


def describe_measurement(values: dict[str, Any]) -> str:
    """Return what a published experiment was measured with: corpus, seeds, settings, machine and hours."""
    asked, cells, published = values["asked"], values["cells"], values["published"]
    hours = sum(cell["seconds"]["training"] for cell in cells) / 3600
    seeds = ", ".join(map(str, asked["seeds"]))
    machines = "; ".join(_deduplicate(_describe_machine(cell["machine"]) for cell in cells))
    version = f"seq2set {published['seq2set']}, commit {published['commit'] or 'unknown'}"
    return (
        f"Corpus {asked['corpus']}, preset {asked['preset']}, seeds {seeds}; {len(cells)} trainings, "
        f"{hours:.1f} hours in all, on {machines}. Published by {version}.{_describe_options(asked)}"
        f"{_describe_settings(values)}{_describe_label_order(values)}"
    )


def _describe_label_order(values: dict[str, Any]) -> str:
    """Return in which order the labels of `uncorrelated` were learned, which was not always the paper's."""
    if values["experiment"] != "uncorrelated":
        return ""
    read = [cell for cell in values["cells"] if reads(cell["model"], "label_order.kind")]
    orders = _deduplicate(cell["config"]["label_order"]["kind"] for cell in read)
    return f" {describe_order(orders[0])}" if len(orders) == 1 else ""


def _describe_options(asked: dict[str, Any]) -> str:
    options = [f"{name}={value}" for name, value in asked["options"].items()]
    more = [f"`--set {one}`" for one in asked["settings"]] + [f"`--option {one}`" for one in options]
    return f" With {', '.join(more)}." if more else ""


def _describe_settings(values: dict[str, Any]) -> str:
    """Return what differs from today's preset: once what all models share that read it, then by model."""
    by_model: dict[str, list[list[str]]] = {}
    for cell in values["cells"]:
        by_model.setdefault(cell["model"], []).append(list(_list_changes(values["asked"], cell)))
    changed = {
        model: [one for one in found[0] if all(one in other for other in found)]
        for model, found in by_model.items()
    }
    shared = [one for one in _deduplicate(chain(*changed.values())) if _is_shared(one, changed)]
    told = {
        MODELS[model].title: ", ".join(f"`{one}`" for one in found if one not in shared)
        for model, found in changed.items()
    }
    together = f" Unlike today's preset with {', '.join(f'`{one}`' for one in shared)}." if shared else ""
    return together + "".join(f" {title} with {own}." for title, own in told.items() if own)


def _is_shared(setting: str, changed: dict[str, list[str]]) -> bool:
    name = setting.partition("=")[0]
    readers = [model for model in changed if reads(model, name)]
    return len(readers) > 1 and all(setting in changed[model] for model in readers)


def _list_changes(asked: dict[str, Any], cell: dict[str, Any]) -> Iterator[str]:
    """Yield the settings that are not the preset's; the seed and the corpus are named elsewhere."""
    usual = build_config(preset=asked["preset"], model=cell["model"], assignments=asked["settings"])
    for section, settings in usual.model_dump(mode="json", exclude={"data"}).items():
        if isinstance(settings, dict):
            own = cell["config"].get(section, {})
            names = [name for name in settings if name in own and reads(cell["model"], f"{section}.{name}")]
            changed = (name for name in names if own[name] != settings[name])
            yield from (f"{section}.{name}={json.dumps(own[name])}" for name in changed)


def _describe_machine(facts: dict[str, Any]) -> str:
    cores = f"{facts['threads']} of {facts['cores']} cores"
    return f"{facts['cpu']} ({cores}, seq2set {facts['seq2set']}, torch {facts['torch']})"


def _deduplicate(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))
