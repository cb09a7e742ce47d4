"""What can go wrong, as one tree.

::

    Seq2SetError                 anything this package raises on purpose; exit code 1
    ├── WorkError                the call was right, the work failed
    │   ├── StoppedError         a signal stopped it; all is saved and can be resumed
    │   ├── BusyError            another process works on the same
    │   └── PendingError         nothing failed, but other processes still work on a part; exit code 3
    └── InputError               the call or the input is wrong; exit code 2
        ├── ConfigError          a setting; holds every fault found, not only the first
        ├── CorpusError          a corpus or one of its files; names the file and the line
        ├── ModelFolderError     a model folder that is damaged, foreign or too new
        ├── OutputError          the place to write to: not empty, no permission, disk full
        ├── UnknownNameError     a name that is not on a list; suggests the nearest one
        └── MissingExtraError    an optional dependency; names the command that installs it

Every message is one sentence that names the place, the value seen and what is allowed.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType


class Seq2SetError(Exception):
    """The root of everything this package raises on purpose."""

    exit_code = 1


class WorkError(Seq2SetError):
    """The call was right, but the work could not be done."""


class StoppedError(WorkError):
    """A signal stopped the work; what was done is saved."""


class BusyError(WorkError):
    """Another process works on the same, and has to end first."""


class PendingError(WorkError):
    """What could be done is done; other processes still work on the rest, which can be collected later."""

    exit_code = 3


class InputError(Seq2SetError):
    """The call or its input is wrong."""

    exit_code = 2


class ConfigError(InputError):
    """One or more settings are wrong; `faults` holds a sentence for each."""

    def __init__(self, faults: Sequence[str]):
        self.faults = tuple(faults)
        super().__init__("\n".join(self.faults))


class CorpusError(InputError):
    """A corpus, or a file of one, cannot be used."""

    def __init__(self, message: str, path: Path | str | None = None, line: int | None = None):
        self.path, self.line = path, line
        place = "" if path is None else f"{path}: " if line is None else f"{path}, line {line}: "
        super().__init__(place + message)


class ModelFolderError(InputError):
    """A model folder is damaged, is no model folder, or was written by a newer version."""


class OutputError(InputError):
    """The place to write to cannot be used."""


class UnknownNameError(InputError):
    """A name that is not among the known ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str]):
        self.known = tuple(known)
        super().__init__(
            f"{kind} '{name}' is not known{suggest(name, self.known)}; known are: {', '.join(self.known)}"
        )


class MissingExtraError(InputError):
    """An optional dependency is not installed."""

    def __init__(self, package: str, extra: str, otherwise: str = ""):
        super().__init__(f"this needs the package '{package}': pip install 'seq2set[{extra}]'{otherwise}")


def suggest(name: str, known: Iterable[str]) -> str:
    """Say which known name was probably meant, or nothing where none is near."""
    folded = {candidate.lower(): candidate for candidate in known}
    close = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.5)
    return f", did you mean '{folded[close[0]]}'?" if close else ""


TRAINING = ("joblib", "lightning_fabric", "matplotlib", "scipy", "sklearn", "torch")
"""What the extra `train` installs, by the names that are imported."""


def explain_missing(error: ModuleNotFoundError) -> MissingExtraError | None:
    """Say what to install where a library of the extra `train` is missing; None for any other module."""
    package = (error.name or "").partition(".")[0]
    return MissingExtraError(package, "train") if package in TRAINING else None


def import_extra(module: str, extra: str) -> ModuleType:
    """Import an optional dependency, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        raise MissingExtraError(module.split(".")[0], extra) from missing
