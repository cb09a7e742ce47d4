"""Text for people: labels and ids, which may hold anything, made fit to be shown, and lists of names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple


def make_printable(text: str) -> str:
    """Replace control characters, which a terminal takes as commands, by the way Python writes them."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"} | {127: 0x2421}
_OVERRIDES = (*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_SHOWN = _PICTURES | dict.fromkeys(_OVERRIDES, 0xFFFD)


def show_controls(text: str) -> str:
    """Replace what a terminal takes as commands, or as another direction, by one visible sign each."""
    return text.translate(_SHOWN)


def shorten(text: str, width: int) -> str:
    """Make a text printable and cut it to `width` characters, the last one an ellipsis."""
    shown = make_printable(text)
    return shown if len(shown) <= width else shown[: width - 1] + "…"


def count_things(count: int, one: str, many: str = "") -> str:
    """Return a count with the word for what is counted: "1 cell", "1,200 cells"; `many` is irregular."""
    return f"1 {one}" if count == 1 else f"{count:,} {many or one + 's'}"


def format_size(size: float) -> str:
    """Return a number of bytes in the largest unit of which there is one."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def join_names(names: Sequence[str]) -> str:
    """Return names as a sentence lists them: "BR, CC and LP"."""
    *others, last = names or [""]
    return f"{', '.join(others)} and {last}" if others else last


def join_groups(parts: Mapping[str, Sequence[str]]) -> str:
    """Return lists of names under their headings as a sentence; of empty ones only the first is named."""
    first = next(iter(parts))
    named = [
        f"{head}: {join_names(names) or 'none'}" for head, names in parts.items() if names or head == first
    ]
    return f"{'; '.join(named)}."


class Span(NamedTuple):
    """Where a word stands in a text: from `start` up to, not including, `end`, in characters."""

    start: int
    end: int


_SURROGATE = re.compile("[\ud800-\udfff]")


def replace_surrogates(text: str) -> str:
    """Put U+FFFD for halves of surrogate pairs, which JSON may hold but UTF-8 has no form for."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)
