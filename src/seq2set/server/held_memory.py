"""The memory of a model process: what its largest pass takes is there before the first request, and stays.

A pass touches memory for its numbers, and the libraries make code and buffers for each number of rows that
they meet. Were all this left to requests, a small one would raise memory by many times its own size. So the
largest pass is made once before, on texts of no meaning, and what it had stays with the process. What goes
beyond that is given back when nothing has been asked for a while.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from seq2set.core.memory import read_resident_memory, release_memory
from seq2set.server.answers import Answerer, LabelRequest

CHARS = 100_000
"""Characters of the largest pass, and of the longest text unless the settings allow longer ones"""

SECONDS = 2.0
"""Processor time that the largest pass may take, about; that of a slow model has fewer texts."""

SPARE = 4 * 2**20
"""Bytes that stay beside it, since no two passes cut memory alike."""

SLACK = 32 * 2**20
"""Bytes beyond that which are not worth giving back: the pass is made anew then."""

_LETTERS = "a b c d e f g h i j k l m n o p q r s t u v w x y z "
_PLAIN = LabelRequest()
_WHOLE = LabelRequest(explain=True, candidates=8, min_labels=1)
"""Goes through all that a request may ask for, whatever the texts are."""


def make_largest_pass(answer: Answerer, most: int) -> None:
    """Answer what takes the most memory: `most` texts that are as long as they may be together, and one."""
    for count in _list_counts(most):
        answer([_LETTERS] * count, _PLAIN)
    began = time.process_time()
    answer([_write_text(CHARS // most)], _PLAIN)
    count = int(SECONDS / max(time.process_time() - began, SECONDS / most))
    spare = b" " * SPARE
    for texts in (max(1, count), 1):
        answer([_write_text(CHARS // texts)] * texts, _WHOLE)
    del spare


def _list_counts(most: int) -> list[int]:
    """Return numbers of texts with which products of all numbers of rows come up."""
    return [2**power for power in range(most.bit_length())]


def _write_text(chars: int) -> str:
    return (_LETTERS * (1 + chars // len(_LETTERS)))[:chars]


class HeldMemory:
    """What the largest pass had when this was made; more is given back with `restore`."""

    def __init__(self, make_pass: Callable[[], object]):
        self._make_pass = make_pass
        self._renew()

    def restore(self) -> None:
        """Have the memory of the largest pass again, and no more, unless it is about that already."""
        now = read_resident_memory()
        if now is None or self._held is None:
            release_memory()
        elif now > self._held + SLACK:
            self._renew()

    def _renew(self) -> None:
        release_memory()
        self._make_pass()
        self._held = read_resident_memory()
