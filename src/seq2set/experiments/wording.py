"""Words that sentences about results have in common."""

from __future__ import annotations

from collections.abc import Sequence


def listed(names: Sequence[str]) -> str:
    """Return names as a sentence lists them: "BR, CC and LP"."""
    *others, last = names or [""]
    return f"{', '.join(others)} and {last}" if others else last
