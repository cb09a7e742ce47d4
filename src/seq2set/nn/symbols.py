"""The numbers that stand for the ends of a label sequence, beside the labels 0 .. L-1 themselves.

`eos` comes right after the labels, so that a decoder's outputs are the first L + 1 symbols; `bos` and `pad`
come after it and so can be read but never be generated.
"""

from __future__ import annotations

from typing import NamedTuple


class Symbols(NamedTuple):
    """The symbols of a label space of `labels` labels."""

    labels: int

    @property
    def eos(self) -> int:
        """The end of a sequence."""
        return self.labels

    @property
    def bos(self) -> int:
        """What is read before the first label."""
        return self.labels + 1

    @property
    def pad(self) -> int:
        """What stands where there is nothing."""
        return self.labels + 2

    @property
    def outputs(self) -> int:
        """How many symbols can be generated: the labels and `eos`."""
        return self.labels + 1

    @property
    def inputs(self) -> int:
        """How many symbols can be read: all of them."""
        return self.labels + 3
