"""Assign sets of labels to texts."""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seq2set.estimator import Seq2SetClassifier

__version__ = "0.1.0"

# Threads that spin while they wait for each other stall a recurrent network for seconds at a time as soon as
# another process wants a core; threads that sleep do not. OpenMP reads this once, when torch is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# The C library gives large arrays back, and the system clears each page again before it lends it again; of
# pages of 2 MiB there are far fewer. Torch reads this when it makes its first array.
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")

__all__ = ["Seq2SetClassifier", "__version__"]

_LATE = {"Seq2SetClassifier": "seq2set.estimator"}
"""Names that load heavy libraries, and only when they are asked for."""


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module 'seq2set' has no attribute '{name}'")
    try:
        return getattr(import_module(_LATE[name]), name)
    except ModuleNotFoundError as error:
        raise import_module("seq2set.core.errors").explain_missing(error) or error from None


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
