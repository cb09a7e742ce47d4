"""How long work tells that it goes on: a small protocol, so that the library never prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

Advance = Callable[[int], None]
"""Called with the number of units done since the last call."""


class Progress(Protocol):
    """Shows stages of work; the command line draws bars, libraries and tests stay silent."""

    def stage(self, title: str, total: int | None = None) -> AbstractContextManager[Advance]:
        """Open a stage of `total` units and give the function that advances it."""

    def note(self, sentence: str) -> None:
        """Tell the user something worth knowing about the work."""


class Silent:
    """Shows nothing."""

    @contextmanager
    def stage(self, title: str, total: int | None = None) -> Iterator[Advance]:  # noqa: ARG002
        """Open a stage that nobody sees."""
        yield lambda _: None

    def note(self, sentence: str) -> None:
        """Say nothing."""
