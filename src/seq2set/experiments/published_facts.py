"""What a published experiment was measured with: corpus, seeds, settings, machine and hours."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from seq2set.config import build_config
from seq2set.config.catalog import reads
from seq2set.experiments.model_names import title_of
from seq2set.experiments.studies.uncorrelated import order_remark


def published_facts(values: dict[str, Any]) -> str:
    """Say what a published experiment was measured with."""
    asked, cells, published = values["asked"], values["cells"], values["published"]
    hours = sum(cell["seconds"]["training"] for cell in cells) / 3600
    seeds = ", ".join(map(str, asked["seeds"]))
    machines = "; ".join(_unlike(_machine(cell["machine"]) for cell in cells))
    version = f"seq2set {published['seq2set']}, commit {published['commit'] or 'unknown'}"
    return (
        f"Corpus {asked['corpus']}, preset {asked['preset']}, seeds {seeds}; {len(cells)} trainings, "
        f"{hours:.1f} hours in all, on {machines}. Published by {version}.{_asked_more(asked)}"
        f"{_own_settings(values)}{_label_order(values)}"
    )


def _label_order(values: dict[str, Any]) -> str:
    """Say in which order the labels of `uncorrelated` were learned, which was not always the paper's."""
    if values["experiment"] != "uncorrelated":
        return ""
    read = [cell for cell in values["cells"] if reads(cell["model"], "label_order.kind")]
    orders = _unlike(cell["config"]["label_order"]["kind"] for cell in read)
    return f" {order_remark(orders[0])}" if len(orders) == 1 else ""


def _asked_more(asked: dict[str, Any]) -> str:
    options = [f"{name}={value}" for name, value in asked["options"].items()]
    more = [f"`--set {one}`" for one in asked["settings"]] + [f"`--option {one}`" for one in options]
    return f" With {', '.join(more)}." if more else ""


def _own_settings(values: dict[str, Any]) -> str:
    """Say what is not as in today's preset: once what all models share that read it, then by model."""
    by_model: dict[str, list[list[str]]] = {}
    for cell in values["cells"]:
        by_model.setdefault(cell["model"], []).append(list(_unlike_usual(values["asked"], cell)))
    changed = {
        model: [one for one in found[0] if all(one in other for other in found)]
        for model, found in by_model.items()
    }
    shared = [one for one in _unlike(chain(*changed.values())) if _is_shared(one, changed)]
    told = {
        title_of(model): ", ".join(f"`{one}`" for one in found if one not in shared)
        for model, found in changed.items()
    }
    together = f" Unlike today's preset with {', '.join(f'`{one}`' for one in shared)}." if shared else ""
    return together + "".join(f" {title} with {own}." for title, own in told.items() if own)


def _is_shared(setting: str, changed: dict[str, list[str]]) -> bool:
    name = setting.partition("=")[0]
    readers = [model for model in changed if reads(model, name)]
    return len(readers) > 1 and all(setting in changed[model] for model in readers)


def _unlike_usual(asked: dict[str, Any], cell: dict[str, Any]) -> Iterator[str]:
    """Return the settings that are not the preset's; the seed and the corpus are told elsewhere."""
    usual = build_config(preset=asked["preset"], model=cell["model"], assignments=asked["settings"])
    for section, settings in usual.model_dump(mode="json", exclude={"data"}).items():
        if isinstance(settings, dict):
            own = cell["config"].get(section, {})
            names = [name for name in settings if name in own and reads(cell["model"], f"{section}.{name}")]
            changed = (name for name in names if own[name] != settings[name])
            yield from (f"{section}.{name}={json.dumps(own[name])}" for name in changed)


def _machine(facts: dict[str, Any]) -> str:
    cores = f"{facts['threads']} of {facts['cores']} cores"
    return f"{facts['cpu']} ({cores}, seq2set {facts['seq2set']}, torch {facts['torch']})"


def _unlike(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))
