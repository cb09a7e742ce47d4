"""The models of the paper's tables: their order, their names in print, and which of them need seeds."""

from __future__ import annotations

from seq2set.config import Config
from seq2set.core.errors import InputError, UnknownNameError
from seq2set.models.registry import ENTRIES

TITLES = {
    "br": "BR",
    "cc": "CC",
    "lp": "LP",
    "cnn": "CNN",
    "cnn-rnn": "CNN-RNN",
    "seq2seq": "Seq2Seq",
    "seq2set-simp": "Seq2Set (simp.)",
    "seq2set": "Seq2Set",
}
"""The models in the order of the paper's tables, by the names that stand there."""

BASELINES = ("br", "cc", "lp", "cnn", "cnn-rnn", "seq2seq")
"""The models that the paper compares its own with."""

DETERMINISTIC = ("br", "cc", "lp")
"""The models that no seed reaches, unless classifier chains are asked for random orders."""


def title_of(model: str) -> str:
    """Return a model's name in print."""
    return TITLES.get(model, model)


def all_models() -> tuple[str, ...]:
    """Return every model that can be trained, in the order of the paper's tables."""
    return tuple(sorted(ENTRIES, key=_place))


def parse_models(text: str) -> tuple[str, ...]:
    """Read models with commas between, or `all`, and put them into the order of the paper's tables."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if names == ["all"]:
        return all_models()
    if not names:
        raise InputError(f"--models is '{text}'; it must name models, with commas between, or be 'all'")
    for name in names:
        if name not in ENTRIES:
            raise UnknownNameError("model", name, all_models())
    return tuple(sorted(set(names), key=_place))


def is_deterministic(config: Config) -> bool:
    """Say whether every seed gives the same model."""
    chain = getattr(config, "chain", None)
    in_fixed_order = config.model != "cc" or chain is None or chain.order == "frequency"
    return config.model in DETERMINISTIC and in_fixed_order


def _place(model: str) -> int:
    return list(TITLES).index(model) if model in TITLES else len(TITLES)
