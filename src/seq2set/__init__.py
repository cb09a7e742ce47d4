"""Assign sets of labels to texts."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

__all__ = ["Seq2SetClassifier", "__version__"]

_LATE = {"Seq2SetClassifier": "seq2set.estimator"}
"""Names that load heavy libraries, and only when they are asked for."""


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module 'seq2set' has no attribute '{name}'")
    return getattr(import_module(_LATE[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
