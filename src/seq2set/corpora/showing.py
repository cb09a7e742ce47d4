"""Foreign text made fit to be shown: labels and ids may hold anything."""

from __future__ import annotations


def printable(text: str) -> str:
    """Replace control characters, which a terminal takes as commands, by the way Python writes them."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shortened(text: str, width: int) -> str:
    """Make a text printable and cut it to `width` characters, the last one an ellipsis."""
    shown = printable(text)
    return shown if len(shown) <= width else shown[: width - 1] + "…"
