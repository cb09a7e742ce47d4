"""A claim of the paper's, and whether it holds by what was measured."""

from __future__ import annotations

from typing import Any, NamedTuple

_STATES = {True: "holds", False: "does not hold", None: "is left open"}


class Claim(NamedTuple):
    """What the paper says, what speaks for or against it, and what follows."""

    text: str
    """What the paper says, as it stands after "the claim that" """
    holds: bool | None
    """None where what was measured leaves it open"""
    evidence: str

    @property
    def state(self) -> str:
        """Say in words whether it holds."""
        return _STATES[self.holds]

    def sentence(self) -> str:
        """Return the claim with its evidence as a sentence."""
        return f"The paper's claim that {self.text} {self.state} here: {self.evidence}."

    def data(self) -> dict[str, Any]:
        """Return the claim as plain JSON."""
        return {**self._asdict(), "state": self.state, "sentence": self.sentence()}
