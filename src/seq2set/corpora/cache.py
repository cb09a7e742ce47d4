"""Where prepared corpora are kept for the next time."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "SEQ2SET_CACHE"
"""The environment variable that names another cache folder."""


def cache_folder() -> Path:
    """Return the cache folder: `$SEQ2SET_CACHE`, or `seq2set` in the user's own cache folder."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "seq2set"


def cached_corpus(name: str) -> Path:
    """Return the folder that a prepared corpus has in the cache, whether it is there or not."""
    return cache_folder() / "corpora" / name
