"""Models as experiments name, order and draw them, all by their rows in the catalog."""

from __future__ import annotations

from seq2set.config import Config
from seq2set.config.catalog import MODELS, Style, find_model
from seq2set.core.errors import InputError

OTHER_STYLE = Style("#666666", ":", ".")
"""How a line looks that is no model's."""


def title_of(model: str) -> str:
    """Return a model's name in print."""
    return MODELS[model].title if model in MODELS else model


def style_of(model: str) -> Style:
    """Return how a model's lines look in plots."""
    return MODELS[model].style if model in MODELS else OTHER_STYLE


def is_baseline(model: str) -> bool:
    """Say whether the paper compares its own models with this one."""
    return model in MODELS and MODELS[model].is_baseline


def parse_models(text: str) -> tuple[str, ...]:
    """Read models with commas between, or `all`, and put them into the order of the paper's tables."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise InputError(f"--models is '{text}'; it must name models, with commas between, or be 'all'")
    wanted = list(MODELS) if names == ["all"] else names
    for name in wanted:
        find_model(name)
    return tuple(name for name in MODELS if name in wanted)


def is_deterministic(config: Config) -> bool:
    """Say whether every seed gives the same model."""
    row = find_model(config.model)
    values = config.model_dump()
    for setting, seeded in (row.seeded_by or {}).items():
        section, _, name = setting.partition(".")
        if values[section][name] in seeded:
            return False
    return row.family == "linear"
