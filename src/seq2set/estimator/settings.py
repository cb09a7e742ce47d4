"""An estimator's parameters as the settings of a run, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from seq2set.config import Config, build_config, validate
from seq2set.config.loader import merge_settings, nest_setting, walk_settings
from seq2set.estimator.inputs import EstimatorInputError

_OWN_PARAMETERS = {"model": "model", "preset": "preset", "seed": "random_state", "threads": "threads"}
"""Settings that the estimator has parameters of its own for."""


def configure(
    model: str,
    preset: str,
    settings: Mapping[str, Any] | None,
    random_state: int | np.random.RandomState | None,
    threads: int | str,
) -> Config:
    """Lay the settings over the preset and check all of them."""
    tree = build_config(preset=str(preset), model=str(model)).model_dump(mode="json")
    for name, value in _check_settings(settings).items():
        tree = merge_settings(tree, nest_setting(name, to_python(value)))
    state = to_python(random_state)
    seed = state if isinstance(state, int) else int(check_random_state(state).randint(2**31 - 1))
    return validate(tree | {"seed": seed, "threads": to_python(threads)})


def find_changes(config: Config) -> dict[str, Any] | None:
    """Return what differs from the preset, in the form of the parameter `settings`."""
    below = build_config(preset=config.preset, model=config.model).model_dump(mode="json")
    preset = dict(walk_settings(below))
    own = walk_settings(config.model_dump(mode="json"))
    return {name: value for name, value in own if not _is_foreign(name) and value != preset[name]} or None


def to_python(value: Any) -> Any:
    """Turn NumPy's scalars, which grids of parameters are often made of, into Python's own."""
    return value.item() if isinstance(value, np.generic) else value


def _check_settings(settings: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if settings is not None and not isinstance(settings, Mapping):
        raise EstimatorInputError(
            f"settings is of type {type(settings).__name__}; it must be a mapping of section.name to value"
        )
    for name in settings or {}:
        if not isinstance(name, str):
            raise EstimatorInputError(f"settings names {name!r}; a name must be a string like section.name")
        if _is_foreign(name):
            own = _OWN_PARAMETERS.get(name)
            place = f"the parameter {own}" if own else "the texts of fit"
            raise EstimatorInputError(f"settings names '{name}'; {place} must be used for that")
    return settings or {}


def _is_foreign(name: str) -> bool:
    """Whether a setting is not for `settings` to make: it has a parameter, or describes files."""
    return name in _OWN_PARAMETERS or name.split(".")[0] == "data"
