"""Trainings that follow one another in a process, as those of an experiment do, share their linear prior.

It depends on the training documents and on a few settings, and takes a minute or more to fit. Nothing is kept
outside of a block that asks for it, and in it the last prior only: it is large.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

_Prior = TypeVar("_Prior")

_blocks: list[dict[str, Any]] = []
"""What is kept, by a key that says what it was fitted on; one for each block that is open."""


@contextmanager
def priors_shared() -> Iterator[None]:
    """Let trainings in the block that would fit the same prior fit it once."""
    _blocks.append({})
    try:
        yield
    finally:
        _blocks.pop()


def fitted_once(key: str, fit: Callable[[], _Prior]) -> _Prior:
    """Fit a prior, or return the one that was fitted last where it has the same key."""
    if not _blocks:
        return fit()
    kept = _blocks[-1]
    if key not in kept:
        kept.clear()
        kept[key] = fit()
    found: _Prior = kept[key]
    return found
