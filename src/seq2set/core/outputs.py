"""Places to write to: what is there already, and whether it may be replaced.

`--force` replaces what the same command has written before, and nothing else of the user's.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from seq2set.core.errors import OutputError

SEALED = ("manifest.json", "model.safetensors")
"""What a model folder has: a file more in it, and it cannot be opened."""

_UNOWNED = (".DS_Store",)
"""What systems put into folders by themselves"""


class FolderKind(NamedTuple):
    """What a folder holds that a command writes as a whole."""

    name: str
    """As sentences have it, without an article"""
    parts: tuple[str, ...] = ()
    """All that may be in it; none where that differs"""
    mark: str = ""
    """The file without which it is none"""

    def describe_misfit(self, path: Path) -> str | None:
        """Say why a folder is not such a one, or return None where it is, or is empty."""
        there = sorted(one.name for one in path.iterdir() if one.name not in _UNOWNED)
        others = [name for name in there if name not in self.parts]
        if there and self.mark and self.mark not in there:
            return f"is not empty and holds no {self.name}"
        return f"holds '{others[0]}', which is no part of a {self.name}" if self.parts and others else None


def refuse_occupied(path: Path, *, force: bool = False, kind: FolderKind | None = None) -> None:
    """Refuse an output folder that is a file, lies in a model, or holds what may not be replaced."""
    _refuse_in_model(path)
    if path.exists() and not path.is_dir():
        raise OutputError(f"{path} is a file; a folder is expected here")
    if not path.is_dir() or not any(path.iterdir()):
        return
    if not force:
        raise OutputError(f"{path} is not empty; name another folder or pass --force to replace it")
    if kind is not None and (misfit := kind.describe_misfit(path)):
        raise OutputError(f"{path} {misfit}; --force replaces {kind.name}s only, name another folder")


def refuse_existing(path: Path, *, force: bool = False) -> None:
    """Refuse an output file that lies in a model, or is there and may not be replaced."""
    _refuse_in_model(path)
    if path.is_dir():
        raise OutputError(f"{path} is a folder; a file is expected here")
    if path.exists() and not force:
        raise OutputError(f"{path} exists; name another file or pass --force to replace it")


def _refuse_in_model(path: Path) -> None:
    for folder in path.absolute().parents:
        if all((folder / name).is_file() for name in SEALED):
            raise OutputError(
                f"{path} lies inside the model folder {folder}, which holds its own files alone; name "
                "another place"
            )
